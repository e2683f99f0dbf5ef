// The autocorrelator fed from pinned memory, for `bench`.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/stopwatch.h"
#include "tautline/jit/timing.h"
#include "tautline/pipeline/bench/device_threads.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/pipeline/voltages/channel_range.h"
#include "tautline/stages/autocorrelate/case.h"
#include "tautline/stages/autocorrelate/case_run.h"

namespace tautline::pipeline {

namespace {

using core::Clock;
using core::Error;
using core::ErrorKind;
using core::seconds_since;
using device::Buffer;
namespace autocorrelate = stages::autocorrelate;

constexpr std::size_t kTimedParts = 5;      // for the spread
constexpr std::size_t kFewestPackets = 10;  // of a part
constexpr std::size_t kWarmUpPackets = 4, kCheckedPackets = 4, kMostSources = 4;
constexpr std::size_t kPacketSourceBytes = std::size_t{1}
                                           << 30;  // of packets in pinned memory, about
constexpr double kMostReadShare = 0.5;             // of a second

// One device's stream.
class FedCounts {
 public:
  FedCounts(const autocorrelate::Config& config, std::size_t most, DevicePointer device)
      : device_(std::move(device)),
        feed_(config, most, device_),
        queue_(&feed_.queue()),
        curves_(device_->allocate_pinned(feed_.read_bytes())) {
    feed_.use(autocorrelate::make_plan(config, device_));
    for (auto& mark : given_) mark = device_->make_event();
    for (std::size_t s = 0; s <= kTimedParts; ++s) ends_.push_back(device_->make_event());
    const std::size_t packets =
        std::clamp<std::size_t>(kPacketSourceBytes / feed_.packet_bytes(), 2, kMostSources);
    for (std::size_t p = 0; p < packets; ++p)
      sources_.push_back(device_->allocate_pinned(feed_.packet_bytes()));
    const std::size_t count = config.max_samples * config.sensors;
    autocorrelate::draw_counts(sources_[0].data(), count, config.type, most);
    // Other packets begin at other places in the same counts, so that a mix-up of packets shows.
    for (std::size_t p = 1; p < packets; ++p) {
      const std::size_t at = count * p / packets * core::bytes_of(config.type);
      const auto* from = sources_[0].as<std::byte>();
      std::memcpy(sources_[p].data(), from + at, feed_.packet_bytes() - at);
      std::memcpy(sources_[p].as<std::byte>() + feed_.packet_bytes() - at, from, at);
    }
  }

  std::string code() const { return feed_.plan()->backend(); }

  /// A first estimate of the seconds of a packet.
  double warm_up() {
    give(kWarmUpPackets);
    queue_->synchronise();
    const auto started = Clock::now();
    give(kWarmUpPackets);
    queue_->synchronise();
    return seconds_since(started) / kWarmUpPackets;
  }
  /// Seconds of a packet in each of the parts.
  std::vector<double> run(std::size_t packets) {
    queue_->record(*ends_[0]);
    for (std::size_t s = 0; s < kTimedParts; ++s) {
      give(packets);
      queue_->record(*ends_[s + 1]);
    }
    std::vector<double> seconds;
    for (std::size_t s = 0; s < kTimedParts; ++s)
      seconds.push_back(device_->seconds_between(*ends_[s], *ends_[s + 1]) /
                        static_cast<double>(packets));
    return seconds;
  }
  /// Seconds for copying curves to the host.
  double read() {
    double seconds = 0;
    for (int times = 0; times < 2; ++times) {
      queue_->synchronise();
      const auto started = Clock::now();
      feed_.read(curves_.data());
      queue_->synchronise();
      seconds = seconds_since(started);
    }
    return seconds;
  }
  bool same_one_at_a_time() {
    const auto sums = [&](bool alone) {
      feed_.state().reset();
      given_packets_ = 0;
      for (std::size_t p = 0; p < kCheckedPackets; ++p) {
        give(1);
        if (alone) queue_->synchronise();
      }
      feed_.read(curves_.data());
      queue_->synchronise();
    };
    sums(false);
    const std::vector<std::byte> together(curves_.as<std::byte>(),
                                          curves_.as<std::byte>() + curves_.bytes());
    std::memset(curves_.data(), 0xA5, curves_.bytes());
    sums(true);
    return std::memcmp(curves_.data(), together.data(), together.size()) == 0;
  }

 private:
  // The host must not run far ahead of the device.
  void give(std::size_t packets) {
    for (std::size_t p = 0; p < packets; ++p, ++given_packets_) {
      device::Event& mark = *given_[given_packets_ % given_.size()];
      mark.synchronise();
      feed_.give(sources_[given_packets_ % sources_.size()].data());
      queue_->record(mark);
    }
  }

  DevicePointer device_;
  autocorrelate::CaseRun feed_;
  device::Queue* queue_;
  Buffer curves_;
  std::vector<Buffer> sources_;
  std::array<std::unique_ptr<device::Event>, 8> given_;
  std::vector<std::unique_ptr<device::Event>> ends_;
  std::size_t given_packets_ = 0;
};

}  // namespace

Measurement measure_host_fed_counts(const Problem& sizes, const std::vector<DevicePointer>& devices,
                                    const Limits& limits, double budget_s) {
  const autocorrelate::Config config = autocorrelate_config(sizes);
  const std::size_t parts = devices.size();
  if (config.sensors < parts)
    throw Error(ErrorKind::config, "sensors", std::to_string(config.sensors),
                "one for each of the " + std::to_string(parts) + " devices");
  DeviceThreads threads(parts);
  std::vector<std::unique_ptr<FedCounts>> streams(parts);
  std::vector<double> first_s(parts), read_s(parts);
  threads.each([&](std::size_t d) {
    auto share = config;
    share.sensors = share_of(config.sensors, d, parts).count;
    streams[d] = std::make_unique<FedCounts>(share, sizes.at("most"), devices[d]);
    first_s[d] = streams[d]->warm_up();
  });
  const double wanted = std::ceil(budget_s / kTimedParts / std::max(first_s[0], 1e-9));
  const auto packets =
      static_cast<std::size_t>(std::clamp(wanted, static_cast<double>(kFewestPackets), 1e5));
  std::vector<std::vector<double>> seconds(parts);
  threads.each([&](std::size_t d) { seconds[d] = streams[d]->run(packets); });
  threads.each([&](std::size_t d) { read_s[d] = streams[d]->read(); });
  // A packet is complete when its last share is.
  std::vector<double> slowest(kTimedParts);
  for (const auto& of_one : seconds)
    for (std::size_t s = 0; s < kTimedParts; ++s) slowest[s] = std::max(slowest[s], of_one[s]);
  const jit::Timing timing = jit::summarise(std::move(slowest));
  const double reading = std::min(*std::max_element(read_s.begin(), read_s.end()), kMostReadShare);
  Measurement m;
  m.seconds = timing.seconds / (1 - reading);
  m.spread = timing.spread;
  const autocorrelate::Case problem{config, config.max_samples};
  m.instruction_set = streams.front()->code();
  m.operations = problem.operations();
  m.bytes = problem.bytes();
  m.rate = static_cast<double>(config.sensors * config.max_samples) / m.seconds;
  m.unit = "samples/s";
  m.bandwidth_hz = static_cast<double>(config.max_samples) / m.seconds;
  m.real_time_factor = m.bandwidth_hz / static_cast<double>(sizes.at("rate_hz"));
  m.limit = "transfer";
  m.fraction_of_limit =
      m.bytes / (limits.to_device_bytes_per_s * static_cast<double>(parts)) / m.seconds;
  for (std::size_t d = 0; d < parts; ++d)
    if (!streams[d]->same_one_at_a_time())
      throw Error(ErrorKind::device, devices[d]->name() + ": host_fed_autocorrelate",
                  "sums of overlapping packets differ from those of the same packets alone", "");
  return m;
}

}  // namespace tautline::pipeline

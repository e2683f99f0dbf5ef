// Rate of the autocorrelator on a GPU, for counts in the device's or in the host's memory.
//
//   bench_autocorrelate_gpu --device cuda:0 [--sensors 1024] [--bins 32] [--levels 10]
//       [--standard 1] [--bits 8] [--samples 65536] [--packets 1] [--seconds 1] [--most 255]
//       [--design 0|1] [--part N] [--chunk N] [--pending N] [--lags N] [--threads N]
//       [--host 1 (pinned memory; curves are read once a second)]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/gpu/plan.h"

namespace {

using namespace tautline;
using namespace tautline::stages::autocorrelate;
using Clock = std::chrono::steady_clock;
using Options = std::map<std::string, std::string>;

std::size_t number(const Options& options, const std::string& key, std::size_t otherwise) {
  return options.contains(key) ? std::stoul(options.at(key)) : otherwise;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Config config_of(const Options& options) {
  Config config{.sensors = number(options, "sensors", 1024),
                .bins = number(options, "bins", 32),
                .levels = number(options, "levels", 10),
                .max_samples = number(options, "samples", 65536)};
  if (number(options, "standard", 0) != 0) config.lag_scheme = LagScheme::standard;
  const std::size_t bits = number(options, "bits", 8);
  config.type = bits == 8 ? SampleType::u8 : bits == 16 ? SampleType::u16 : SampleType::u32;
  return config;
}

GpuTunables tunables_of(const Options& options) {
  GpuTunables t;
  t.design = static_cast<GpuDesign>(number(options, "design", static_cast<std::size_t>(t.design)));
  t.part_rows = number(options, "part", t.part_rows);
  t.chunk_samples = number(options, "chunk", t.chunk_samples);
  t.pending_rows = number(options, "pending", t.pending_rows);
  t.lags = number(options, "lags", t.lags);
  t.threads = number(options, "threads", t.threads);
  return t;
}

// Every count up to `most` is equally likely.
void fill(void* to, std::size_t count, SampleType type, std::size_t most) {
  std::mt19937 random(1);
  const std::size_t size = core::bytes_of(type);
  auto* bytes = static_cast<std::byte*>(to);
  // Repeats a short random sequence: drawing all counts of a large array takes long.
  const std::size_t drawn = std::min<std::size_t>(count, (std::size_t{1} << 22) + 4093);
  for (std::size_t i = 0; i < drawn; ++i) {
    const auto value = static_cast<std::uint32_t>(random() % (most + 1));
    std::memcpy(bytes + i * size, &value, size);
  }
  for (std::size_t i = drawn; i < count; i += drawn)
    std::memcpy(bytes + i * size, bytes, std::min(drawn, count - i) * size);
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        config_(config_of(options)),
        device_(device::open(device::parse_selection(options.at("device")))),
        queue_(device_->make_queue()),
        plan_(gpu::make_plan(config_, device_, tunables_of(options))),
        state_(plan_->make_state(*queue_)),
        packets_(number(options, "packets", 1)),
        seconds_(static_cast<double>(number(options, "seconds", 1))) {
    const std::size_t bytes = packets_ * packet_bytes();
    if (from_host()) {
      counts_ = device_->allocate_pinned(bytes);
      fill(counts_.data(), bytes / core::bytes_of(config_.type), config_.type, most());
    } else {
      device::Buffer host(bytes);
      fill(host.data(), bytes / core::bytes_of(config_.type), config_.type, most());
      counts_ = device_->allocate(bytes);
      queue_->copy(counts_.data(), host.data(), bytes);
      queue_->synchronise();
    }
    const std::size_t lags = lags_of(config_).size(), pairs = config_.pair_count();
    curves_ = device_->allocate_pinned(4 * pairs * lags * 8);
    const auto view = [&](std::size_t which) {
      return core::View<std::int64_t, 2>(curves_.as<std::int64_t>() + which * pairs * lags,
                                         {pairs, lags});
    };
    sums_ = {view(0), view(1), view(2), view(3), {}, {}};
  }

  void run() {
    feed(2);
    plan_->read(*queue_, *state_, sums_);
    queue_->synchronise();
    const auto started = Clock::now();
    auto second = started;
    std::size_t fed = 0, reads = 0;
    double read_s = 0;
    while (seconds_since(started) < seconds_ || fed == 0) {
      feed(1);
      ++fed;
      // The host must not run seconds ahead of the device.
      if (fed % 8 == 0) queue_->synchronise();
      if (!from_host() || seconds_since(second) < 1) continue;
      queue_->synchronise();
      const auto reading = Clock::now();
      plan_->read(*queue_, *state_, sums_);
      queue_->synchronise();
      read_s += seconds_since(reading);
      second = Clock::now();
      ++reads;
    }
    queue_->synchronise();
    const double elapsed = seconds_since(started);
    const double samples = static_cast<double>(config_.sensors) *
                           static_cast<double>(config_.max_samples * packets_ * fed);
    const auto use = plan_->bytes();
    fmt::print(
        "{} {} sensors u{} {} packets of {}: {:.1f} G samples/s, {:.1f} us a packet, {} reads of "
        "{:.1f} ms, {:.0f} bytes a sensor on the device\n",
        from_host() ? "host-fed" : "on the device", config_.sensors,
        8 * core::bytes_of(config_.type), packets_, config_.max_samples, samples / elapsed * 1e-9,
        elapsed / static_cast<double>(fed * packets_) * 1e6, reads,
        reads > 0 ? read_s / static_cast<double>(reads) * 1e3 : 0.0,
        static_cast<double>(use.device_bytes) / static_cast<double>(config_.sensors));
  }

 private:
  bool from_host() const { return number(options_, "host", 0) != 0; }
  std::size_t most() const { return number(options_, "most", 255); }
  std::size_t packet_bytes() const {
    return config_.max_samples * config_.sensors * core::bytes_of(config_.type);
  }
  void feed(std::size_t times) {
    for (std::size_t i = 0; i < times; ++i)
      for (std::size_t p = 0; p < packets_; ++p)
        plan_->execute(*queue_, *state_,
                       {counts_.as<std::byte>() + p * packet_bytes(),
                        config_.type,
                        {config_.max_samples, config_.sensors}});
  }

  Options options_;
  Config config_;
  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<device::Queue> queue_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<State> state_;
  std::size_t packets_;
  double seconds_;
  device::Buffer counts_, curves_;
  Sums sums_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options{{"device", "cuda:0"}};
  for (int i = 1; i + 1 < argc; i += 2) options[std::string(argv[i]).erase(0, 2)] = argv[i + 1];
  try {
    Bench(options).run();
  } catch (const core::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

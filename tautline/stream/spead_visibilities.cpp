#include "tautline/stream/spead_visibilities.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/packets/spead_heap.h"
#include "tautline/formats/visibility_layout.h"
#include "tautline/stream/udp.h"

namespace tautline::stream {

namespace {

using formats::packets::SpeadHeap;

class SpeadVisibilities final : public formats::VisibilityWriter {
 public:
  SpeadVisibilities(const SpeadVisibilitiesConfig& config,
                    const formats::VisibilityDescription& description)
      : config_(config),
        sender_(config.to, config.interface),
        frequency_hz_(description.channel_hz) {
    const std::size_t inputs = description.array.inputs.size();
    for (std::uint32_t i = 0; i < inputs; ++i)
      for (std::uint32_t j = 0; j <= i; ++j) inputs_.insert(inputs_.end(), {i, j});
    if (!description.autos_only) return;
    std::vector<std::uint32_t> autos;
    for (const std::size_t baseline : formats::baselines_of_antennas(description.array))
      autos.insert(autos.end(), {inputs_[2 * baseline], inputs_[2 * baseline + 1]});
    inputs_ = std::move(autos);
  }

  void write(const formats::Integration& integration) override {
    const core::Instant& middle = integration.middle;
    const double time_s =
        static_cast<double>(middle.seconds) + static_cast<double>(middle.fraction_numerator) /
                                                  static_cast<double>(middle.fraction_denominator);
    const std::size_t channels = frequency_hz_.size(), baselines = inputs_.size() / 2;
    pack(integration, channels, baselines);
    SpeadHeap heap(++heaps_);
    const auto add = [&](std::uint32_t item, const char* name, const char* about, const char* type,
                         std::vector<std::size_t> shape, auto values) {
      heap.add({item, name, about, type, std::move(shape), std::as_bytes(values)});
    };
    add(0x1600, "time", "middle of the integration, s since 1970-01-01, UTC", "<f8", {},
        std::span(&time_s, 1));
    add(0x1601, "integration_s", "span of the integration, s", "<f8", {},
        std::span(&integration.integration_s, 1));
    add(0x1602, "frequency_hz", "centres of the channels", "<f8", {channels},
        std::span<const double>(frequency_hz_));
    add(0x1603, "inputs", "i and j of V(i, j), the mean of x_i conj(x_j)", "<u4", {baselines, 2},
        std::span<const std::uint32_t>(inputs_));
    add(0x1800, "visibilities", "means, [channel][baseline]", "<c8", {channels, baselines},
        std::span<const std::complex<float>>(visibilities_));
    add(0x1801, "counts", "valid samples, [channel][baseline]", "<i8", {channels, baselines},
        std::span<const std::int64_t>(counts_));
    send(heap);
  }

  // After the last heap nothing follows that could carry these.
  void add_extra(const std::string&, const std::string&) override {}

  // Receivers get the end of the stream also from a run that fails.
  ~SpeadVisibilities() override {
    if (finished_) return;
    try {
      finish();
    } catch (const core::Error&) {  // no receiver can be reached
    }
  }

  void finish() override {
    finished_ = true;
    SpeadHeap last(++heaps_);
    last.add_control(formats::packets::kSpeadStop);
    send(last);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void pack(const formats::Integration& integration, std::size_t channels, std::size_t baselines) {
    visibilities_.clear();
    counts_.clear();
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t b = 0; b < baselines; ++b) {
        visibilities_.push_back(integration.visibilities(c, b));
        counts_.push_back(integration.counts(c, b));
      }
  }

  // Paced, so that the receiver's buffer holds the packets on their way.
  void send(const SpeadHeap& heap) {
    heap.for_packets(config_.packet_bytes, [&](std::span<const std::byte> packet) {
      sender_.send(packet);
      if (config_.gbit_per_s == 0) return;
      const auto now = Clock::now();
      if (due_ < now) due_ = now;
      due_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
          static_cast<double>(packet.size()) * 8e-9 / config_.gbit_per_s));
      if (due_ - now < kAhead) return;
      sender_.flush();
      std::this_thread::sleep_until(due_);
    });
    sender_.flush();
  }

  static constexpr std::chrono::milliseconds kAhead{1};  // packets within it are sent together

  SpeadVisibilitiesConfig config_;
  UdpSender sender_;
  std::vector<double> frequency_hz_;
  std::vector<std::uint32_t> inputs_;  // [baseline][i, j]
  std::vector<std::complex<float>> visibilities_;
  std::vector<std::int64_t> counts_;
  std::uint64_t heaps_ = 0;
  bool finished_ = false;
  Clock::time_point due_ = {};
};

}  // namespace

std::unique_ptr<formats::VisibilityWriter> send_visibilities(
    const SpeadVisibilitiesConfig& config, const formats::VisibilityDescription& description) {
  if (config.to.transport != Endpoint::Transport::udp)
    throw core::Error(core::ErrorKind::config, "to", to_string(config.to), "udp://HOST:PORT",
                      "heaps go over UDP");
  if (config.gbit_per_s > 0 && config.gbit_per_s < 0.001)
    throw core::Error(core::ErrorKind::config, "gbit_per_s", fmt::format("{:g}", config.gbit_per_s),
                      "0.001 or more, or 0 for as fast as they go");
  return std::make_unique<SpeadVisibilities>(config, description);
}

}  // namespace tautline::stream

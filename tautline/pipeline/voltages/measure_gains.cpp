#include "tautline/pipeline/voltages/measure_gains.h"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tautline/core/byte_text.h"
#include "tautline/core/error.h"
#include "tautline/engine/graph.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/correlate_config.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/gains.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"

namespace tautline::pipeline {

using stages::channelize::Output;

namespace {

// Measures the gains of raw voltages until it has enough: `most_periods` of kGainSpectra spectra are searched for
// inputs that are invalid at first, and as many as there are where all inputs are.
class GainSink final : public engine::Node {
 public:
  GainSink(const stream::VoltageStream& stream, std::size_t samples, const FilterConfig& filter,
           std::shared_ptr<const device::Device> device, std::uint64_t most_periods)
      : device_(std::move(device)),
        most_spectra_(most_periods * kGainSpectra),
        target_(rms_before_rounding(filter.output)),
        engine_(device_, stream.description(), stream.layout(samples), in_floats(filter), samples),
        meter_(engine_.inputs(), engine_.channels()) {}

  static FilterConfig in_floats(FilterConfig filter) {
    filter.output = Output::spectra_float;
    return filter;
  }

  std::vector<engine::Stream> open(std::span<const engine::Stream>) override { return {}; }
  device::MemoryUse bytes() const override {
    return {engine_.bytes().host_bytes + engine_.output_bytes() +
                PowerMeter::bytes(engine_.inputs(), engine_.channels()),
            0};
  }
  void begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) override {
    engine_.begin_segment(first.segment_start);
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs& outputs) override {
    if (enough()) return;
    device::Queue& queue = outputs.queue(device_);
    core::RawBlock raw = block.payload_of<core::RawBlock>();
    const engine::Array& bytes = block.arrays.front();
    raw.bytes.lend({static_cast<std::byte*>(bytes.data), bytes.extents[0]});
    engine_.push(queue, raw);
    while (!enough()) {
      const SpectraChunk chunk = engine_.take(queue, kGainSpectra - measured_ % kGainSpectra);
      if (chunk.spectra == 0) break;
      meter_.add(queue, chunk.samples.as<const std::complex<float>>(), chunk.valid, chunk.spectra);
      measured_ += chunk.spectra;
      if (measured_ % kGainSpectra == 0) meter_.hold();
    }
  }

  bool enough() const {
    const bool between = measured_ > 0 && measured_ % kGainSpectra == 0;
    return between && (meter_.every_input() || (measured_ >= most_spectra_ && meter_.any_input()));
  }
  // Samples (times) of the first kGainSpectra spectra.
  std::size_t first_samples() const {
    return (kGainSpectra - 1) * engine_.hop_samples() + engine_.span_samples();
  }
  std::vector<float> gains() const { return meter_.gains(target_); }

 private:
  std::shared_ptr<const device::Device> device_;
  std::uint64_t most_spectra_, measured_ = 0;
  double target_;
  FEngine engine_;
  PowerMeter meter_;
};

// The blocks that `sink` needs of a stream, which are read by a function of its own.
class FirstVoltages final : public stream::VoltageStream {
 public:
  using Read = std::function<std::size_t(core::RawBlock&, stream::SegmentPlace&)>;
  FirstVoltages(const stream::VoltageStream& stream, const GainSink& sink, bool live, Read read)
      : stream_(stream), sink_(sink), live_(live), read_(std::move(read)) {}

  const core::VoltageDescription& description() const override { return stream_.description(); }
  core::RawLayout layout(std::size_t samples) const override { return stream_.layout(samples); }
  std::size_t block_bytes(std::size_t samples) const override {
    return stream_.block_bytes(samples);
  }
  std::uint64_t total_samples() const override { return stream_.total_samples(); }
  const core::Instant& end() const override { return stream_.end(); }
  const std::vector<std::string>& files() const override { return stream_.files(); }
  std::size_t read(std::size_t, core::RawBlock& block, stream::SegmentPlace& segment) override {
    return sink_.enough() ? 0 : read_(block, segment);
  }
  formats::Damage damage() const override { return {}; }
  bool live() const override { return live_; }

 private:
  const stream::VoltageStream& stream_;
  const GainSink& sink_;
  bool live_;
  Read read_;
};

void require_memory(std::size_t needed, std::size_t memory_bytes) {
  if (needed > memory_bytes)
    throw core::Error(core::ErrorKind::memory, "memory",
                      std::to_string(needed >> 10) + " KiB needed to measure gains",
                      "at most " + core::byte_text(memory_bytes),
                      "raise `memory_bytes` or lower `channels`, or set `requantise` to off");
}

// One lane: no block is read beyond those that are measured, which a live stream might never send.
std::vector<float> measure(std::unique_ptr<FirstVoltages> first, std::unique_ptr<GainSink> sink,
                           std::size_t samples, bool keep_constant, std::size_t kept_bytes,
                           std::size_t memory_bytes, const std::stop_token& stop) {
  auto source = std::make_unique<VoltageSourceNode>(
      std::make_shared<stream::PeekedVoltages>(std::move(first)), keep_constant);
  source->set_block_samples(samples);
  const GainSink& measured = *sink;
  engine::Graph graph;
  const engine::NodeId voltages = graph.add("voltages", std::move(source));
  const engine::NodeId gains = graph.add("gains", std::move(sink));
  graph.set_lane(gains, "voltages");
  graph.connect(voltages, gains);
  engine::Run run(std::move(graph));
  require_memory(run.bytes().host_bytes + kept_bytes, memory_bytes);
  run.go(stop);
  return measured.gains();
}

}  // namespace

std::vector<float> measure_gains(const std::vector<std::string>& files,
                                 const stream::SequenceOptions& options, const FilterConfig& filter,
                                 std::shared_ptr<const device::Device> device,
                                 std::size_t memory_bytes, const std::stop_token& stop) {
  stream::VoltageSequence sequence(files, options);
  const FilterConfig floats = GainSink::in_floats(filter);
  const std::size_t samples =
      choose_short_blocks(sequence, floats,
                          choose_block_samples(sequence, floats, memory_bytes / 2))
          .samples;
  auto sink =
      std::make_unique<GainSink>(sequence, samples, filter, std::move(device), kMostGainPeriods);
  const auto read = [&](core::RawBlock& block, stream::SegmentPlace& segment) {
    return sequence.read(samples, block, segment);
  };
  auto first = std::make_unique<FirstVoltages>(sequence, *sink, false, read);
  return measure(std::move(first), std::move(sink), samples, options.keep_constant, 0, memory_bytes,
                 stop);
}

std::vector<float> measure_gains(stream::PeekedVoltages& live, std::size_t samples,
                                 bool keep_constant, const FilterConfig& filter,
                                 std::shared_ptr<const device::Device> device,
                                 std::size_t memory_bytes, const std::stop_token& stop) {
  auto sink = std::make_unique<GainSink>(live, samples, filter, std::move(device), 1);
  // All peeked blocks are kept, and beside them the blocks one ahead and one behind.
  const std::size_t kept = sink->first_samples() / samples + 2;
  const std::size_t in_half = memory_bytes / 2 / live.block_bytes(samples);
  std::size_t left = std::max(kept, std::min(kMostGainPeriods * kept, in_half));
  const auto read = [&](core::RawBlock& block, stream::SegmentPlace& segment) {
    if (left == 0) return std::size_t{0};
    --left;
    return live.peek(samples, block, segment, stop);
  };
  auto first = std::make_unique<FirstVoltages>(live, *sink, true, read);
  std::vector<float> gains = measure(std::move(first), std::move(sink), samples, keep_constant,
                                     kept * live.block_bytes(samples), memory_bytes, stop);
  live.end_peeking();
  return gains;
}

SharedGains make_gains(const CorrelateConfig& config, const core::VoltageDescription& description,
                       const FilterConfig& filter, bool delayed, Gains::Measure measure) {
  const GainSchedule schedule{config.settle_s, config.follow_gains};
  if (!is_filtered(description, filter) || config.requantise == Requantise::off) {
    const char* field = !config.gains.empty() ? "gains"
                        : config.settle_s > 0 ? "settle_s"
                        : config.follow_gains ? "follow_gains"
                                              : nullptr;
    if (field != nullptr)
      throw core::Error(core::ErrorKind::config, field, "given",
                        "voltages that are rounded after a filter bank",
                        "leave it out: these are not rounded");
    return nullptr;
  }
  if (schedule.changes() && delayed)
    throw core::Error(core::ErrorKind::config, "settle_s",
                      "given with delays before the filter bank", "gains that stay",
                      "rotate the fringes instead: `phase_centre` has the table's name");
  if (config.gains.empty()) return std::make_shared<Gains>(std::move(measure), schedule);
  return std::make_shared<Gains>(
      read_gains(config.gains, channels_of(description, filter), description.inputs()), schedule);
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/voltages/measure_gains.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/correlate_voltages.h"
#include "tautline/pipeline/voltages/gains.h"
#include "tautline/stream/empty_voltages.h"

namespace tautline::pipeline {

using stages::channelize::Output;

namespace {

// Fills a block with the next samples; 0: there are no more.
using ReadBlock = std::function<std::size_t(core::RawBlock&, stream::SegmentPlace&)>;

// A stream's blocks, with empty stretches invalid as in a VoltageSourceNode: reads one block ahead.
class BlocksWithoutEmpty {
 public:
  BlocksWithoutEmpty(ReadBlock read_block, const core::VoltageDescription& description,
                     bool keep_constant)
      : read_block_(std::move(read_block)) {
    if (!keep_constant) finder_.emplace(description);
    read(nullptr);
  }

  // False: there are no more.
  bool next() {
    if (!more_) return false;
    std::swap(block_, ahead_);
    segment_ = segment_ahead_;
    read(&block_);
    return true;
  }
  const core::RawBlock& block() const { return block_; }
  const stream::SegmentPlace& segment() const { return segment_; }

 private:
  void read(core::RawBlock* before) {
    more_ = read_block_(ahead_, segment_ahead_) > 0;
    if (more_ && finder_) finder_->look(ahead_, segment_ahead_.first_block ? nullptr : before);
  }

  ReadBlock read_block_;
  std::optional<stream::EmptyVoltageFinder> finder_;
  core::RawBlock block_, ahead_;
  stream::SegmentPlace segment_, segment_ahead_;
  bool more_ = false;
};

// One measurement of a stream whose blocks have `samples`.
class GainMeasurement {
 public:
  GainMeasurement(const stream::VoltageStream& stream, std::size_t samples, FilterConfig filter,
                  const std::shared_ptr<const device::Device>& device, device::Queue& queue)
      : queue_(queue),
        target_(rms_before_rounding(filter.output)),
        engine_(device, stream.description(), stream.layout(samples), in_floats(filter), samples),
        meter_(engine_.inputs(), engine_.channels()) {}

  // Memory beside the stream's blocks.
  std::size_t bytes() const {
    return engine_.bytes().host_bytes + engine_.output_bytes() +
           PowerMeter::bytes(engine_.inputs(), engine_.channels());
  }
  // Samples (times) of the first kGainSpectra spectra.
  std::size_t first_samples() const {
    return (kGainSpectra - 1) * engine_.hop_samples() + engine_.span_samples();
  }
  // Measures until a stop; `most_periods` of kGainSpectra spectra are searched for inputs that are invalid at first.
  std::vector<float> measure(BlocksWithoutEmpty& blocks, std::uint64_t most_periods,
                             const std::function<void()>& check_stop) {
    std::uint64_t measured = 0;
    const auto wanted = [&] {
      const bool between = measured > 0 && measured % kGainSpectra == 0;
      return !between || (!meter_.every_input() && measured < most_periods * kGainSpectra);
    };
    while (wanted() && blocks.next()) {
      check_stop();
      if (blocks.segment().first_block) engine_.begin_segment(blocks.segment().start);
      engine_.push(queue_, blocks.block());
      while (wanted()) {
        const SpectraChunk chunk = engine_.take(queue_, kGainSpectra - measured % kGainSpectra);
        if (chunk.spectra == 0) break;
        meter_.add(queue_, chunk.samples.as<const std::complex<float>>(), chunk.valid,
                   chunk.spectra);
        measured += chunk.spectra;
        if (measured % kGainSpectra == 0) meter_.hold();
      }
    }
    return meter_.gains(target_);
  }

 private:
  static FilterConfig in_floats(FilterConfig filter) {
    filter.output = Output::spectra_float;
    return filter;
  }

  device::Queue& queue_;
  double target_;
  FEngine engine_;
  PowerMeter meter_;
};

void require_memory(std::size_t needed, std::size_t memory_bytes) {
  if (needed > memory_bytes)
    throw core::Error(core::ErrorKind::memory, "memory",
                      std::to_string(needed >> 10) + " KiB needed to measure gains",
                      "at most " + std::to_string(memory_bytes >> 10) + " KiB",
                      "raise `memory_bytes` or lower `channels`, or set `requantise` to off");
}

}  // namespace

std::vector<float> measure_gains(const std::vector<std::string>& files,
                                 const stream::SequenceOptions& options, FilterConfig filter,
                                 std::shared_ptr<const device::Device> device, device::Queue& queue,
                                 std::size_t memory_bytes, const std::stop_token& stop) {
  stream::VoltageSequence sequence(files, options);
  FilterConfig floats = filter;
  floats.output = Output::spectra_float;
  const std::size_t samples =
      choose_short_blocks(sequence, floats,
                          choose_block_samples(sequence, floats, memory_bytes / 2))
          .samples;
  GainMeasurement measurement(sequence, samples, std::move(filter), device, queue);
  require_memory(measurement.bytes() + 2 * sequence.block_bytes(samples), memory_bytes);
  const auto read = [&](core::RawBlock& block, stream::SegmentPlace& segment) {
    return sequence.read(samples, block, segment);
  };
  BlocksWithoutEmpty blocks(read, sequence.description(), options.keep_constant);
  return measurement.measure(blocks, kMostGainPeriods, [&] { require_running(stop); });
}

std::vector<float> measure_gains(stream::PeekedVoltages& live, std::size_t samples,
                                 bool keep_constant, FilterConfig filter,
                                 std::shared_ptr<const device::Device> device, device::Queue& queue,
                                 std::size_t memory_bytes, const std::stop_token& stop) {
  GainMeasurement measurement(live, samples, std::move(filter), device, queue);
  // All peeked blocks are kept, and beside them the blocks one ahead and one behind.
  const std::size_t kept = measurement.first_samples() / samples + 2;
  require_memory(measurement.bytes() + (kept + 2) * live.block_bytes(samples), memory_bytes);
  const auto read = [&](core::RawBlock& block, stream::SegmentPlace& segment) {
    return live.peek(samples, block, segment, stop);
  };
  BlocksWithoutEmpty blocks(read, live.description(), keep_constant);
  return measurement.measure(blocks, 1, [] {});
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
    throw core::Error(core::ErrorKind::unsupported, "settle_s",
                      "given with delays before the filter bank", "gains that stay",
                      "rotate the fringes instead: `phase_centre` has the table's name");
  if (config.gains.empty()) return std::make_shared<Gains>(std::move(measure), schedule);
  return std::make_shared<Gains>(
      read_gains(config.gains, channels_of(description, filter), description.inputs()), schedule);
}

}  // namespace tautline::pipeline

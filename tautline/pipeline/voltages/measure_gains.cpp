#include "tautline/pipeline/voltages/measure_gains.h"

#include <optional>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/requantise.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/gains.h"
#include "tautline/stream/empty_voltages.h"

namespace tautline::pipeline {

using stages::channelize::Output;

namespace {

// A sequence's blocks, whose empty stretches are invalid as they are in a VoltageSourceNode's: reads one block ahead.
class BlocksWithoutEmpty {
 public:
  BlocksWithoutEmpty(stream::VoltageSequence& sequence, const stream::SequenceOptions& options,
                     std::size_t samples)
      : sequence_(sequence), samples_(samples) {
    if (!options.keep_constant) finder_.emplace(sequence.description());
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
  const stream::Segment& segment() const { return segment_; }

 private:
  void read(core::RawBlock* before) {
    more_ = sequence_.read(samples_, ahead_, segment_ahead_) > 0;
    if (more_ && finder_) finder_->look(ahead_, segment_ahead_.first_block ? nullptr : before);
  }

  stream::VoltageSequence& sequence_;
  std::size_t samples_;
  std::optional<stream::EmptyVoltageFinder> finder_;
  core::RawBlock block_, ahead_;
  stream::Segment segment_, segment_ahead_;
  bool more_ = false;
};

}  // namespace

std::vector<float> measure_gains(const std::vector<std::string>& files,
                                 const stream::SequenceOptions& options, FilterConfig filter,
                                 std::shared_ptr<const device::Device> device, device::Queue& queue,
                                 std::size_t memory_bytes, const std::stop_token& stop) {
  const double target =
      filter.output == Output::corner_turned_ci4 ? core::kRequantise4Rms : core::kRequantise8Rms;
  filter.output = Output::spectra_float;
  stream::VoltageSequence sequence(files, options);
  const std::size_t samples = choose_block_samples(sequence, filter, memory_bytes / 2);
  FEngine engine(device, sequence.description(), sequence.layout(samples), filter, samples);
  const std::size_t needed = engine.bytes().host_bytes + engine.output_bytes() +
                             2 * sequence.block_bytes(samples) +
                             PowerMeter::bytes(engine.inputs(), engine.channels());
  if (needed > memory_bytes)
    throw core::Error(core::ErrorKind::memory, "memory",
                      std::to_string(needed >> 10) + " KiB needed to measure gains",
                      "at most " + std::to_string(memory_bytes >> 10) + " KiB",
                      "raise `memory_bytes` or lower `channels`, or set `requantise` to off");
  PowerMeter meter(engine.inputs(), engine.channels());
  std::uint64_t measured = 0;
  BlocksWithoutEmpty blocks(sequence, options, samples);
  const auto wanted = [&] {
    const bool between = measured > 0 && measured % kGainSpectra == 0;
    return !between || (!meter.every_input() && measured < kMostGainPeriods * kGainSpectra);
  };
  while (wanted() && blocks.next()) {
    require_running(stop);
    if (blocks.segment().first_block) engine.begin_segment(blocks.segment().start);
    engine.push(queue, blocks.block());
    while (wanted()) {
      const SpectraChunk chunk = engine.take(queue, kGainSpectra - measured % kGainSpectra);
      if (chunk.spectra == 0) break;
      meter.add(queue, chunk.samples.as<const std::complex<float>>(), chunk.valid, chunk.spectra);
      measured += chunk.spectra;
      if (measured % kGainSpectra == 0) meter.hold();
    }
  }
  return meter.gains(target);
}

}  // namespace tautline::pipeline

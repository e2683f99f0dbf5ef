#include "tautline/pipeline/voltages/measure_gains.h"

#include <string>

#include "tautline/core/error.h"
#include "tautline/core/requantise.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/gains.h"

namespace tautline::pipeline {

using stages::channelize::Output;

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
                             sequence.block_bytes(samples) +
                             PowerMeter::bytes(engine.inputs(), engine.channels());
  if (needed > memory_bytes)
    throw core::Error(core::ErrorKind::memory, "memory",
                      std::to_string(needed >> 10) + " KiB needed to measure gains",
                      "at most " + std::to_string(memory_bytes >> 10) + " KiB",
                      "raise `memory_bytes` or lower `channels`, or set `requantise` to off");
  PowerMeter meter(engine.inputs(), engine.channels());
  std::uint64_t measured = 0;
  core::RawBlock block;
  stream::Segment segment;
  const auto wanted = [&] {
    const bool between = measured > 0 && measured % kGainSpectra == 0;
    return !between || (!meter.every_input() && measured < kMostGainPeriods * kGainSpectra);
  };
  while (wanted() && sequence.read(samples, block, segment) > 0) {
    require_running(stop);
    if (segment.first_block) engine.begin_segment(segment.start);
    engine.push(queue, block);
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

#include "tautline/pipeline/measure_gains.h"

#include "tautline/core/requantise.h"
#include "tautline/pipeline/block_size.h"
#include "tautline/pipeline/gains.h"

namespace tautline::pipeline {

using stages::channelize::Output;

std::vector<float> measure_gains(const std::vector<std::string>& files,
                                 const stream::SequenceOptions& options, FilterConfig filter,
                                 std::shared_ptr<const device::Device> device, device::Queue& queue,
                                 std::size_t memory_bytes) {
  const double target =
      filter.output == Output::turned_ci4 ? core::kRequantise4Rms : core::kRequantise8Rms;
  filter.output = Output::spectra_float;
  stream::VoltageSequence sequence(files, options);
  const std::size_t samples = choose_block_samples(sequence, filter, memory_bytes);
  FEngine engine(device, sequence.description(), sequence.layout(samples), filter, samples);
  PowerMeter meter(engine.inputs(), engine.channels());
  std::uint64_t measured = 0;
  core::RawBlock block;
  stream::Segment segment;
  while (measured < kGainSpectra && sequence.read(samples, block, segment) > 0) {
    if (segment.first_block) engine.begin_segment(segment.start);
    engine.push(queue, block);
    for (;;) {
      const SpectraChunk chunk = engine.take(queue, kGainSpectra - measured);
      if (chunk.spectra == 0) break;
      meter.add(queue, chunk.cf32, chunk.valid, chunk.spectra);
      measured += chunk.spectra;
    }
  }
  return meter.gains(target);
}

}  // namespace tautline::pipeline

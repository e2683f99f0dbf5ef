#include "tautline/pipeline/voltages/channelize_voltages.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/device_memory.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/voltages/block_reader.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/frequencies.h"
#include "tautline/pipeline/voltages/measure_gains.h"
#include "tautline/pipeline/voltages/voltage_sink.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// What the output's own format has no room for, beside it as OUTPUT.json.
std::string record(const ChannelizeConfig& config, const device::Device& device,
                   const core::VoltageDescription& description, const ChannelizeSummary& s,
                   const std::vector<float>& gains) {
  nlohmann::ordered_json object{{"schema", "tautline.channelize.record"},
                                {"version", 1},
                                {"history", config.history},
                                {"device", device.name()},
                                {"kernels", s.backend},
                                {"inputs", config.inputs},
                                {"samples", s.samples},
                                {"spectra", s.spectra},
                                {"invalid_spectra", s.invalid_spectra},
                                {"lost_samples", s.damage.lost_samples},
                                {"dropped_samples", s.damage.dropped_samples},
                                {"clipped", s.clipped},
                                {"not_finite", s.not_finite},
                                {"channel_hz", channel_frequencies_hz(description, s.channels)}};
  // [channel][input]: what the voltages were multiplied by before they were rounded.
  for (std::size_t c = 0; c * s.inputs < gains.size(); ++c)
    object["requantisation_gains"].push_back(
        std::vector<float>(gains.begin() + static_cast<std::ptrdiff_t>(c * s.inputs),
                           gains.begin() + static_cast<std::ptrdiff_t>((c + 1) * s.inputs)));
  return object.dump(1) + "\n";
}

void check_memory(std::size_t needed, std::size_t limit) {
  if (needed <= limit) return;
  throw Error(ErrorKind::memory, "memory", std::to_string(needed >> 10) + " KiB needed",
              "at most " + std::to_string(limit >> 10) + " KiB",
              "raise `memory_bytes` or lower `channels`");
}

std::uint64_t count_invalid(const SpectraChunk& chunk, std::size_t inputs) {
  if (chunk.valid.empty()) return 0;
  std::uint64_t invalid = 0;
  for (std::size_t i = 0; i < inputs; ++i)
    invalid += chunk.spectra - core::count_valid(chunk.valid.row(i), 0, chunk.spectra);
  return invalid;
}

// An output without a single time is a mistake, not a result.
void require_some(const ChannelizeConfig& config, const ChannelizeSummary& s,
                  std::size_t span_samples) {
  if (s.spectra == 0)
    throw Error(ErrorKind::format, config.inputs.front() + ": samples", std::to_string(s.samples),
                std::to_string(span_samples) + " at least, one spectrum",
                "give a longer stream, or fewer `channels` or `taps`");
  if (s.written == 0)
    throw Error(ErrorKind::format, config.inputs.front() + ": spectra", std::to_string(s.spectra),
                std::to_string(config.integrate) + " at least, one power sample",
                "give a longer stream, or a smaller `integrate`");
}

}  // namespace

ChannelizeSummary channelize_voltages(const ChannelizeConfig& config,
                                      std::shared_ptr<const device::Device> device,
                                      const ProgressCallback& progress, std::stop_token stop) {
  core::check(config);
  ProgressReporter reporter(progress);
  const stream::SequenceOptions options{config.reader, config.start_s, config.duration_s};
  stream::VoltageSequence sequence(config.inputs, options);
  const core::VoltageDescription& description = sequence.description();
  if (description.channelized())
    throw Error(ErrorKind::unsupported, config.inputs.front(),
                std::to_string(description.channels) + " channels already",
                "voltages that are not channelized");
  if (config.opened) config.opened(description);
  FilterConfig filter = config.filter;
  filter.output = form_wanted(config);
  const std::size_t block_samples = choose_block_samples(sequence, filter, config.memory_bytes);
  FEngine engine(device, description, sequence.layout(block_samples), filter, block_samples);
  check_memory(engine.bytes().host_bytes + kRawBlocks * sequence.block_bytes(block_samples),
               config.memory_bytes);
  const StageMemory stages[] = {{"unpack and channelize", engine.bytes().device_bytes}};
  require_device_memory(*device, stages, engine.inputs(), engine.channels());
  const auto queue = device->make_queue();
  std::vector<float> gains;
  if (filter.output == stages::channelize::Output::corner_turned_ci8 ||
      filter.output == stages::channelize::Output::corner_turned_ci4) {
    // Always on the host, so that they do not depend on the device.
    const auto host = device->compiles() ? device::open({}) : device;
    gains = measure_gains(config.inputs, options, filter, host, *host->make_queue(),
                          config.memory_bytes, stop);
    engine.set_gains(gains);
  }

  SinkDescription output{description, engine.channels(), engine.hop_samples(),
                         engine.span_samples(), 0};
  if (sequence.total_samples() >= engine.span_samples())
    output.spectra = (sequence.total_samples() - engine.span_samples()) / engine.hop_samples() + 1;
  const auto sink = make_voltage_sink(config, output);

  formats::PartialFile beside(config.output + ".json", config.overwrite);
  ChannelizeSummary s;
  BlockReader blocks(sequence, block_samples, stop);
  while (const ReadBlock* block = blocks.next()) {
    if (block->segment.first_block) {
      if (block->segment.index > 0)
        throw Error(ErrorKind::format, "inputs", "a gap between the files",
                    "one unbroken stream, since the output has one start time",
                    "channelize each piece on its own");
      engine.begin_segment(block->segment.start);
    }
    engine.push(*queue, block->raw);
    for (;;) {
      const SpectraChunk chunk = engine.take(*queue, engine.max_spectra());
      if (chunk.spectra == 0) break;
      require_running(stop);
      sink->write(chunk);
      s.spectra += chunk.spectra;
      s.invalid_spectra += count_invalid(chunk, engine.inputs());
    }
    s.samples += block->raw.samples;
    blocks.release();
    s.elapsed_s = reporter.elapsed_s();
    s.stream_s = static_cast<double>(s.samples) / description.rate_hz.value();
    reporter.report(s.samples, sequence.total_samples(), s.stream_s);
  }
  s.written = sink->written();
  require_some(config, s, engine.span_samples());
  sink->finish();
  s.inputs = engine.inputs();
  s.channels = engine.channels();
  for (const std::uint64_t clipped : engine.clipped(*queue)) s.clipped += clipped;
  s.not_finite = engine.not_finite();
  s.damage = sequence.damage();
  s.backend = engine.backend();
  beside.write(record(config, *device, description, s, gains));
  beside.finish();
  return s;
}

}  // namespace tautline::pipeline

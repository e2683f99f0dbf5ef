#include "tautline/pipeline/photons/curve_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tautline/core/byte_text.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/gpu_block_bytes.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// Bytes read at a time: large beside a state's levels, so that these rarely leave the caches, and small beside the rest
// of the memory. A GPU takes counts as fast as many threads read them; long reads keep these threads busy.
std::size_t most_block_bytes(const device::Device& device) {
  return device.compiles() ? kGpuBlock_bytes : std::size_t{16} << 20;
}

std::size_t block_bytes(const AutocorrelateConfig& config, const device::Device& device) {
  return std::min(most_block_bytes(device), config.memory_bytes / 8);
}

bool kept(const AutocorrelateConfig& config) {
  return !config.save_state.empty() || !config.resume.empty();
}

CurveStreamConfig stream_config(const AutocorrelateConfig& config, const engine::Stream& input,
                                const StateFile* state) {
  const auto& counts = input.detail<CountStream>();
  const SensorMap& map = *counts.sensors;
  CurveStreamConfig stream{
      .stage = {.sensors = map.sensors().size(),
                .lag_scheme = config.lag_scheme,
                .bins = config.bins,
                .levels = config.levels,
                .coarsening = config.coarsening,
                .type = map.type_of_sums(counts.description.type),
                .pairs = map.pairs(),
                .max_samples = state != nullptr ? state->block_samples() : counts.block_samples},
      .normalization = config.normalization,
      .segments = config.segments,
      .detrend = config.detrend,
      .open_ended = counts.live || kept(config)};
  // The state of a file's part plans for the rest of the file. The duration of a stream is not planned for, since the
  // stream may end earlier.
  if (!counts.live) stream.planned_samples = kept(config) ? counts.rest : input.total_samples;
  if (config.window_s == 0 && !kept(config)) {
    stream.stops = counts.stops;
    stream.stops.insert(stream.stops.end(), counts.breaks.begin(), counts.breaks.end());
    join_ranges(stream.stops);
    stream.more_stops = counts.live && (input.kind == "photons" || counts.loses);
  }
  if (config.window_s > 0)
    stream.window = steps_of_window(
        stream.stage,
        static_cast<std::uint64_t>(std::llround(std::min(config.window_s / counts.bin_s, 1e18))));
  return stream;
}

// Blocks and the buffer of live input are shorter where there is little memory: the size that messages advise has space
// for whole ones.
void require_memory(const AutocorrelateConfig& config, const engine::Stream& input,
                    const device::Device& device, std::size_t needed,
                    std::size_t without_segments) {
  if (needed <= config.memory_bytes) return;
  const auto& counts = input.detail<CountStream>();
  const bool live = counts.live;
  AutocorrelateConfig ample = config;
  ample.memory_bytes = std::numeric_limits<std::size_t>::max();
  std::size_t more = kCountBlocks * (block_bytes(ample, device) - block_bytes(config, device));
  if (live) more += live_buffer_bytes(ample) - live_buffer_bytes(config);
  const auto mebibytes = [](std::size_t bytes) { return std::to_string((bytes >> 20) + 1); };
  std::string advice = "give `memory_bytes` " + mebibytes(needed + more) + "M";
  const bool of_memory = counts.description.format.empty();
  if (const std::size_t sensors = counts.description.sensors;
      (of_memory || counts.description.format == "NPY") && counts.description.rows == 0 &&
      sensors > input.total_samples)
    advice = fmt::format(
                 "these are {} of {}, [time][sensor]: an array of [sensor][time] "
                 "has to be transposed, {}; else ",
                 core::counted(sensors, "sensor"), core::counted(input.total_samples, "sample"),
                 of_memory ? "x.T" : "numpy.save(\"x.npy\", x.T)") +
             advice;
  if (without_segments < needed)
    advice += ", or `segments` 1 (no standard errors), which needs " +
              mebibytes(without_segments + more) + " MiB";
  throw Error(ErrorKind::memory, "memory", mebibytes(needed) + " MiB needed",
              "at most " + core::byte_text(config.memory_bytes),
              advice + ", or take fewer sensors, pairs or levels");
}

void check_memory(const AutocorrelateConfig& config, const engine::Stream& input,
                  const device::Device& device, const CurvePlan& curves) {
  const auto& counts = input.detail<CountStream>();
  const std::size_t buffer = counts.live ? live_buffer_bytes(config) : 0;
  // The state as it is written, and as it is read.
  const std::size_t copies = kept(config) ? 2 : 1;
  const std::size_t rows =
      input.arrays.empty() ? 0 : kCountBlocks * curves.stream.stage.max_samples * counts.row_bytes;
  const auto needed = [&](const CurveStreamConfig& one) {
    return copies * CurveStream::bytes(one, *curves.plan) + buffer + rows;
  };
  CurveStreamConfig without_segments = curves.stream;
  without_segments.segments = 1;
  without_segments.detrend = false;
  require_memory(config, input, device, needed(curves.stream), needed(without_segments));
}

}  // namespace

std::size_t count_block_samples(const AutocorrelateConfig& config, const CountInput& input,
                                const device::Device& device) {
  std::size_t bytes = block_bytes(config, device);
  if (device.compiles() && !input.live())
    bytes = std::min(bytes, gpu_block_bytes(input.samples * input.row_bytes()));
  return std::max<std::size_t>(1, bytes / input.row_bytes());
}

void check_curve_settings(const AutocorrelateConfig& config) {
  if (config.window_s > 0 && kept(config))
    throw Error(ErrorKind::unsupported, "window_s", "given with `save_state` or `resume`",
                "runs that are in one part", "leave one of them out");
  if (!config.detrend) return;
  if (config.segments < 2)
    throw Error(ErrorKind::config, "detrend", core::counted(config.segments, "segment"),
                "2 or more `segments`, between which the mean may change");
  if (config.normalization != core::Normalization::symmetric)
    throw Error(ErrorKind::config, "detrend",
                std::string("with `normalization` ") + core::to_string(config.normalization),
                "`normalization` symmetric, whose means it takes segment by segment",
                "leave one of them out");
}

CurvePlan plan_curves(const AutocorrelateConfig& config, const engine::Stream& input,
                      const StateFile* state, const std::shared_ptr<const device::Device>& device) {
  input.detail<CountStream>();  // refuses other kinds
  const bool photons = input.kind == "photons";
  if (photons && config.coarsening != stages::autocorrelate::Coarsening::sum)
    throw Error(ErrorKind::config, "coarsening", "given for photons that come one by one", "sum",
                "give their source `tag_method` bins");
  CurvePlan curves{stream_config(config, input, state), {}};
  curves.plan = photons ? stages::autocorrelate::make_tag_plan(curves.stream.stage)
                        : stages::autocorrelate::make_plan(curves.stream.stage, device);
  check_memory(config, input, *device, curves);
  return curves;
}

}  // namespace tautline::pipeline

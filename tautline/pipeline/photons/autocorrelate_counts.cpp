#include "tautline/pipeline/photons/autocorrelate_counts.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/engine/run.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/photons/curve_output.h"
#include "tautline/pipeline/photons/curve_sink_node.h"
#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// Bytes read at a time: large beside a state's levels, so that those are seldom left and entered
// again, and small beside everything else.
constexpr std::size_t kBlockBytes = std::size_t{16} << 20;
// Blocks of counts that a run has.
constexpr std::size_t kBlocks = 3;

void check_detrending(const AutocorrelateConfig& config) {
  if (!config.detrend) return;
  if (config.segments < 2)
    throw Error(ErrorKind::config, "detrend", std::to_string(config.segments) + " segments",
                "2 or more `segments`, between which the mean may change");
  if (config.normalization != core::Normalization::symmetric)
    throw Error(ErrorKind::config, "detrend",
                std::string("with `normalization` ") + core::to_string(config.normalization),
                "`normalization` symmetric, whose means it takes segment by segment",
                "leave one of them out");
}

void check_fields(const AutocorrelateConfig& config) {
  core::check(config);
  // Refused now rather than after the work.
  if (!config.save_state.empty()) formats::PartialPath(config.save_state, config.overwrite);
}

// How the input is correlated, and cut into blocks.
CurveStreamConfig stream_config(const AutocorrelateConfig& config, const CountInput& input,
                                const StateFile* state) {
  const SensorMap& map = *input.sensors;
  const bool kept = !config.save_state.empty() || !config.resume.empty();
  CurveStreamConfig stream{.stage = {.sensors = map.sensors().size(),
                                     .lag_scheme = config.lag_scheme,
                                     .bins = config.bins,
                                     .levels = config.levels,
                                     .coarsening = config.coarsening,
                                     .type = map.type_of_sums(input.description.type),
                                     .pairs = map.pairs()},
                           .normalization = config.normalization,
                           .segments = config.segments,
                           .detrend = config.detrend,
                           .open_ended = input.live() || kept};
  stream.stage.max_samples =
      state != nullptr ? state->block_samples()
                       : std::max<std::size_t>(
                             1, std::min(kBlockBytes, config.memory_bytes / 8) / input.row_bytes());
  // The state of a file's part plans for the rest of the file. What was asked for of a stream need not come: nothing is
  // planned by it.
  if (!input.live())
    stream.planned_samples = kept ? input.file->total_samples() - input.first : input.samples;
  return stream;
}

// Blocks and the buffer of live input are shorter where there is little memory: what is advised has
// room for whole ones.
void require_memory(const AutocorrelateConfig& config, bool live, std::size_t needed,
                    std::size_t without_segments) {
  if (needed <= config.memory_bytes) return;
  AutocorrelateConfig ample = config;
  ample.memory_bytes = std::numeric_limits<std::size_t>::max();
  std::size_t more = kBlocks * (kBlockBytes - std::min(kBlockBytes, config.memory_bytes / 8));
  if (live) more += live_buffer_bytes(ample) - live_buffer_bytes(config);
  const auto mebibytes = [](std::size_t bytes) { return std::to_string((bytes >> 20) + 1); };
  std::string advice = "give `memory_bytes` " + mebibytes(needed + more) + "M";
  if (without_segments < needed)
    advice += ", or `segments` 1 (no standard errors), which needs " +
              mebibytes(without_segments + more) + " MiB";
  throw Error(ErrorKind::memory, "memory", mebibytes(needed) + " MiB needed",
              "at most " + std::to_string(config.memory_bytes >> 20) + " MiB",
              advice + ", or take fewer sensors, pairs or levels");
}

void check_memory(const AutocorrelateConfig& config, const CountInput& input,
                  const CurveStreamConfig& stream, const stages::autocorrelate::Plan& plan) {
  const std::size_t buffer = input.live() ? live_buffer_bytes(config) : 0;
  // The state as it is written, and as it is read.
  const std::size_t copies = config.save_state.empty() && config.resume.empty() ? 1 : 2;
  const std::size_t rows =
      input.photons != nullptr ? 0 : kBlocks * stream.stage.max_samples * input.row_bytes();
  const auto needed = [&](const CurveStreamConfig& one) {
    return copies * CurveStream::bytes(one, plan) + buffer + rows;
  };
  CurveStreamConfig without_segments = stream;
  without_segments.segments = 1;
  without_segments.detrend = false;
  require_memory(config, input.live(), needed(stream), needed(without_segments));
}

struct CountGraph {
  engine::Graph graph;
  core::Rational rate_hz;
};

/// counts --> curves --> output.
CountGraph graph_of(const AutocorrelateConfig& config,
                    const std::shared_ptr<const device::Device>& device,
                    const std::stop_token& stop) {
  check_detrending(config);
  // Before anything is waited for.
  std::unique_ptr<StateFile> state;
  if (!config.resume.empty())
    state = std::make_unique<StateFile>(config.resume, config.memory_bytes);
  CountInput input = open_count_input(config, *device, stop);
  if (!config.output.empty()) check_curve_count(config, input.sensors->good_curves());
  const CurveStreamConfig stream = stream_config(config, input, state.get());
  std::shared_ptr<const stages::autocorrelate::Plan> plan;
  if (input.photons != nullptr) {
    plan = stages::autocorrelate::make_tag_plan(stream.stage);
  } else {
    plan = stages::autocorrelate::make_plan(stream.stage, device);
  }
  check_memory(config, input, stream, *plan);
  // A short file takes short blocks.
  const auto block_samples = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(input.samples, 1, stream.stage.max_samples));
  CountGraph result{{}, rate_of_bins(input.bin_s)};
  engine::Graph& graph = result.graph;
  const auto counts = graph.add("counts", make_count_source(std::move(input), block_samples, stop));
  const auto curves = graph.add(
      "curves", make_curve_node(config, stream, std::move(plan), device, std::move(state)));
  const auto output = graph.add("output", std::make_unique<CurveSink>(config, device->name()));
  graph.set_lane(curves, device->name());
  graph.connect(counts, curves, {.depth = kBlocks - 1});
  graph.connect(curves, output, {.depth = 1});
  return result;
}

/// The last snapshot of a run, which is written.
CurveSnapshot run_graph(const AutocorrelateConfig& config,
                        const std::shared_ptr<const device::Device>& device,
                        const ProgressCallback& progress, const std::stop_token& stop) {
  ProgressReporter reporter(progress);
  CountGraph counts = graph_of(config, device, stop);
  engine::Run run(std::move(counts.graph), run_options(reporter, counts.rate_hz));
  run.go(stop);
  CurveSnapshot last = std::move(dynamic_cast<CurveSink&>(run.node("output")).last());
  last.summary.profile = run.profile();
  last.summary.elapsed_s = reporter.elapsed_s();
  return last;
}

}  // namespace

core::CorrelationCurves correlate_counts(const AutocorrelateConfig& config,
                                         std::shared_ptr<const device::Device> device,
                                         AutocorrelateSummary& summary,
                                         const ProgressCallback& progress, std::stop_token stop) {
  check_fields(config);
  AutocorrelateConfig own = config;
  own.output.clear();
  own.every_s = 0;
  CurveSnapshot last = run_graph(own, device, progress, stop);
  summary = std::move(last.summary);
  return std::move(last.curves);
}

AutocorrelateSummary autocorrelate_counts(const AutocorrelateConfig& config,
                                          std::shared_ptr<const device::Device> device,
                                          const ProgressCallback& progress, std::stop_token stop) {
  check_fields(config);
  check_curve_output(config);
  return run_graph(config, device, progress, stop).summary;
}

}  // namespace tautline::pipeline

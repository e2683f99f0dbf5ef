#include "tautline/pipeline/photons/autocorrelate_counts.h"

#include <memory>
#include <utility>

#include "tautline/engine/run.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/photons/curve_output.h"
#include "tautline/pipeline/photons/curve_plan.h"
#include "tautline/pipeline/photons/curve_sink_node.h"

namespace tautline::pipeline {

namespace {

void check_fields(const AutocorrelateConfig& config) {
  core::check(config);
  // Refused before the work.
  if (!config.save_state.empty()) formats::PartialPath(config.save_state, config.overwrite);
}

struct CountGraph {
  engine::Graph graph;
  core::Rational rate_hz;
};

/// counts --> curves --> output.
CountGraph graph_of(const AutocorrelateConfig& config,
                    const std::shared_ptr<const device::Device>& device,
                    const std::stop_token& stop) {
  check_curve_settings(config);
  // Before waiting for input.
  std::unique_ptr<StateFile> state;
  if (!config.resume.empty())
    state = std::make_unique<StateFile>(config.resume, config.memory_bytes);
  CountInput input = open_count_input(config, *device, stop);
  const std::size_t block_samples =
      state != nullptr ? state->block_samples() : count_block_samples(config, input, *device);
  CountGraph result{{}, rate_of_bins(input.bin_s)};
  engine::Graph& graph = result.graph;
  const auto counts =
      graph.add("counts", make_count_source(std::move(input), block_samples,
                                            config.samples_on_device ? device : nullptr));
  const auto curves = graph.add("curves", make_curve_node(config, device, std::move(state)));
  const auto output = graph.add(
      "output", std::make_unique<CurveSink>(CurveSinkConfig{.output = config.output,
                                                            .save_state = config.save_state,
                                                            .overwrite = config.overwrite,
                                                            .history = config.history,
                                                            .log = config.log}));
  graph.set_lane(curves, device->name());
  graph.connect(counts, curves, {.depth = kCountBlocks - 1});
  graph.connect(curves, output, {.depth = 1});
  return result;
}

/// The last snapshot of a run, which is written.
CurveSnapshot run_graph(const AutocorrelateConfig& config,
                        const std::shared_ptr<const device::Device>& device,
                        const ProgressCallback& progress, const std::stop_token& stop) {
  ProgressReporter reporter(progress);
  CountGraph counts = graph_of(config, device, stop);
  WatchedRun run(std::move(counts.graph), run_options(reporter, counts.rate_hz), config.watch,
                 {"curves"});
  run.go(stop);
  CurveSnapshot last = std::move(dynamic_cast<CurveSink&>(run->node("output")).last());
  last.summary.profile = run->profile();
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
  check_curve_output(config.output, config.overwrite);
  return run_graph(config, device, progress, stop).summary;
}

}  // namespace tautline::pipeline

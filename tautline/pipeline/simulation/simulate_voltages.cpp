#include "tautline/pipeline/simulation/simulate_voltages.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/requantise.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/simulation/output_node.h"
#include "tautline/pipeline/simulation/simulated_voltages.h"
#include "tautline/pipeline/simulation/truth.h"
#include "tautline/pipeline/simulation/truth_name.h"
#include "tautline/pipeline/simulation/voltage_writers.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

simulation::Sampling sampling_of(const SimulateConfig& config) {
  simulation::Sampling sampling{config.duration_s, config.real, config.bits,
                                core::requantise_limit(config.bits), config.seed};
  if (config.format == SimulateFormat::mwa32t) {
    if (config.bits != 8 && config.bits != 4)
      throw Error(ErrorKind::config, "`format` mwa32t", fmt::format("`bits` {}", config.bits),
                  "8 (two-byte mode, 5 bits) or 4 (one-byte mode)");
    // The receivers' writer takes bytes and packs them itself.
    sampling.bits = 8;
    sampling.limit = simulation::mwa32t_limit(config.bits == 4);
  }
  return sampling;
}

// The size of all files together, at most: files of receivers leave gaps out.
double output_bytes(const SimulateConfig& config, const formats::scene::Scene& scene,
                    std::size_t inputs) {
  // Real samples are two a hertz of one component each, complex ones one of two.
  const double components = 2 * scene.bandwidth_hz.value() * config.duration_s;
  return components * static_cast<double>(inputs) * (config.bits / 8.0);
}

}  // namespace

std::string truth_path(const std::string& output) {
  return simulation::truth_name(output, {".dada"});
}

SimulateSummary simulate_voltages(const SimulateConfig& config, const ProgressCallback& progress,
                                  std::stop_token stop) {
  if (config.array_path.empty())
    throw Error(ErrorKind::config, "array_path", "missing", "an array.toml");
  if (config.scene_path.empty())
    throw Error(ErrorKind::config, "scene_path", "missing", "a scene.toml");
  return simulate_voltages(config, formats::read_array_layout(config.array_path),
                           formats::scene::read_scene(config.scene_path), progress,
                           std::move(stop));
}

SimulateSummary simulate_voltages(const SimulateConfig& config, const formats::ArrayLayout& array,
                                  const formats::scene::Scene& scene,
                                  const ProgressCallback& progress, std::stop_token stop) {
  core::check(config);
  // Before the plan: its tracks of sources grow with the duration, too.
  simulation::require_room(config.output, output_bytes(config, scene, array.inputs.size()));
  ProgressReporter reporter(progress);
  const auto plan =
      std::make_shared<const simulation::SimulationPlan>(scene, array, sampling_of(config));
  const bool dada = config.format == SimulateFormat::dada;
  SimulateSummary summary;
  summary.files =
      dada ? std::vector{config.output} : simulation::mwa32t_files(*plan, config.output);
  summary.truth_path = truth_path(config.output);
  const simulation::BlockCut cut = simulation::choose_cut(
      *plan, {.threads = config.threads, .memory_bytes = config.memory_bytes});
  simulation::refuse_existing(summary.truth_path, config.output, config.overwrite);

  auto voltages = std::make_unique<simulation::SimulatedVoltages>(plan, cut);
  const simulation::SimulatedVoltages& made = *voltages;  // the run's
  auto source = std::make_unique<VoltageSourceNode>(
      std::make_shared<stream::PeekedVoltages>(std::move(voltages)), /*keep_constant=*/true);
  source->set_block_samples(made.block_samples());
  const auto truth = [&] {
    return simulation::truth_json(*plan, {made.clipped(), summary.files, config.history});
  };
  const auto make_writer = [&] {
    return dada ? simulation::make_dada_writer(*plan, config.output, config.overwrite)
                : simulation::make_mwa32t_writer(*plan, summary.files, config.bits == 4,
                                                 config.overwrite);
  };
  engine::Graph graph;
  const engine::NodeId from = graph.add("voltages", std::move(source));
  graph.connect(
      from,
      graph.add("files", std::make_unique<simulation::OutputNode>(
                             simulation::TruthOutput{summary.truth_path, config.overwrite, truth},
                             make_writer)),
      {.depth = 1});
  engine::Run run(std::move(graph), run_options(reporter, plan->rate_hz));
  run.go(stop);

  summary.inputs = plan->inputs();
  summary.samples = plan->samples;
  for (const std::uint64_t clipped : made.clipped()) summary.clipped += clipped;
  summary.elapsed_s = reporter.elapsed_s();
  summary.stream_s = static_cast<double>(plan->samples) / plan->rate_hz.value();
  summary.memory_bytes = run.bytes().host_bytes;
  summary.profile = run.profile();
  return summary;
}

}  // namespace tautline::pipeline

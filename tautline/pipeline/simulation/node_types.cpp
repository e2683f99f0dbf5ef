#include "tautline/pipeline/simulation/node_types.h"

#include <algorithm>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/exact_double.h"
#include "tautline/core/requantise.h"
#include "tautline/pipeline/search/filterbank_input.h"
#include "tautline/pipeline/simulation/simulate_filterbank.h"
#include "tautline/pipeline/simulation/simulate_voltages_config.h"
#include "tautline/pipeline/simulation/simulated_voltages.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"

namespace tautline::pipeline {

namespace {

constexpr auto of_base = [](auto& config) -> auto& {
  return config;
};

constexpr std::size_t kSimulatedBlockBytes = std::size_t{16} << 20;

}  // namespace

struct VoltageScene : SimulateConfig {
  bool keep_constant = false;
};
const core::Fields<VoltageScene>& fields(const VoltageScene&) {
  static const auto all =
      core::Fields<VoltageScene>()
          .include("", of_base,
                   some_of<VoltageScene>(
                       fields_of<SimulateConfig>(),
                       {"array_path", "scene_path", "duration_s", "bits", "real", "seed"}))
          .add({.name = "keep_constant",
                .help = "take stretches in which an input never changes for data"},
               &VoltageScene::keep_constant);
  return all;
}

struct FilterbankNoise : SimulateFilterbankConfig {
  FilterbankNoise() {
    constexpr double kStartMjd = 60000;
    scene.start = core::instant_of_mjd(kStartMjd);
  }
  bool keep_constant = false;
};
const core::Fields<FilterbankNoise>& fields(const FilterbankNoise&) {
  static const auto all =
      core::Fields<FilterbankNoise>()
          .include("", of_base,
                   some_of<FilterbankNoise>(
                       fields_of<SimulateFilterbankConfig>(),
                       {"scene.", "random_pulses", "dm_constant", "duration_s", "seed"}))
          .add({.name = "keep_constant",
                .help = "take stretches and channels that never change for data"},
               &FilterbankNoise::keep_constant);
  return all;
}

namespace {

std::unique_ptr<engine::Node> make_simulated_voltages(const VoltageScene& config,
                                                      const NodeContext& context) {
  for (const auto& [field, path] :
       {std::pair{"array_path", config.array_path}, {"scene_path", config.scene_path}})
    if (path.empty())
      throw core::Error(core::ErrorKind::config, field, "not given", "a .toml file");
  const auto plan = std::make_shared<const simulation::SimulationPlan>(
      formats::scene::read_scene(config.scene_path), formats::read_array_layout(config.array_path),
      simulation::Sampling{config.duration_s, config.real, config.bits,
                           core::requantise_limit(config.bits), config.seed});
  constexpr std::size_t kShare = 4, kBlocks = 4;
  auto voltages = std::make_unique<simulation::SimulatedVoltages>(
      plan, simulation::choose_cut(*plan, {.threads = context.threads,
                                           .blocks = kBlocks,
                                           .block_bytes = kSimulatedBlockBytes,
                                           .memory_bytes = context.memory_bytes / kShare}));
  const std::size_t samples = voltages->block_samples();
  auto node = std::make_unique<VoltageSourceNode>(
      std::make_shared<stream::PeekedVoltages>(std::move(voltages)), config.keep_constant);
  node->set_block_samples(samples);
  return node;
}

std::unique_ptr<engine::Node> make_simulated_filterbank(const FilterbankNoise& config,
                                                        const NodeContext& context) {
  SimulateFilterbankConfig simulated = config;
  simulated.threads = context.threads;
  FilterbankRunConfig read;
  read.inputs = {"simulated filterbank"};
  read.keep_constant = config.keep_constant;
  read.reader.source = [simulated] { return open_simulated_filterbank(simulated); };
  auto source =
      make_filterbank_source(open_filterbanks(read, false, false, *context.devices.front()), 1);
  const formats::FilterbankDescription& made = source->stream().description();
  const std::uint64_t samples =
      std::max<std::size_t>(1, kSimulatedBlockBytes / made.sample_bytes());
  source->read_for(source->stream().parts,
                   static_cast<std::size_t>(std::min(samples, made.samples)));
  return source;
}

}  // namespace

std::vector<NodeType> simulation_node_types() {
  return {node_type<VoltageScene>("simulated_voltages",
                                  "what an array hears of a sky, as simulate voltages makes it", 0,
                                  make_simulated_voltages)
              .reading({"array_path", "scene_path"}),
          node_type<FilterbankNoise>("simulated_filterbank",
                                     "noise with dispersed pulses, as simulate filterbank makes it",
                                     0, make_simulated_filterbank)
              .drawn_live()};
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/tune_stage.h"

#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/measure_autocorrelate.h"
#include "tautline/pipeline/measure_dedisperse.h"
#include "tautline/stages/autocorrelate/tune.h"
#include "tautline/stages/channelize/tune.h"
#include "tautline/stages/correlate/tune.h"
#include "tautline/stages/dedisperse/tune.h"

namespace tautline::pipeline {

namespace {

using DevicePointer = std::shared_ptr<const device::Device>;

struct Stage {
  std::string name;
  Problem defaults;
  jit::Tunable (*make)(const Problem&, DevicePointer);
};

jit::Tunable make_correlate(const Problem& sizes, DevicePointer device) {
  stages::correlate::Config config;
  config.inputs = sizes.at("inputs");
  config.channels = sizes.at("channels");
  config.max_samples = sizes.at("samples");
  config.hold_sums = sizes.at("held") != 0;
  config.format = complex_format("correlate", sizes.at("bits"), sizes.at("half"));
  return stages::correlate::make_tunable(config, std::move(device));
}

jit::Tunable make_channelize(const Problem& sizes, DevicePointer device) {
  using stages::channelize::Output;
  const std::size_t out_bits = sizes.at("output_bits");
  if (out_bits != 4 && out_bits != 8 && out_bits != 32)
    throw core::Error(core::ErrorKind::config, "`problem` of channelize: output_bits",
                      std::to_string(out_bits),
                      "4, 8 (turned and requantised) or 32 (float spectra)");
  stages::channelize::Config config;
  config.inputs = sizes.at("inputs");
  config.channels = sizes.at("channels");
  config.taps = sizes.at("taps");
  config.input = complex_format("channelize", sizes.at("bits"));
  config.output = out_bits == 8   ? Output::turned_ci8
                  : out_bits == 4 ? Output::turned_ci4
                                  : Output::spectra_float;
  config.max_samples = sizes.at("spectra") * config.hop_samples();
  return stages::channelize::make_tunable(config, std::move(device));
}

jit::Tunable make_dedisperse(const Problem& sizes, DevicePointer device) {
  return stages::dedisperse::make_tunable(dedisperse_config(sizes), std::move(device));
}

jit::Tunable make_autocorrelate(const Problem& sizes, DevicePointer device) {
  return stages::autocorrelate::make_tunable(autocorrelate_config(sizes), std::move(device));
}

const std::vector<Stage>& stages() {
  static const std::vector<Stage> list{{"autocorrelate",
                                        {{"sensors", 1024},
                                         {"bins", 32},
                                         {"levels", 10},
                                         {"samples", 262144},
                                         {"bits", 8},
                                         {"float", 0},
                                         {"standard", 0}},
                                        make_autocorrelate},
                                       {"channelize",
                                        {{"inputs", 8},
                                         {"channels", 1024},
                                         {"taps", 8},
                                         {"spectra", 8192},
                                         {"bits", 8},
                                         {"output_bits", 8}},
                                        make_channelize},
                                       {"correlate",
                                        {{"inputs", 512},
                                         {"channels", 240},
                                         {"samples", 3072},
                                         {"bits", 8},
                                         {"half", 0},
                                         {"held", 0}},
                                        make_correlate},
                                       {"dedisperse",
                                        {{"channels", 1024},
                                         {"trials", 2000},
                                         {"samples", 20000},
                                         {"bits", 8},
                                         {"top_khz", 1719854},
                                         {"width_hz", 292969},
                                         {"rate_hz", 20000},
                                         {"step_millidm", 250}},
                                        make_dedisperse}};
  return list;
}

const Stage& find_stage(const std::string& name) {
  std::string names;
  for (const Stage& stage : stages()) {
    if (stage.name == name) return stage;
    names += (names.empty() ? "" : " or ") + stage.name;
  }
  throw core::Error(core::ErrorKind::config, "stage to tune", name, names);
}

}  // namespace

std::vector<std::string> tunable_stages() {
  std::vector<std::string> names;
  for (const Stage& stage : stages()) names.push_back(stage.name);
  return names;
}

std::vector<std::string> tuning_problems(const std::string& stage) {
  find_stage(stage);
  std::vector<std::string> names;
  for (const NamedProblem& problem : named_problems())
    if (problem.stage == stage) names.push_back(problem.name);
  return names;
}

jit::Tunable make_tunable(const std::string& stage, const std::string& problem,
                          DevicePointer device) {
  const Stage& known = find_stage(stage);
  return known.make(complete(stage, known.defaults, parse_problem(stage, problem)),
                    std::move(device));
}

}  // namespace tautline::pipeline

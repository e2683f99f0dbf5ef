#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/channelize/case.h"
#include "tautline/stages/channelize/case_run.h"
#include "tautline/stages/channelize/tunables.h"
#include "tautline/stages/channelize/tune.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
namespace channelize = stages::channelize;

// The default plan, or on GPUs a plan of the design that was asked for, with its defaults.
std::shared_ptr<const channelize::Plan> channelize_plan(const channelize::Config& config,
                                                        std::size_t design,
                                                        const DevicePointer& device) {
  using channelize::GpuDesign;
  if (design == 0) return channelize::make_plan(config, device);
  if (!device->compiles() || design > static_cast<std::size_t>(GpuDesign::separate))
    throw Error(ErrorKind::config, "`problem` of channelize: design", std::to_string(design),
                "1 (fused), 2 (split) or 3 (a filter kernel, then the device's FFT), on a GPU");
  channelize::Tunables tunables;
  tunables.gpu.design = static_cast<GpuDesign>(design);
  return channelize::make_plan(config, device, tunables);
}

// Two numbers with text before, between and after them.
std::optional<std::pair<std::size_t, std::size_t>> take_two(std::string_view text,
                                                            std::string_view before, char between) {
  if (!text.starts_with(before)) return std::nullopt;
  text.remove_prefix(before.size());
  const auto first = take_number(text);
  if (!first || !text.starts_with(between)) return std::nullopt;
  text.remove_prefix(1);
  const auto second = take_number(text);
  if (!second || !text.empty()) return std::nullopt;
  return std::pair(*first, *second);
}

}  // namespace

channelize::Config channelize_config(const Problem& p) {
  using channelize::Output;
  const std::size_t out_bits = p.at("output_bits");
  if (out_bits != 4 && out_bits != 8 && out_bits != 32)
    throw Error(ErrorKind::config, "`problem` of channelize: output_bits", std::to_string(out_bits),
                "4, 8 (corner-turned and requantised) or 32 (floats)");
  channelize::Config config;
  config.inputs = p.at("inputs");
  config.channels = p.at("channels");
  config.taps = p.at("taps");
  config.input = complex_format("channelize", p.at("bits"));
  config.input.complex = p.at("real") == 0;
  config.oversample_numerator = p.at("oversample_numerator");
  config.oversample_denominator = p.at("oversample_denominator");
  config.output = out_bits == 8               ? Output::corner_turned_ci8
                  : out_bits == 4             ? Output::corner_turned_ci4
                  : p.at("corner_turned") > 0 ? Output::corner_turned_float
                                              : Output::spectra_float;
  config.max_samples = p.at("spectra") * config.hop_samples();
  return config;
}

// One call in the middle of a stream.
StageRun set_up_channelize(const Problem& p, const DevicePointer& device) {
  const channelize::Case problem{channelize_config(p), p.at("spectra")};
  const auto& config = problem.config;
  const auto plan = channelize_plan(config, p.at("design"), device);
  require_on_device("channelize", plan->backend(), *device);
  const auto calls = std::make_shared<channelize::CaseRun>(config, device, p.at("delays") != 0);
  calls->use(plan);
  const auto spectra = static_cast<double>(config.inputs * problem.spectra);
  return {.memory = calls,
          .run = [calls] { calls->execute(); },
          .code = plan->backend(),
          .operations = problem.operations() * spectra,
          .bytes = problem.bytes() * spectra,
          .count = static_cast<double>(config.inputs * config.max_samples),
          .input_samples = static_cast<double>(config.max_samples),
          .arithmetic = [](const Limits& limits) { return limits.float_operations_per_s; }};
}

jit::Tunable tune_channelize(const Problem& p, const DevicePointer& device) {
  return channelize::make_tunable(channelize_config(p), device);
}

Problem filter_bank_words(std::string_view word) {
  if (const auto bank = take_two(word, "c", 't'))
    return {{"channels", bank->first}, {"taps", bank->second}};
  if (const auto ratio = take_two(word, "oversample=", '/'))
    return {{"oversample_numerator", ratio->first}, {"oversample_denominator", ratio->second}};
  return {};
}

}  // namespace tautline::pipeline

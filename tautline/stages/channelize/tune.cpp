#include "tautline/stages/channelize/tune.h"

#include <cmath>
#include <string>

#include "tautline/core/error.h"
#include "tautline/stages/channelize/case.h"
#include "tautline/stages/channelize/case_run.h"
#include "tautline/stages/channelize/gpu/plan.h"
#include "tautline/stages/channelize/gpu/tuning.h"

namespace tautline::stages::channelize {

namespace {

// Every call starts a stream, so that all give the same results.
struct FirstCalls : CaseRun {
  using CaseRun::CaseRun;
  void execute() override {
    state().reset();
    CaseRun::execute();
  }
};

// Rounded components: some may be one step apart.
template <class Sample>
std::string step_difference(jit::Bytes found, jit::Bytes expected) {
  const auto* is = reinterpret_cast<const Sample*>(found.data());
  const auto* should = reinterpret_cast<const Sample*>(expected.data());
  const std::size_t values = found.size() / sizeof(Sample);
  std::size_t steps = 0, worse = 0;
  const auto compare = [&](int a, int b) {
    steps += a != b;
    worse += std::abs(a - b) > 1;
  };
  for (std::size_t n = 0; n < values; ++n) {
    if constexpr (std::is_same_v<Sample, core::ci8>)
      compare(is[n].re, should[n].re), compare(is[n].im, should[n].im);
    else
      compare(is[n].re(), should[n].re()), compare(is[n].im(), should[n].im());
  }
  const double allowed = 1 + Case::kStepFraction * 2 * static_cast<double>(values);
  if (worse == 0 && static_cast<double>(steps) <= allowed) return {};
  return std::to_string(worse) + " of " + std::to_string(2 * values) +
         " components are more than a step away, " + std::to_string(steps) + " one step or more";
}

std::string difference(Output output, jit::Bytes found, jit::Bytes expected) {
  if (output == Output::corner_turned_ci8) return step_difference<core::ci8>(found, expected);
  if (output == Output::corner_turned_ci4) return step_difference<core::ci4>(found, expected);
  const auto* should = reinterpret_cast<const float*>(expected.data());
  const std::size_t values = expected.size() / sizeof(float);
  double power = 0;
  for (std::size_t n = 0; n < values; ++n) power += double{should[n]} * should[n];
  const double rms = std::sqrt(2 * power / static_cast<double>(values));
  return jit::describe_difference_as<float>(found, expected, Case::kFloatTolerance * rms);
}

}  // namespace

jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device) {
  jit::require_tunable("channelize", device.get());
  const auto bank = std::make_shared<const Bank>(config);
  const std::size_t spectra = bank->spectra(config.max_samples);
  if (spectra == 0)
    throw core::Error(core::ErrorKind::config, "samples to tune channelize with",
                      std::to_string(config.max_samples),
                      std::to_string(bank->span()) + " or more, for one spectrum");
  return jit::with_candidates<FirstCalls>(
      {gpu::tuning_key(*bank, *device),
       gpu::tuning_space(*bank, *device),
       static_cast<double>(config.inputs * spectra * bank->hop),
       "samples/s",
       {},
       {}},
      {device, [config](auto on) { return std::make_unique<FirstCalls>(config, on); },
       [config](auto host) { return make_plan(config, host); },
       [bank, device](const jit::Configuration& c) {
         return gpu::make_gpu_plan(bank, device, {.gpu = gpu::tunables_of(c)});
       },
       [output = config.output](jit::Bytes found, jit::Bytes expected) {
         return difference(output, found, expected);
       }});
}

}  // namespace tautline::stages::channelize

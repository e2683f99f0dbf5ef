#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/dedisperse/case.h"
#include "tautline/stages/dedisperse/case_run.h"
#include "tautline/stages/dedisperse/tune.h"

namespace tautline::pipeline {

namespace dedisperse = stages::dedisperse;

dedisperse::Config dedisperse_config(const Problem& sizes) {
  constexpr double kMhzPerKhz = 1e-3, kMhzPerHz = 1e-6;
  dedisperse::Config config;
  config.frequencies_mhz = dedisperse::falling_band(
      static_cast<double>(sizes.at("top_khz")) * kMhzPerKhz,
      static_cast<double>(sizes.at("width_hz")) * kMhzPerHz, sizes.at("channels"));
  config.sample_time_s = 1 / static_cast<double>(sizes.at("rate_hz"));
  config.dms = dedisperse::even_dms(1e-3 * static_cast<double>(sizes.at("step_millidm")),
                                    sizes.at("trials"));
  config.bits = static_cast<int>(sizes.at("bits"));
  config.beams = sizes.at("beams");
  config.max_samples = sizes.at("samples");
  const auto given = [&](const char* key) { return sizes.contains(key) ? sizes.at(key) : 0; };
  config.pulse_width_s = 1e-6 * static_cast<double>(given("pulse_us"));
  if (given("method") > static_cast<std::size_t>(dedisperse::Method::subband))
    throw core::Error(core::ErrorKind::config, "`problem` of dedisperse: method",
                      std::to_string(given("method")), "1 (exact), 2 (shared) or 3 (subband)");
  config.method = static_cast<dedisperse::Method>(given("method"));
  return config;
}

// One block in the middle of a stream.
StageRun set_up_dedisperse(const Problem& sizes, const DevicePointer& device) {
  const dedisperse::Case problem{dedisperse_config(sizes)};
  const auto& config = problem.config;
  const auto plan = dedisperse::make_plan(config, device);
  require_on_device("dedisperse", plan->backend(), *device);
  const auto calls = std::make_shared<dedisperse::CaseRun>(config, device);
  calls->use(plan);
  const auto times = static_cast<double>(config.beams * config.max_samples);
  const double data_s = static_cast<double>(config.max_samples) * config.sample_time_s;
  return {
      .memory = calls,
      .run = [calls] { calls->execute(); },
      .code = plan->backend() + ", " + plan->choice().text,
      .operations = problem.operations() * times,
      .bytes = problem.bytes() * times,
      .count = problem.operations() * times,
      .unit = "plain adds/s",
      .input_samples = static_cast<double>(sizes.at("channels") * sizes.at("width_hz")) * data_s,
      .data_s = data_s};
}

jit::Tunable tune_dedisperse(const Problem& sizes, const DevicePointer& device) {
  return dedisperse::make_tunable(dedisperse_config(sizes), device);
}

}  // namespace tautline::pipeline

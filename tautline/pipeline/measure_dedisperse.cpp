#include "tautline/pipeline/measure_dedisperse.h"

#include <array>
#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/measure_runner.h"
#include "tautline/stages/dedisperse/case.h"
#include "tautline/stages/dedisperse/tune.h"

namespace tautline::pipeline {

stages::dedisperse::Config dedisperse_config(const Problem& sizes) {
  constexpr double kMhzPerKhz = 1e-3, kMhzPerHz = 1e-6;
  stages::dedisperse::Config config;
  for (std::size_t c = 0; c < sizes.at("channels"); ++c)
    config.frequencies_mhz.push_back(static_cast<double>(sizes.at("top_khz")) * kMhzPerKhz -
                                     static_cast<double>(sizes.at("width_hz") * c) * kMhzPerHz);
  config.sample_time_s = 1 / static_cast<double>(sizes.at("rate_hz"));
  for (std::size_t i = 0; i < sizes.at("trials"); ++i)
    config.dms.push_back(1e-3 * static_cast<double>(sizes.at("step_millidm") * i));
  config.bits = static_cast<int>(sizes.at("bits"));
  config.max_samples = sizes.at("samples");
  if (sizes.contains("method")) {
    const std::size_t method = sizes.at("method");
    if (method > static_cast<std::size_t>(stages::dedisperse::Method::subband))
      throw core::Error(core::ErrorKind::config, "`problem` of dedisperse: method",
                        std::to_string(method), "1 (exact), 2 (shared) or 3 (subband)");
    config.method = static_cast<stages::dedisperse::Method>(method);
  }
  return config;
}

Measurement measure_dedisperse(const Problem& sizes,
                               const std::shared_ptr<const device::Device>& device,
                               const Limits& limits, double budget_s) {
  const stages::dedisperse::Case problem{"", dedisperse_config(sizes)};
  const auto& config = problem.config;
  const auto plan = stages::dedisperse::make_plan(config, device);
  require_on_device("dedisperse", plan->backend(), *device);
  Runner runner(device, budget_s);
  const auto state = plan->make_state(runner.queue());
  const std::size_t bytes =
      (config.frequencies_mhz.size() * static_cast<std::size_t>(config.bits) + 7) / 8 *
      config.max_samples;
  const device::Buffer spectra =
      config.bits == 32 ? runner.random_floats(bytes) : runner.random_integers(bytes);
  const std::size_t room = plan->max_output_samples(), trials = config.dms.size();
  const device::Buffer out = runner.zeros(4 * trials * room);
  const stages::dedisperse::OutputViews views{{out.as<std::int32_t>(), {1, trials, room}},
                                              {out.as<float>(), {1, trials, room}}};
  stages::dedisperse::Input input;
  input.data = spectra.data();
  input.count = config.max_samples;
  const auto run = [&] { plan->execute(runner.queue(), *state, input, views); };
  while (state->held_samples() < plan->max_delay()) run();
  Measurement m;
  runner.time(m, run);
  const auto times = static_cast<double>(config.max_samples);
  m.instruction_set = plan->backend() + ", " + plan->choice().text;
  m.operations = problem.operations() * times;
  m.bytes = problem.bytes() * times;
  m.rate = m.operations / m.seconds;
  m.unit = "plain adds/s";
  m.bandwidth_hz = static_cast<double>(sizes.at("channels") * sizes.at("width_hz"));
  m.real_time_factor = times * config.sample_time_s / m.seconds;
  m.bandwidth_hz *= *m.real_time_factor;
  // Additions have no limit among those measured: what must be read and written has.
  m.fraction_of_limit = m.bytes / limits.copy_bytes_per_s / m.seconds;
  m.limit = "memory";
  return m;
}

jit::Tunable tune_dedisperse(const Problem& sizes,
                             const std::shared_ptr<const device::Device>& device) {
  return stages::dedisperse::make_tunable(dedisperse_config(sizes), device);
}

}  // namespace tautline::pipeline

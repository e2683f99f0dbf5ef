#include "tautline/pipeline/measure_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/pipeline/measure_dedisperse.h"
#include "tautline/pipeline/measure_runner.h"
#include "tautline/pipeline/search_pass.h"
#include "tautline/stages/dedisperse/case.h"
#include "tautline/stages/detect/case.h"

namespace tautline::pipeline {

namespace {

namespace dedisperse = stages::dedisperse;
namespace detect = stages::detect;

constexpr std::size_t kPatternSamples = std::size_t{1} << 22;
constexpr std::uint64_t kEndless = std::uint64_t{1} << 40;

detect::Config detect_config(const Problem& sizes) {
  if (sizes.at("rate_hz") == 0)
    throw core::Error(core::ErrorKind::config, "`problem`: rate_hz", "0", "1 or more");
  detect::Config config;
  config.sample_time_s = 1 / static_cast<double>(sizes.at("rate_hz"));
  config.max_width_s = 1e-3 * static_cast<double>(sizes.at("width_ms"));
  return config;
}

// Noise about a level, as dedispersed bytes have it.
template <class T>
device::Buffer noise(Runner& runner, std::size_t samples) {
  const device::Buffer pattern(std::min(samples, kPatternSamples) * sizeof(T));
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(100000.0f, 300.0f);
  std::generate_n(pattern.as<T>(), pattern.bytes() / sizeof(T),
                  [&] { return static_cast<T>(normal(random)); });
  return runner.repeat(pattern, samples * sizeof(T));
}

// Times that a stream has had before a block of noise can be measured.
std::size_t samples_before(const detect::Plan& plan) {
  return plan.baseline_samples() + 2 * plan.noise_samples() + plan.widths().back();
}

void time_detect(Runner& runner, Measurement& m, const detect::Plan& plan, std::size_t samples) {
  const std::size_t trials = plan.config().trials;
  const core::SampleType type = plan.config().type;
  const device::Buffer series = type == core::SampleType::f32
                                    ? noise<float>(runner, trials * samples)
                                    : noise<std::int32_t>(runner, trials * samples);
  const core::SampleView<2> view(series.data(), type, {trials, samples});
  const auto state = plan.make_state(runner.queue());
  const auto run = [&] {
    plan.execute(runner.queue(), *state, view);
    state->take();
  };
  for (std::size_t n = 0; n < samples_before(plan); n += samples) run();
  runner.time(m, run);
}

PassRequest request_for(const Problem& sizes, const device::Device& device) {
  const std::size_t samples = sizes.at("samples"), bits = sizes.at("bits");
  if (!std::has_single_bit(samples))
    throw core::Error(core::ErrorKind::config, "`problem` of search: samples",
                      std::to_string(samples), "a power of two: blocks are");
  if (device.compiles() && bits > 16)
    throw core::Error(core::ErrorKind::config, "`problem` of search: bits", std::to_string(bits),
                      "1 to 16 on " + device.name(), "the host cleans floats");
  PassRequest request;
  request.detect = detect_config(sizes);
  request.dedisperse = dedisperse_config(sizes);
  request.dedisperse.dms.clear();
  request.dedisperse.beams = sizes.at("beams");
  request.dedisperse.zero_dm = sizes.at("zero_dm") != 0;
  request.samples = kEndless;
  request.sample_bytes = (sizes.at("channels") * bits + 7) / 8;
  request.memory_bytes = std::size_t{1} << 40;  // the host's; what is not there is refused there
  request.most_block_samples = samples;
  return request;
}

PassPlan only_pass(const PassRequest& request, const Problem& sizes,
                   const std::shared_ptr<const device::Device>& device) {
  dedisperse::DmPlan trials;
  trials.segments = {{dedisperse_config(sizes).dms, 1, 0}};
  auto passes = plan_passes(request, trials, device);
  if (passes.size() > 1 || passes.front().block_samples != request.most_block_samples)
    throw core::Error(core::ErrorKind::memory, device->name() + ": search",
                      std::to_string(request.dedisperse.beams) + " beams of " +
                          std::to_string(trials.trials()) + " trials",
                      "what fits into its memory at once", "take fewer");
  return std::move(passes.front());
}

}  // namespace

Measurement measure_detect(const Problem& sizes,
                           const std::shared_ptr<const device::Device>& device,
                           const Limits& limits, double budget_s) {
  detect::Case problem{"", detect_config(sizes), sizes.at("samples")};
  detect::Config& config = problem.config;
  config.trials = sizes.at("trials");
  config.max_samples = problem.samples;
  const bool floats = sizes.at("float") != 0;
  config.type = floats ? core::SampleType::f32 : core::SampleType::i32;
  const auto plan = detect::make_plan(config, device);
  require_on_device("detect", plan->backend(), *device);
  Runner runner(device, budget_s);
  Measurement m;
  time_detect(runner, m, *plan, problem.samples);
  const auto samples = static_cast<double>(problem.samples);
  m.instruction_set = plan->backend() + ", " + std::to_string(plan->widths().size()) + " boxcars";
  m.operations = problem.operations();
  m.bytes = problem.bytes();
  m.rate = static_cast<double>(config.trials) * samples / m.seconds;
  m.unit = "samples/s";
  m.bandwidth_hz = samples / m.seconds;
  m.real_time_factor = samples * config.sample_time_s / m.seconds;
  // Comparisons have no limit among those measured: reading the series once has.
  m.fraction_of_limit = m.bytes / limits.copy_bytes_per_s / m.seconds;
  m.limit = "memory";
  return m;
}

Measurement measure_search(const Problem& sizes,
                           const std::shared_ptr<const device::Device>& device,
                           const Limits& limits, double budget_s) {
  const PassRequest request = request_for(sizes, *device);
  const PassPlan plan = only_pass(request, sizes, device);
  const SearchPart& part = plan.parts.front();
  require_on_device("search", part.detect->backend(), *device);
  Runner runner(device, budget_s);
  const std::size_t beams = request.dedisperse.beams, samples = plan.block_samples;
  const device::Buffer spectra = runner.random_integers(beams * samples * request.sample_bytes);
  SearchPass pass(plan, request.sample_bytes, device, runner.queue());
  const auto run = [&] { pass.push(spectra.as<std::byte>(), samples); };
  const std::size_t before = part.dedisperse->max_delay() + samples_before(*part.detect);
  for (std::size_t n = 0; n < before; n += samples) run();
  Measurement m;
  runner.time(m, run);
  const dedisperse::Case sums{"", part.dedisperse->config()};
  const detect::Case boxcars{"", part.detect->config(), samples};
  const double times = static_cast<double>(beams * samples);
  m.instruction_set = part.detect->backend() + ", " + part.dedisperse->choice().text;
  m.operations = sums.operations() * times + boxcars.operations();
  // Spectra in; trials out, and in again.
  m.bytes = sums.bytes() * times + boxcars.bytes();
  m.rate = static_cast<double>(sizes.at("channels")) * times / m.seconds;
  m.unit = "samples/s";
  m.real_time_factor = static_cast<double>(samples) * request.dedisperse.sample_time_s / m.seconds;
  m.bandwidth_hz =
      static_cast<double>(sizes.at("channels") * sizes.at("width_hz")) * *m.real_time_factor;
  m.fraction_of_limit = m.bytes / limits.copy_bytes_per_s / m.seconds;
  m.limit = "memory";
  return m;
}

}  // namespace tautline::pipeline

// Validation, choice of backend, and what the states of all backends do alike.
#include "tautline/stages/autocorrelate/autocorrelate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/hash.h"
#include "tautline/core/saved_state.h"
#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/cpu/float_counts.h"
#include "tautline/stages/autocorrelate/cpu/plan.h"
#include "tautline/stages/autocorrelate/gpu/plan.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate {

namespace {

[[noreturn]] void throw_config(std::string field, std::string value, std::string limit,
                               std::string advice = {}) {
  throw core::Error(core::ErrorKind::config, "autocorrelate " + std::move(field), std::move(value),
                    std::move(limit), std::move(advice));
}

}  // namespace

void check_config(const Config& config) {
  core::check(config, "autocorrelate");
  if (config.lag_scheme == LagScheme::standard && config.bins % 2 != 0)
    throw_config("bins", std::to_string(config.bins), "an even number for the standard lags",
                 "each level after the first has the upper half of its lags");
  for (const Pair& pair : config.pairs)
    for (const std::uint32_t sensor : {pair.a, pair.b})
      if (sensor >= config.sensors)
        throw_config("pairs", std::to_string(sensor),
                     "sensors 0 to " + std::to_string(config.sensors - 1));
}

void check_samples(const Config& config, const core::SampleView<2>& samples) {
  if (samples.type() != config.type)
    throw_config("sample type", std::string(core::to_string(samples.type())),
                 std::string(core::to_string(config.type)),
                 "make the plan with the type of the samples");
  if (samples.extent(1) != config.sensors)
    throw_config("samples [time][sensor]", std::to_string(samples.extent(1)) + " sensors",
                 std::to_string(config.sensors));
  if (samples.extent(0) > config.max_samples)
    throw_config("samples [time]", std::to_string(samples.extent(0)),
                 "max_samples = " + std::to_string(config.max_samples) + " or fewer",
                 "split the call, or plan for more");
}

void check_sums(const Config& config, const Sums& out) {
  const std::size_t pairs = config.pair_count(), lags = lag_count(config);
  const auto check = [&](const char* field, const core::MutableSampleView<2>& view,
                         std::size_t columns) {
    if (view.data() == nullptr) return;
    if (view.type() != config.sums_type())
      throw_config(field, std::string(core::to_string(view.type())),
                   std::string(core::to_string(config.sums_type())),
                   "integer counts have integer sums, floats have floats");
    if (view.extent(0) != pairs || view.extent(1) != columns)
      throw_config(field, std::to_string(view.extent(0)) + " x " + std::to_string(view.extent(1)),
                   std::to_string(pairs) + " x " + std::to_string(columns));
  };
  check("sums [pair][lag]", out.sums, lags);
  check("lead_in [pair][lag]", out.lead_in, lags);
  check("monitor_direct [pair][lag]", out.monitor_direct, lags);
  check("monitor_delayed [pair][lag]", out.monitor_delayed, lags);
  check("totals [pair][2]", out.totals, 2);
  if (!out.counts.empty() && out.counts.size() != lags)
    throw_config("counts [lag]", std::to_string(out.counts.size()), std::to_string(lags));
}

void throw_overflow(std::uint64_t samples) {
  throw core::Error(core::ErrorKind::config, "autocorrelate sums",
                    "could reach 2^63 within " + std::to_string(samples) + " samples",
                    "(mean count)^2 x 2^(levels - 1) x samples well below 9.2e18",
                    "read the sums and reset the state more often, or take fewer levels");
}

BaseState::BaseState(const Config& config, const std::string& layout) : plan_("1 " + layout) {
  const auto* pairs = reinterpret_cast<const char*>(config.pairs.data());
  for (const std::uint64_t value :
       {std::uint64_t{config.sensors}, static_cast<std::uint64_t>(config.lag_scheme),
        std::uint64_t{config.bins}, std::uint64_t{config.levels},
        static_cast<std::uint64_t>(config.coarsening), static_cast<std::uint64_t>(config.type),
        core::hash({pairs, config.pairs.size() * sizeof(Pair)})})
    plan_ += " " + std::to_string(value);
}

void BaseState::reset() {
  taken = 0;
  refused = false;
  clear();
}

std::vector<std::byte> BaseState::save() const {
  std::vector<std::byte> bytes = core::seal_state("autocorrelate", plan_, {});
  core::ByteWriter writer([&](std::span<const std::byte> some) {
    bytes.insert(bytes.end(), some.begin(), some.end());
  });
  writer(taken);
  writer(refused);
  save_content(writer);
  return bytes;
}

void BaseState::load(std::span<const std::byte> bytes) {
  core::ByteReader reader(core::open_state("autocorrelate", plan_, bytes), "autocorrelate state");
  try {
    reader(taken);
    reader(refused);
    load_content(reader);
    reader.finish();
  } catch (const core::Error&) {
    reset();
    throw;
  }
}

std::vector<Lag> lags_of(const Config& config) {
  check_config(config);
  std::vector<Lag> lags;
  lags.reserve(lag_count(config));
  for (std::size_t level = 0; level < config.levels; ++level) {
    const LagRange range = lag_range(config, level);
    for (std::size_t k = range.first_steps; k < range.first_steps + range.steps; ++k)
      lags.push_back({level, k, range.base + k * range.window});
  }
  return lags;
}

std::int64_t pairs_at(const Config& config, const Lag& lag, std::uint64_t samples) {
  return static_cast<std::int64_t>(lag_range(config, lag.level).pairs(lag.steps, samples));
}

double operations_per_sample(const Config& config) {
  double operations = 0;
  for (std::size_t level = 0; level < config.levels; ++level) {
    const LagRange range = lag_range(config, level);
    operations += static_cast<double>(range.steps) / static_cast<double>(range.window);
  }
  return operations;
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  check_config(config);
  if (device == nullptr) throw_config("device", "null", "an open device");
  if (device->api() == device::Api::reference) return make_reference_plan(config);
  if (device->compiles() && config.type == SampleType::f64)
    throw core::Error(core::ErrorKind::unsupported, "autocorrelate type",
                      "f64 on " + device->name(), "the host, or f32", "take the cpu");
  if (device->compiles()) return gpu::make_tuned_plan(config, std::move(device));
  return cpu::make_plan(config, std::move(device), {});
}

std::size_t piece_samples(const Config& config, std::size_t most) {
  constexpr double kMultiplyAdds = 0x1p28;
  constexpr std::size_t kLeast = 4096;
  const double of_sample = static_cast<double>(config.pair_count()) * operations_per_sample(config);
  const auto samples = static_cast<std::size_t>(kMultiplyAdds / of_sample);
  return std::min(most, std::max(kLeast, samples));
}

void autocorrelate(const Config& config, const core::SampleView<2>& samples, const Sums& sums,
                   const device::Selection& selection,
                   const std::function<void(std::size_t)>& progress) {
  const auto device = device::open(selection);
  const auto queue = device->make_queue();
  const auto plan = make_plan(config, device);
  if (config.floats() && device->api() == device::Api::cpu &&
      cpu::autocorrelate_counts(config, device, samples, sums, progress))
    return;
  const auto state = plan->make_state(*queue);
  const std::size_t piece =
      progress ? piece_samples(config, config.max_samples) : config.max_samples;
  for (std::size_t t = 0; t < samples.extent(0); t += piece) {
    const std::size_t count = std::min(piece, samples.extent(0) - t);
    plan->execute(*queue, *state, samples.slice(0, t, count));
    if (progress) progress(t + count);
  }
  plan->read(*queue, *state, sums);
  queue->synchronise();
}

}  // namespace tautline::stages::autocorrelate

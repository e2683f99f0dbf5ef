// Validation and choice of backend.
#include "tautline/stages/autocorrelate/autocorrelate.h"

#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/checks.h"
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

void check_range(const char* field, std::size_t value, std::size_t least, std::size_t most,
                 const char* advice) {
  if (value < least || value > most)
    throw_config(field, std::to_string(value),
                 std::to_string(least) + " to " + std::to_string(most), advice);
}

void check_view(const char* field, const std::array<std::size_t, 2>& extents, std::size_t rows,
                std::size_t columns) {
  if (extents[0] != rows || extents[1] != columns)
    throw_config(field, std::to_string(extents[0]) + " x " + std::to_string(extents[1]),
                 std::to_string(rows) + " x " + std::to_string(columns));
}

}  // namespace

void check_config(const Config& config) {
  constexpr std::size_t kMaxSamples = std::size_t{1} << 40;
  check_range("sensors", config.sensors, 1, kMaxSensors, "give at least one sensor");
  check_range("bins", config.bins, config.lag_scheme == LagScheme::chain ? 1 : 2, kMaxBins,
              "lags are bins times powers of two: take more levels");
  if (config.lag_scheme == LagScheme::standard && config.bins % 2 != 0)
    throw_config("bins", std::to_string(config.bins), "an even number for the standard lags",
                 "each level after the first has the upper half of its lags");
  check_range("levels", config.levels, 1, kMaxLevels, "each level doubles the longest lag");
  check_range("max_samples", config.max_samples, 1, kMaxSamples,
              "give execute fewer samples at a time");
  for (const Pair& pair : config.pairs)
    for (const std::uint32_t sensor : {pair.a, pair.b})
      if (sensor >= config.sensors)
        throw_config("pairs", std::to_string(sensor),
                     "sensors 0 to " + std::to_string(config.sensors - 1));
}

void check_samples(const Config& config, CountType type,
                   const std::array<std::size_t, 2>& extents) {
  if (type != config.type)
    throw_config("sample type", core::to_string(type), core::to_string(config.type),
                 "make the plan with the type of the samples");
  if (extents[1] != config.sensors)
    throw_config("samples [time][sensor]", std::to_string(extents[1]) + " sensors",
                 std::to_string(config.sensors));
  if (extents[0] > config.max_samples)
    throw_config("samples [time]", std::to_string(extents[0]),
                 "max_samples = " + std::to_string(config.max_samples) + " or fewer",
                 "split the call, or plan for more");
}

template <class Value>
void check_sums(const Config& config, const Sums<Value>& out) {
  constexpr bool kFloat = std::is_same_v<Value, double>;
  if (kFloat != (config.type == CountType::f32))
    throw_config("sums", kFloat ? "double" : "int64", kFloat ? "int64" : "double",
                 "integer counts have integer sums, floats have floats");
  const std::size_t pairs = config.pair_count(), lags = lag_count(config);
  const auto check = [&](const char* field, const core::View<Value, 2>& view, std::size_t columns) {
    if (view.data() != nullptr) check_view(field, view.extents(), pairs, columns);
  };
  check("sums [pair][lag]", out.sums, lags);
  check("lead_in [pair][lag]", out.lead_in, lags);
  check("monitor_direct [pair][lag]", out.monitor_direct, lags);
  check("monitor_delayed [pair][lag]", out.monitor_delayed, lags);
  check("totals [pair][2]", out.totals, 2);
  if (!out.counts.empty() && out.counts.size() != lags)
    throw_config("counts [lag]", std::to_string(out.counts.size()), std::to_string(lags));
}

template void check_sums(const Config&, const Sums<std::int64_t>&);
template void check_sums(const Config&, const Sums<double>&);

void throw_overflow(std::uint64_t samples) {
  throw core::Error(core::ErrorKind::config, "autocorrelate sums",
                    "could reach 2^63 within " + std::to_string(samples) + " samples",
                    "(mean count)^2 x 2^(levels - 1) x samples well below 9.2e18",
                    "read the sums and reset the state more often, or take fewer levels");
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
  if (device->compiles()) return gpu::make_tuned_plan(config, std::move(device));
  return cpu::make_plan(config, std::move(device), {});
}

}  // namespace tautline::stages::autocorrelate

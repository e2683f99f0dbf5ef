#include "tautline/stages/autocorrelate/cpu/float_counts.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/cpu/kernels.h"
#include "tautline/stages/autocorrelate/cpu/plan.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate::cpu {

namespace {

// Counts that are made at a time: they stay in the second- or third-level cache until they are multiplied.
constexpr std::size_t kBlockBytes = std::size_t{2} << 20;

// Whether no sum of products of `samples` largest counts can reach 2^63.
bool sums_fit(const Config& config, std::uint64_t samples) {
  const auto most = static_cast<long double>(largest_count(config.type));
  const long double total = most * static_cast<long double>(samples);
  const long double window =
      most * static_cast<long double>(std::uint64_t{1} << (config.levels - 1));
  return std::min(window, total) * total < 0x1p63L;
}

// The samples of one block as counts, dense, or false.
bool make_counts(device::Queue& queue, const Kernels& kernels, const core::SampleView<2>& samples,
                 SampleType type, std::byte* to) {
  const std::size_t sensors = samples.extent(1), times = samples.extent(0);
  const bool dense = samples.stride(0) == static_cast<std::ptrdiff_t>(sensors);
  constexpr std::size_t kGrain = 1 << 16;  // samples
  std::atomic<bool> all{true};
  queue.parallel_for(
      times, std::max<std::size_t>(1, kGrain / sensors),
      [&](std::size_t first, std::size_t last, std::size_t) {
        const std::size_t rows = dense ? 1 : last - first;
        const std::size_t size = dense ? (last - first) * sensors : sensors;
        for (std::size_t row = 0; row < rows; ++row)
          if (!kernels.as_counts(samples.type(), samples.slice(0, first + row, 1).data(), size,
                                 type, to + (first + row) * sensors * core::bytes_of(type)))
            all = false;
      });
  return all;
}

void write_floats(const std::vector<std::int64_t>& from, const core::MutableSampleView<2>& to) {
  if (to.data() == nullptr) return;
  const auto out = to.as<double>();
  for (std::size_t i = 0; i < from.size(); ++i)
    out(i / to.extent(1), i % to.extent(1)) = static_cast<double>(from[i]);
}

bool autocorrelate_as(SampleType type, const Config& config,
                      const std::shared_ptr<const device::Device>& device,
                      const core::SampleView<2>& samples, const Sums& out,
                      const std::function<void(std::size_t)>& progress) {
  Config own = config;
  own.type = type;
  const std::size_t row = config.sensors * core::bytes_of(type);
  own.max_samples = std::clamp<std::size_t>(kBlockBytes / row, 1, samples.extent(0));
  if (progress) own.max_samples = piece_samples(own, own.max_samples);
  if (!sums_fit(own, samples.extent(0))) return false;
  const auto queue = device->make_queue();
  const Kernels& kernels = choose_kernels(*device);
  const device::Buffer block(own.max_samples * row);
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<State> state;
  for (std::size_t t = 0; t < samples.extent(0); t += own.max_samples) {
    const std::size_t count = std::min(own.max_samples, samples.extent(0) - t);
    auto* counts = block.as<std::byte>();
    if (!make_counts(*queue, kernels, samples.slice(0, t, count), type, counts)) return false;
    if (t == 0) {
      plan = make_plan(own, device, {});
      state = plan->make_state(*queue);
    }
    plan->execute(*queue, *state, core::SampleView<2>(counts, type, {count, config.sensors}));
    if (progress) progress(t + count);
  }
  const std::size_t lags = lag_count(config), pairs = config.pair_count();
  std::vector<std::int64_t> sums(pairs * lags), lead_in(pairs * lags), direct(pairs * lags),
      delayed(pairs * lags), totals(2 * pairs);
  const auto matrix = [&](std::vector<std::int64_t>& of, std::size_t columns) {
    return core::MutableSampleView<2>(of.data(), {pairs, columns});
  };
  plan->read(*queue, *state,
             {matrix(sums, lags), matrix(lead_in, lags), matrix(direct, lags),
              matrix(delayed, lags), matrix(totals, 2), out.counts});
  write_floats(sums, out.sums);
  write_floats(lead_in, out.lead_in);
  write_floats(direct, out.monitor_direct);
  write_floats(delayed, out.monitor_delayed);
  write_floats(totals, out.totals);
  return true;
}

}  // namespace

bool autocorrelate_counts(const Config& config, const std::shared_ptr<const device::Device>& device,
                          const core::SampleView<2>& samples, const Sums& sums,
                          const std::function<void(std::size_t)>& progress) {
  check_sums(config, sums);
  if (samples.empty() || samples.type() != config.type || samples.extent(1) != config.sensors ||
      samples.stride(1) != 1)
    return false;
  return autocorrelate_as(SampleType::u8, config, device, samples, sums, progress) ||
         autocorrelate_as(SampleType::u16, config, device, samples, sums, progress);
}

}  // namespace tautline::stages::autocorrelate::cpu

#include "tautline/stages/dedisperse/dedisperse.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/cpu/kernels.h"
#include "tautline/stages/dedisperse/gpu/tuning.h"
#include "tautline/stages/dedisperse/gpu/zero_dm_plan.h"

namespace tautline::stages::dedisperse {

namespace {

void require_tunables(const Tunables& tunables) {
  const GpuTunables& gpu = tunables.gpu;
  const auto power = [](std::size_t value, std::size_t low, std::size_t high) {
    return std::has_single_bit(value) && value >= low && value <= high;
  };
  const struct {
    const char* field;
    std::size_t value;
    bool allowed;
    const char* limit;
  } rules[] = {
      {"time_tile", tunables.time_tile,
       tunables.time_tile % kGranule == 0 && tunables.time_tile <= 65536,
       "a multiple of 512 up to 65536"},
      {"block_trials", tunables.block_trials, tunables.block_trials <= 65536, "at most 65536"},
      {"levels", tunables.levels, tunables.levels <= 10, "at most 10"},
      {"near_bytes", tunables.near_bytes, tunables.near_bytes >= 4096, "4096 or more"},
      {"scratch_bytes", tunables.scratch_bytes, tunables.scratch_bytes >= 4096, "4096 or more"},
      {"gpu.items_time", gpu.items_time, power(gpu.items_time, 16, 256),
       "a power of two from 16 to 256"},
      {"gpu.items_dm", gpu.items_dm,
       power(gpu.items_dm, 1, 16) && gpu.items_time * gpu.items_dm <= 1024,
       "a power of two up to 16, and at most 1024 threads"},
      {"gpu.elements_time", gpu.elements_time, power(gpu.elements_time, 1, 8),
       "a power of two up to 8"},
      {"gpu.elements_dm", gpu.elements_dm, power(gpu.elements_dm, 1, 16),
       "a power of two up to 16"},
      {"gpu.local_kib", gpu.local_kib, gpu.local_kib <= 256, "at most 256"},
      {"gpu.groups", gpu.groups, gpu.groups >= 1 && gpu.groups <= 4, "1 to 4"},
      {"gpu.levels", gpu.levels, gpu.levels != 1 && gpu.levels <= 6, "0, or 2 to 6"}};
  for (const auto& rule : rules)
    if (!rule.allowed)
      throw core::Error(core::ErrorKind::config, std::string("dedisperse ") + rule.field,
                        std::to_string(rule.value), rule.limit);
}

constexpr std::pair<Method, const char*> kMethods[] = {{Method::automatic, "auto"},
                                                       {Method::exact, "exact"},
                                                       {Method::shared, "shared"},
                                                       {Method::subband, "subband"}};

}  // namespace

std::string to_string(Method method) {
  for (const auto& [value, name] : kMethods)
    if (value == method) return name;
  return "";
}

namespace {

// Without `tunables` a GPU takes what tuning found.
std::shared_ptr<const Plan> make_plan_of(std::shared_ptr<const DelayPlan> plan,
                                         std::shared_ptr<const device::Device> device,
                                         const Tunables* tunables) {
  const Tunables defaults, &given = tunables == nullptr ? defaults : *tunables;
  if (corrects_sums(plan->config(), *device)) {
    auto sums = make_plan_of(plan->without_zero_dm(), device, tunables);
    return make_zero_dm_plan(std::move(plan), std::move(sums), std::move(device), given);
  }
  if (device->api() == device::Api::reference) return make_reference_plan(std::move(plan));
  if (!device->compiles()) return make_cpu_plan(std::move(plan), *device, given);
  if (tunables == nullptr) return make_tuned_gpu_plan(std::move(plan), std::move(device));
  return make_gpu_plan(std::move(plan), std::move(device), given);
}

}  // namespace

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  return make_plan_of(std::make_shared<const DelayPlan>(config), std::move(device), nullptr);
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables) {
  require_tunables(tunables);
  return make_plan_of(std::make_shared<const DelayPlan>(config), std::move(device), &tunables);
}

Result dedisperse(const Config& config, const Input& input,
                  const core::MutableSampleView<3>& trials, const device::Selection& selection) {
  const auto device = device::open(selection);
  Config sized = config;
  sized.max_samples = std::min(config.max_samples, std::max<std::size_t>(1, input.count));
  const auto plan = make_plan(sized, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  Input part = with_strides(sized, input);
  const std::size_t time_bytes = input.layout == Input::Layout::spectra
                                     ? part.stride_bytes
                                     : static_cast<std::size_t>(std::max(8, config.bits)) / 8;
  Result all;
  for (std::size_t done = 0; done < input.count; done += part.count) {
    part.data = static_cast<const std::byte*>(input.data) + done * time_bytes;
    part.count = std::min(sized.max_samples, input.count - done);
    const std::size_t room = trials.extent(2) - std::min(trials.extent(2), all.samples);
    const Result result = plan->execute(*queue, *state, part, trials.slice(2, all.samples, room));
    all.samples += result.samples;
    all.not_finite += result.not_finite;
  }
  queue->synchronise();
  return all;
}

}  // namespace tautline::stages::dedisperse

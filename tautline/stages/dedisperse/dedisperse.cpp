#include "tautline/stages/dedisperse/dedisperse.h"

#include <bit>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/cpu/kernels.h"
#include "tautline/stages/dedisperse/gpu/tuning.h"
#include "tautline/stages/dedisperse/gpu/zero_dm_plan.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kMostTile = 65536, kMostBlock = 65536, kMostTunedLevels = 10;
constexpr std::size_t kLeastBytes = 4096;

void require_tunables(const Tunables& tunables) {
  const auto refuse = [](const char* field, std::size_t value, const std::string& limit) {
    throw core::Error(core::ErrorKind::config, std::string("dedisperse ") + field,
                      std::to_string(value), limit);
  };
  if (tunables.time_tile % kGranule != 0 || tunables.time_tile > kMostTile)
    refuse("time_tile", tunables.time_tile, "a multiple of 512 up to 65536");
  if (tunables.block_trials > kMostBlock)
    refuse("block_trials", tunables.block_trials, "at most 65536");
  if (tunables.levels > kMostTunedLevels) refuse("levels", tunables.levels, "at most 10");
  if (tunables.near_bytes < kLeastBytes) refuse("near_bytes", tunables.near_bytes, "4096 or more");
  if (tunables.scratch_bytes < kLeastBytes)
    refuse("scratch_bytes", tunables.scratch_bytes, "4096 or more");
  const auto require_power = [&](const char* field, std::size_t value, std::size_t low,
                                 std::size_t high) {
    if (!std::has_single_bit(value) || value < low || value > high)
      refuse(field, value,
             "a power of two from " + std::to_string(low) + " to " + std::to_string(high));
  };
  require_power("gpu.items_time", tunables.gpu.items_time, 16, 256);
  require_power("gpu.items_dm", tunables.gpu.items_dm, 1, 16);
  if (tunables.gpu.producer_warps == 0) {
    require_power("gpu.elements_time", tunables.gpu.elements_time, 1, 8);
    require_power("gpu.elements_dm", tunables.gpu.elements_dm, 1, 16);
  }
  if (tunables.gpu.elements_time < 1 || tunables.gpu.elements_time > 8)
    refuse("gpu.elements_time", tunables.gpu.elements_time, "1 to 8");
  if (tunables.gpu.elements_dm < 1 || tunables.gpu.elements_dm > 32)
    refuse("gpu.elements_dm", tunables.gpu.elements_dm, "1 to 32");
  if (tunables.gpu.items_time * tunables.gpu.items_dm > 1024)
    refuse("gpu.items_dm", tunables.gpu.items_dm, "at most 1024 threads");
  if (tunables.gpu.local_kib > 256) refuse("gpu.local_kib", tunables.gpu.local_kib, "at most 256");
  if (tunables.gpu.groups < 1 || tunables.gpu.groups > 4)
    refuse("gpu.groups", tunables.gpu.groups, "1 to 4");
  if (tunables.gpu.levels == 1 || tunables.gpu.levels > 6)
    refuse("gpu.levels", tunables.gpu.levels, "0, or 2 to 6");
  if (tunables.gpu.producer_warps > 16)
    refuse("gpu.producer_warps", tunables.gpu.producer_warps, "at most 16");
  if (tunables.gpu.items_time * tunables.gpu.items_dm + 32 * tunables.gpu.producer_warps > 1024)
    refuse("gpu.producer_warps", tunables.gpu.producer_warps, "at most 1024 threads");
  require_power("gpu.block_channels", tunables.gpu.block_channels, 4, 64);
  if (tunables.gpu.tiles > 9) refuse("gpu.tiles", tunables.gpu.tiles, "0 to 9");
}

}  // namespace

std::string to_string(Method method) {
  switch (method) {
    case Method::automatic:
      return "auto";
    case Method::exact:
      return "exact";
    case Method::shared:
      return "shared";
    case Method::subband:
      return "subband";
  }
  return "";
}

Method parse_method(const std::string& name) {
  for (const Method method : {Method::automatic, Method::exact, Method::shared, Method::subband})
    if (name == to_string(method)) return method;
  throw core::Error(core::ErrorKind::config, "dedisperse method", name,
                    "auto, exact, shared or subband");
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

}  // namespace tautline::stages::dedisperse

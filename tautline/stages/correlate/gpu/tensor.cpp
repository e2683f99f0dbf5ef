#include "tautline/stages/correlate/gpu/tensor.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/gpu/tiled.h"

namespace tautline::stages::correlate::gpu {

namespace {

// The same constants as in the kernel files.
constexpr std::size_t kStageBytes = 2 * kTensorTileInputs * kTensorStepBytes;
constexpr std::size_t kWarps = 8;         // consumer warps
constexpr std::size_t kStagingWarps = 4;  // of one warpgroup
constexpr std::size_t kStagingRows = 8;   // in each of a warp's two staging buffers
constexpr std::size_t kSumBuffers = 2;

bool half(const Config& config) {
  return config.format == core::kCf16;
}

[[noreturn]] void throw_config(const std::string& field, std::size_t value,
                               const std::string& limit, const std::string& advice = {}) {
  throw core::Error(core::ErrorKind::config, "correlate GPU tunable " + field,
                    std::to_string(value), limit, advice);
}

void check_shared(const std::string& field, std::size_t stages, std::size_t needed,
                  std::size_t available) {
  if (needed > available)
    throw_config(field, stages,
                 "what fits into " + std::to_string(available) +
                     " bytes of shared memory; this takes " + std::to_string(needed),
                 "use fewer");
}

}  // namespace

bool wgmma_runs(const Config& config, const device::Device& device) {
  constexpr int kHopper = 90;
  return (config.exact() || half(config)) && device.api() == device::Api::cuda &&
         device.properties().compute_capability == kHopper;
}

bool mma_runs(const Config& config, const device::Device& device) {
  constexpr int kAmpere = 80;
  return (config.exact() || half(config)) && device.api() == device::Api::cuda &&
         device.properties().compute_capability >= kAmpere;
}

std::size_t tensor_max_samples(const Config& config) {
  return half(config) ? kHalfChunkSamples : kTensorMaxSamples;
}

std::size_t tensor_sample_bytes(const Config& config) {
  return half(config) ? sizeof(core::cf16) : sizeof(core::ci8);
}

std::size_t tensor_tiles(std::size_t inputs) {
  return core::baseline_count((inputs + kTensorTileInputs - 1) / kTensorTileInputs);
}

WgmmaTunables complete(const WgmmaTunables& wanted, std::size_t shared_bytes, bool half) {
  WgmmaTunables t = wanted;
  if (t.stages == 0) t.stages = 5;
  if (t.staging_columns == 0) t.staging_columns = half || t.stages > 5 ? 32 : 64;
  if (t.stages < 3 || t.stages > 6) throw_config("wgmma.stages", t.stages, "3 to 6");
  if (t.staging_columns != 32 && t.staging_columns != 64)
    throw_config("wgmma.staging_columns", t.staging_columns, "32 or 64");
  if (half && t.staging_columns == 64)
    throw_config("wgmma.staging_columns", t.staging_columns, "32 for halves",
                 "doubles take more registers");
  if (t.deferred_stages == 0) t.deferred_stages = 5;
  if (t.deferred_stages < 3 || t.deferred_stages > 7)
    throw_config("wgmma.deferred_stages", t.deferred_stages, "3 to 7");
  check_shared("wgmma.stages", t.stages, wgmma_shared_bytes(t), shared_bytes);
  check_shared("wgmma.deferred_stages", t.deferred_stages, deferred_shared_bytes(t), shared_bytes);
  return t;
}

MmaTunables complete(const MmaTunables& wanted, std::size_t shared_bytes) {
  constexpr std::size_t kEnoughStages = 5;
  MmaTunables t = wanted;
  if (t.stages == 0)
    for (t.stages = kEnoughStages; t.stages > 3 && mma_shared_bytes(t) > shared_bytes;) --t.stages;
  if (t.stages < 3 || t.stages > 6) throw_config("mma.stages", t.stages, "3 to 6");
  check_shared("mma.stages", t.stages, mma_shared_bytes(t), shared_bytes);
  return t;
}

std::string describe(const WgmmaTunables& t) {
  return std::to_string(t.stages) + " stages, " + std::to_string(t.staging_columns) +
         " columns staged";
}

std::string describe(const MmaTunables& t) {
  return std::to_string(t.stages) + " stages";
}

jit::Defines wgmma_defines(const Config& config, const WgmmaTunables& t) {
  return jit::Defines()
      .set("STAGES", t.stages)
      .set("STAGING_COLUMNS", t.staging_columns)
      .set("HALF", half(config));
}

jit::Defines mma_defines(const Config& config, const MmaTunables& t) {
  return jit::Defines().set("STAGES", t.stages).set("HALF", half(config));
}

std::size_t wgmma_shared_bytes(const WgmmaTunables& t) {
  const std::size_t staging_row = t.staging_columns * 16 + 16;
  return t.stages * kStageBytes + kStagingWarps * 2 * kStagingRows * staging_row +
         kSumBuffers * kTensorTileInputs * 4 + (2 * t.stages + 2 * kSumBuffers + kWarps) * 8;
}

std::size_t mma_shared_bytes(const MmaTunables& t) {
  return t.stages * kStageBytes + kTensorTileInputs * 4;
}

namespace {

// The work of the busiest group over the mean, when a group takes every `groups`-th tile. A tile on
// the diagonal is three quarters of the work of another tile.
double largest_share(std::size_t tiles_of_channel, std::size_t groups) {
  const std::size_t classes = std::gcd(groups, tiles_of_channel);
  std::vector<std::size_t> diagonal(classes);
  std::size_t rows = 0;
  for (std::size_t index = 0; index < tiles_of_channel; index += ++rows + 1)
    ++diagonal[index % classes];
  const auto work = [&](std::size_t met) {
    return static_cast<double>(tiles_of_channel / classes) - 0.25 * static_cast<double>(met);
  };
  double sum = 0;
  for (const std::size_t met : diagonal) sum += work(met);
  return work(*std::min_element(diagonal.begin(), diagonal.end())) * static_cast<double>(classes) /
         sum;
}

}  // namespace

jit::Defines deferred_defines(const WgmmaTunables& t) {
  return jit::Defines().set("STAGES", t.deferred_stages);
}

std::size_t deferred_shared_bytes(const WgmmaTunables& t) {
  return t.deferred_stages * kStageBytes + 2 * t.deferred_stages * 8;
}

std::size_t tensor_step_pairs(const Config& config, std::size_t samples) {
  constexpr std::size_t kPairBytes = 2 * kTensorStepBytes;
  return (samples * tensor_sample_bytes(config) + kPairBytes - 1) / kPairBytes;
}

TileSchedule schedule_tiles(std::size_t tiles, std::size_t tiles_of_channel, std::size_t groups,
                            std::size_t step_pairs, bool in_parts, double end_pairs) {
  // A part shorter than this is mostly its own start and end.
  constexpr std::size_t kLeastPairs = 4;
  const std::size_t left = tiles % groups;
  TileSchedule schedule{tiles, tiles, 1, 0};
  // Rotation costs up to 4 % where it is not needed, because neighbouring groups then share fewer
  // cache lines.
  if (largest_share(tiles_of_channel, groups) > 1.02)
    while (schedule.rotation + 1 < groups &&
           std::gcd(groups + schedule.rotation, tiles_of_channel) != 1)
      ++schedule.rotation;
  if (left == 0 || !in_parts) return schedule;
  const auto time = [&](std::size_t parts) {
    return static_cast<double>((left * parts + groups - 1) / groups) *
           (static_cast<double>(step_pairs) / static_cast<double>(parts) + end_pairs);
  };
  for (std::size_t parts = 2; parts <= step_pairs / kLeastPairs; ++parts)
    if (time(parts) < time(schedule.parts)) schedule.parts = parts;
  if (schedule.parts > 1) schedule.whole = tiles - left;
  schedule.items = schedule.whole + (tiles - schedule.whole) * schedule.parts;
  return schedule;
}

}  // namespace tautline::stages::correlate::gpu

#include "tautline/stages/correlate/gpu/hopper/deferred_sums.h"

#include <algorithm>

#include "tautline/core/baseline.h"
#include "tautline/core/integers.h"
#include "tautline/jit/program.h"
#include "tautline/stages/correlate/gpu/tiled.h"

namespace tautline::stages::correlate::gpu {

namespace {

// The same constants as in the kernel files.
constexpr std::size_t kDeferredThreads = 384, kFlushThreads = 256;
constexpr std::size_t kFlushShares = 8;  // groups of a tile
constexpr std::size_t kItemBytes = kTensorTileInputs * kTensorTileInputs * sizeof(core::ci32);

TileSchedule schedule(const Config& config, std::size_t groups) {
  const std::size_t tiles = tensor_tiles(config.inputs);
  // Each part of a tile reads and writes its own sums, which takes as long as eight pairs.
  constexpr double kEndPairs = 8;
  return schedule_tiles(config.channels * tiles, tiles, groups,
                        tensor_step_pairs(config, std::min(config.max_samples, kTensorMaxSamples)),
                        /*in_parts=*/true, kEndPairs);
}

}  // namespace

bool DeferredSums::worth(const Config& config) {
  const std::size_t tiles = tensor_tiles(config.inputs);
  // With few inputs most of a tile is empty.
  return config.defer_sums && config.exact() &&
         config.channels <= kTensorMaxItems / kFlushShares / tiles &&
         2 * tiles * kItemBytes <= 3 * core::baseline_count(config.inputs) * sizeof(core::ci64);
}

DeferredSums::DeferredSums(const Config& config, const device::Device& device,
                           const WgmmaTunables& tunables)
    : config_(config),
      tunables_(tunables),
      groups_(device.properties().multiprocessors),
      schedule_(schedule(config, groups_)),
      add_(jit::build(device, "correlate/gpu/hopper/wgmma_deferred.cuda.kernel",
                      deferred_defines(tunables))
               ->kernel("correlate_deferred")),
      flush_(jit::build(device, "correlate/gpu/hopper/flush_deferred.cuda.kernel", {})
                 ->kernel("flush_deferred")) {}

std::size_t DeferredSums::sums_bytes() const {
  return schedule_.items * kItemBytes;
}

void DeferredSums::add(device::Queue& queue, const device::TensorMap& map, std::size_t samples,
                       void* deferred, bool first) const {
  if (first) queue.fill(of_im(deferred), 0, of_im_bytes());
  const device::LaunchShape shape{.groups = {std::min(schedule_.items, groups_)},
                                  .threads = {kDeferredThreads},
                                  .local_bytes = deferred_shared_bytes(tunables_)};
  queue.run(*add_, shape, map, deferred, of_im(deferred), core::u32(config_.inputs),
            core::u32(tensor_step_pairs(config_, samples)), core::u32(schedule_.items),
            core::u32(schedule_.whole), core::u32(schedule_.parts), core::u32(schedule_.rotation),
            core::u32(first));
}

void DeferredSums::flush(device::Queue& queue, void* deferred, void* visibilities,
                         bool replace) const {
  const std::size_t tiles = tensor_tiles(config_.inputs);
  const device::LaunchShape shape{.groups = {config_.channels * tiles * kFlushShares},
                                  .threads = {kFlushThreads}};
  queue.run(*flush_, shape, deferred, of_im(deferred), core::u32(config_.inputs), core::u32(tiles),
            core::u32(schedule_.whole), core::u32(schedule_.parts), visibilities,
            core::u32(replace));
}

}  // namespace tautline::stages::correlate::gpu

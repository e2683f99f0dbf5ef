#include "tautline/stages/correlate/gpu/hopper/deferred_sums.h"

#include <algorithm>
#include <array>

#include "tautline/core/baseline.h"
#include "tautline/jit/program.h"
#include "tautline/stages/correlate/gpu/tiled.h"

namespace tautline::stages::correlate::gpu {

namespace {

// The same constants as in the kernel files.
constexpr std::size_t kDeferredThreads = 384, kFlushThreads = 256;
constexpr std::size_t kFlushShares = 8;  // groups of a tile
constexpr std::size_t kItemBytes = kTensorTileInputs * kTensorTileInputs * sizeof(core::ci32);

std::uint32_t number(std::size_t value) {
  return static_cast<std::uint32_t>(value);
}

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
  device::LaunchShape shape;
  shape.groups.x = std::min(schedule_.items, groups_);
  shape.threads.x = kDeferredThreads;
  shape.local_bytes = deferred_shared_bytes(tunables_);
  const std::array<device::Argument, 10> arguments{device::Argument(map),
                                                   device::Argument(deferred),
                                                   device::Argument(of_im(deferred)),
                                                   number(config_.inputs),
                                                   number(tensor_step_pairs(config_, samples)),
                                                   number(schedule_.items),
                                                   number(schedule_.whole),
                                                   number(schedule_.parts),
                                                   number(schedule_.rotation),
                                                   number(first ? 1 : 0)};
  queue.launch(*add_, shape, arguments);
}

void DeferredSums::flush(device::Queue& queue, void* deferred, void* visibilities,
                         bool replace) const {
  const std::size_t tiles = tensor_tiles(config_.inputs);
  device::LaunchShape shape;
  shape.groups.x = config_.channels * tiles * kFlushShares;
  shape.threads.x = kFlushThreads;
  const std::array<device::Argument, 8> arguments{
      device::Argument(deferred),     device::Argument(of_im(deferred)),
      number(config_.inputs),         number(tiles),
      number(schedule_.whole),        number(schedule_.parts),
      device::Argument(visibilities), number(replace ? 1 : 0)};
  queue.launch(*flush_, shape, arguments);
}

}  // namespace tautline::stages::correlate::gpu

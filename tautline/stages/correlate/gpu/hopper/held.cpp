#include "tautline/stages/correlate/gpu/hopper/held.h"

#include <algorithm>
#include <array>

#include "tautline/core/baseline.h"
#include "tautline/jit/program.h"
#include "tautline/stages/correlate/gpu/tiled.h"

namespace tautline::stages::correlate::gpu {

namespace {

// As in the kernel files.
constexpr std::size_t kThreads = 384, kReleaseThreads = 256;
constexpr std::size_t kReleaseShares = 8;  // groups of a tile
constexpr std::size_t kItemBytes = kTensorTileInputs * kTensorTileInputs * sizeof(core::ci32);

std::uint32_t number(std::size_t value) {
  return static_cast<std::uint32_t>(value);
}

TileSchedule schedule(const Config& config, std::size_t groups) {
  const std::size_t tiles = tensor_tiles(config.inputs);
  // Each part reads and writes sums of its own.
  constexpr double kEndPairs = 8;
  return schedule_tiles(config.channels * tiles, tiles, groups,
                        tensor_step_pairs(config, std::min(config.max_samples, kTensorMaxSamples)),
                        /*in_parts=*/true, kEndPairs);
}

}  // namespace

bool HeldSums::worth(const Config& config) {
  const std::size_t tiles = tensor_tiles(config.inputs);
  // Few inputs leave most of a tile empty.
  return config.hold_sums && exact(config) &&
         config.channels <= kTensorMaxItems / kReleaseShares / tiles &&
         2 * tiles * kItemBytes <= 3 * core::baseline_count(config.inputs) * sizeof(core::ci64);
}

HeldSums::HeldSums(const Config& config, const device::Device& device,
                   const WgmmaTunables& tunables)
    : config_(config),
      tunables_(tunables),
      groups_(device.properties().multiprocessors),
      schedule_(schedule(config, groups_)),
      add_(jit::build(device, "correlate/gpu/hopper/wgmma_held.cuda.kernel", held_defines(tunables))
               ->kernel("correlate_held")),
      release_(jit::build(device, "correlate/gpu/hopper/held_sums.cuda.kernel", {})->kernel("add_held")) {}

std::size_t HeldSums::sums_bytes() const {
  return schedule_.items * kItemBytes;
}

void HeldSums::add(device::Queue& queue, const device::TensorMap& map, std::size_t samples,
                   void* held, bool first) const {
  if (first) queue.fill(of_im(held), 0, of_im_bytes());
  device::LaunchShape shape;
  shape.groups.x = std::min(schedule_.items, groups_);
  shape.threads.x = kThreads;
  shape.local_bytes = held_local_bytes(tunables_);
  const std::array<device::Argument, 10> arguments{device::Argument(map),
                                                   device::Argument(held),
                                                   device::Argument(of_im(held)),
                                                   number(config_.inputs),
                                                   number(tensor_step_pairs(config_, samples)),
                                                   number(schedule_.items),
                                                   number(schedule_.whole),
                                                   number(schedule_.parts),
                                                   number(schedule_.turn),
                                                   number(first ? 1 : 0)};
  queue.launch(*add_, shape, arguments);
}

void HeldSums::release(device::Queue& queue, void* held, void* visibilities, bool replace) const {
  const std::size_t tiles = tensor_tiles(config_.inputs);
  device::LaunchShape shape;
  shape.groups.x = config_.channels * tiles * kReleaseShares;
  shape.threads.x = kReleaseThreads;
  const std::array<device::Argument, 8> arguments{
      device::Argument(held),         device::Argument(of_im(held)),
      number(config_.inputs),         number(tiles),
      number(schedule_.whole),        number(schedule_.parts),
      device::Argument(visibilities), number(replace ? 1 : 0)};
  queue.launch(*release_, shape, arguments);
}

}  // namespace tautline::stages::correlate::gpu

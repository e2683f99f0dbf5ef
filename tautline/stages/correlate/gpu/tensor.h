// The kernels for matrix units: configurations, and how tiles are shared out. Apart from the
// kernels themselves so that a compiler without a device can be given them.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/jit/program.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/tunables.h"

namespace tautline::stages::correlate::gpu {

/// Inputs on a side of the tile that a group makes.
inline constexpr std::size_t kTensorTileInputs = 128;
/// Bytes of a row that the kernels fetch and multiply at a time.
inline constexpr std::size_t kTensorStepBytes = 128;
/// 32-bit sums hold 65,535 full-scale samples; these are whole steps of ci8.
inline constexpr std::size_t kTensorMaxSamples = 65535 / 64 * 64;
/// What one launch sums: that, or a chunk of halves.
std::size_t tensor_max_samples(const Config& config);
/// Of what the kernels read: ci8 or cf16.
std::size_t tensor_sample_bytes(const Config& config);
/// The kernels number what there is to do in 32 bits.
inline constexpr std::size_t kTensorMaxItems = std::size_t{1} << 30;

/// Whether the kernels have code for this device and format.
bool wgmma_runs(const Config& config, const device::Device& device);
bool mma_runs(const Config& config, const device::Device& device);

/// Tiles of one channel on and below the diagonal.
std::size_t tensor_tiles(std::size_t inputs);

/// `wanted` with its zeros filled in, for a device with this much shared memory a group. Throws
/// Error(config) naming the field, the value and the limit.
WgmmaTunables complete(const WgmmaTunables& wanted, std::size_t local_bytes, bool half = false);
MmaTunables complete(const MmaTunables& wanted, std::size_t local_bytes);

/// "5 stages, ...".
std::string describe(const WgmmaTunables& tunables);
std::string describe(const MmaTunables& tunables);

/// Definitions for the kernel files. `tunables` are complete.
jit::Defines wgmma_defines(const Config& config, const WgmmaTunables& tunables);
jit::Defines mma_defines(const Config& config, const MmaTunables& tunables);

/// Of the kernel that keeps 32-bit sums.
jit::Defines deferred_defines(const WgmmaTunables& tunables);

/// Shared memory of one group.
std::size_t wgmma_local_bytes(const WgmmaTunables& tunables);
std::size_t mma_local_bytes(const MmaTunables& tunables);
std::size_t deferred_local_bytes(const WgmmaTunables& tunables);

/// What wgmma's groups do: whole tiles first, the tiles of a last, short round in `parts` along
/// time, so that no group is idle for the length of a tile.
struct TileSchedule {
  std::size_t items = 0;
  std::size_t whole = 0;
  std::size_t parts = 1;
  /// How far groups move on from round to round, so that they meet the channels' tiles on the
  /// diagonal, which are less work, equally often.
  std::size_t turn = 0;
};

/// Of step_pairs pairs of steps, `tiles_of_channel` tiles a channel. `in_parts`: whether a tile's
/// sums may be made by several groups. `end_pairs`: pairs that take as long as a part's start and
/// end.
TileSchedule schedule_tiles(std::size_t tiles, std::size_t tiles_of_channel, std::size_t groups,
                            std::size_t step_pairs, bool in_parts = true, double end_pairs = 1);

/// Pairs of steps in a row of so many samples.
std::size_t tensor_step_pairs(const Config& config, std::size_t samples);

}  // namespace tautline::stages::correlate::gpu

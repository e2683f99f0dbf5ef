// Configurations of the kernels for matrix units, and how tiles are scheduled. Apart from the
// kernel objects, so that tests can compile the kernels without a device.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/jit/program.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/tunables.h"

namespace tautline::stages::correlate::gpu {

/// Inputs on a side of a group's tile.
inline constexpr std::size_t kTensorTileInputs = 128;
/// Bytes of a row that the kernels load and multiply in one step.
inline constexpr std::size_t kTensorStepBytes = 128;
/// Full-scale samples that fit 32-bit sums (65,535), rounded down to whole steps of ci8.
inline constexpr std::size_t kTensorMaxSamples = 65535 / 64 * 64;
/// Most samples of one launch: kTensorMaxSamples, or a chunk of halves.
std::size_t tensor_max_samples(const Config& config);
/// Bytes of a sample that the kernels read, ci8 or cf16.
std::size_t tensor_sample_bytes(const Config& config);
/// Most work items of a launch: the kernels number them in 32 bits.
inline constexpr std::size_t kTensorMaxItems = std::size_t{1} << 30;

/// Whether the kernels support the device and the format.
bool wgmma_runs(const Config& config, const device::Device& device);
bool mma_runs(const Config& config, const device::Device& device);

/// Tiles of one channel on and below the diagonal.
std::size_t tensor_tiles(std::size_t inputs);

/// `wanted` with defaults for its zeros, for a device with `shared_bytes` of shared memory a group.
/// Throws Error(config) naming the field, the value and the limit.
WgmmaTunables complete(const WgmmaTunables& wanted, std::size_t shared_bytes, bool half = false);
MmaTunables complete(const MmaTunables& wanted, std::size_t shared_bytes);

/// "5 stages, ...".
std::string describe(const WgmmaTunables& tunables);
std::string describe(const MmaTunables& tunables);

/// Definitions for the kernel files. `tunables` are complete.
jit::Defines wgmma_defines(const Config& config, const WgmmaTunables& tunables);
jit::Defines mma_defines(const Config& config, const MmaTunables& tunables);

/// Definitions for wgmma_deferred.cuda.kernel.
jit::Defines deferred_defines(const WgmmaTunables& tunables);

/// Shared memory of one group, in each of the kernels.
std::size_t wgmma_shared_bytes(const WgmmaTunables& tunables);
std::size_t mma_shared_bytes(const MmaTunables& tunables);
std::size_t deferred_shared_bytes(const WgmmaTunables& tunables);

/// The work list of the wgmma kernels: rounds of one tile a group. The tiles of an incomplete last
/// round are cut into `parts` along time, so that no group is idle for the length of a tile.
struct TileSchedule {
  std::size_t items = 0;
  std::size_t whole = 0;
  std::size_t parts = 1;
  /// How far groups are rotated from round to round, so that each gets its share of the tiles on
  /// the diagonal, which are less work.
  std::size_t rotation = 0;
};

/// Schedules `tiles` tiles of `step_pairs` pairs of steps, with `tiles_of_channel` tiles a channel.
/// `in_parts`: whether several groups may sum parts of a tile. `end_pairs`: the time that a part's
/// start and end take, in pairs of steps.
TileSchedule schedule_tiles(std::size_t tiles, std::size_t tiles_of_channel, std::size_t groups,
                            std::size_t step_pairs, bool in_parts = true, double end_pairs = 1);

/// Pairs of steps in a row of `samples` samples.
std::size_t tensor_step_pairs(const Config& config, std::size_t samples);

}  // namespace tautline::stages::correlate::gpu

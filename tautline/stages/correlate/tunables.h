// What can be tuned in the correlator on CPUs and GPUs, with ranges and defaults.
#pragma once

#include <cstddef>

namespace tautline::stages::correlate {

/// Of the CPU correlator. Zero means: the default of the kernel that runs, which knows its cache
/// needs.
struct Tunables {
  /// Samples that are packed, multiplied and added to the sums at a time: a multiple of 64, from
  /// 64 to 65,472 (the 32-bit sums' limit). Longer chunks write the sums less often; shorter ones
  /// keep two packed panels in the first-level cache. 0: the largest that `cache_bytes` and the
  /// kernel's own limit allow.
  std::size_t chunk_samples = 0;

  /// Packed operands of one worker that should stay in its second-level cache, 32 KiB to 1 GiB.
  /// 768 KiB leaves room for the sums in the 1 MiB of Zen 5 and the 2 MiB of Sapphire Rapids.
  std::size_t cache_bytes = 768 * 1024;

  /// Row panels (of 16 inputs) that share one pass over the column panels, 1 to 256. A column
  /// panel then comes from the outer cache once per group, and the group's own panels stay in the
  /// second-level cache, or (AMX, 2) in the first. 0: the kernel's own.
  std::size_t group_panels = 0;

  friend constexpr bool operator==(const Tunables&, const Tunables&) = default;
};

/// Of the portable GPU kernel (tiled.kernel). A thread sums register_rows x register_columns
/// baselines, a group thread_rows x thread_columns threads' worth of them. With 1x1 that is the
/// pair-parallel design of the MWA's prototype, with 2x2 and 4x4 its group-parallel one, with local
/// memory its hybrid and xGPU's.
///
/// Zero means: the default, which depends on format and api.
struct TiledTunables {
  std::size_t register_rows = 0;     ///< 1, 2, 4 or 8
  std::size_t register_columns = 0;  ///< 1, 2, 4 or 8
  std::size_t thread_rows = 0;       ///< 8 or 16
  std::size_t thread_columns = 0;    ///< 8 or 16
  /// Bytes of every input that a group brings to local memory at a time: 32, 64, 128 or 256.
  std::size_t stage_bytes = 0;
  /// Stages in local memory: 1; 2 fills one while the other is multiplied; 0 reads operands
  /// from global memory, through whatever cache there is.
  int local_buffers = -1;  ///< -1: the default
  /// Bytes of one load, 4, 8 or 16; samples that are less aligned are copied first.
  std::size_t vector_bytes = 0;
  /// Four products and three additions instead of the instruction that does them together. Only
  /// for exact formats; for devices that emulate the instruction badly, and to measure what it is
  /// worth.
  bool emulate_dot4 = false;
  /// Groups that should fit on a multiprocessor, 1 to 8: fewer registers for each thread, and more
  /// threads to hide latency with. CUDA only. 0: the default.
  std::size_t groups_per_multiprocessor = 0;

  friend constexpr bool operator==(const TiledTunables&, const TiledTunables&) = default;
};

/// Of the kernel for Hopper's matrix units (wgmma.cuda.kernel). Zero means the default.
struct WgmmaTunables {
  /// Steps of 32 KiB in shared memory, 3 to 6: what is fetched ahead.
  std::size_t stages = 0;
  /// Columns of sums that a warp hands to the copy engine at a time, 32 or 64: memory that a sixth
  /// stage could have.
  std::size_t staging_columns = 0;
  /// With Config::defer_sums, of the kernel that keeps 32-bit sums: steps in shared memory, 3 to 7.
  /// 4 and 5 are the best by a few per cent; with more the groups read less in step.
  std::size_t deferred_stages = 0;

  friend constexpr bool operator==(const WgmmaTunables&, const WgmmaTunables&) = default;
};

/// Of the kernel for the matrix units of compute capability 8.0 and later (mma.cuda.kernel).
struct MmaTunables {
  /// Steps of 32 KiB in shared memory, 3 to 6. 0: as many as fit, up to 5.
  std::size_t stages = 0;

  friend constexpr bool operator==(const MmaTunables&, const MmaTunables&) = default;
};

/// Which GPU code multiplies. `automatic` takes the first of wgmma, mma and tiled that the device
/// and the format allow.
enum class GpuDesign { automatic, tiled, mma, wgmma };

/// Of the GPU correlator.
struct GpuTunables {
  GpuDesign design = GpuDesign::automatic;
  TiledTunables tiled;
  WgmmaTunables wgmma{};
  MmaTunables mma{};
  /// Samples that come from host memory or have to be copied (masks, odd strides, ci4, ci16) are
  /// taken some channels at a time, so that their buffers stay at about this size; 1 MiB or more,
  /// but at least one channel. 256 MiB is a few milliseconds of copying.
  std::size_t slab_bytes = std::size_t{256} << 20;

  friend constexpr bool operator==(const GpuTunables&, const GpuTunables&) = default;
};

}  // namespace tautline::stages::correlate

// Tunables of the correlator on CPUs and GPUs, with ranges and defaults.
#pragma once

#include <cstddef>

namespace tautline::stages::correlate {

/// Of the CPU correlator. Zero means the default of the kernel that runs.
struct Tunables {
  /// Samples that are packed, multiplied and added to the sums at a time: a multiple of 64, from
  /// 64 to 65,472 (the limit of 32-bit sums). Longer chunks write the sums less often; shorter ones
  /// keep two packed panels in the first-level cache. 0: the largest chunk that `cache_bytes` and
  /// the kernel allow.
  std::size_t chunk_samples = 0;

  /// Packed operands of one worker that should stay in its second-level cache, 32 KiB to 1 GiB.
  /// 768 KiB leaves room for the sums in the 1 MiB of Zen 5 and the 2 MiB of Sapphire Rapids.
  std::size_t cache_bytes = 768 * 1024;

  /// Row panels (of 16 inputs) that share one pass over the column panels, 1 to 256. A column
  /// panel then comes from the outer cache once per group, and the group's own panels stay in the
  /// second-level cache, or (AMX, 2) in the first. 0: the kernel's default.
  std::size_t group_panels = 0;

  friend constexpr bool operator==(const Tunables&, const Tunables&) = default;
};

/// Of the portable GPU kernel (tiled.kernel). A thread sums register_rows x register_columns
/// baselines, and a group has thread_rows x thread_columns threads. 1x1 registers are the
/// pair-parallel design of the MWA's prototype, 2x2 and 4x4 its group-parallel design, and 4x4 with
/// shared memory its hybrid design and xGPU's.
///
/// Zero means the default, which depends on format and API.
struct TiledTunables {
  std::size_t register_rows = 0;     ///< 1, 2, 4 or 8
  std::size_t register_columns = 0;  ///< 1, 2, 4 or 8
  std::size_t thread_rows = 0;       ///< 8 or 16
  std::size_t thread_columns = 0;    ///< 8 or 16
  /// Bytes of every input that a group copies to shared memory at a time: 32, 64, 128 or 256.
  std::size_t stage_bytes = 0;
  /// Buffers in shared memory: 1; 2, of which one is filled while the other is multiplied; 0 reads
  /// operands from global memory, through the cache.
  int local_buffers = -1;  ///< -1: the default
  /// Bytes of one load, 4, 8 or 16; samples with a smaller alignment are copied first.
  std::size_t vector_bytes = 0;
  /// Four products and three additions instead of the dot-product instruction. Only for exact
  /// formats; for devices that emulate the instruction slowly, and to measure its gain.
  bool emulate_dot4 = false;
  /// Groups that should fit on a multiprocessor, 1 to 8: more groups hide more latency and leave
  /// fewer registers for each thread. CUDA only. 0: the default.
  std::size_t groups_per_multiprocessor = 0;

  friend constexpr bool operator==(const TiledTunables&, const TiledTunables&) = default;
};

/// Of the kernel for Hopper's matrix units (wgmma.cuda.kernel). Zero means the default.
struct WgmmaTunables {
  /// Stages of 32 KiB in shared memory, 3 to 6: producer warps load this far ahead.
  std::size_t stages = 0;
  /// Columns of sums that a warp stages for the copy engine at a time, 32 or 64. 64 leave no shared
  /// memory for a sixth stage.
  std::size_t staging_columns = 0;
  /// The same number of stages, 3 to 7, for the kernel of deferred sums (Config::defer_sums). 4 and
  /// 5 are faster by a few per cent: with more, groups drift apart and share fewer cache lines.
  std::size_t deferred_stages = 0;

  friend constexpr bool operator==(const WgmmaTunables&, const WgmmaTunables&) = default;
};

/// Of the kernel for the matrix units of compute capability 8.0 and later (mma.cuda.kernel).
struct MmaTunables {
  /// Stages of 32 KiB in shared memory, 3 to 6. 0: as many as fit, up to 5.
  std::size_t stages = 0;

  friend constexpr bool operator==(const MmaTunables&, const MmaTunables&) = default;
};

/// Which GPU kernel multiplies. `automatic` takes the first of wgmma, mma and tiled that supports
/// the device and the format.
enum class GpuDesign { automatic, tiled, mma, wgmma };

/// Of the GPU correlator.
struct GpuTunables {
  GpuDesign design = GpuDesign::automatic;
  TiledTunables tiled;
  WgmmaTunables wgmma{};
  MmaTunables mma{};
  /// Size of the buffers for samples in host memory and samples that need conversion (masks, odd
  /// strides, ci4, ci16), which pass through them some channels at a time: 1 MiB or more, and at
  /// least one channel. Copying 256 MiB takes a few milliseconds.
  std::size_t slab_bytes = std::size_t{256} << 20;

  friend constexpr bool operator==(const GpuTunables&, const GpuTunables&) = default;
};

}  // namespace tautline::stages::correlate

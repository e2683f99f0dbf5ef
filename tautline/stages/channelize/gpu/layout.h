// Sizes of groups and local memory, and the definitions of the kernel files: pure functions of a
// filter bank and complete tunables (gpu/dispatch.h).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/jit/program.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize::gpu {

/// Radices of the passes of a transform, padded with 1.
using Radices = std::array<std::size_t, 3>;

/// Two or three radices of at most `points`, in ascending order; zeros if two or three do not
/// suffice.
Radices radices_of(std::size_t length, std::size_t points);

/// One transform in shared memory: the whole transform of fused, the columns or rows of split.
struct TransformSizes {
  std::size_t length = 0;  ///< points
  Radices radices{};
  std::size_t spectrum_stride = 0;  ///< float2 between the spectra's parts of shared memory
  std::size_t threads = 0;          ///< of a group
  std::size_t local_bytes = 0;
  /// With GpuTunables::fetch, offsets of corner-turned words and of the counter of arrivals.
  std::size_t words_at = 0, counter = 0;
};

TransformSizes fused_sizes(const GpuTunables& complete, const Bank& bank);

/// Of split: the first kernel is a pass of radix `parts` over `columns` neighbouring columns, the
/// second kernel transforms the rest.
struct SplitSizes {
  std::size_t parts = 0;
  std::size_t columns = 0;
  std::size_t row_spectra = 0;  ///< parts or spectra of a group of the second kernel
  TransformSizes first, rest;
};
SplitSizes split_sizes(const GpuTunables& complete, const Bank& bank);

/// Whether h[t][p] = h[T - 1 - t][last - p]: kernels can then read half of the coefficients.
bool symmetric(const Bank& bank);
/// Whether the kernels of these tunables use the symmetry.
bool uses_symmetry(const GpuTunables& complete, const Bank& bank);

/// Of separate: whether coefficients of alternating sign shift the transform's terms to ascending
/// order.
bool centred(const Bank& bank);

/// The alignment of addresses and strides of samples, in bytes.
std::size_t sample_alignment(const GpuTunables& complete, const Bank& bank);

/// Bytes that corner-turned outputs store at once: consecutive times of one channel.
std::size_t piece_bytes(const GpuTunables& complete, const Bank& bank);

jit::Defines fused_defines(const GpuTunables& complete, const Bank& bank);
jit::Defines columns_defines(const GpuTunables& complete, const Bank& bank);
jit::Defines rows_defines(const GpuTunables& complete, const Bank& bank);
jit::Defines fir_defines(const GpuTunables& complete, const Bank& bank);
jit::Defines finish_defines(const Bank& bank);

/// Threads of a group of fir.kernel and finish.kernel.
inline constexpr std::size_t kFirThreads = 256;
inline constexpr std::size_t kFinishThreads = 256;
inline constexpr std::size_t kFinishTile = 32;

/// Bits of the kernels' `flags`.
enum Flags : std::uint32_t { kMasked = 1, kPhased = 2, kAligned = 4 };

/// Compiler options that forbid the contraction of products and sums.
std::vector<std::string> exact_options(device::Api api);

}  // namespace tautline::stages::channelize::gpu

// The sizes that make the kernel files programs: pure functions of a filter bank and tunables
// without zeros (gpu/dispatch.h).
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

/// Radices of the passes of a transform, 1 behind the last.
using Radices = std::array<std::size_t, 3>;

/// Two or three passes of at most `points` each, the smaller ones first; zeros when there are none.
Radices radices_of(std::size_t length, std::size_t points);

/// One transform in local memory: fused does all of it, split does columns and rows.
struct TransformSizes {
  std::size_t length = 0;  ///< points
  Radices radices{};
  std::size_t spectrum_stride = 0;  ///< float2 from one spectrum's part of local memory to the next
  std::size_t threads = 0;          ///< of a group
  std::size_t local_bytes = 0;
  /// Where fetched rows do not lie: turned words, and the counter of arrivals.
  std::size_t words_at = 0, counter = 0;
};

TransformSizes fused_sizes(const GpuTunables& complete, const Bank& bank);

/// Of split: first a pass of `parts` over `columns` neighbouring columns, then transforms of the
/// rest.
struct SplitSizes {
  std::size_t parts = 0;
  std::size_t columns = 0;
  std::size_t row_spectra = 0;  ///< parts or spectra of a group of the second kernel
  TransformSizes first, rest;
};
SplitSizes split_sizes(const GpuTunables& complete, const Bank& bank);

/// Whether h[t][p] = h[T - 1 - t][last - p]: kernels then read half of the coefficients.
bool symmetric(const Bank& bank);
/// Whether the kernels of these tunables use that.
bool uses_symmetry(const GpuTunables& complete, const Bank& bank);

/// Of separate: whether coefficients of alternating sign put the transform's terms in ascending
/// order.
bool centred(const Bank& bank);

/// Bytes that addresses and strides of samples have to be multiples of.
std::size_t sample_alignment(const GpuTunables& complete, const Bank& bank);

/// Bytes of one result.
std::size_t value_bytes(const Bank& bank);

/// Times of one channel that the turned outputs store at once, and their bytes.
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

/// Options that make the api's compiler do floating-point arithmetic as it is written.
std::vector<std::string> exact_options(device::Api api);

}  // namespace tautline::stages::channelize::gpu

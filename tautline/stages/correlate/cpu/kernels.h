// The interface between the CPU plan and the kernels of each instruction set.
//
// Inputs are cut into panels of 16 and the lower triangle of baselines into blocks of 16 x 16. For
// each channel and chunk of time every panel is packed once, and every block is the product of two
// packed panels, added to 32-bit (integers) or double (floats) sums that stay in the cache. Rows of
// blocks form groups: a group's panels are packed just before its blocks are multiplied, which need
// no later panels. At the end, and before a 32-bit sum could overflow, the sums are flushed: added
// to the visibilities.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "tautline/core/complex_int.h"
#include "tautline/device/device.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/cpu/prefetch.h"

namespace tautline::stages::correlate::cpu {

inline constexpr std::size_t kPanel = 16;                 ///< inputs in a panel
inline constexpr std::size_t kBlock = kPanel * kPanel;    ///< pairs in a block
inline constexpr std::size_t kSumsPerBlock = 2 * kBlock;  ///< re [16][16], then im [16][16]
inline constexpr std::size_t kCorrections = 2 * kPanel;   ///< re [16], then im [16]
/// Full-scale samples that fit a 32-bit sum: each adds at most 2 x 128 x 128 = 2^15.
inline constexpr std::size_t kMaxSumSamples = 65535;

/// A block of the triangle: rows (i) from one panel, columns (j) from one at or below it.
struct PanelPair {
  std::uint16_t row_panel;
  std::uint16_t column_panel;
};

/// The packed panels of one chunk.
struct Packed {
  std::byte* panels;
  std::size_t panel_bytes;  ///< from one panel to the next
  /// Row factors, for kernels that pack them apart from the columns. With as many `row_panels` as a
  /// group has, only one group's row factors are kept, and stay in the first-level cache.
  std::byte* rows;
  std::size_t row_bytes;   ///< of one panel's row factors
  std::size_t row_panels;  ///< panels that `rows` has room for
  std::size_t steps;       ///< steps of the kernel's step_samples

  [[gnu::always_inline]] std::byte* panel(std::size_t index) const {
    return panels + index * panel_bytes;
  }
  [[gnu::always_inline]] std::byte* row_factors(std::size_t index) const {
    return rows + index % row_panels * row_bytes;
  }
};

/// The kernel of one instruction set for rows of one type. Row is ci8 or complex<float>, Sum is the
/// type of the running sums.
template <class Row, class Sum>
struct Kernel {
  const char* backend;
  std::size_t step_samples;       ///< rows are zero-padded to a multiple of this (divides 64)
  std::size_t step_bytes;         ///< packed bytes of one panel and step
  std::size_t step_row_bytes;     ///< of its row factors if packed apart, else 0
  std::size_t max_chunk_samples;  ///< beyond this, panels leave the first-level cache
  std::size_t group_panels;       ///< row panels in a group
  /// Whether the imaginary part of a diagonal block is only the sum over t of im_i re_j: the plan
  /// then subtracts its transpose, and no correction.
  bool half_diagonal;
  /// Packs `steps` steps of 16 rows, and adds to the panel's corrections.
  void (*pack)(const Row* const* rows, std::size_t steps, std::byte* panel, std::byte* row_factors,
               Sum* corrections);
  /// sums[k] += the product of blocks[k]'s panels; prefetches a part of `ahead` with every block.
  void (*multiply)(const PanelPair* blocks, std::size_t count, const Packed& packed, Sum* sums,
                   Prefetch& ahead);
};

using IntegerKernel = Kernel<core::ci8, std::int32_t>;
using FloatKernel = Kernel<std::complex<float>, double>;

/// Loops over rows and sums, which the compiler vectorises for each instruction set.
struct RowLoops {
  /// dst[t] = src[t * stride] for t < samples, zero up to `padded` and where the mask is clear
  /// (`mask` may be null: all valid; bit 0 of word 0 is sample 0).
  template <class From, class To>
  using Copy = void (*)(const From* src, std::ptrdiff_t stride, const std::uint64_t* mask,
                        std::size_t samples, std::size_t padded, To* dst);
  std::tuple<Copy<core::ci8, core::ci8>, Copy<core::ci4, core::ci8>,
             Copy<core::ci16, std::complex<float>>, Copy<core::cf16, std::complex<float>>,
             Copy<std::complex<float>, std::complex<float>>>
      copies;

  /// Number of bits set in both masks.
  std::uint64_t (*count_both)(const std::uint64_t* a, const std::uint64_t* b, std::size_t words);

  /// visibilities[j] += the row's sums less its corrections, modulo 2^32 before widening, for
  /// j < columns <= kPanel; re and im hold kPanel sums.
  void (*flush_integer)(const std::int32_t* re, const std::int32_t* im, std::int32_t correction_re,
                        std::int32_t correction_im, std::size_t columns, core::ci64* visibilities);
};

/// Highway code of `set` (portable, avx2 or avx512), or null where this build has none.
const IntegerKernel* simd_integer_kernel(device::InstructionSet set);
const FloatKernel* simd_float_kernel(device::InstructionSet set);

/// body(first, last, worker) over [0, count): on this thread, as `worker`, when `queue` is null.
template <class Body>
void for_range(device::Queue* queue, std::size_t worker, std::size_t count, const Body& body) {
  if (queue == nullptr) {
    body(0, count, worker);
  } else {
    // A lambda that captures one reference fits std::function without an allocation.
    queue->parallel_for(count, 1, [&body](std::size_t first, std::size_t last, std::size_t w) {
      body(first, last, w);
    });
  }
}

#if defined(__x86_64__)
const IntegerKernel& vnni_kernel();
const IntegerKernel& amx_kernel();
#endif

}  // namespace tautline::stages::correlate::cpu

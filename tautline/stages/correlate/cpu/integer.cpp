// Integer correlation in 16-bit multiply-adds, compiled for each Highway target.
//
// With x_i = a + ib and x_j = c + id, three real products give the complex one:
//   P1 = a c,  P2 = b d,  P3 = (a + b)(c - d),   re = P1 + P2,  im = b c - a d = P3 - P1 + P2.
// The sums and differences have 9 bits, so all factors are 16-bit, and one instruction multiplies
// two times and adds the products. The plain formula has four products. Sums are modulo 2^32; the
// true sums fit 32 bits (docs/maths/correlate.md).
#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/correlate/cpu/integer.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "tautline/stages/correlate/cpu/kernels.h"
#include "tautline/stages/correlate/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::correlate::cpu {
namespace HWY_NAMESPACE {
namespace {

// A packed panel is four planes (re, im, re + im, re - im) of [pair of times][input][2] int16, so
// that one 32-bit lane holds two times of one input.
inline constexpr std::size_t kStepSamples = 16;
inline constexpr std::size_t kStepPairs = kStepSamples / 2;
inline constexpr std::size_t kWords = kPanel;  // 32-bit words of one plane and pair of times
inline constexpr std::size_t kPlanes = 4;
inline constexpr std::size_t kVectors = kWords / kLanes;
// 16 accumulators on AVX-512, which has 32 registers, and 8 elsewhere, with 16 registers. That
// keeps two multiply-adds a cycle in flight, since only the one-cycle addition is in the dependency
// chain.
inline constexpr std::size_t kRows = kVectors == 1 ? 16 : 8 / kVectors;

// Packs one step of 16 rows into four planes.
HWY_ATTR void pack_step(const core::ci8* const* rows, std::size_t first, std::int16_t* plane,
                        std::size_t plane_size) {
  alignas(64) std::int16_t raw[kStepPairs * kWords * 2];
  auto* bytes = reinterpret_cast<std::byte*>(raw);
  constexpr std::size_t kPairBytes = kWords * 4;
  for (std::size_t r = 0; r < kPanel; r += 4)
    for (std::size_t pair = 0; pair < kStepPairs; pair += 4) {
      const std::size_t t = first + 2 * pair;
      transpose_quads(load_quad(rows[r] + t), load_quad(rows[r + 1] + t),
                      load_quad(rows[r + 2] + t), load_quad(rows[r + 3] + t),
                      bytes + pair * kPairBytes + r * 4, kPairBytes);
    }
  for (std::size_t k = 0; k < kStepPairs * kWords * 2; ++k) {
    // The low byte is re, the high byte im.
    const auto re = static_cast<std::int16_t>(static_cast<std::int8_t>(raw[k] & 0xff));
    const auto im = static_cast<std::int16_t>(raw[k] >> 8);
    plane[k] = re;
    plane[plane_size + k] = im;
    plane[2 * plane_size + k] = static_cast<std::int16_t>(re + im);
    plane[3 * plane_size + k] = static_cast<std::int16_t>(re - im);
  }
}

HWY_ATTR void pack(const core::ci8* const* rows, std::size_t steps, std::byte* panel, std::byte*,
                   std::int32_t*) {
  auto* planes = reinterpret_cast<std::int16_t*>(panel);
  const std::size_t step_size = kStepPairs * kWords * 2;
  for (std::size_t s = 0; s < steps; ++s)
    pack_step(rows, s * kStepSamples, planes + s * step_size, steps * step_size);
}

// The parts of the sum that a plane's product is added to.
enum class Adds { re_minus_im, re_and_im, im };

// kRows rows of a block in one plane.
template <Adds kAdds>
HWY_ATTR HWY_INLINE void multiply_rows(const std::int32_t* rows, const std::int32_t* columns,
                                       std::size_t pairs, std::int32_t* re, std::int32_t* im) {
  PairSums sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = no_sums();
  for (std::size_t p = 0; p < pairs; ++p) {
    IntVector column[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) column[v] = load(columns + p * kWords + v * kLanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const IntVector row = broadcast(rows[p * kWords + r]);
      for (std::size_t v = 0; v < kVectors; ++v) add_products(sums[r][v], row, column[v]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kVectors; ++v) {
      const IntVector sum = total(sums[r][v]);
      const std::size_t at = r * kPanel + v * kLanes;
      if (kAdds != Adds::im) add_to(re + at, sum);
      if (kAdds == Adds::re_minus_im) {
        subtract_from(im + at, sum);
      } else {
        add_to(im + at, sum);
      }
    }
}

template <Adds kAdds>
HWY_ATTR void multiply_plane(const std::int32_t* rows, const std::int32_t* columns,
                             std::size_t pairs, std::int32_t* sums) {
  for (std::size_t r = 0; r < kPanel; r += kRows)
    multiply_rows<kAdds>(rows + r, columns, pairs, sums + r * kPanel, sums + kBlock + r * kPanel);
}

HWY_ATTR void multiply(const PanelPair* blocks, std::size_t count, const Packed& packed,
                       std::int32_t* sums, Prefetch& ahead) {
  const std::size_t pairs = packed.steps * kStepPairs;
  const std::size_t plane = pairs * kWords;
  for (std::size_t k = 0; k < count; ++k, sums += kSumsPerBlock) {
    ahead.fetch(ahead.lines_in(1));
    const auto panel = [&](std::size_t index) {
      return reinterpret_cast<const std::int32_t*>(packed.panels + index * packed.panel_bytes);
    };
    const std::int32_t* rows = panel(blocks[k].row_panel);
    const std::int32_t* columns = panel(blocks[k].column_panel);
    multiply_plane<Adds::re_minus_im>(rows, columns, pairs, sums);
    multiply_plane<Adds::re_and_im>(rows + plane, columns + plane, pairs, sums);
    multiply_plane<Adds::im>(rows + 2 * plane, columns + 3 * plane, pairs, sums);
  }
}

constexpr IntegerKernel kernel_named(const char* name) {
  return {.backend = name,
          .step_samples = kStepSamples,
          .step_bytes = kPlanes * kStepPairs * kWords * 4,
          .step_row_bytes = 0,
          // One plane of two panels is then 32 KiB: the first-level cache.
          .max_chunk_samples = 512,
          .group_panels = 8,
          .half_diagonal = false,
          .pack = pack,
          .multiply = multiply};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tautline::stages::correlate::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tautline/device/cpu/highway_choice.h"

namespace tautline::stages::correlate::cpu {

const IntegerKernel* simd_integer_kernel(device::InstructionSet set) {
  return TAUTLINE_TARGET_OF(kernel_named, set);
}

}  // namespace tautline::stages::correlate::cpu

#endif  // HWY_ONCE

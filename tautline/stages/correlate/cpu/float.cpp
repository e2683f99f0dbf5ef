// Float correlation, compiled for each Highway target.
//
// One chunk of time is summed in float, in registers, and added to double sums, so that rounding
// errors grow with the chunk (case.h states how much) and not with the integration.
#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/correlate/cpu/float.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/cpu/kernels.h"
#include "tautline/stages/correlate/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::correlate::cpu {
namespace HWY_NAMESPACE {
namespace {

// A packed panel is [time][re, im][input] float.
inline constexpr std::size_t kStepSamples = 2;
inline constexpr std::size_t kFloatsPerTime = 2 * kPanel;
// Rows at a time, with two accumulators each, of 32 registers on AVX-512 and 16 elsewhere. Four
// cycles of latency at two multiply-adds a cycle need eight independent accumulators.
inline constexpr std::size_t kRows = kLanes == 16 ? 8 : 4;

// Rows are interleaved re, im; two times of four rows are transposed into two columns each of re
// and im.
HWY_ATTR void pack(const std::complex<float>* const* rows, std::size_t steps, std::byte* panel,
                   std::byte*, double*) {
  constexpr std::size_t kPartBytes = kPanel * sizeof(float);
  for (std::size_t r = 0; r < kPanel; r += 4)
    for (std::size_t s = 0; s < steps; ++s) {
      const std::size_t t = s * kStepSamples;
      transpose_quads(load_quad(rows[r] + t), load_quad(rows[r + 1] + t),
                      load_quad(rows[r + 2] + t), load_quad(rows[r + 3] + t),
                      panel + t * 2 * kPartBytes + r * sizeof(float), kPartBytes);
    }
}

// kRows rows by kLanes columns: x_i conj(x_j) = (a c + b d) + i (b c - a d).
HWY_ATTR HWY_INLINE void multiply_rows(const float* rows, const float* columns, std::size_t samples,
                                       double* re, double* im) {
  FloatVector sum_re[kRows], sum_im[kRows];
  for (std::size_t r = 0; r < kRows; ++r) sum_re[r] = sum_im[r] = zero_float();
  for (std::size_t t = 0; t < samples; ++t) {
    const FloatVector c = load(columns + t * kFloatsPerTime);
    const FloatVector d = load(columns + t * kFloatsPerTime + kPanel);
    const float* row = rows + t * kFloatsPerTime;
    for (std::size_t r = 0; r < kRows; ++r) {
      const FloatVector a = broadcast(row[r]);
      sum_re[r] = multiply_add(a, c, sum_re[r]);
      sum_im[r] = multiply_subtract(a, d, sum_im[r]);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      const FloatVector b = broadcast(row[kPanel + r]);
      sum_re[r] = multiply_add(b, d, sum_re[r]);
      sum_im[r] = multiply_add(b, c, sum_im[r]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    alignas(64) float lanes[2][kLanes];
    store(lanes[0], sum_re[r]);
    store(lanes[1], sum_im[r]);
    for (std::size_t v = 0; v < kLanes; ++v) {
      re[r * kPanel + v] += static_cast<double>(lanes[0][v]);
      im[r * kPanel + v] += static_cast<double>(lanes[1][v]);
    }
  }
}

HWY_ATTR void multiply(const PanelPair* blocks, std::size_t count, const Packed& packed,
                       double* sums, Prefetch& ahead) {
  const std::size_t samples = packed.steps * kStepSamples;
  for (std::size_t k = 0; k < count; ++k, sums += kSumsPerBlock) {
    ahead.fetch(ahead.lines_in(1));
    const auto panel = [&](std::size_t index) {
      return reinterpret_cast<const float*>(packed.panels + index * packed.panel_bytes);
    };
    const float* rows = panel(blocks[k].row_panel);
    const float* columns = panel(blocks[k].column_panel);
    for (std::size_t j = 0; j < kPanel; j += kLanes)
      for (std::size_t i = 0; i < kPanel; i += kRows) {
        double* at = sums + i * kPanel + j;
        multiply_rows(rows + i, columns + j, samples, at, at + kBlock);
      }
  }
}

constexpr FloatKernel kernel_named(const char* name) {
  return {.backend = name,
          .step_samples = kStepSamples,
          .step_bytes = kStepSamples * kFloatsPerTime * sizeof(float),
          .step_row_bytes = 0,
          .max_chunk_samples = kFloatChunkSamples,
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

const FloatKernel* simd_float_kernel(device::InstructionSet set) {
  return TAUTLINE_TARGET_OF(kernel_named, set);
}

}  // namespace tautline::stages::correlate::cpu

#endif  // HWY_ONCE

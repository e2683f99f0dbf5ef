#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/pipeline/simulation/kernels.cpp"
#include <hwy/foreach_target.h>  // before highway.h
//
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tautline/device/device.h"
#include "tautline/pipeline/simulation/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::pipeline::simulation::HWY_NAMESPACE {
namespace {

constexpr std::size_t kLanes = 16;             // Philox counters side by side
constexpr std::size_t kDeviates = 8 * kLanes;  // of 16 bits each

// One batch of counters, first ... first + kLanes - 1 in word 0.
void philox_batch(std::uint32_t first, const std::uint32_t counter[4], const std::uint32_t key[2],
                  std::uint32_t (&w)[4][kLanes]) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (std::size_t l = 0; l < kLanes; ++l) {
    w[0][l] = first + static_cast<std::uint32_t>(l);
    w[1][l] = counter[1];
    w[2][l] = counter[2];
    w[3][l] = counter[3];
  }
  std::uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const std::uint64_t p0 = kMultiplier0 * w[0][l], p1 = kMultiplier1 * w[2][l];
      w[0][l] = static_cast<std::uint32_t>(p1 >> 32) ^ w[1][l] ^ k0;
      w[2][l] = static_cast<std::uint32_t>(p0 >> 32) ^ w[3][l] ^ k1;
      w[1][l] = static_cast<std::uint32_t>(p1);
      w[3][l] = static_cast<std::uint32_t>(p0);
    }
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
}

void batch_deviates(const float* HWY_RESTRICT table, const std::uint32_t (&w)[4][kLanes],
                    float scale, float* HWY_RESTRICT values) {
  for (std::size_t q = 0; q < 4; ++q) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      values[q * 2 * kLanes + l] += scale * table[w[q][l] & 0xffff];
      values[q * 2 * kLanes + kLanes + l] += scale * table[w[q][l] >> 16];
    }
  }
}

void AddNormalDeviates(const float* table, const std::uint32_t counter[4],
                       const std::uint32_t key[2], float scale, float* values, std::size_t count) {
  std::uint32_t words[4][kLanes];
  std::uint32_t first = counter[0];
  for (; count >= kDeviates; count -= kDeviates, values += kDeviates, first += kLanes) {
    philox_batch(first, counter, key, words);
    batch_deviates(table, words, scale, values);
  }
  if (count == 0) return;
  float last[kDeviates] = {};
  philox_batch(first, counter, key, words);
  batch_deviates(table, words, scale, last);
  for (std::size_t n = 0; n < count; ++n) values[n] += last[n];
}

constexpr std::size_t kFine = 64;

// One multiplication from two tables of exact values: the error does not grow along the way.
void FillRotation(const float* HWY_RESTRICT fine_re, const float* HWY_RESTRICT fine_im,
                  double start_turns, double step_turns, float* HWY_RESTRICT re,
                  float* HWY_RESTRICT im, std::size_t count) {
  for (std::size_t first = 0; first < count; first += kFine) {
    const double turns = start_turns + step_turns * static_cast<double>(first);
    const double angle = 2 * std::numbers::pi * (turns - std::floor(turns));
    const auto c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle));
    const std::size_t part = std::min(kFine, count - first);
    for (std::size_t n = 0; n < part; ++n) {
      re[first + n] = c * fine_re[n] - s * fine_im[n];
      im[first + n] = c * fine_im[n] + s * fine_re[n];
    }
  }
}

void MultiplyAdd(const float* HWY_RESTRICT a_re, const float* HWY_RESTRICT a_im,
                 const float* HWY_RESTRICT r_re, const float* HWY_RESTRICT r_im,
                 float* HWY_RESTRICT x_re, float* HWY_RESTRICT x_im, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) {
    x_re[n] += a_re[n] * r_re[n] - a_im[n] * r_im[n];
    x_im[n] += a_re[n] * r_im[n] + a_im[n] * r_re[n];
  }
}

// Adding and subtracting 1.5 x 2^23 rounds half to even; the value is first clamped just outside
// the limits, which keeps the sum in range and still shows which values are clipped.
template <class Integer>
std::uint64_t quantise_loop(const float* HWY_RESTRICT values, float scale, int limit,
                            Integer* HWY_RESTRICT out, std::size_t count) {
  constexpr float kRounder = 12582912.0f;
  const auto highest = static_cast<float>(limit);
  std::uint64_t clipped = 0;
  constexpr std::size_t kPart = 4096;
  for (std::size_t first = 0; first < count; first += kPart) {
    const std::size_t part = std::min(kPart, count - first);
    std::int32_t outside = 0;
    for (std::size_t n = first; n < first + part; ++n) {
      float v = values[n] * scale;
      v = v > highest + 1 ? highest + 1 : v;
      v = v < -highest - 1 ? -highest - 1 : v;
      v = (v + kRounder) - kRounder;
      auto i = static_cast<std::int32_t>(v);
      outside += (i > limit) + (i < -limit);
      i = i > limit ? limit : i;
      i = i < -limit ? -limit : i;
      out[n] = static_cast<Integer>(i);
    }
    clipped += static_cast<std::uint64_t>(outside);
  }
  return clipped;
}

std::uint64_t Quantise8(const float* values, float scale, int limit, std::int8_t* out,
                        std::size_t count) {
  return quantise_loop(values, scale, limit, out, count);
}

std::uint64_t Quantise16(const float* values, float scale, int limit, std::int16_t* out,
                         std::size_t count) {
  return quantise_loop(values, scale, limit, out, count);
}

constexpr Kernels make_kernels(device::InstructionSet) {
  return {AddNormalDeviates, FillRotation, MultiplyAdd, Quantise8, Quantise16};
}

}  // namespace
}  // namespace tautline::pipeline::simulation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tautline/device/cpu/highway_choice.h"

namespace tautline::pipeline::simulation {

namespace {

const Kernels& kernels() {
  // Detecting the processor's instructions takes as long as a short loop.
  static const Kernels& chosen = TAUTLINE_BEST_TARGET(make_kernels, device::best_instruction_set());
  return chosen;
}

}  // namespace

void add_normal_deviates(const float* table, const std::uint32_t counter[4],
                         const std::uint32_t key[2], float scale, float* values,
                         std::size_t count) {
  kernels().add_normal_deviates(table, counter, key, scale, values, count);
}

void fill_rotation(double start_turns, double step_turns, float* re, float* im, std::size_t count) {
  constexpr std::size_t kFine = 64;
  float fine_re[kFine], fine_im[kFine];
  for (std::size_t n = 0; n < kFine; ++n) {
    const double angle = 2 * std::numbers::pi * step_turns * static_cast<double>(n);
    fine_re[n] = static_cast<float>(std::cos(angle));
    fine_im[n] = static_cast<float>(std::sin(angle));
  }
  kernels().fill_rotation(fine_re, fine_im, start_turns, step_turns, re, im, count);
}

void multiply_add(const float* a_re, const float* a_im, const float* r_re, const float* r_im,
                  float* x_re, float* x_im, std::size_t count) {
  kernels().multiply_add(a_re, a_im, r_re, r_im, x_re, x_im, count);
}

std::uint64_t quantise(const float* values, float scale, int limit, std::int8_t* out,
                       std::size_t count) {
  return kernels().quantise8(values, scale, limit, out, count);
}

std::uint64_t quantise(const float* values, float scale, int limit, std::int16_t* out,
                       std::size_t count) {
  return kernels().quantise16(values, scale, limit, out, count);
}

}  // namespace tautline::pipeline::simulation
#endif  // HWY_ONCE

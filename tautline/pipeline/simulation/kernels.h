// The simulator's inner loops, compiled for each instruction set and chosen at run time. Plain
// loops without fused multiply-adds, so that every instruction set gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tautline::pipeline::simulation {

/// values[n] += scale * deviate n of Philox counters (n / 128 ... , stream, block), see random.h.
void add_normal_deviates(const float* table, const std::uint32_t counter[4],
                         const std::uint32_t key[2], float scale, float* values, std::size_t count);

/// exp(2 pi i (start_turns + step_turns n)) for n < count, to 3e-7.
void fill_rotation(double start_turns, double step_turns, float* re, float* im, std::size_t count);

/// x += a r, all as separate real and imaginary parts.
void multiply_add(const float* a_re, const float* a_im, const float* r_re, const float* r_im,
                  float* x_re, float* x_im, std::size_t count);

/// values[n] * scale rounded half to even and clipped to +-limit; returns the number of values
/// outside.
std::uint64_t quantise(const float* values, float scale, int limit, std::int8_t* out,
                       std::size_t count);
std::uint64_t quantise(const float* values, float scale, int limit, std::int16_t* out,
                       std::size_t count);

/// The loops below these functions, for one instruction set.
struct Kernels {
  void (*add_normal_deviates)(const float* table, const std::uint32_t counter[4],
                              const std::uint32_t key[2], float scale, float* values,
                              std::size_t count);
  void (*fill_rotation)(const float* fine_re, const float* fine_im, double start_turns,
                        double step_turns, float* re, float* im, std::size_t count);
  void (*multiply_add)(const float* a_re, const float* a_im, const float* r_re, const float* r_im,
                       float* x_re, float* x_im, std::size_t count);
  std::uint64_t (*quantise8)(const float* values, float scale, int limit, std::int8_t* out,
                             std::size_t count);
  std::uint64_t (*quantise16)(const float* values, float scale, int limit, std::int16_t* out,
                              std::size_t count);
};

}  // namespace tautline::pipeline::simulation

// The interface between the CPU plan and the kernels: a table of functions for each instruction
// set.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "tautline/core/complex_int.h"
#include "tautline/device/device.h"

namespace tautline::stages::corner_turn {

inline constexpr std::size_t kTileSpectra = 64;
inline constexpr std::size_t kTileChannels = 64;

struct Kernels {
  /// Multiplies `count` complex numbers by their gains (two equal gains each, for re and im),
  /// rounds, and clips to +-limit; returns the number of clipped components. core::requantise to
  /// the bit.
  std::uint64_t (*quantise)(const std::complex<float>* in, const float* gains, std::size_t count,
                            int limit, core::ci8* out);

  /// Transposes kTileSpectra x `channels` elements: out[c * out_stride + s] = in[s * in_stride +
  /// c], or the same packed to ci4. `channels` is a multiple of 8.
  template <class From, class To>
  using Transpose = void (*)(const From* in, std::ptrdiff_t in_stride, std::size_t channels,
                             To* out, std::ptrdiff_t out_stride);
  Transpose<core::ci8, core::ci8> transpose_ci8;
  Transpose<core::ci8, core::ci4> transpose_ci4;
  Transpose<std::complex<float>, std::complex<float>> transpose_float;

  device::InstructionSet set;  ///< for which the table is compiled
};

/// The best table for `set`: vnni and amx use avx512's.
const Kernels& kernels_for(device::InstructionSet set);

}  // namespace tautline::stages::corner_turn

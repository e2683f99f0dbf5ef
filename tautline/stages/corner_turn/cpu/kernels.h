// The inner loops of corner_turn, one table for each instruction set.
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
  /// `count` complex numbers times their gains (given twice each, for re and im), rounded and
  /// clipped to +-limit; returns the components clipped. core::requantise to the bit.
  std::uint64_t (*quantise)(const std::complex<float>* in, const float* gains, std::size_t count,
                            int limit, core::ci8* out);

  /// kTileSpectra x `channels` elements become rows: out[c * out_stride + s] = in[s * in_stride +
  /// c]. `channels` is a multiple of 8.
  void (*turn_ci8)(const core::ci8* in, std::size_t in_stride, std::size_t channels, core::ci8* out,
                   std::ptrdiff_t out_stride);
  /// The same, packed to ci4 on the way.
  void (*turn_ci4)(const core::ci8* in, std::size_t in_stride, std::size_t channels, core::ci4* out,
                   std::ptrdiff_t out_stride);
  void (*turn_float)(const std::complex<float>* in, std::ptrdiff_t in_stride, std::size_t channels,
                     std::complex<float>* out, std::ptrdiff_t out_stride);

  device::InstructionSet set;  ///< whose code this is
};

/// The best table that `set` can run: vnni and amx take avx512's.
const Kernels& kernels_for(device::InstructionSet set);

}  // namespace tautline::stages::corner_turn

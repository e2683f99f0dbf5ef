// The tile kernels for AVX-512 VNNI: vpdpbusd (four products of unsigned by signed bytes) and
// vpdpwssd (two products of signed halves) in each 32-bit lane.
#include <immintrin.h>

#include "tautline/stages/autocorrelate/cpu/kernels.h"

// GCC 12 warns about the undefined operands in its own AVX-512 intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,prefer-vector-width=512")
#define TAUTLINE_AUTOCORRELATE_AVX512
#define TAUTLINE_AUTOCORRELATE_VNNI

namespace tautline::stages::autocorrelate::cpu {

namespace {

#include "tautline/stages/autocorrelate/cpu/tile-inl.h"

}  // namespace

const Kernels& vnni_kernels() {
  static constexpr Kernels kKernels{"vnni",          true, feed, flush, feed_planes, as_counts,
                                    feed_interleaved};
  return kKernels;
}

}  // namespace tautline::stages::autocorrelate::cpu

#pragma GCC pop_options

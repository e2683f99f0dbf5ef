// The tile's code with vpdpbusd and vpdpwssd: four products of unsigned by signed bytes, or two of
// signed halves, into each 32-bit lane.
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "tautline/stages/autocorrelate/cpu/layout.h"

// GCC 12 takes the deliberately undefined operands of its own AVX-512 intrinsics for mistakes.
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
  static constexpr Kernels kKernels{"vnni", true, feed, drain, push, feed_woven};
  return kKernels;
}

}  // namespace tautline::stages::autocorrelate::cpu

#pragma GCC pop_options

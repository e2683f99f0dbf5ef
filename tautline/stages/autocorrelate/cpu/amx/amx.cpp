// The first levels in the tile registers of AMX: unsigned bytes, 16 x 16 x 64 products at a time.
#include <immintrin.h>

#include "tautline/stages/autocorrelate/cpu/amx/front.h"

// GCC 12 takes the deliberately undefined operands of its own AVX-512 intrinsics for mistakes.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,prefer-vector-width=512")
#include "tautline/device/cpu/amx_tiles.h"
#include "tautline/stages/autocorrelate/cpu/amx/front_kernels.h"

namespace tautline::stages::autocorrelate::cpu {

const FrontKernels& amx_front_kernels() {
  static const FrontKernels kKernels =
      front::kernels<device::cpu::HardwareTiles>("amx", vnni_kernels());
  return kKernels;
}

}  // namespace tautline::stages::autocorrelate::cpu

#pragma GCC pop_options

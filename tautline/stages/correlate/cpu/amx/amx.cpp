// Integer correlation in the tile registers of AMX: signed bytes, 16 x 16 x 64 products at a time.
#include <immintrin.h>

#include "tautline/stages/correlate/cpu/kernels.h"

// GCC 12 warns about the deliberately undefined operands of its own AVX-512 intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#include "tautline/stages/correlate/cpu/pack8.h"
#pragma GCC target("avx512vnni")
#include "tautline/device/cpu/amx_tiles.h"
#include "tautline/stages/correlate/cpu/amx/blocks.h"

namespace tautline::stages::correlate::cpu {

const IntegerKernel& amx_kernel() {
  static constexpr IntegerKernel kKernel = amx::kernel<device::cpu::HardwareTiles>("amx");
  return kKernel;
}

}  // namespace tautline::stages::correlate::cpu

#pragma GCC pop_options

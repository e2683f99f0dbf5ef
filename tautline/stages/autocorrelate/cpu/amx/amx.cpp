// The kernels with the instructions of AMX: products of unsigned bytes, 16 x 16 x 64 at a time.
#include <immintrin.h>

#include "tautline/stages/autocorrelate/cpu/amx/kernels.h"

// GCC 12 warns about the undefined operands in its own AVX-512 intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,prefer-vector-width=512")
#include "tautline/device/cpu/amx_tiles.h"
#include "tautline/stages/autocorrelate/cpu/amx/level_pairs-inl.h"

namespace tautline::stages::autocorrelate::cpu {

const AmxKernels& amx_kernels() {
  static const AmxKernels kKernels =
      amx::kernels<device::cpu::HardwareTiles>("amx", vnni_kernels());
  return kKernels;
}

}  // namespace tautline::stages::autocorrelate::cpu

#pragma GCC pop_options

// The first levels in the tile registers of AMX: unsigned bytes, 16 x 16 x 64 products at a time.
#include <immintrin.h>

#include "tautline/stages/autocorrelate/cpu_front.h"

// GCC 12 takes the deliberately undefined operands of its own AVX-512 intrinsics for mistakes.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,prefer-vector-width=512")
#include "tautline/stages/autocorrelate/amx_front.h"

namespace tautline::stages::autocorrelate::cpu {

namespace {

// The operand of ldtilecfg, as the architecture defines it: palette 1, and each of eight tiles 16
// rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

// The tile registers of the calling thread. device::supported() has asked the kernel for them.
//
// The instructions are written out because GCC 12's intrinsics paste the tile number into the text,
// so it cannot be a template's parameter, and do not say which memory they read.
class HardwareTiles {
 public:
  HardwareTiles() {
    const TileConfig config;
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  ~HardwareTiles() { asm volatile("tilerelease"); }
  HardwareTiles(const HardwareTiles&) = delete;
  HardwareTiles& operator=(const HardwareTiles&) = delete;

  template <int kTile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  template <int kTile>
  void load(const void* bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(bytes), "r"(64L), "i"(kTile) : "memory");
  }
  template <int kTile>
  void store(void* bytes, long row_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(bytes), "r"(row_bytes), "i"(kTile)
                 : "memory");
  }
  template <int kSum, int kLeft, int kRight>
  void dot() {
    asm volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
  }
};

}  // namespace

const FrontKernels& amx_front_kernels() {
  static const FrontKernels kKernels = front::kernels<HardwareTiles>("amx", vnni_kernels());
  return kKernels;
}

}  // namespace tautline::stages::autocorrelate::cpu

#pragma GCC pop_options

#include "tautline/device/cpu/limits.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iterator>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tautline::device::cpu {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRounds = 20'000;  // of a kernel, some tens of microseconds
constexpr std::size_t kRepeats = 30;     // the best of these is the limit
constexpr std::size_t kCopy_bytes = std::size_t{64} << 20;

// A kernel runs its inner loop `rounds` times and returns the operations done.
using Kernel = double (*)(std::size_t rounds);

// Keeps a value alive without storing it.
template <class T>
inline void keep(T& value) {
  asm volatile("" : "+x"(value));
}

// Twelve chains hide four cycles of latency on up to three ports.
constexpr int kChains = 12;

// Additions of integers take one cycle, and with more than these GCC spills some of 16 registers.
constexpr int kFewChains = 6;

#define TAUTLINE_CHAINS(statement)                                              \
  for (std::size_t r = 0; r < rounds; ++r) {                                    \
    _Pragma("GCC unroll 12") for (std::size_t c = 0; c < std::size(sum); ++c) { \
      statement;                                                                \
    }                                                                           \
  }                                                                             \
  for (auto& value : sum) keep(value);

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) double float_avx2(std::size_t rounds) {
  __m256 sum[kChains], x = _mm256_set1_ps(1e-9f);
  for (auto& value : sum) value = x;
  TAUTLINE_CHAINS(sum[c] = _mm256_fmadd_ps(x, x, sum[c]))
  return static_cast<double>(rounds) * kChains * 8 * 2;
}

__attribute__((target("avx512f"))) double float_avx512(std::size_t rounds) {
  __m512 sum[kChains], x = _mm512_set1_ps(1e-9f);
  for (auto& value : sum) value = x;
  TAUTLINE_CHAINS(sum[c] = _mm512_fmadd_ps(x, x, sum[c]))
  return static_cast<double>(rounds) * kChains * 16 * 2;
}

__attribute__((target("avx2"))) double int8_avx2(std::size_t rounds) {
  __m256i sum[kFewChains], x = _mm256_set1_epi16(3);
  for (auto& value : sum) value = _mm256_setzero_si256();
  keep(x);
  TAUTLINE_CHAINS(keep(x); sum[c] = _mm256_add_epi32(sum[c], _mm256_madd_epi16(x, x)))
  return static_cast<double>(rounds) * kFewChains * 16 * 2;
}

__attribute__((target("avx512f,avx512bw"))) double int8_avx512(std::size_t rounds) {
  __m512i sum[kChains], x = _mm512_set1_epi16(3);
  for (auto& value : sum) value = _mm512_setzero_si512();
  TAUTLINE_CHAINS(keep(x); sum[c] = _mm512_add_epi32(sum[c], _mm512_madd_epi16(x, x)))
  return static_cast<double>(rounds) * kChains * 32 * 2;
}

__attribute__((target("avx512f,avx512vnni"))) double int8_vnni(std::size_t rounds) {
  __m512i sum[kChains], x = _mm512_set1_epi8(3);
  for (auto& value : sum) value = _mm512_setzero_si512();
  TAUTLINE_CHAINS(sum[c] = _mm512_dpbusd_epi32(sum[c], x, x))
  return static_cast<double>(rounds) * kChains * 64 * 2;
}

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {};
  std::uint8_t rows[16] = {};
};

// The instructions are written out: GCC 12's intrinsics do not say which memory they read.
double int8_amx(std::size_t rounds) {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.bytes_per_row[tile] = 64;
    config.rows[tile] = 16;
  }
  alignas(64) std::int8_t data[1024] = {1, 2, 3};
  asm volatile("ldtilecfg %0" : : "m"(config));
  asm volatile("tilezero %tmm0; tilezero %tmm1; tilezero %tmm2; tilezero %tmm3");
  asm volatile("tileloadd (%0,%1,1), %%tmm4; tileloadd (%0,%1,1), %%tmm5"
               :
               : "r"(data), "r"(64l)
               : "memory");
  for (std::size_t r = 0; r < rounds; ++r)
    asm volatile(
        "tdpbssd %tmm5, %tmm4, %tmm0; tdpbssd %tmm5, %tmm4, %tmm1;"
        "tdpbssd %tmm5, %tmm4, %tmm2; tdpbssd %tmm5, %tmm4, %tmm3");
  asm volatile("tilerelease");
  return static_cast<double>(rounds) * 4 * 16 * 16 * 64 * 2;
}
#endif

using Vector4f [[gnu::vector_size(16)]] = float;
using Vector8s [[gnu::vector_size(16)]] = short;
using Vector4i [[gnu::vector_size(16)]] = int;

double float_portable(std::size_t rounds) {
  Vector4f sum[kChains] = {}, x = {1e-9f, 1e-9f, 1e-9f, 1e-9f};
  for (std::size_t r = 0; r < rounds; ++r)
    for (int c = 0; c < kChains; ++c) {
      keep(x);
      sum[c] += x * x;
    }
  Vector4f total = {};
  for (const auto& value : sum) total += value;
  asm volatile("" : : "m"(total));
  return static_cast<double>(rounds) * kChains * 4 * 2;
}

double int8_portable(std::size_t rounds) {
  Vector4i sum[kChains] = {};
  Vector8s x = {3, 3, 3, 3, 3, 3, 3, 3};
  for (std::size_t r = 0; r < rounds; ++r)
    for (int c = 0; c < kChains; ++c) {
      keep(x);
      sum[c] += reinterpret_cast<Vector4i>(x * x);
    }
  Vector4i total = {};
  for (const auto& value : sum) total += value;
  asm volatile("" : : "m"(total));
  return static_cast<double>(rounds) * kChains * 8 * 2;
}

struct Kernels {
  Kernel floats = float_portable, int8 = int8_portable;
};

Kernels kernels_for(InstructionSet set) {
#if defined(__x86_64__)
  switch (set) {
    case InstructionSet::portable:
      return {};
    case InstructionSet::avx2:
      return {float_avx2, int8_avx2};
    case InstructionSet::avx512:
      return {float_avx512, int8_avx512};
    case InstructionSet::vnni:
      return {float_avx512, int8_vnni};
    case InstructionSet::amx:
      return {float_avx512, int8_amx};
  }
#endif
  (void)set;
  return {};
}

// The best rate of all workers together: `work` does its share and returns what it did.
double best_rate(Queue& queue, const std::function<double(std::size_t worker)>& work) {
  double best = 0;
  std::vector<double> done(queue.workers());
  for (std::size_t repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = Clock::now();
    queue.parallel_for(queue.workers(), 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t w = first; w < last; ++w) done[w] = work(w);
    });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    double total = 0;
    for (const double d : done) total += d;
    best = std::max(best, total / seconds);
  }
  return best;
}

}  // namespace

HostLimits measure_limits(const Device& device) {
  const auto queue = device.make_queue();
  const Kernels kernels = kernels_for(device.instruction_set());
  HostLimits limits;
  limits.float_operations_per_s =
      best_rate(*queue, [&](std::size_t) { return kernels.floats(kRounds); });
  limits.int8_operations_per_s =
      best_rate(*queue, [&](std::size_t) { return kernels.int8(kRounds); });
  const std::size_t share = kCopy_bytes / queue->workers();
  const Buffer from(kCopy_bytes), to(kCopy_bytes);
  limits.copy_bytes_per_s = best_rate(*queue, [&](std::size_t worker) {
    std::memcpy(to.as<char>() + worker * share, from.as<char>() + worker * share, share);
    return 2.0 * static_cast<double>(share);
  });
  return limits;
}

}  // namespace tautline::device::cpu

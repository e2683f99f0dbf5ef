// The tile kernels (cpu/tile-inl.h), compiled for each Highway target, and the choice among them.

#include "tautline/device/cpu/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/autocorrelate/cpu/dispatch.cpp"
#include <hwy/foreach_target.h>  // before highway.h
//
#include <hwy/highway.h>

#include <cstring>
#include <string>

#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/cpu/kernels.h"

#undef TAUTLINE_AUTOCORRELATE_AVX512
#undef TAUTLINE_AUTOCORRELATE_AVX2
#undef TAUTLINE_INLINE
#if HWY_TARGET == HWY_AVX3
#define TAUTLINE_AUTOCORRELATE_AVX512
#elif HWY_TARGET == HWY_AVX2
#define TAUTLINE_AUTOCORRELATE_AVX2
#endif

// Row is wider than some targets' registers. It is never an argument of a call that is not inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::autocorrelate::cpu::HWY_NAMESPACE {
namespace {

#include "tautline/stages/autocorrelate/cpu/tile-inl.h"

}  // namespace

constexpr Kernels kernels_named(const char* name) {
#if defined(TAUTLINE_AUTOCORRELATE_AVX512)
  return {name, false, feed, flush, feed_planes, as_counts, feed_interleaved};
#else
  return {name, false, feed, flush, feed_planes, as_counts};
#endif
}

}  // namespace tautline::stages::autocorrelate::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tautline::stages::autocorrelate::cpu {

const Kernels* simd_kernels(device::InstructionSet set) {
  static constexpr Kernels kPortable = HWY_NAMESPACE::kernels_named("portable");
  if (set == device::InstructionSet::portable) return &kPortable;
#if HWY_TARGETS & HWY_AVX2
  static constexpr Kernels kAvx2 = N_AVX2::kernels_named("avx2");
  if (set == device::InstructionSet::avx2) return &kAvx2;
#endif
#if HWY_TARGETS & HWY_AVX3
  static constexpr Kernels kAvx512 = N_AVX3::kernels_named("avx512");
  if (set == device::InstructionSet::avx512) return &kAvx512;
#endif
  return nullptr;
}

const Kernels& choose_kernels(const device::Device& device) {
  using device::InstructionSet;
  const InstructionSet set = device.instruction_set();
#if defined(__x86_64__)
  if (set >= InstructionSet::vnni) return vnni_kernels();
#endif
  if (const Kernels* kernels = simd_kernels(set)) return *kernels;
  if (device.forced())
    throw core::Error(core::ErrorKind::unsupported, "autocorrelate instruction set",
                      std::string(device::to_string(set)), "one that this build has code for",
                      "build for x86-64, or choose cpu:portable");
  return *simd_kernels(InstructionSet::portable);
}

}  // namespace tautline::stages::autocorrelate::cpu

#endif  // HWY_ONCE

// The Highway target that serves an instruction set. Include after Highway, where HWY_ONCE holds.
#pragma once

#include "tautline/device/device.h"

#if HWY_TARGETS & HWY_AVX3
#define TAUTLINE_WITH_AVX3(...) __VA_ARGS__
#else
#define TAUTLINE_WITH_AVX3(...)
#endif
#if HWY_TARGETS & HWY_AVX2
#define TAUTLINE_WITH_AVX2(...) __VA_ARGS__
#else
#define TAUTLINE_WITH_AVX2(...)
#endif

/// What make(InstructionSet) gives in the best target that `set` can run: vnni and amx take
/// avx512's. Made at compile time; a reference that stays good.
#define TAUTLINE_BEST_TARGET(make, set)                                      \
  ([]([[maybe_unused]] ::tautline::device::InstructionSet best) -> auto& {   \
    using enum ::tautline::device::InstructionSet;                           \
    TAUTLINE_WITH_AVX3(static constexpr auto kAvx512 = N_AVX3::make(avx512); \
                       if (best >= avx512) return kAvx512;)                  \
    TAUTLINE_WITH_AVX2(static constexpr auto kAvx2 = N_AVX2::make(avx2);     \
                       if (best >= avx2) return kAvx2;)                      \
    static constexpr auto kPortable = HWY_NAMESPACE::make(portable);         \
    return kPortable;                                                        \
  }(set))

/// A pointer to what make(name) gives in the target of just this set, null where this build has
/// none.
#define TAUTLINE_TARGET_OF(make, set)                                          \
  ([](::tautline::device::InstructionSet exact) {                              \
    using enum ::tautline::device::InstructionSet;                             \
    static constexpr auto kPortable = HWY_NAMESPACE::make("portable");         \
    const auto* found = exact == portable ? &kPortable : nullptr;              \
    TAUTLINE_WITH_AVX2(static constexpr auto kAvx2 = N_AVX2::make("avx2");     \
                       if (exact == avx2) found = &kAvx2;)                     \
    TAUTLINE_WITH_AVX3(static constexpr auto kAvx512 = N_AVX3::make("avx512"); \
                       if (exact == avx512) found = &kAvx512;)                 \
    return found;                                                              \
  }(set))

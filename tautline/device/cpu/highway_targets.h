// Which Highway targets a stage is compiled for. Include before any Highway header.
#pragma once

// AVX2 and AVX-512 on x86, NEON on Arm, and the plain baseline: what a device can name. The vectors
// of SVE and RVV have no size at compile time, so they cannot be kept in arrays: there the baseline
// serves. SSSE3 and SSE4 bring nothing to these kernels over SSE2.
//
// TAUTLINE_LEAVE_OUT (cmake/library.cmake) leaves out one that this machine does not need, because the sanitizers take
// long over each.
#ifndef TAUTLINE_LEFT_OUT
#define TAUTLINE_LEFT_OUT 0
#endif
#define HWY_DISABLED_TARGETS \
  (TAUTLINE_LEFT_OUT | HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// What this processor, this kernel and TAUTLINE_CPU allow.
#include "tautline/device/cpu/processor_cap.h"
#include "tautline/device/device.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tautline::device {

namespace {

#if defined(__x86_64__) && defined(__linux__)
// Linux hands out the tile registers only to processes that ask (arch_prctl, XFEATURE_XTILEDATA).
bool permit_amx() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtiledata = 18;
  static const bool permitted = syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
  return permitted;
}

bool has_amx_int8() {
  unsigned a, b, c, d;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;
  return (d & kAmxTile) != 0 && (d & kAmxInt8) != 0 && permit_amx();
}
#endif

}  // namespace

bool supported(InstructionSet set) {
  if (set > cpu::processor_cap().set) return false;
  if (set == InstructionSet::portable) return true;
#ifdef TAUTLINE_LEFT_OUT_SET  // of device/cpu/highway_targets.h
  if (set == InstructionSet::TAUTLINE_LEFT_OUT_SET) return false;
#endif
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  switch (set) {
    case InstructionSet::portable:
      return true;
    case InstructionSet::avx2:
      return avx2;
    case InstructionSet::avx512:
      return avx512;
    case InstructionSet::vnni:
      return vnni;
    case InstructionSet::amx:
#if defined(__linux__)
      return vnni && has_amx_int8();
#else
      return false;
#endif
  }
#endif
  return false;
}

}  // namespace tautline::device

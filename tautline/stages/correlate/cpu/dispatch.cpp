#include "tautline/stages/correlate/cpu/dispatch.h"

#include <algorithm>
#include <string>

#include "tautline/core/error.h"

namespace tautline::stages::correlate::cpu {

namespace {

// The Highway kernel of the device's set, or of the next lower set that this build has.
template <class AnyKernel>
const AnyKernel& choose_simd_kernel(const device::Device& device, device::InstructionSet set,
                                    const AnyKernel* (*find)(device::InstructionSet)) {
  using device::InstructionSet;
  if (const AnyKernel* kernel = find(set)) return *kernel;
  if (device.forced())
    throw core::Error(core::ErrorKind::unsupported, "correlate instruction set",
                      std::string(device::to_string(set)), "one that this build has code for",
                      "build for x86-64, or choose cpu:portable");
  if (set > InstructionSet::avx2)
    if (const AnyKernel* kernel = find(InstructionSet::avx2)) return *kernel;
  return *find(InstructionSet::portable);
}

}  // namespace

const IntegerKernel& choose_integer_kernel(const device::Device& device) {
  const device::InstructionSet set = device.instruction_set();
#if defined(__x86_64__)
  if (set == device::InstructionSet::amx) return amx_kernel();
  if (set == device::InstructionSet::vnni) return vnni_kernel();
#endif
  return choose_simd_kernel(device, set, simd_integer_kernel);
}

const FloatKernel& choose_float_kernel(const device::Device& device) {
  // VNNI and AMX have no instructions for 32-bit floats.
  const auto set = std::min(device.instruction_set(), device::InstructionSet::avx512);
  return choose_simd_kernel(device, set, simd_float_kernel);
}

}  // namespace tautline::stages::correlate::cpu

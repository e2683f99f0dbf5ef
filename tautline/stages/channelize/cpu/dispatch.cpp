#include "tautline/stages/channelize/cpu/dispatch.h"

#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/channelize/cpu/dispatch.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "tautline/stages/channelize/cpu/fused-inl.h"
#include "tautline/stages/channelize/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::channelize::HWY_NAMESPACE {

std::unique_ptr<Kernel> make_kernel(std::shared_ptr<const Bank> bank, const device::Device& device,
                                    const Tunables& tunables, std::string_view set) {
#ifdef TAUTLINE_SQUARE_TRANSPOSE
  if (FusedKernel::fits(*bank, tunables))
    return std::make_unique<FusedKernel>(std::move(bank), set);
#endif
  return std::make_unique<RowKernel>(std::move(bank), device, tunables, set);
}

}  // namespace tautline::stages::channelize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tautline::stages::channelize {

std::unique_ptr<Kernel> make_cpu_kernel(std::shared_ptr<const Bank> bank,
                                        const device::Device& device, const Tunables& tunables) {
  using device::InstructionSet;
  [[maybe_unused]] const InstructionSet set = device.instruction_set();
#if HWY_TARGETS & HWY_AVX3
  if (set >= InstructionSet::avx512) return N_AVX3::make_kernel(bank, device, tunables, "avx512");
#endif
#if HWY_TARGETS & HWY_AVX2
  if (set >= InstructionSet::avx2) return N_AVX2::make_kernel(bank, device, tunables, "avx2");
#endif
  return HWY_STATIC_DISPATCH(make_kernel)(std::move(bank), device, tunables, "portable");
}

}  // namespace tautline::stages::channelize
#endif

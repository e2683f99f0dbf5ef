#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "tautline/jit/program.h"
#include "tautline/stages/detect/gpu/kernels.h"

namespace tautline::stages::detect {

namespace {

constexpr std::size_t kLeastLocal = 256, kMostLocal = 4096;

}  // namespace

GpuKernels make_kernels(const GpuLayout& layout, const device::Device& device) {
  const int floats = layout.config.type == core::SampleType::f32 ? 1 : 0;
  // No fused multiply-adds: each operation is rounded, as on the host.
  const std::vector<std::string> options = device.api() == device::Api::cuda
                                               ? std::vector<std::string>{"-fmad=false"}
                                               : std::vector<std::string>{};
  const auto build = [&](const char* file, jit::Defines defines) {
    return jit::build(device, file, defines.set("FLOATS", floats), options);
  };
  const auto tile = static_cast<std::int64_t>(layout.tunables.tile);
  const auto segments = build("detect/gpu/segments.kernel", {});
  const auto baseline = build("detect/gpu/baseline.kernel", {});
  const auto threads = static_cast<std::int64_t>(layout.tunables.threads);
  const auto noise = build("detect/gpu/noise.kernel", jit::Defines().set("THREADS", threads));
  const auto units = build(
      "detect/gpu/units.kernel",
      jit::Defines().set("THREADS", threads).set("TILE", tile).set("FRONT", std::int64_t{kFront}));
  const std::size_t local =
      std::clamp(std::bit_ceil(layout.sizes.widest() + 1), kLeastLocal, kMostLocal);
  const std::size_t coarse = std::min(kCoarseWidest, std::bit_ceil(layout.sizes.widest()));
  const auto boxcars =
      build("detect/gpu/boxcars.kernel",
            jit::Defines()
                .set("TILE", tile)
                .set("LOCAL_WIDEST", static_cast<std::int64_t>(local))
                .set("COARSE_WIDEST", static_cast<std::int64_t>(coarse))
                .set("FRONT", std::int64_t{kFront})
                .set("WIDTHS", static_cast<std::int64_t>(layout.sizes.widths.size())));
  const auto peaks =
      build("detect/gpu/peaks.kernel",
            jit::Defines()
                .set("TILE", tile)
                .set("TIMES", static_cast<std::int64_t>(kPeakTimes))
                .set("FRONT", std::int64_t{kFront})
                .set("WIDTHS", static_cast<std::int64_t>(layout.sizes.widths.size())));
  const auto refine =
      build("detect/gpu/refine.kernel",
            jit::Defines().set("WIDTHS", static_cast<std::int64_t>(layout.sizes.widths.size())));
  GpuKernels kernels;
  kernels.sum_segments = segments->kernel("sum_segments");
  kernels.average = baseline->kernel("average");
  kernels.subtract = baseline->kernel("subtract");
  kernels.find_median = noise->kernel("find_median");
  kernels.add_up = units->kernel("add_up");
  kernels.scan = boxcars->kernel("scan");
  kernels.find_peaks = peaks->kernel("find_peaks");
  kernels.find_middles = refine->kernel("find_middles");
  kernels.sum_squares = boxcars->kernel("sum_squares");
  return kernels;
}

}  // namespace tautline::stages::detect

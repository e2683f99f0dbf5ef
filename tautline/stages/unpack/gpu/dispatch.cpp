#include <cstdint>

#include "tautline/jit/program.h"
#include "tautline/stages/unpack/gpu/kernels.h"

namespace tautline::stages::unpack {

GpuKernels make_kernels(const Config& config, const core::RawLayout& layout,
                        const device::Device& device) {
  const core::SampleFormat& format = layout.format;
  const int components = format.complex ? 2 : 1;
  GpuKernels kernels;
  if (format.is_float()) {
    if (config.blocks_on_device)
      kernels.check =
          jit::build(device, "unpack/gpu/floats.kernel",
                     jit::Defines().set("COMPONENTS", components).set("TIMES", kFloatTimes))
              ->kernel("unpack_floats");
    return kernels;
  }
  kernels.by_row = layout.time_stride_bits != static_cast<std::uint64_t>(format.bits_per_sample());
  kernels.unpack = jit::build(device, "unpack/gpu/unpack.kernel",
                              jit::Defines()
                                  .set("BITS", format.bits)
                                  .set("COMPONENTS", components)
                                  .set("BY_ROW", kernels.by_row ? 1 : 0)
                                  .set("TILE_TIMES", kGroupTimes)
                                  .set("TILE_ROWS", kGroupRows)
                                  .set("THREADS", kGroupThreads))
                       ->kernel("unpack");
  return kernels;
}

}  // namespace tautline::stages::unpack

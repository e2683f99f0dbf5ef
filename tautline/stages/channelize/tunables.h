// Tunables of the filter bank on CPUs and GPUs. They change results by float rounding at most.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

/// Which GPU kernels run.
///   automatic  the default for the device and the config
///   fused      one kernel; powers of two from 64 that fit local memory
///   split      two kernels, for longer powers of two; complex, critically sampled
///   separate   a filter kernel, the device's FFT, and a kernel for the rest; any size
enum class GpuDesign { automatic, fused, split, separate };

/// Of the GPU kernels. Zero (or less) means the default, chosen by complete() in gpu/dispatch.cpp.
/// docs/performance/channelize.md has the measurements.
struct GpuTunables {
  GpuDesign design = GpuDesign::automatic;
  /// Values of a spectrum that a thread keeps in registers: 4, 8, 16 or 32. More values mean fewer
  /// exchanges through shared memory, and fewer threads to hide latency.
  std::size_t points = 0;
  /// Spectra of a group, a power of two up to 1,024. With more spectra, each sample and coefficient
  /// is read less often and longer pieces of corner-turned rows are written; with fewer, more
  /// groups fit.
  std::size_t spectra = 0;
  /// Neighbouring values of a frame that a thread filters at once: 1, 2, 4 or 8. More values mean
  /// wider loads and more registers.
  std::size_t positions = 0;
  /// Spectra that a thread filters at once, 1 to 16, of which `spectra` is a multiple. A sample is
  /// read and converted once for all of them.
  std::size_t filter_spectra = 0;
  /// Groups that should fit on a multiprocessor, 1 to 16: more groups leave fewer registers for
  /// each thread.
  std::size_t groups = 0;
  /// How bytes are converted to floats: 0 by the conversion instruction, 2 by bit operations, 1
  /// half by each. The conversion unit is slow, but runs beside the others.
  int conversion = -1;
  /// Largest number of taps whose loop is fully unrolled, which keeps more loads in flight until
  /// registers run out.
  std::size_t unrolled_taps = 0;
  /// Whether groups are persistent and copy the samples of the next batch of spectra to local
  /// memory while they transform the current batch: 0 or 1. Copies in flight then take no registers
  /// and no space in the first-level cache. Only fused and critically sampled, with positions x
  /// filter_spectra at most points.
  int fetch = -1;
  /// Whether a thread filters neighbouring values of a frame together with their mirror images,
  /// for which a symmetric filter has the same coefficients: 0 or 1. Only fused.
  int symmetry = -1;
  /// Approximate size of the buffers for samples and results in host memory: 1 MiB or more, and at
  /// least one spectrum of every input.
  std::size_t slab_bytes = std::size_t{64} << 20;
  /// Approximate size of the memory between the kernels of split and separate: 1 MiB or more, and
  /// at least one spectrum. Smaller launches do not fill a large GPU.
  std::size_t work_bytes = 0;

  friend bool operator==(const GpuTunables&, const GpuTunables&) = default;
};

struct Tunables {
  /// Channels (a power of two) up to which filter, transform, requantisation and corner turn run
  /// fused in cache; larger and other sizes use the device's FFT. 0 to 65,536.
  /// docs/performance/channelize.md has the measurements.
  std::size_t fused_max_channels = 65536;
  /// Fewest samples of one task of the parallel loop, 1 or more: enough to hide the task's cost
  /// (about a microsecond), few enough to divide a short block among threads.
  std::size_t grain_samples = 1 << 16;
  /// Most bytes that the device's FFT transforms at once, or one spectrum if it is larger. Half of
  /// a 1 MiB second-level cache leaves room for samples and coefficients.
  std::size_t batch_bytes = 512 << 10;
  /// A call whose output's rows take at least this much memory, all of which it need not fill, writes past the caches:
  /// the output would be evicted before it is read, and lines need not be read before they are overwritten. Measured
  /// gain: 15 % at 1,024 channels, 40 % at 128. The next stage finds smaller outputs in cache.
  std::size_t stream_bytes = 8 << 20;

  GpuTunables gpu = {};  ///< of devices that compile kernels

  friend bool operator==(const Tunables&, const Tunables&) = default;
};

/// make_plan with given tunables, for tuning and tests.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables);

}  // namespace tautline::stages::channelize

// What may be changed without changing any result by more than float rounding.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

/// Which GPU kernels do the work.
///   automatic  the default for the device and the problem
///   fused      all in one kernel; powers of two from 64 on that fit local memory
///   split      two kernels, for powers of two too long for one; complex, critically sampled
///   separate   a kernel for the filter, the device's FFT, a kernel for the rest; any size
enum class GpuDesign { automatic, fused, split, separate };

/// Of the GPU kernels. Zero (or less) means the default, chosen by complete() in gpu/dispatch.cpp;
/// what was measured is in docs/performance/channelize_gpu.md.
struct GpuTunables {
  GpuDesign design = GpuDesign::automatic;
  /// Values of a spectrum that a thread holds in registers: 4, 8, 16 or 32. More of them mean fewer
  /// exchanges through local memory, and fewer threads to hide latency with.
  std::size_t points = 0;
  /// Spectra of a group, a power of two up to 1,024. More of them read each sample and coefficient
  /// less often, and write a longer piece of every turned row; fewer leave room for more groups.
  std::size_t spectra = 0;
  /// Neighbouring values of a frame that a thread filters at once: 1, 2, 4 or 8. Wide loads, at the
  /// cost of registers.
  std::size_t positions = 0;
  /// Spectra that a thread filters at once, 1 to 16, of which `spectra` is a multiple. A sample is
  /// read and converted once for all of them.
  std::size_t filter_spectra = 0;
  /// Groups that should fit on a multiprocessor, 1 to 16: fewer registers for each thread.
  std::size_t groups = 0;
  /// How bytes become floats: 0 by the conversion instruction, 2 by arithmetic on bits, 1 half of
  /// each. The instruction has a unit of its own, which is slow.
  int conversion = -1;
  /// Most taps whose loop is unrolled altogether: long straight code keeps more loads in flight
  /// until registers run out.
  std::size_t unrolled_taps = 0;
  /// Whether groups stay for many batches of spectra, and the samples of the next one come to local
  /// memory while the present one is transformed: 0 or 1. What is on its way then takes no
  /// registers and no room in the first-level cache. Fused, critically sampled, positions x
  /// filter_spectra at most points.
  int fetch = -1;
  /// Whether a thread filters neighbouring values of a frame together with their mirror images,
  /// for which a symmetric filter has the same coefficients: 0 or 1. Fused.
  int symmetry = -1;
  /// Host samples and results pass through buffers of about this size; at least one spectrum of
  /// every input. 1 MiB or more.
  std::size_t slab_bytes = std::size_t{64} << 20;
  /// What split and separate leave in memory between their kernels, about; at least one spectrum.
  /// Launches of less do not fill a large GPU. 1 MiB or more.
  std::size_t work_bytes = 0;

  friend bool operator==(const GpuTunables&, const GpuTunables&) = default;
};

struct Tunables {
  /// Channels (a power of two) up to which filter, transform, requantisation and turn run fused in
  /// cache; above it, and for other sizes, the device's FFT does the transform. 0 to 65,536; see
  /// docs/performance/channelize.md for what was measured.
  std::size_t fused_max_channels = 65536;
  /// Samples that one call of the parallel loop takes at least: enough to hide the loop's own cost
  /// (about a microsecond), few enough to share a short block between threads. 1 or more.
  std::size_t grain_samples = 1 << 16;
  /// Most bytes that the device's FFT transforms at once; one spectrum when it is larger. Half of a
  /// 1 MiB second-level cache leaves room for samples and coefficients.
  std::size_t batch_bytes = 512 << 10;
  /// Requantised output of a call from which on it is written past the caches: nothing of it would
  /// still be there when its reader comes, and lines need not be read to be overwritten. Measured
  /// gain: 15 % at 1,024 channels, 40 % at 128; below, the next stage finds its input in cache.
  std::size_t stream_bytes = 8 << 20;

  GpuTunables gpu = {};  ///< of devices that compile

  friend bool operator==(const Tunables&, const Tunables&) = default;
};

/// make_plan with values other than the defaults: tuning and tests.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables);

}  // namespace tautline::stages::channelize

// Buffers in device memory for samples and results that are in host memory or not aligned, for some
// spectra at a time.
#pragma once

#include <cstddef>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/gpu/history.h"
#include "tautline/stages/channelize/gpu/kernels.h"

namespace tautline::stages::channelize::gpu {

class Staging {
 public:
  Staging(const Bank& bank, const device::Device& device, const GpuTunables& tunables,
          std::size_t granule);

  /// Most spectra of every input at a time.
  std::size_t spectra() const { return spectra_; }

  /// Joins the samples of the slice's spectra, from the history and the call, in the buffer; sets
  /// the slice's samples to it.
  void stage_samples(device::Queue& queue, const GpuHistory& history, const Input& input,
                     Slice& slice) const;
  /// Sets the slice's results to the buffer; copies them from there to the caller's.
  void stage_results(Slice& slice) const;
  void fetch_results(device::Queue& queue, const Slice& slice, const OutputViews& output) const;

  /// spectra() of a Staging with these arguments.
  static std::size_t spectra_of(const Bank& bank, const GpuTunables& tunables, std::size_t granule);
  static std::size_t device_bytes(const Bank& bank, const GpuTunables& tunables,
                                  std::size_t granule);

 private:
  const Bank& bank_;
  std::size_t spectra_, sample_row_bytes_, result_row_;  // values of a corner-turned row
  device::Buffer samples_, results_;
};

}  // namespace tautline::stages::channelize::gpu

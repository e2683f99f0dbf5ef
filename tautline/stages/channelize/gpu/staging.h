// Buffers in device memory for samples and results that lie elsewhere, some spectra at a time.
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

  /// Puts the samples of spectra [first, first + slice.count) of the call together, the history's
  /// and the call's own, and the slice on them.
  void stage_samples(device::Queue& queue, const GpuHistory& history, const Input& input,
                     Slice& slice) const;
  /// Results to the buffer, and from there to the caller.
  void stage_results(Slice& slice) const;
  void fetch_results(device::Queue& queue, const Slice& slice, const OutputViews& output) const;

  /// What spectra() of it would be.
  static std::size_t spectra_of(const Bank& bank, const GpuTunables& tunables, std::size_t granule);
  static std::size_t device_bytes(const Bank& bank, const GpuTunables& tunables,
                                  std::size_t granule);

 private:
  const Bank& bank_;
  std::size_t spectra_, sample_row_bytes_, result_row_;  // of turned results, in values
  device::Buffer samples_, results_;
};

}  // namespace tautline::stages::channelize::gpu

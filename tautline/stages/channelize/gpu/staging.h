// Buffers in device memory for samples and results that are in host memory or not aligned, for some
// spectra at a time.
#pragma once

#include <cstddef>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/gpu/history.h"
#include "tautline/stages/channelize/gpu/kernels.h"

namespace tautline::stages::channelize::gpu {

/// Sizes of the buffers, for `granule` of Kernels.
struct StagingSizes {
  StagingSizes(const Bank& bank, const GpuTunables& tunables, std::size_t granule);
  std::size_t bytes() const { return sample_bytes + result_bytes; }

  std::size_t spectra;  ///< most of every input at a time
  std::size_t sample_row_bytes;
  std::size_t result_row;  ///< values of a corner-turned row
  std::size_t sample_bytes, result_bytes;
};

class Staging {
 public:
  Staging(const Bank& bank, const device::Device& device, const GpuTunables& tunables,
          std::size_t granule);

  /// Most spectra of every input at a time.
  std::size_t spectra() const { return sizes_.spectra; }

  /// Joins the samples of the slice's spectra, from the history and the call, in the buffer; sets
  /// the slice's samples to it.
  void stage_samples(device::Queue& queue, const GpuHistory& history, const Input& input,
                     Slice& slice) const;
  /// Sets the slice's results to the buffer; copies them from there to the caller's.
  void stage_results(Slice& slice) const;
  void fetch_results(device::Queue& queue, const Slice& slice, const OutputViews& output) const;

 private:
  const Bank& bank_;
  StagingSizes sizes_;
  device::Buffer samples_, results_;
};

}  // namespace tautline::stages::channelize::gpu

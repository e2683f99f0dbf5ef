// Deferred sums: 32-bit sums that stay on the device from call to call, in the order of the matrix
// units' registers.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/device/device.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/gpu/tensor.h"

namespace tautline::stages::correlate::gpu {

/// wgmma_deferred.cuda.kernel and flush_deferred.cuda.kernel for one config. Immutable; the memory
/// is the state's.
class DeferredSums {
 public:
  /// Whether sums of integers are deferred: tiles must be full enough to justify their memory.
  static bool worth(const Config& config);

  /// `tunables` are complete.
  DeferredSums(const Config& config, const device::Device& device, const WgmmaTunables& tunables);

  /// Size of the device memory: the sums, and the sums of im of each input.
  std::size_t bytes() const { return sums_bytes() + of_im_bytes(); }

  /// Adds `samples` samples of all channels, at most kTensorMaxSamples since the last flush;
  /// `first`: overwrites `deferred`.
  void add(device::Queue& queue, const device::TensorMap& map, std::size_t samples, void* deferred,
           bool first) const;
  /// visibilities (ci64, dense) += deferred; `replace`: = deferred.
  void flush(device::Queue& queue, void* deferred, void* visibilities, bool replace) const;

 private:
  std::size_t sums_bytes() const;
  std::size_t of_im_bytes() const {
    return config_.channels * config_.inputs * sizeof(std::int32_t);
  }
  std::byte* of_im(void* deferred) const {
    return static_cast<std::byte*>(deferred) + sums_bytes();
  }

  Config config_;
  WgmmaTunables tunables_;
  std::size_t groups_;
  TileSchedule schedule_;
  std::shared_ptr<const device::Kernel> add_, flush_;
};

}  // namespace tautline::stages::correlate::gpu

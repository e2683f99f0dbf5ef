// 32-bit sums that stay on the device from call to call, in the order of the matrix units'
// registers.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/device/device.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/gpu/tensor.h"

namespace tautline::stages::correlate::gpu {

/// wgmma_held.cuda.kernel and held_sums.cuda.kernel for one config. Immutable; the memory is the
/// state's.
class HeldSums {
 public:
  /// Whether tiles are full enough for the memory that they take, and sums of integers.
  static bool worth(const Config& config);

  /// `tunables` are complete.
  HeldSums(const Config& config, const device::Device& device, const WgmmaTunables& tunables);

  /// Device memory: sums, and sums of im of each input.
  std::size_t bytes() const { return sums_bytes() + of_im_bytes(); }

  /// Adds all channels' `samples` samples, at most kTensorMaxSamples since the first; `first`: what
  /// `held` has does not matter.
  void add(device::Queue& queue, const device::TensorMap& map, std::size_t samples, void* held,
           bool first) const;
  /// visibilities (ci64, dense) += held; `replace`: = held.
  void release(device::Queue& queue, void* held, void* visibilities, bool replace) const;

 private:
  std::size_t sums_bytes() const;
  std::size_t of_im_bytes() const {
    return config_.channels * config_.inputs * sizeof(std::int32_t);
  }
  std::byte* of_im(void* held) const { return static_cast<std::byte*>(held) + sums_bytes(); }

  Config config_;
  WgmmaTunables tunables_;
  std::size_t groups_;
  TileSchedule schedule_;
  std::shared_ptr<const device::Kernel> add_, release_;
};

}  // namespace tautline::stages::correlate::gpu

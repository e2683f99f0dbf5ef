// Input in a GPU's memory becomes the rows that the host's cleaner would make of it, to the bit
// (clean.kernel; corner_turn.kernel for bytes that need no more than that).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

/// Rows of one stream in the device's memory.
struct DeviceRows {
  const void* data = nullptr;
  std::size_t stride_bytes = 0;
};

/// Immutable; may be shared by threads.
class GpuCleaner {
 public:
  /// What a stream has besides its rows.
  struct Work {
    device::Buffer positions;  ///< [channel] its row, or the number of rows where it has none
    device::Buffer means, sums, squares;
    double times = 0;  ///< measured
  };

  /// Rows hold elements of `element_bytes`.
  GpuCleaner(std::shared_ptr<const DelayPlan> plan, std::shared_ptr<const device::Device> device,
             std::size_t element_bytes);

  /// Not for floats that are cleaned, measured or downsampled: the host does that.
  bool ready() const { return clean_[0] != nullptr; }
  std::size_t bytes() const;
  Work make_work(device::Queue& queue) const;
  void reset(device::Queue& queue, Work& work) const;

  /// Puts input.count times behind the `phase` times that the element `first` of every row has got
  /// already.
  void take(device::Queue& queue, Work& work, const Input& input, const DeviceRows& rows,
            std::size_t first, std::size_t phase) const;
  /// Adds what was measured here. Waits for `queue`.
  void add_moments(device::Queue& queue, const Work& work, std::vector<Moments>& moments) const;

 private:
  bool whole_words(const Input& input) const;

  std::shared_ptr<const DelayPlan> plan_;
  std::shared_ptr<const device::Device> device_;
  std::shared_ptr<const device::Program> programs_[3];
  std::shared_ptr<const device::Kernel> average_[2], clean_[2], measure_[2];  ///< of rows, spectra
  std::shared_ptr<const device::Kernel> corner_turn_;
};

}  // namespace tautline::stages::dedisperse

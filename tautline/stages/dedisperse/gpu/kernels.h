// The sums of rows in a GPU's memory: compiles the kernel of the work list that gpu/dispatch.h chose, copies the lists
// to the device and launches the kernel.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/dedisperse/gpu/dispatch.h"

namespace tautline::stages::dedisperse {

class GpuSum {
 public:
  GpuSum(std::shared_ptr<const DelayPlan> plan, std::shared_ptr<const device::Device> device,
         const GpuTunables& tunables, const GpuCost& cost);

  const MethodChoice& choice() const { return work_.choice; }
  /// Whole tiles of times are read, and as many behind the last one: windows, and the whole runs of
  /// entries that channel_blocks.cuda.kernel makes.
  std::size_t tile_times() const { return work_.tile_times; }
  static constexpr std::size_t kBehind = 256;

  /// What the kernel reads beside rows, in the device's memory, in the order of its arguments.
  using Lists = std::vector<device::Buffer>;
  Lists upload(device::Queue& queue) const;  ///< waits until they are there
  std::size_t bytes() const;                 ///< of all lists

  struct Rows {
    const void* data;          ///< [beam][position][time]
    std::size_t stride_bytes;  ///< of a position
    std::size_t first;         ///< time of the first sum at no delay: kMostTimesBefore or later
  };
  /// [beam][trial][time] int32, or float where sums are; overwritten.
  struct Out {
    const void* data;
    std::size_t trial_stride, beam_stride;  ///< elements
    std::size_t samples;                    ///< times
  };
  void launch(device::Queue& queue, const Lists& lists, const Rows& rows, const Out& out) const;

 private:
  void compile();

  std::shared_ptr<const DelayPlan> plan_;
  std::shared_ptr<const device::Device> device_;
  GpuWorkList work_;
  std::shared_ptr<const device::Program> program_;
  std::shared_ptr<const device::Kernel> kernel_;
};

}  // namespace tautline::stages::dedisperse

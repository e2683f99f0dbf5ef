// The way of the input into rows: unpacked, corner-turned, cleaned, downsampled, measured.
//
// Ignored channels have no row. Zero-DM subtracts the mean over the K channels that are summed at
// each time, which makes rows float; or, as rows of int32, their sum from K times a sample. Float
// samples that are not finite become zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/dedisperse/cpu/kernels.h"
#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

/// Rows of one stream: [beam][position], `stride` elements apart.
struct Rows {
  std::byte* data;
  std::size_t stride, element_bytes;

  std::byte* at(std::size_t row, std::size_t time) const {
    return data + (row * stride + time) * element_bytes;
  }
};

/// Immutable; may be shared by threads.
class Cleaner {
 public:
  /// Rows hold elements as `types` says.
  Cleaner(std::shared_ptr<const DelayPlan> plan, Types types, device::InstructionSet set);

  /// Scratch memory and moments of each worker.
  class Work {
   public:
    Work(const DelayPlan& plan, std::size_t workers);
    void reset_moments();
    std::vector<Moments> moments() const;
    void set_moments(const std::vector<Moments>& moments);
    static std::size_t bytes(const DelayPlan& plan, std::size_t workers);

   private:
    friend class Cleaner;
    static std::size_t scratch_bytes(const DelayPlan& plan);
    std::vector<device::Buffer> scratch_;
    std::vector<std::vector<Moments>> moments_;  // [worker][beam, channel]
  };

  /// Puts input.count times behind the `phase` times that the element `first` of every row has
  /// got already (fewer than downsample). Returns the samples that were not finite.
  std::uint64_t take(device::Queue& queue, Work& work, const Input& input, const Rows& rows,
                     std::size_t first, std::size_t phase) const;

 private:
  struct Strip;
  std::uint64_t take_strip(Work& work, std::size_t worker, const Strip& strip) const;
  const std::byte* unpack(const Strip& strip, std::byte* to, std::size_t* stride) const;
  template <class Sample>
  std::uint64_t finish(Work& work, std::size_t worker, const Strip& strip,
                       const std::byte* const* channels) const;
  template <class Element, class Value>
  void put(const Strip& strip, std::size_t position, const Value& value) const;
  bool direct() const;

  std::shared_ptr<const DelayPlan> plan_;
  std::size_t sample_bytes_, element_bytes_;
  bool whole_;  ///< rows are int32
  CornerTurn corner_turn_;
  std::vector<std::size_t> position_of_;  ///< [channel]; positions() where ignored
};

}  // namespace tautline::stages::dedisperse

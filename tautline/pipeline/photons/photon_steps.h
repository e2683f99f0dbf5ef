// Photons against time, in steps, as a file of time tags is read: where all detectors stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/longest_gaps.h"
#include "tautline/pipeline/photons/repeated_stops.h"

namespace tautline::pipeline {

/// Up to 2,000 steps of equal length; neighbours are joined when a photon, or the end of the run, lies behind the last
/// one, so that a run has 1,000 or more.
class PhotonSteps {
 public:
  /// `tick_s`: seconds.
  explicit PhotonSteps(double tick_s = 1) : gaps_(least_gap(tick_s)) {}

  /// In order of time.
  void add(std::uint64_t tick) {
    if (last_) gaps_.add(*last_ + 1, tick);
    last_ = tick;
    while (tick >> shift_ >= kMost) join();
    const auto k = static_cast<std::size_t>(tick >> shift_);
    if (k >= steps_.size()) steps_.resize(k + 1);
    Step& step = steps_[k];
    if (step.photons++ == 0) step.first = tick;
    step.last = tick;
  }

  /// All photons of one detector, ascending; detectors one after the other.
  void add_all(std::span<const std::uint64_t> ticks);

  /// The tick of the first photon where the clock had run for 24 times the rest of a run of `ticks` by then, with a
  /// hundred photons or more: it did not begin with the run. Else 0.
  std::uint64_t begin_of_run(std::uint64_t ticks) const;

  /// Stops of a run of `ticks`, in bins of `ticks_per_bin` ticks and `bin_s` seconds: stopped_steps() of `detectors`
  /// together that are is_left_out(), what is before begin_of_run(), and repeated_stops(); from behind the last bin with
  /// a photon to the next one.
  Stops stops(std::uint64_t ticks, std::uint64_t ticks_per_bin, double bin_s,
              std::size_t detectors);

 private:
  static constexpr std::size_t kMost = 2000;
  struct Step {
    std::uint64_t photons = 0, first = 0,
                  last = 0;  ///< and the ticks of the first and the last one
  };
  void join();

  std::vector<Step> steps_;
  LongestGaps gaps_;                   ///< in ticks
  std::optional<std::uint64_t> last_;  ///< photon of add()
  bool any_detector_ = false;          ///< of add_all()
  unsigned shift_ = 0;                 ///< a step has 2^shift ticks
};

}  // namespace tautline::pipeline

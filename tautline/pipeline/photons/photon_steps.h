// Photons against time, in steps, as a file of time tags is read: where all detectors stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/longest_gaps.h"
#include "tautline/pipeline/photons/single_stops.h"

namespace tautline::pipeline {

/// Up to 2,000 steps of equal length; neighbours are joined when a photon, or the end of the run, lies behind the last
/// one, so that a run has 1,000 or more.
class PhotonSteps {
 public:
  /// `tick_s`: seconds.
  explicit PhotonSteps(double tick_s = 1) : least_(least_gap(tick_s)), gaps_(least_) {}

  /// In order of time; `detector`: its channel.
  void add(std::uint64_t tick, std::uint16_t detector = 0) {
    if (detector != only_ && only_ != kSeveral) see_detector(detector);
    if (last_) gaps_.add(*last_ + 1, tick);
    last_ = tick;
    while (tick >> shift_ >= kMost) join();
    const auto k = static_cast<std::size_t>(tick >> shift_);
    if (k >= steps_.size()) steps_.resize(k + 1);
    Step& step = steps_[k];
    if (step.photons++ == 0) step.first = tick;
    step.last = tick;
    if (only_ != kSeveral) return;
    if (OneDetector* const one = detector_of(detector)) {
      if (one->any) one->gaps.add(one->counted.end, tick);
      one->add(tick, k, 1);
    }
  }

  /// All photons of one detector, ascending; detectors one after the other.
  void add_all(std::span<const std::uint64_t> ticks, std::uint16_t detector = 0);

  /// The tick of the first photon where the clock had run for 24 times the rest of a run of `ticks` by then, with a
  /// hundred photons or more: it did not begin with the run. Else 0.
  std::uint64_t begin_of_run(std::uint64_t ticks) const;

  /// Stops of a run of `ticks`, in bins of `ticks_per_bin` ticks and `bin_s` seconds: stopped_steps() of `detectors`
  /// together that are is_left_out(), what is before begin_of_run(), and repeated_stops(); from behind the last bin with
  /// a photon to the next one. With two `channels` or more, those of the detectors in the order of sensors, also
  /// single_stops() of each, of 64 detectors at most.
  Stops stops(std::uint64_t ticks, std::uint64_t ticks_per_bin, double bin_s, std::size_t detectors,
              std::span<const std::uint16_t> channels = {});

 private:
  static constexpr std::size_t kMost = 2000;
  struct Step {
    std::uint64_t photons = 0, first = 0,
                  last = 0;  ///< and the ticks of the first and the last one
  };
  struct OneDetector {
    LongestGaps gaps;                    ///< in ticks, between its photons
    std::vector<std::uint64_t> photons;  ///< of its steps
    BinRange counted = {};               ///< from its first photon to behind its last one
    bool any = false;

    void take_gaps(const LongestGaps& from) {
      gaps = LongestGaps(from.least(), kMostGapsOfOne);
      for (const BinRange& gap : from.gaps()) gaps.add(gap.first, gap.end);
    }
    // The next photons of step k, the last of them at `last`, where the very first one came, too.
    void add(std::uint64_t last, std::size_t k, std::uint64_t more) {
      if (k >= photons.size()) photons.resize(k + 1);
      photons[k] += more;
      if (!any) counted.first = last;
      counted.end = last + 1;
      any = true;
    }
  };
  void join();
  /// Null: there are too many.
  OneDetector* detector_of(std::uint16_t channel) {
    if (channel >= place_.size() || place_[channel] == kNoPlace) return new_detector(channel);
    return place_[channel] == kTooMany ? nullptr : &each_[place_[channel]];
  }
  OneDetector* new_detector(std::uint16_t channel);
  /// The first photon of this one: what all have is that of the detector before.
  void see_detector(std::uint16_t channel);
  void add_single_stops(Stops& stops, std::uint64_t ticks, std::uint64_t ticks_per_bin,
                        double bin_s, std::span<const std::uint16_t> channels,
                        std::span<const BinRange> known);

  static constexpr std::uint8_t kNoPlace = 255, kTooMany = 254;
  std::uint64_t least_;  ///< gaps shorter than this are passed over
  static constexpr std::int32_t kNone = -1, kSeveral = -2;
  std::int32_t only_ = kNone;  ///< the only channel so far
  std::vector<OneDetector> each_;
  std::vector<std::uint8_t> place_;  ///< [channel], in each_
  std::vector<Step> steps_;
  LongestGaps gaps_;                   ///< in ticks
  std::optional<std::uint64_t> last_;  ///< photon of add()
  bool any_detector_ = false;          ///< of add_all()
  unsigned shift_ = 0;                 ///< a step has 2^shift ticks
};

}  // namespace tautline::pipeline

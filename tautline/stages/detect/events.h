// One trial's boxcars over the threshold, linked in time, and the refinement of their peaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

/// A event of one trial over the threshold. Times are those of the boxcars' centre samples.
struct Detection {
  std::size_t trial = 0;
  std::uint64_t first_time = 0, last_time = 0;
  double snr = 0;           ///< of the best boxcar
  std::uint64_t first = 0;  ///< its first sample
  std::uint64_t width = 1;
  std::uint64_t length = 0;  ///< of its trial, Config::lengths; 0: not known
};

/// Links the best boxcar of each time, in order of time: t and the one before it belong together
/// when t - before <= time_samples + min(widths) / 2.
class Events {
 public:
  struct Event {
    Detection detection;
    std::size_t width_index = 0;   ///< of the best boxcar
    std::uint64_t last_width = 1;  ///< of the best boxcar at last_time
    double best = 0;               ///< S/N that was compared; detection.snr is refined
    bool refined = false;
  };

  /// `length`: of the trial, 0 where not known.
  Events(std::size_t trial, std::uint64_t length, const Links& links)
      : trial_(trial), length_(length), links_(links) {}

  void add(std::uint64_t time, double snr, std::uint64_t width, std::size_t width_index);
  /// No time before `time` will come any more.
  void settle(std::uint64_t time);
  /// Calls refine(event) for each whose best boxcar is new since the last call.
  template <class Refine>
  void refine(Refine refine) {
    for (Event& event : closed_) refine_one(event, refine);
    if (open_) refine_one(event_, refine);
  }
  /// The events that are complete, and forgets them.
  void take(std::vector<Detection>& detections);
  /// First time of the open event; `otherwise` when there is none.
  std::uint64_t open_since(std::uint64_t otherwise) const {
    return open_ ? event_.detection.first_time : otherwise;
  }

 private:
  template <class Refine>
  static void refine_one(Event& event, Refine& refine) {
    if (!event.refined) refine(event);
    event.refined = true;
  }

  std::size_t trial_;
  std::uint64_t length_;
  Links links_;
  bool open_ = false;
  Event event_;
  std::vector<Event> closed_;
};

/// Baselined samples [first, end) of a stream.
struct Samples {
  const float* y = nullptr;
  std::uint64_t first = 0, end = 0;
};

/// What is weaker than the best by less than this is as good, as far as noise lets one tell: the
/// best of so many, each with noise of its own, is not where the pulse is, and brighter than it.
/// With 2, pulses of S/N 10 in 177 trials come out 2.0 % too bright, with 1 it is 3.9 %, and the
/// best itself 8.9 %.
inline constexpr double kEqualSigmas = 2;

/// Puts the middle of the boxcars that are as good in the place of the best one that `event`
/// found: of those of listed widths from half to twice its own that begin at most its width earlier
/// or later, the mean of their first samples and of their ends, weighted by what their S/N exceeds
/// the limit by. Sets detection.first, width and snr. Where the middle is under the threshold, the
/// best one stays. `sums` is scratch memory.
void refine_peak(const Samples& samples, const Sizes& sizes, double sigma, std::uint64_t n,
                 double threshold, std::vector<double>& sums, Events::Event& event);

}  // namespace tautline::stages::detect

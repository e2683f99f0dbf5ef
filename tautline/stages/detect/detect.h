// Pulses in dedispersed series: baseline, noise, boxcars, threshold, clusters.
//
//   y = x - running mean over about baseline_s        sigma = 1.4826 MAD(y), trial by trial
//   S/N(trial, first, w) = sum of y over [first, first + w) / (sigma sqrt(w))
//
// The running mean is that of 33 segments of which the highest and the lowest quarter do not
// count. Boxcars at or over the threshold are grouped in time, DM and width; the middle of the best
// of a group is a pulse. Every step is exact integer arithmetic or float operations of a fixed
// order on blocks of absolute sample numbers, so that no split of a stream, number of threads or
// instruction set changes a result (docs/maths/detect.md).
//
// | buffer | axes          | type           | unit                | written |
// | series | [trial][time] | int32 or float | whatever it came in | read    |
//
// Series of several beams are searched together as trials of one call, [beam][trial] (Links).
//
// Samples that are NaN, infinite or larger than the limits below count as missing: they are left
// out of means and noise, add nothing to a boxcar, and are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/view.h"
#include "tautline/device/device.h"

namespace tautline::stages::detect {

/// Type of the series' samples.
enum class SampleType { int32, float32 };

/// What a boxcar's sum is measured against.
enum class Noise {
  trial,  ///< 1.4826 MAD of the trial's samples, times sqrt(w)
  width   ///< the RMS of the sums themselves, at each width (heimdall's way)
};

/// Which detections are friends. Friends of friends are one pulse.
struct Links {
  /// Gap between two detections in time, beyond half the narrower one's width.
  std::size_t time_samples = 3;
  /// Difference of their trials, at most; of Config::lengths, half the narrower one's width at most
  /// will do too.
  std::size_t dm_trials = 8;
  std::size_t width_octaves = 3;  ///< ratio of their widths, at most 2 to this
  /// Trials are those of several beams, so many of each, one beam behind the other; detections of
  /// different beams are never friends. 0: all trials are one beam's.
  std::size_t beam_trials = 0;
  /// false: every detection is a pulse of its own (Pulse::separate), for a caller that joins those
  /// of several searches (groups.h).
  bool join = true;
  /// Trials that other searches have of what this one has: which there are, and the shortest and
  /// longest of their Config::lengths (0: not known). A group with a detection that could have a
  /// friend among them is given detection by detection, as without `join`.
  struct Elsewhere {
    bool any = false;
    std::uint64_t shortest = 0, longest = 0;
  };
  Elsewhere before = {};  ///< the first trial of a beam
  Elsewhere behind = {};  ///< the last one
};

struct Config {
  std::size_t trials = 1;               ///< rows of the series, 1 or more
  double sample_time_s = 1e-3;          ///< more than 0
  SampleType type = SampleType::int32;  ///< of the series
  double threshold = 6;                 ///< smallest S/N of a detection, more than 0
  double max_width_s = 0.1;             ///< of the widest boxcar, rounded down to samples
  /// Length of the running mean, 4 x the widest boxcar at least; 0: 2 s or 16 x the widest boxcar,
  /// whichever is longer.
  double baseline_s = 0;
  Noise noise = Noise::trial;
  Links links = {};
  std::size_t max_samples = 65536;  ///< most samples (columns) that one execute is given
  /// On a GPU: State::input_area gives out where series may be written, so that execute copies none.
  bool in_place = false;
  /// Samples of each trial, of which the series may hold more: what comes later is not looked at.
  /// Empty: all are as long as the stream. (A trial of low DM is complete for longer than one of
  /// high DM.)
  std::vector<std::uint64_t> lengths = {};
};

/// Integers beyond this and floats beyond the next count as missing.
inline constexpr std::int32_t kLargestInteger = (std::int32_t{1} << 30) - 1;
inline constexpr float kLargestFloat = 1e30f;
inline constexpr std::size_t kMaxWidthSamples = std::size_t{1} << 16;

/// The best boxcar of a group of detections.
struct Pulse {
  double snr = 0;
  std::size_t trial = 0;
  std::uint64_t first = 0;           ///< of the boxcar; the pulse's sample is first + width / 2
  std::uint64_t width = 1;           ///< samples
  std::uint64_t members = 1;         ///< detections: (trial, event of time) over the threshold
  std::uint64_t begin = 0, end = 0;  ///< samples that the members' boxcars span
  std::size_t first_trial = 0, last_trial = 0;  ///< of the members, inclusive
  /// A detection still to be joined with others: begin is the first and end - 1 the last centre of a
  /// boxcar over the threshold.
  bool separate = false;

  std::uint64_t sample() const { return first + width / 2; }
  friend bool operator==(const Pulse&, const Pulse&) = default;
};

/// What a stream has been through so far.
struct Counters {
  std::uint64_t samples = 0;     ///< columns given
  std::uint64_t searched = 0;    ///< columns at which boxcars have begun, of the longest trial
  std::uint64_t missing = 0;     ///< samples, over all trials
  std::uint64_t detections = 0;  ///< events of time over the threshold, over all trials
};

/// Where the next columns of every trial may be written, in the device's memory: rows `stride`
/// samples apart, with room for `samples`. Null where there is no such place.
struct InputArea {
  void* data = nullptr;
  std::size_t stride = 0;
  std::size_t samples = 0;
};

/// One stream's samples that are still needed, and its open groups.
class State {
 public:
  virtual ~State() = default;
  /// Pulses whose groups are complete, in order of time and trial; each is given once.
  virtual std::vector<Pulse> take() = 0;
  virtual Counters counters() const = 0;
  /// With Config::in_place, on a GPU: series that execute is given there, by the queue that wrote
  /// them, are taken as they lie. Each execute moves the place. Nothing may be written there but
  /// what execute is given next.
  virtual InputArea input_area() const { return {}; }
  /// Boxcars at or over the threshold so far, before any grouping: [trial][width].
  virtual const std::vector<std::uint64_t>& over_threshold() const = 0;
};

using IntegerSeries = core::View<const std::int32_t, 2>;
using FloatSeries = core::View<const float, 2>;

/// Immutable; may be shared by threads.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const Config& config() const = 0;
  /// The boxcars, in samples, ascending.
  virtual const std::vector<std::size_t>& widths() const = 0;
  /// Samples of the running mean and of a noise block.
  virtual std::size_t baseline_samples() const = 0;
  virtual std::size_t noise_samples() const = 0;
  /// "reference", "portable", "avx2" or "avx512": the code that will run.
  virtual std::string backend() const = 0;
  /// Memory of one state. Groups and pulses come on top.
  virtual device::MemoryUse bytes() const = 0;
  virtual std::unique_ptr<State> make_state(device::Queue& queue) const = 0;

  /// The next columns of every trial. Throws Error(config) on a wrong shape or type, and after
  /// finish.
  virtual void execute(device::Queue& queue, State& state, const IntegerSeries& series) const = 0;
  virtual void execute(device::Queue& queue, State& state, const FloatSeries& series) const = 0;
  /// The stream has ended: searches to its last sample and completes every group.
  virtual void finish(device::Queue& queue, State& state) const = 0;
};

/// Throws Error(config) naming the field, the value and the limit.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// The fewest widths up to `largest`, powers of two among them, with which a rectangular pulse of
/// any whole width up to `largest` keeps 95 % of its S/N or more.
std::vector<std::size_t> boxcar_widths(std::size_t largest);

/// One shot, on the best CPU path: the pulses of series that are whole, best first.
std::vector<Pulse> detect(const Config& config, const IntegerSeries& series);
std::vector<Pulse> detect(const Config& config, const FloatSeries& series);

}  // namespace tautline::stages::detect

// Pulses in dedispersed series: baseline, noise, boxcars, threshold, clusters.
//
//   y = x - running mean over about baseline_s        sigma = 1.4826 MAD(y), trial by trial
//   S/N(trial, first, w) = sum of y over [first, first + w) / (sigma sqrt(w))
//
// The running mean is the interquartile mean of the means of 33 segments. Boxcars at or over the
// threshold are grouped in time, DM and width. A group is one pulse; its place is the middle of the
// group's best boxcars. Every step is exact integer arithmetic, or float operations in a fixed
// order on blocks of absolute sample numbers, so that no split of a stream, number of threads or
// instruction set changes a result (docs/maths/detect.md).
//
// | buffer | axes          | type           | unit                | written |
// | series | [trial][time] | int32 or float | whatever it came in | read    |
//
// One call can search the series of several beams, [beam][trial] (Links::beam_trials).
//
// Samples that are NaN, infinite or beyond kLargestInteger or kLargestFloat are missing: means and
// noise leave them out, boxcars take them as 0, and Counters::missing counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/core/sample_view.h"
#include "tautline/device/device.h"

namespace tautline::stages::detect {

/// The noise that a boxcar's sum is divided by.
enum class Noise {
  trial,  ///< 1.4826 MAD of the trial's samples, times sqrt(w)
  width   ///< the RMS of the sums themselves, at each width (heimdall's way)
};

/// Conditions under which two detections are friends. Friends of friends are one pulse.
struct Links {
  /// Largest gap between two detections in time, beyond half the narrower one's width.
  std::size_t time_samples = 3;
  /// Largest difference of their trials. Trials further apart whose Config::lengths differ by half
  /// the narrower one's width or less are near enough, too.
  std::size_t dm_trials = 8;
  std::size_t width_octaves = 3;  ///< largest ratio of their widths, as a power of 2
  /// Trials of each beam, where Config::trials has those of several beams, [beam][trial].
  /// Detections of different beams are never friends. 0: all trials belong to one beam.
  std::size_t beam_trials = 0;
  /// false: every detection is given as a pulse of its own (Pulse::separate), for a caller that
  /// joins the detections of several searches (groups.h).
  bool join = true;
  /// Trials of the same beam in other searches: whether there are any, and the shortest and longest
  /// of their Config::lengths (0: not known). A group with a detection that could have a friend
  /// among them is given detection by detection, as without `join`.
  struct Elsewhere {
    bool any = false;
    std::uint64_t shortest = 0, longest = 0;
  };
  Elsewhere before = {};  ///< before the first trial of a beam
  Elsewhere behind = {};  ///< after the last trial of a beam
};

struct Config {
  std::size_t trials = 1;                         ///< rows of the series, 1 or more
  double sample_time_s = 1e-3;                    ///< more than 0
  core::SampleType type = core::SampleType::i32;  ///< of the series: i32 or f32
  double threshold = 6;                           ///< smallest S/N of a detection, more than 0
  double max_width_s = 0.1;  ///< width of the widest boxcar, rounded down to samples
  /// Length of the running mean, 4 x the widest boxcar at least; 0: 2 s or 16 x the widest boxcar,
  /// whichever is longer.
  double baseline_s = 0;
  Noise noise = Noise::trial;
  /// Length of a block with one noise, kLeastNoiseSamples and 4 x the widest boxcar at least; 0: 16,384 samples or 4 x
  /// the widest boxcar, whichever is longer. A pulse is known when its block is complete.
  double noise_s = 0;
  Links links = {};
  std::size_t max_samples = 65536;  ///< most samples (columns) that one execute is given
  /// On a GPU: series may be written to State::input_area, from where execute need not copy them.
  bool in_place = false;
  /// Samples of each trial. Later samples of the series are ignored. Empty: all trials are as long
  /// as the stream. (Dedispersion completes trials of low DM to a later time than those of high
  /// DM.)
  std::vector<std::uint64_t> lengths = {};
};
const core::Fields<Config>& fields(const Config&);

/// Integers and floats of a larger magnitude are missing.
inline constexpr std::int32_t kLargestInteger = (std::int32_t{1} << 30) - 1;
inline constexpr float kLargestFloat = 1e30f;
/// 1,024 samples give a noise to 3.6 %.
inline constexpr std::size_t kLeastNoiseSamples = 1024;
inline constexpr std::size_t kMaxWidthSamples = std::size_t{1} << 16;

/// The best boxcar of a group of detections.
struct Pulse {
  double snr = 0;
  std::size_t trial = 0;
  std::uint64_t first = 0;           ///< of the boxcar; the pulse's sample is first + width / 2
  std::uint64_t width = 1;           ///< samples
  std::uint64_t members = 1;         ///< detections of the group
  std::uint64_t begin = 0, end = 0;  ///< span of the members' boxcars, in samples
  std::size_t first_trial = 0, last_trial = 0;  ///< of the members, inclusive
  /// Whether this is one detection, to be joined with others. Then begin is the first, and end - 1
  /// the last, centre of its boxcars over the threshold.
  bool separate = false;

  std::uint64_t sample() const { return first + width / 2; }
  friend bool operator==(const Pulse&, const Pulse&) = default;
};

/// Counts of a stream so far.
struct Counters {
  std::uint64_t samples = 0;     ///< columns executed
  std::uint64_t searched = 0;    ///< columns whose boxcars are searched, of the longest trial
  std::uint64_t missing = 0;     ///< samples, over all trials
  std::uint64_t detections = 0;  ///< events over the threshold, over all trials
};

/// Device memory where the next columns of every trial may be written: rows `stride` samples apart,
/// `samples` long. `data` is null where the state has no such memory.
struct InputArea {
  void* data = nullptr;
  std::size_t stride = 0;
  std::size_t samples = 0;
};

/// One stream: the samples that later calls need, and its open groups.
class State {
 public:
  virtual ~State() = default;
  /// Removes and returns the pulses whose groups are complete, in order of time and trial.
  virtual std::vector<Pulse> take() = 0;
  virtual Counters counters() const = 0;
  /// With Config::in_place, on a GPU: execute does not copy series in this memory, if its queue is
  /// the one that wrote them. Each execute changes the area. Only the series of the next execute
  /// may be written there.
  virtual InputArea input_area() const { return {}; }
  /// Number of boxcars at or over the threshold so far, before grouping: [trial][width].
  virtual const std::vector<std::uint64_t>& over_threshold() const = 0;
  /// The stream ends sooner than its Config::lengths: these take their place until reset(). Each is at
  /// most the Config's and at least the samples that were executed. Throws Error(config) otherwise.
  virtual void shorten(device::Queue& queue, std::span<const std::uint64_t> lengths) = 0;
  /// Begins a new stream.
  virtual void reset() = 0;
  /// The whole state: samples, open groups, pulses not taken. On a GPU, saving waits for the last
  /// step, whose pulses take() then has.
  virtual std::vector<std::byte> save() const = 0;
  /// Continues the stream of a state that a plan of an equal config saved, on a device of the same
  /// kind (reference, CPU or GPU). Throws Error(format) for other bytes; reset the state then.
  virtual void load(std::span<const std::byte> bytes) = 0;
};

/// Immutable; may be shared by threads.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const Config& config() const = 0;
  /// The boxcars, in samples, ascending.
  virtual const std::vector<std::size_t>& widths() const = 0;
  /// Samples of the running mean, and of a block with one noise.
  virtual std::size_t baseline_samples() const = 0;
  virtual std::size_t noise_samples() const = 0;
  /// Samples behind the end of a pulse at which it is known, at most: 18 segments of the running mean, a block of
  /// noise, three of the widest boxcars and the gap of Links. In the first length of the running mean, and where
  /// something is over the threshold all the time (other trials of a bright pulse, interference), it takes longer.
  std::size_t latency_samples() const;
  /// The code that will run: "reference", "portable", "avx2", "avx512", "cuda" or "opencl".
  virtual std::string backend() const = 0;
  /// Memory of one state, without its groups and pulses.
  virtual device::MemoryUse bytes() const = 0;
  virtual std::unique_ptr<State> make_state(device::Queue& queue) const = 0;

  /// Searches the next columns of every trial. Throws Error(config) on a wrong shape or type, and
  /// after finish.
  virtual void execute(device::Queue& queue, State& state,
                       const core::SampleView<2>& series) const = 0;
  /// Ends the stream: searches to its last sample and completes every group.
  virtual void finish(device::Queue& queue, State& state) const = 0;
};

/// Throws Error(config) naming the field, the value and the limit.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// The fewest widths up to `largest`, powers of two among them, with which a rectangular pulse of
/// any whole width up to `largest` keeps 95 % of its S/N or more.
std::vector<std::size_t> boxcar_widths(std::size_t largest);

/// Searches complete series in one call, in blocks of config.max_samples: pulses in descending order
/// of S/N. `config` takes trials and type from the series.
std::vector<Pulse> detect(Config config, const core::SampleView<2>& series,
                          const device::Selection& selection = {});

}  // namespace tautline::stages::detect

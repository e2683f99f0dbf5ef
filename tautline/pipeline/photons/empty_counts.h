// Stretches in which a sensor counted nothing, or the same in every bin, though it counts otherwise: a shutter that
// closed, a cable that came out, padding (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tautline::pipeline {

/// Steps of a series, [first, end).
struct StepRange {
  std::size_t first = 0, end = 0;
  std::size_t steps() const { return end - first; }
  bool operator==(const StepRange&) const = default;
};

/// Of counts in steps of equal length those in which the sensor had stopped, in order. `series`: how many such series
/// are looked at, which gives chance as many tries.
std::vector<StepRange> stopped_steps(std::span<const double> counts, std::size_t series);

/// Steps in which every bin holds the same count, as far as sums tell, and not zero.
std::vector<StepRange> constant_steps(std::span<const double> counts, std::uint64_t step_samples);

/// Whether so many seconds without a count are too long for light that went out: detectors would have counted in the
/// dark.
bool beyond_darkness(double seconds, std::size_t sensors);

/// A stretch of a run, in samples of the run.
struct SensorStretch {
  std::optional<std::uint32_t> sensor;  ///< none: all of them
  std::uint64_t first_sample = 0, samples = 0;
};

/// Where sensors that are `good` (1 or 0 of each) had stopped or never changed, by their `counts` [step][sensor] in steps
/// of `step_samples`: first all of them together; then each by itself, outside of these.
std::vector<SensorStretch> stopped_sensors(std::span<const double> counts,
                                           std::uint64_t step_samples,
                                           std::span<const std::uint8_t> good);

/// Sensors that stopped together.
struct EmptyCounts {
  std::uint64_t sensors = 0;       ///< how many
  std::vector<std::string> names;  ///< of the first ones; empty: all sensors
  /// Of the input; negative: in the part before a state that was taken up.
  std::int64_t first_sample = 0;
  std::uint64_t samples = 0;
  bool left_out = false;  ///< padding: the run is cut there
};

struct EmptyCountsFound {
  std::uint64_t samples = 0;           ///< bins x sensors
  std::vector<EmptyCounts> stretches;  ///< in order of time
  std::vector<std::string> stopped;  ///< labels of the first 1000 sensors that have any but padding
  bool all_stopped = false;          ///< every good sensor has
};

/// The first `most`: {sensors (how many), names, first_sample, samples, left_out}.
nlohmann::ordered_json empty_stretches(const EmptyCountsFound& found, std::size_t most = 1000);
/// The fact of a file of curves that holds stops_text(), or "none".
inline constexpr const char* kStopsFact = "counts_stop";
/// The one that holds stopped_text().
inline constexpr const char* kStoppedFact = "stopped_sensors";
/// What it says of stops; empty: nothing, or that there are none.
std::string noted_stops(const std::map<std::string, std::string>& facts);
/// The labels `stopped`, a list in JSON; "all" where every sensor stopped.
std::string stopped_text(const EmptyCountsFound& found);
/// What that fact says of a sensor.
class NotedStopped {
 public:
  explicit NotedStopped(const std::map<std::string, std::string>& facts);
  bool contains(const std::string& label) const { return all_ || labels_.contains(label); }

 private:
  std::set<std::string> labels_;
  bool all_ = false;
};
/// Those that stay in the sums, "sensor 3 for 2 s from 5 s; ..."; empty where there are none.
std::string stops_text(const EmptyCountsFound& found, double bin_s);
/// What to tell the user, with the seconds of bins of `bin_s`; one text for what is left out and one for what is not,
/// as far as there are any.
std::vector<std::string> empty_warnings(const EmptyCountsFound& found, double bin_s);

}  // namespace tautline::pipeline

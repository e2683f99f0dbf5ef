// Stretches in which a sensor counted nothing, or the same number in every bin, although it counts elsewhere: a shutter
// that closed, a cable that came out, padding (docs/design/empty.md).
#pragma once

#include <algorithm>
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

/// Bins of a run, [first, end).
struct BinRange {
  std::uint64_t first = 0, end = 0;
  std::uint64_t bins() const { return end - first; }
  bool operator==(const BinRange&) const = default;
};

/// Stops of one sensor while others count, in order.
struct SensorStops {
  std::uint32_t sensor = 0;
  std::vector<BinRange> stops;
  bool operator==(const SensorStops&) const = default;
};

/// Stops of the sensors of a file, in order.
struct Stops {
  std::vector<BinRange> left_out;   ///< of all sensors: those that no light source explains
  std::vector<BinRange> named;      ///< of all sensors: repeated ones that stay in the sums
  std::vector<SensorStops> single;  ///< of single sensors: repeated ones, which stay in the sums
};

/// The steps in which a sensor had stopped, in order, from its counts in steps of equal length. `series`: the number of
/// series that are tested, each of which could be empty by chance.
std::vector<StepRange> stopped_steps(std::span<const double> counts, std::size_t series);

/// The number of independent counts in such a window: mean^2 / variance, the variance about a straight line, so that
/// fading light does not count as flickering light.
double independent_counts(std::span<const double> windows);

/// Steps in which every bin has the same count, as far as sums show it, and not zero.
std::vector<StepRange> constant_steps(std::span<const double> counts, std::uint64_t step_samples);

/// Whether this time without a count is too long for a light source that went out: detectors would have had dark counts
/// but for this probability.
bool beyond_darkness(double seconds, std::size_t sensors, double probability = 1e-12);

/// Whether one of the few long stops in a run of `all` is left out: where the run begins or ends, since a light source that
/// went out for good is left out, too; elsewhere where one in a hundred light sources would have been so dark.
inline bool is_left_out(const BinRange& stop, const BinRange& all, double bin_s,
                        std::size_t sensors) {
  return stop.first == all.first || stop.end == all.end ||
         beyond_darkness(static_cast<double>(stop.bins()) * bin_s, sensors, 0.01);
}

inline void sort_by_time(std::vector<BinRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const BinRange& a, const BinRange& b) { return a.first < b.first; });
}

/// In order of time, those that overlap or adjoin as one.
void join_ranges(std::vector<BinRange>& ranges);

/// A stretch of a run, in samples of the run.
struct SensorStretch {
  std::optional<std::uint32_t> sensor;  ///< none: all sensors
  std::uint64_t first_sample = 0, samples = 0;
};

/// Sensors that stopped together.
struct EmptyCounts {
  std::uint64_t sensors = 0;       ///< number of sensors
  std::vector<std::string> names;  ///< of the first sensors; empty: all sensors
  /// Sample of the input; negative: in the part before a resumed state.
  std::int64_t first_sample = 0;
  std::uint64_t samples = 0;
  bool left_out = false;  ///< not in the sums
};

struct EmptyCountsFound {
  std::uint64_t samples = 0;           ///< bins x sensors
  std::vector<EmptyCounts> stretches;  ///< in order of time
  /// Labels of the first 1000 sensors with stretches in the sums.
  std::vector<std::string> stopped;
  bool all_stopped = false;  ///< every good sensor has such a stretch
};

/// The first `most`: {sensors (number), names, first_sample, samples, left_out}.
nlohmann::ordered_json empty_stretches(const EmptyCountsFound& found, std::size_t most = 1000);
/// The fact with empty_stretches(), and its entries; none where there is no such fact.
inline constexpr const char* kStretchesFact = "empty_stretches";
std::vector<EmptyCounts> noted_stretches(const std::map<std::string, std::string>& facts);
/// The fact with the sample of the input that is the curves' first one; negative: of a resumed state.
inline constexpr const char* kRunFirstFact = "run_first_sample";
/// The fact of a curve file with stops_text(), or "none".
inline constexpr const char* kStopsFact = "counts_stop";
/// The fact with stopped_text().
inline constexpr const char* kStoppedFact = "stopped_sensors";
/// The text of that fact about stops; empty: no fact, or no stops.
std::string noted_stops(const std::map<std::string, std::string>& facts);
/// The labels `stopped`, a list in JSON; "all" where every sensor stopped.
std::string stopped_text(const EmptyCountsFound& found);
/// The entry of that fact for a sensor.
class NotedStopped {
 public:
  explicit NotedStopped(const std::map<std::string, std::string>& facts);
  bool contains(const std::string& label) const { return all_ || labels_.contains(label); }

 private:
  std::set<std::string> labels_;
  bool all_ = false;
};
/// Stretches that stay in the sums, "sensor 3 for 2 s from 5 s; ..."; empty where there are none.
std::string stops_text(const EmptyCountsFound& found, double bin_s);
/// Warnings, with times for bins of `bin_s`: one text for stretches that are left out and one for the others, where
/// there are any.
std::vector<std::string> empty_warnings(const EmptyCountsFound& found, double bin_s);

}  // namespace tautline::pipeline

// Marks the times at which counts stop in figures of count rates.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/formats/figure/figure.h"
#include "tautline/pipeline/photons/empty_counts.h"

namespace tautline::pipeline::plot {

/// One of the lines of a panel: counts in cells of `cell` from `first` on, both in units of the panel's x.
struct CountLine {
  std::string name;  ///< "detector 1"; empty: the only one
  std::vector<double> counts;
  double first = 0, cell = 1;
  std::vector<StepRange> left_out = {};  ///< cells of stops that the file says nothing about
};

/// So few stops of one sensor are left to the counts that are drawn.
inline constexpr std::size_t kFewStops = 3;

/// Stops of some sensors that the run found in finer steps than the picture has.
struct RepeatedRanges {
  std::string name;  ///< "detector 1", "all sensors"; empty: the only sensor
  std::vector<std::pair<double, double>> ranges = {};  ///< of the panel's x
  bool of_all = false;                                 ///< of all sensors
  bool more = false;                                   ///< there are more than these
};

/// Stops of a file, of all sensors or more than a few of one; `names`: of the sensors. Places
/// of `place_s` seconds are counted from `first_s`; what is `shown_s` is kept, and x has units of `unit_s`.
std::vector<RepeatedRanges> repeated_ranges(const Stops& stops, std::span<const std::string> names,
                                            double place_s, double first_s,
                                            std::pair<double, double> shown_s, double unit_s);

/// Marks the ranges of x in which one of the lines stops, as stopped_steps() has it (photons/empty_counts.h), or is left
/// out, and adds a note that names the lines; and the `repeated` ones, with a note of their number and length, but for a
/// few that the lines show. Ranges that are less than half of a cell apart are drawn as one.
void mark_stops(std::span<const CountLine> lines, std::span<const RepeatedRanges> repeated,
                formats::figure::Panel& panel, std::vector<std::string>& notes);

}  // namespace tautline::pipeline::plot

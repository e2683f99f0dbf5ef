// Marks the times at which counts stop in figures of count rates.
#pragma once

#include <span>
#include <string>
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

/// Marks the ranges of x in which one of the lines stops, as stopped_steps() has it (photons/empty_counts.h), or is left
/// out, and adds a note that names the lines.
void mark_stops(std::span<const CountLine> lines, formats::figure::Panel& panel,
                std::vector<std::string>& notes);

}  // namespace tautline::pipeline::plot

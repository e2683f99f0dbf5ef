// The amplitude that visibilities keep: in the mean over a channel and an integration, where the phase changes, and
// where voltages were rounded to few bits.
#pragma once

#include <cstddef>

#include "tautline/formats/visibility_writer.h"

namespace tautline::pipeline::simulation {

/// Mean of exp(2 pi i x) over x from -turns / 2 to turns / 2.
double mean_of_turns(double turns);

/// The same of means over `parts` equal pieces in each of which the phase changed by turns_before / parts, and which
/// were rotated afterwards so that the phase changes by `turns` from the first piece's edge to the last one's:
/// visibilities whose fringes were rotated after correlation.
double mean_of_rotated(double turns, double turns_before, std::size_t parts);

/// The factors by which rounding to few bits reduces correlations and powers: 0.96 and 0.98 with 4 bits, 1 to a few
/// parts in 10,000 with 8.
struct KeptByRounding {
  double correlation = 1, power = 1;
};
KeptByRounding kept_by_rounding(const formats::VisibilityDescription& description);
/// The same of an input whose voltages were rounded when they were recorded: components of `rms` steps, at most +-limit.
KeptByRounding kept_by_recording(double rms, int limit);

}  // namespace tautline::pipeline::simulation

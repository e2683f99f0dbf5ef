// Visibilities as a Measurement Set (version 2), a folder of casacore tables.
//
//   MAIN   a row for each pair of antennas and integration, ANTENNA1 <= ANTENNA2:
//     DATA             [channel][correlation] complex, mean of x_1 conj(x_2), XX XY YX YY
//     FLAG             [channel][correlation], true where nothing valid was summed
//     WEIGHT_SPECTRUM  [channel][correlation], valid over nominal samples
//     WEIGHT, SIGMA    [correlation], its mean over the channels, and the inverse of its root
//     UVW              position(ANTENNA1) - position(ANTENNA2), m
//   ANTENNA rows are the antennas of the data in data order, then the rest; NAME is the antenna's
//   name and STATION its number.
//
// docs/maths/visibilities.md says what a field without a tracked centre holds.
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/visibility_writer.h"

namespace tautline::formats::measurement_set {

/// Buffers at most about 16 MiB beside casacore's own caches.
std::unique_ptr<VisibilityWriter> create(const std::string& path,
                                         const VisibilityDescription& description, bool overwrite);

}  // namespace tautline::formats::measurement_set

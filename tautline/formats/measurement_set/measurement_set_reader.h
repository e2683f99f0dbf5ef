// Visibilities of a Measurement Set, an integration at a time.
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/visibility_reader.h"

namespace tautline::formats::measurement_set {

/// Reads the column DATA of sets that have one spectral window and their rows in the order of time: our own and others
/// of that kind, with linear or circular polarisations. An integration is all rows of one TIME; pairs that it lacks
/// have counts of 0. Antennas have their STATION as their number where all STATIONs are different numbers, else their
/// row. Memory: one integration and some 8 MiB.
std::unique_ptr<VisibilityReader> open(const std::string& path);

}  // namespace tautline::formats::measurement_set

// Reads UVH5 files whose rows come integration by integration: our own, and others of that kind.
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/visibility_reader.h"

namespace tautline::formats::uvh5 {

/// Every integration must list the same pairs of antennas in the same order, with linear
/// polarisations; pyuvdata's reorder_blts("time") makes such a file of any other.
std::unique_ptr<VisibilityReader> open(const std::string& path);

}  // namespace tautline::formats::uvh5

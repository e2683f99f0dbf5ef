// The report of visibilities that are already in a file.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "tautline/pipeline/report/visibility_digest.h"

namespace tautline::pipeline::report {

/// Reads `visibilities` (UVH5) one integration at a time and writes `page`. `progress`, if given,
/// is called with the integrations done and in all. Throws core::Error.
void report_file(const std::string& visibilities, const std::string& page, bool overwrite,
                 const DigestLimits& limits = {},
                 const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace tautline::pipeline::report

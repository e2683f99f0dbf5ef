// The JSON messages that the page draws: the report inlines them, a live monitor streams them.
// docs/guide/report.md lists their fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tautline/pipeline/report/visibility_digest.h"

namespace tautline::pipeline::report {

inline constexpr int kMessageVersion = 1;

/// What a run says about itself besides its visibilities.
struct RunStatus {
  std::vector<std::pair<std::string, std::string>> facts;  ///< shown in order
  std::vector<std::string> warnings;                       ///< damage, losses
  std::vector<std::uint64_t> clipped;  ///< requantised components outside the range, per input
  std::uint64_t requantised = 0;       ///< components requantised per input; 0: unknown
  std::vector<double> at_ends = {};    ///< shares of samples at the ends of the input's range, per input
};

/// {"type": "description"}: array, inputs, channels, kept baselines and triangles. After the first
/// integration, since that decides which baselines are kept.
std::string description_message(const VisibilityDigest& digest);

/// {"type": "integrations"}: cells of time [first, first + count) and the summary over the run. A
/// live stream sends one cell a message; a report all of them in one.
std::string integrations_message(const VisibilityDigest& digest, std::size_t first,
                                 std::size_t count);

/// {"type": "status"}.
std::string status_message(const RunStatus& status);

}  // namespace tautline::pipeline::report

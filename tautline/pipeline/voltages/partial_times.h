// Integrations that lack much of an input, whose phases are those of the times that there were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/core/view.h"
#include "tautline/formats/visibility_writer.h"

namespace tautline::pipeline {

/// The time of an integration is its middle. Where a part f of an input's samples is valid, the mean time of these may
/// be (1 - f) / 2 integrations earlier or later, and a fringe that is not stopped turns meanwhile. Named are inputs of
/// integrations with f below 3 / 4 whose fringes may turn by more than 3 degrees: those to the antenna that is the
/// farthest from the earth's axis of rotation, seen from the input's, of a source on the equator.
class PartialTimes {
 public:
  /// `stopped`: the fringes are, before the correlation; those that are rotated after it have turned during an
  /// integration. Positions that are not known have no fringes.
  PartialTimes(const formats::VisibilityDescription& description, bool stopped,
               std::vector<std::string> input_names);

  /// Counts of an integration, [channel][baseline], of all baselines.
  void add(double integration_s, const core::View<const std::int64_t, 2>& counts);

  /// The warning; empty where no phase is far from that of the time.
  std::string text() const;

 private:
  struct Input {
    double turns_per_s = 0;
    std::uint64_t integrations = 0;
  };
  double nominal_per_s_;
  std::vector<std::string> names_;
  std::vector<Input> inputs_;
  double most_degrees_ = 0;
};

}  // namespace tautline::pipeline

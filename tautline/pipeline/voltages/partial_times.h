// Integrations that lack much of an input, whose phases are those of the times that there were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/view.h"
#include "tautline/formats/visibility_writer.h"
#include "tautline/pipeline/voltages/input_groups.h"

namespace tautline::pipeline {

/// The time of an integration is its middle. Where a part f of an input's samples is valid, the mean time of these may
/// be (1 - f) / 2 integrations earlier or later, and a fringe that is not stopped turns meanwhile. Named are inputs of
/// integrations with f below 3 / 4 whose fringes may turn by more than 3 degrees: those to the antenna that is the
/// farthest from the earth's axis of rotation, seen from the input's, of a source on the equator.
class PartialTimes {
 public:
  /// `pairs`: of the baselines; none: all. Fringes of a tracked phase centre are stopped, and positions that are not
  /// known have none.
  PartialTimes(const formats::VisibilityDescription& description, std::span<const InputPair> pairs,
               std::vector<std::string> input_names);

  /// Counts of an integration, [channel][baseline].
  void add(double integration_s, const core::View<const std::int64_t, 2>& counts);

  /// The warning; empty where no phase is far from that of the time.
  std::string text() const;

 private:
  struct Input {
    std::size_t baseline = 0;  // of its autocorrelation
    double turns_per_s = 0;
    std::uint64_t integrations = 0;
  };
  double nominal_per_s_;
  std::vector<std::string> names_;
  std::vector<Input> inputs_;
  double most_degrees_ = 0;
};

}  // namespace tautline::pipeline

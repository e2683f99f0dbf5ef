// Correlation of photon tags: the sums of the binned series, bit for bit, computed from the bins
// that are not zero. Time and memory depend on the number of photons, not on the length of the run.
//
// At every level a series is a list of nonzero windows and their counts. Dense parts of the lists
// are multiplied as arrays. See docs/maths/autocorrelate.md.
//
// | buffer | axes   | type | unit | written                                       |
// | tags   | [tag]  | Tag  | bins | read; in order of bin, one tag for each count |
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

/// One count of one sensor.
struct Tag {
  std::uint64_t bin = 0;
  std::uint32_t sensor = 0;
};

/// A plan whose input is tags. It also accepts dense counts (u8, u16, u32), slowly.
class TagPlan : public Plan {
 public:
  /// Adds the tags of the bins [state.samples(), until), in order of bin, and advances the state to
  /// `until` samples. Throws Error(config) for tags that are out of order or outside these bins,
  /// for unknown sensors, and when a sum could reach 2^63.
  virtual void execute_tags(device::Queue& queue, State& state, std::span<const Tag> tags,
                            std::uint64_t until) const = 0;
};

/// Throws Error(config), and Error(unsupported) for floats and for any coarsening other than sums.
std::shared_ptr<const TagPlan> make_tag_plan(const Config& config);

}  // namespace tautline::stages::autocorrelate

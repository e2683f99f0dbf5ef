// Correlation of counts that are mostly zero, without bins: the same sums, bit for bit, from the
// bins that hold something. Time and memory follow the photons and not the length of the run.
//
// At every level of the ladder a series is a list of windows with their counts. Where lists become
// dense, stretches of them are multiplied as arrays. See docs/maths/autocorrelate.md.
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

/// A plan that takes tags. It takes dense counts too (u8, u16, u32), slowly.
class TagPlan : public Plan {
 public:
  /// Adds the tags of bins from state.samples() on, in order, and makes `until` the number of
  /// samples. Throws Error(config) on tags that are out of order, not below `until`, or of a sensor
  /// that there is not; and when a sum could reach 2^63.
  virtual void execute_tags(device::Queue& queue, State& state, std::span<const Tag> tags,
                            std::uint64_t until) const = 0;
};

/// Throws Error(config), and Error(unsupported) for floats and for coarsening but by sums.
std::shared_ptr<const TagPlan> make_tag_plan(const Config& config);

}  // namespace tautline::stages::autocorrelate

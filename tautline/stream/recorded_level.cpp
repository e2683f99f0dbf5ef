#include "tautline/stream/recorded_level.h"

#include <cmath>
#include <numbers>

namespace tautline::stream {

namespace {

// Fewer do no harm: noise that is cut off at 3.3 standard deviations loses 0.2 % of its power.
constexpr double kLeastShare = 1e-3;
// Fewer than so many may be chance.
constexpr std::uint64_t kLeastAtEnds = 16;
// Noise has fewer samples at each level than at the next one inward, a full tone up to 1.4 times as many.
constexpr double kPile = 2;
// Bursts: so many times as many as noise of the same power has.
constexpr double kOverNoise = 5;

// Noise that is too strong for its range, which is cut off and so has a lower rms than it would. Noise at the best
// level has 3 % at the ends of 4 bits and 0.5 % of 5; where it has 1 %, 2 % of its power are lost.
double too_many(int end) {
  constexpr int kOf4Bits = 7, kOf5Bits = 15;
  return end <= kOf4Bits ? 0.1 : end <= kOf5Bits ? 0.03 : 0.01;
}

double part_of(std::uint64_t some, std::uint64_t all) {
  return all > 0 ? static_cast<double>(some) / static_cast<double>(all) : 0;
}

}  // namespace

double RecordedLevel::share() const {
  return part_of(at_ends, components);
}

double RecordedLevel::noise_share() const {
  return rms > 0 ? std::erfc((end - 0.5) / (rms * std::numbers::sqrt2)) : 0;
}

bool RecordedLevel::clipped() const {
  if (end == 0 || at_ends < kLeastAtEnds || share() <= kLeastShare) return false;
  if (share() < kPile * part_of(next_to_ends, components)) return false;
  return share() > kOverNoise * noise_share() || share() > too_many(end);
}

std::vector<std::size_t> RecordedLevels::clipped() const {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].clipped()) numbers.push_back(i);
  return numbers;
}

}  // namespace tautline::stream

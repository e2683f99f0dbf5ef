#include "bench/baseline/autocorrelate.h"

#include <algorithm>

namespace tautline::bench {

PlainMultiTau::PlainMultiTau(std::size_t sensors, std::size_t bins, std::size_t levels)
    : sensors_(sensors),
      bins_(bins),
      levels_(levels),
      sums_(sensors * bins * levels),
      ring_(sensors * bins * levels),
      direct_(sensors * levels),
      delayed_(sensors * levels),
      newest_(levels),
      arrived_(levels) {}

void PlainMultiTau::add(const std::uint8_t* counts, std::size_t samples) {
  for (std::size_t t = 0; t < samples; ++t) {
    for (std::size_t s = 0; s < sensors_; ++s) {
      direct_[s] = counts[t * sensors_ + s];
      delayed_[s] = direct_[s];
    }
    add_to_level(0);
  }
}

// Adds direct_ and delayed_ to a level; every second time their sums go on to the next level.
void PlainMultiTau::add_to_level(std::size_t level) {
  float* ring = ring_.data() + level * bins_ * sensors_;
  float* direct = direct_.data() + level * sensors_;
  float* delayed = delayed_.data() + level * sensors_;
  std::size_t& newest = newest_[level];
  newest = (newest + bins_ - 1) % bins_;
  float* oldest = ring + newest * sensors_;
  if (level + 1 < levels_)
    for (std::size_t s = 0; s < sensors_; ++s) {
      direct[sensors_ + s] += direct[s];
      delayed[sensors_ + s] += oldest[s];
    }
  std::copy(delayed, delayed + sensors_, oldest);
  for (std::size_t k = 0; k < bins_; ++k) {
    float* sums = sums_.data() + (level * bins_ + k) * sensors_;
    const float* past = ring + (newest + k) % bins_ * sensors_;
    for (std::size_t s = 0; s < sensors_; ++s) sums[s] += direct[s] * past[s];
  }
  std::fill(direct, direct + sensors_, 0.f);
  std::fill(delayed, delayed + sensors_, 0.f);
  if (level + 1 < levels_ && ++arrived_[level] % 2 == 0) add_to_level(level + 1);
}

}  // namespace tautline::bench

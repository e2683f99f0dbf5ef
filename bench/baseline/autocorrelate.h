// The baseline implementation for bench/autocorrelate.cpp: the chain of levels as a plain loop over
// sensors, in floats, vectorised by the compiler. Not exact beyond 2^24.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tautline::bench {

class PlainMultiTau {
 public:
  PlainMultiTau(std::size_t sensors, std::size_t bins, std::size_t levels);
  /// [time][sensor]
  void add(const std::uint8_t* counts, std::size_t samples);
  const std::vector<float>& sums() const { return sums_; }

 private:
  void add_to_level(std::size_t level);

  std::size_t sensors_, bins_, levels_;
  std::vector<float> sums_;              ///< [level][bin][sensor]
  std::vector<float> ring_;              ///< [level][bin][sensor], newest at `newest_`
  std::vector<float> direct_, delayed_;  ///< [level][sensor]: pairs on their way to a level
  std::vector<std::size_t> newest_, arrived_;
};

}  // namespace tautline::bench

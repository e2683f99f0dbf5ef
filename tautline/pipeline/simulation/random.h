// Random numbers that do not depend on the order of requests: each is a function of (seed, stream,
// block, place), so that any number of threads makes the same voltages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tautline::pipeline::simulation {

/// The counter-based generator Philox4x32-10 of Salmon et al. (SC11, 2011): ten rounds of two
/// 32 x 32 bit products each. It passes BigCrush.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// Names one run of numbers.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;  ///< which input or source
  std::uint64_t block = 0;   ///< which block of time
};

/// Normal deviates of mean 0 and variance 1 for the 65,536 values of 16 random bits: the mean of
/// each of 65,536 equally likely slices of the normal distribution, scaled to variance 1. The
/// distribution function is within 1e-5 of the normal one, the largest deviate is 4.39 and the
/// excess kurtosis -0.0002. Sums of many (a source after its transform) are closer still.
class NormalTable {
 public:
  static const NormalTable& instance();
  const float* values() const { return values_.data(); }
  static constexpr std::size_t kSize = 65536;

 private:
  NormalTable();
  std::array<float, kSize> values_;
};

/// values[n] += scale * (the n-th normal deviate of the stream), n < count. Each call of the
/// generator gives eight deviates.
void add_normal(const RandomStream& stream, float scale, float* values, std::size_t count);

}  // namespace tautline::pipeline::simulation

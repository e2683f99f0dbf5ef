// The amplitudes that means keep, against the means themselves.
#include "tautline/pipeline/simulation/kept_amplitude.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "tests/support/seed.h"

namespace tautline::pipeline::simulation {
namespace {

// Over `points` equal steps, whose middles are taken.
template <class Phase>
std::complex<double> mean_of(std::size_t points, const Phase& turns_at) {
  std::complex<double> sum = 0;
  for (std::size_t k = 0; k < points; ++k)
    sum +=
        std::polar(1.0, 2 * std::numbers::pi *
                            turns_at((static_cast<double>(k) + 0.5) / static_cast<double>(points)));
  return sum / static_cast<double>(points);
}

TEST(KeptAmplitude, OfOneMean) {
  auto random = tests::generator();
  std::uniform_real_distribution<double> any(-3, 3);
  for (const double turns : {0.0, 1e-9, 0.5, 1.0, any(random), any(random)}) {
    const auto mean = mean_of(10'000, [&](double at) { return turns * (at - 0.5); });
    EXPECT_NEAR(mean_of_turns(turns), mean.real(), 1e-6) << turns;
    EXPECT_NEAR(mean.imag(), 0, 1e-9);
  }
}

TEST(KeptAmplitude, OfMeansThatWereRotated) {
  auto random = tests::generator();
  std::uniform_real_distribution<double> any(-3, 3);
  constexpr std::size_t kPoints = 4000;
  for (const std::size_t parts : {1U, 2U, 3U, 7U, 20U})
    for (const double turns : {0.0, 1e-9, 1.0, 2.0, static_cast<double>(parts), any(random)}) {
      const double before = any(random), count = static_cast<double>(parts);
      // Within a piece the phase runs as it did before the rotation, between pieces as afterwards.
      const auto mean = mean_of(parts * kPoints, [&](double at) {
        const double middle = (std::floor(at * count) + 0.5) / count;
        return before * (at - middle) + turns * (middle - 0.5);
      });
      EXPECT_NEAR(mean_of_rotated(turns, before, parts), mean.real(), 1e-5)
          << turns << " " << before << " " << parts;
    }
  // Without rotation the pieces make no difference.
  const double turns = any(random);
  EXPECT_NEAR(mean_of_rotated(turns, turns, 7), mean_of_turns(turns), 1e-12);
}

}  // namespace
}  // namespace tautline::pipeline::simulation

// The harness of benchmarks: the same spectra and results on every backend.
#include "tautline/stages/corner_turn/case_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tautline/core/complex_int.h"

namespace tautline::stages::corner_turn {
namespace {

std::vector<std::byte> results_on(const std::string& name, const Case& c) {
  const auto device = device::open(device::parse_selection(name), {.threads = 2});
  CaseRun calls(c, device);
  return jit::results_of(calls, make_plan(c.config(), device));
}

TEST(Harness, HasTheSameResultsOnEveryBackend) {
  for (const int bits : {8, 4, 32}) {
    const Case c{3, 70, 33, bits};
    const auto expected = results_on("reference", c);
    ASSERT_EQ(expected.size(), c.elements() * static_cast<std::size_t>(bits) / 4);
    EXPECT_TRUE(results_on("cpu:portable", c) == expected) << bits;
    EXPECT_TRUE(results_on("cpu", c) == expected) << bits;
  }
}

// Its gain gives Gaussian spectra an rms of 20 steps; 1 % is two errors of this many, and more than
// clipping at 127 or rounding changes.
TEST(Harness, FillsTheRangeOfItsOutput) {
  const Case c{2, 128, 100, 8};
  const auto results = results_on("cpu", c);
  double squares = 0;
  for (const std::byte b : results) {
    const double x = static_cast<std::int8_t>(b);
    squares += x * x;
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(results.size())), 20, 0.2);
}

}  // namespace
}  // namespace tautline::stages::corner_turn

// The harness of benchmarks: calls as `bench` makes them, in the middle of a stream, the same on every backend of the
// CPU.
#include "tautline/stages/dedisperse/case_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/stages/dedisperse/case.h"
#include "tests/support/seed.h"

namespace tautline::stages::dedisperse {
namespace {

std::vector<std::byte> results_on(const std::string& name, const Config& config) {
  const auto device = device::open(device::parse_selection(name), {.threads = 2});
  CaseRun calls(config, device);
  const auto plan = make_plan(config, device);
  auto results = jit::results_of(calls, plan);
  EXPECT_EQ(calls.state().held_samples(), plan->max_delay()) << name;
  return results;
}

TEST(Harness, HasTheSameResultsOnEveryBackend) {
  auto random = tests::generator();
  for (const int bits : {1, 2, 4, 8, 16, 32})
    for (const Method method : {Method::automatic, Method::exact, Method::shared}) {
      Config config;
      config.frequencies_mhz = falling_band(1500, 10, 8 * (1 + random() % 8));
      config.sample_time_s = 1e-3;
      config.dms = even_dms(4, 2 + random() % 30);
      config.bits = bits;
      config.beams = 1 + random() % 2;
      config.max_samples = 50 + random() % 500;
      config.method = method;
      SCOPED_TRACE(std::to_string(bits) + " bits, " + to_string(method) + ", " +
                   std::to_string(config.frequencies_mhz.size()) + " channels, " +
                   std::to_string(config.dms.size()) + " trials, " +
                   std::to_string(config.max_samples) + " samples");
      const auto expected = results_on("reference", config);
      // A call in the middle of a stream gives as many times as it is given.
      ASSERT_EQ(expected.size(), 4 * config.beams * config.dms.size() * config.max_samples);
      // Magnitudes of Gaussian values have a mean of 0.8.
      const double tolerance =
          Case::kFloatTolerance * static_cast<double>(config.frequencies_mhz.size());
      for (const char* name : {"cpu:portable", "cpu"}) {
        const auto found = results_on(name, config);
        ASSERT_EQ(found.size(), expected.size()) << name;
        EXPECT_EQ(bits == 32 ? jit::describe_difference_as<float>(found, expected, tolerance)
                             : jit::describe_difference_as<std::int32_t>(found, expected),
                  "")
            << name;
      }
      const auto* first = reinterpret_cast<const std::uint32_t*>(expected.data());
      EXPECT_EQ(std::count(first, first + expected.size() / 4, 0xb6b6b6b6u), 0) << "not written";
    }
}

}  // namespace
}  // namespace tautline::stages::dedisperse

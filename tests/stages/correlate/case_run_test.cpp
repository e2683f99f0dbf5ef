// The harness of benchmarks: integrations as `bench` makes them, the same on every backend of the CPU.
#include "tautline/stages/correlate/case_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/stages/correlate/case.h"
#include "tests/support/seed.h"

namespace tautline::stages::correlate {
namespace {

// The sums of an integration of `blocks` calls, in place of whatever was in their buffer.
std::vector<std::byte> integration_on(const std::string& name, const Config& config,
                                      std::size_t blocks) {
  const auto device = device::open(device::parse_selection(name), {.threads = 2});
  CaseRun calls(config, device);
  calls.use(make_plan(config, device));
  const device::Buffer& results = calls.results();
  calls.queue().fill(results.data(), jit::kPoison, results.bytes());
  calls.state().begin();
  calls.run(blocks);
  std::vector<std::byte> sums(results.bytes());
  calls.queue().copy(sums.data(), results.data(), sums.size());
  calls.queue().synchronise();
  return sums;
}

template <class T>
std::vector<T> values(const std::vector<std::byte>& bytes) {
  const auto* first = reinterpret_cast<const T*>(bytes.data());
  return {first, first + bytes.size() / sizeof(T)};
}

TEST(Harness, HasTheSameResultsOnEveryBackend) {
  auto random = tests::generator();
  for (const core::SampleFormat format :
       {core::kCi4, core::kCi8, core::kCi16, core::kCf16, core::kCf32})
    for (const std::size_t blocks : {1, 3}) {
      const Config config{.channels = 1 + random() % 3,
                          .inputs = 1 + random() % 40,
                          .max_samples = 1 + random() % 600,
                          .format = format,
                          .defer_sums = blocks > 1};
      SCOPED_TRACE(core::to_string(format) + ", " + std::to_string(config.channels) +
                   " channels, " + std::to_string(config.inputs) + " inputs, " +
                   std::to_string(config.max_samples) + " samples, " + std::to_string(blocks));
      const auto expected = integration_on("reference", config, blocks);
      ASSERT_EQ(expected.size(),
                config.channels * core::baseline_count(config.inputs) * sizeof(core::ci64));
      for (const char* name : {"cpu:portable", "cpu"}) {
        const auto found = integration_on(name, config, blocks);
        if (config.visibility_type() == core::SampleType::ci64) {
          EXPECT_EQ(jit::describe_difference_as<std::int64_t>(found, expected), "") << name;
          continue;
        }
        // The tolerance is of n times the mean power of an input: 2, as both components have an rms of 1, or that of all
        // bit patterns. Twice that leaves room for the scatter of one input.
        const double power = format == core::kCi16 ? 2 * 65536.0 * 65536.0 / 12 : 2;
        const double most = 2 * power * static_cast<double>(config.max_samples * blocks);
        const double tolerance = most * (format == core::kCf16 ? kHalfTolerance : kFloatTolerance);
        EXPECT_EQ(jit::describe_difference_as<double>(found, expected, tolerance), "") << name;
      }
    }
}

// An integration replaces what its buffer held, and adds up its calls.
TEST(Harness, AddsUpTheCallsOfAnIntegration) {
  auto random = tests::generator();
  for (const char* name : {"reference", "cpu:portable", "cpu"}) {
    const Config config{.channels = 2,
                        .inputs = 1 + random() % 20,
                        .max_samples = 1 + random() % 300,
                        .defer_sums = true};
    const auto one = values<std::int64_t>(integration_on(name, config, 1));
    auto expected = one;
    for (std::int64_t& sum : expected) sum *= 3;
    EXPECT_EQ(values<std::int64_t>(integration_on(name, config, 3)), expected) << name;
    // Powers of the autocorrelations.
    EXPECT_GT(*std::max_element(one.begin(), one.end()), 0) << name;
  }
}

}  // namespace
}  // namespace tautline::stages::correlate

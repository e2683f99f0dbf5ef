#include "tautline/stages/autocorrelate/step_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::stages::autocorrelate {
namespace {

class StepSumsOn : public ::testing::TestWithParam<std::string> {};

template <class Count>
void expect_sums(const std::string& name, core::SampleType type) {
  auto random = tautline::tests::generator();
  const auto device = device::open(device::parse_selection(name));
  const auto queue = device->make_queue();
  for (const std::size_t sensors : {1, 7, 33, 100})
    for (const std::uint64_t step : {1, 3, 128, 1000}) {
      const std::size_t steps = 600, times = std::min<std::size_t>(2000, steps * step);
      std::vector<Count> counts(times * sensors);
      for (Count& count : counts)
        count = std::is_same_v<Count, float> ? static_cast<Count>(random() % 1000) / 7
                                             : static_cast<Count>(random());
      std::vector<double> expected(steps * sensors), got(expected.size(), -1);
      for (double& sum : expected) sum = static_cast<double>(random() % 1000);
      StepSums sums(*device, type, sensors, steps);
      sums.write(*queue, expected);
      const device::Buffer there = device->allocate(counts.size() * sizeof(Count));
      queue->copy(there.data(), counts.data(), there.bytes());
      const core::SampleView<2> view(there.data(), type, {times, sensors});
      for (std::size_t t = 0; t < times;) {
        const std::size_t part = std::min<std::size_t>(times - t, 1 + random() % 700);
        sums.add(*queue, view.slice(0, t, part), t, step);
        t += part;
      }
      sums.read(*queue, got);
      for (std::size_t t = 0; t < times; ++t)
        for (std::size_t s = 0; s < sensors; ++s)
          expected[t / step * sensors + s] += static_cast<double>(counts[t * sensors + s]);
      EXPECT_EQ(got, expected) << sensors << " sensors, steps of " << step;
    }
}

TEST_P(StepSumsOn, EqualPlainSumsHoweverTheCountsCome) {
  SKIP_WITHOUT_GPU(GetParam());
  expect_sums<std::uint8_t>(GetParam(), core::SampleType::u8);
  expect_sums<std::uint16_t>(GetParam(), core::SampleType::u16);
  expect_sums<std::uint32_t>(GetParam(), core::SampleType::u32);
  expect_sums<float>(GetParam(), core::SampleType::f32);
}

INSTANTIATE_TEST_SUITE_P(Devices, StepSumsOn, ::testing::ValuesIn(tautline::tests::gpu_names()),
                         [](const auto& info) { return tautline::tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::autocorrelate

// Calls on a GPU: split, saved and taken up again, from and to any memory.
#include "tests/stages/autocorrelate/gpu_fixture.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

class GpuCalls : public OnGpu {};

TEST_P(GpuCalls, AnySplit) {
  auto random = generator();
  for (const GpuTunables& tunables : designs())
    for (const std::size_t sensors : {1u, 37u})
      for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
        for (const std::size_t longest : {7u, 700u}) {
          const Config config{.sensors = sensors, .lag_scheme = scheme, .bins = 8, .levels = 6};
          const std::size_t samples = longest == 7 ? 500 : 3000;
          const auto data = random_counts<std::uint8_t>(samples, sensors, 255);
          const auto plan = make_plan(config, device(), tunables);
          const auto state = plan->make_state(queue());
          for (std::size_t t = 0; t < samples;) {
            const std::size_t count = std::min<std::size_t>(samples - t, random() % (longest + 1));
            plan->execute(queue(), *state, view_of(data, sensors, t, count));
            t += count;
            if (random() % 50 != 0) continue;
            Result<std::int64_t> on_the_way(config);
            plan->read(queue(), *state, on_the_way.views());
            queue().synchronise();
            const std::vector<std::uint8_t> part(
                data.begin(), data.begin() + static_cast<std::ptrdiff_t>(t * sensors));
            if (t > 0)
              expect_equal(config, on_the_way, run_on(kReference, config, part), "on the way");
          }
          EXPECT_EQ(state->samples(), samples);
          Result<std::int64_t> result(config);
          plan->read(queue(), *state, result.views());
          queue().synchronise();
          expect_equal(config, result, run_on(kReference, config, data),
                       config_text(config, samples));
        }
}

// A state saved on one device continues on another.
TEST_P(GpuCalls, SavedTakenUpAgainAndReset) {
  const Config config{.sensors = 20, .bins = 6, .levels = 6};
  const auto data = random_counts<std::uint8_t>(2000, 20, 255);
  const auto expected = run_on(kReference, config, data);
  const auto first = make_plan(config, device(), kQuick);
  const auto state = first->make_state(queue());
  first->execute(queue(), *state, view_of(data, 20, 0, 777));
  const auto bytes = state->save();
  for (const std::string& name : tautline::tests::gpu_names()) {
    const auto other = device::open(device::parse_selection(name));
    const auto queue = other->make_queue();
    const auto plan = make_plan(config, other, kQuick);
    const auto second = plan->make_state(*queue);
    second->load(bytes);
    EXPECT_EQ(second->samples(), 777u);
    plan->execute(*queue, *second, view_of(data, 20, 777));
    Result<std::int64_t> result(config);
    plan->read(*queue, *second, result.views());
    queue->synchronise();
    expect_equal(config, result, expected, "saved after 777, taken up on " + name);
    EXPECT_THROW(second->load(std::span(bytes).first(10)), core::Error);
  }
  state->reset();
  EXPECT_EQ(state->samples(), 0u);
  first->execute(queue(), *state, view_of(data, 20));
  Result<std::int64_t> result(config);
  first->read(queue(), *state, result.views());
  queue().synchronise();
  expect_equal(config, result, expected, "after reset");
}

TEST_P(GpuCalls, StatesAreCutAndToldApart) {
  const Config config{.sensors = 20, .bins = 6, .levels = 6};
  const auto plan = make_plan(config, device(), kQuick);
  expect_cut_everywhere(*plan, queue(), random_counts<std::uint8_t>(2000, 20, 255), 300);
  std::vector<std::shared_ptr<const Plan>> others{
      make_plan(config, device(), kLong),
      stages::autocorrelate::make_plan(config, opened(kReference))};
  for (const Config& other : other_configs(config))
    others.push_back(make_plan(other, device(), kQuick));
  expect_states_told_apart(*plan, queue(), others);
}

TEST_P(GpuCalls, OneCall) {
  const Config config{.sensors = 5, .bins = 6, .levels = 5, .max_samples = 300};
  const auto data = random_counts<std::uint8_t>(1000, 5, 255);
  Result<std::int64_t> result(config);
  autocorrelate::autocorrelate(config, view_of(data, 5), result.views(),
                               device::parse_selection(GetParam()));
  Config whole = config;
  whole.max_samples = 1000;
  expect_equal(config, result, run_on(kReference, whole, data), "one call");
}

TEST_P(GpuCalls, NothingGiven) {
  const Config config{.sensors = 5, .bins = 6, .levels = 6};
  const auto plan = make_plan(config, device(), kQuick);
  const auto state = plan->make_state(queue());
  Result<std::int64_t> result(config);
  plan->read(queue(), *state, result.views());
  queue().synchronise();
  for (const auto* values : {&result.sums, &result.lead_in, &result.direct, &result.delayed,
                             &result.totals, &result.counts})
    for (const std::int64_t value : *values) EXPECT_EQ(value, 0);
}

// Counts in the device's memory: aligned rows, used in place, and rows of any alignment.
TEST_P(GpuCalls, DeviceMemoryGivesTheSameSums) {
  for (const std::size_t sensors : {16u, 48u, 21u}) {
    const Config config{.sensors = sensors, .bins = 6, .levels = 5};
    const std::size_t samples = 900, row = sensors + 16;
    const auto wide = random_counts<std::uint8_t>(samples, row, 255);
    const device::Buffer there = device()->allocate(wide.size());
    queue().copy(there.data(), wide.data(), wide.size());
    for (const auto& [offset, stride] : {std::pair(0, 1), std::pair(16, 1), std::pair(3, 1),
                                         std::pair(0, sensors == 16 ? 2 : 1)}) {
      std::vector<std::uint8_t> dense;
      for (std::size_t t = 0; t < samples; ++t)
        for (std::size_t s = 0; s < sensors; ++s)
          dense.push_back(wide[t * row + static_cast<std::size_t>(offset) +
                               s * static_cast<std::size_t>(stride)]);
      const auto plan = make_plan(config, device(), kQuick);
      const auto state = plan->make_state(queue());
      const Samples<std::uint8_t> view(there.as<std::uint8_t>() + offset, {samples, sensors},
                                       {static_cast<std::ptrdiff_t>(row), stride});
      for (std::size_t t = 0; t < samples; t += 300)
        plan->execute(queue(), *state, view.slice(0, t, 300));
      Result<std::int64_t> result(config);
      plan->read(queue(), *state, result.views());
      queue().synchronise();
      expect_equal(config, result, run_on(kReference, config, dense),
                   "offset " + std::to_string(offset) + ", stride " + std::to_string(stride));
    }
  }
}

TEST_P(GpuCalls, HostMemoryOfAnyStrides) {
  const Config config{.sensors = 7, .bins = 6, .levels = 4};
  const auto wide = random_counts<std::uint16_t>(600, 21, 60000);
  std::vector<std::uint16_t> dense;
  for (std::size_t t = 0; t < 600; ++t)
    for (std::size_t s = 0; s < 7; ++s) dense.push_back(wide[t * 21 + 3 * s]);
  Config of_halves = config;
  of_halves.type = SampleType::u16;
  const auto plan = make_plan(of_halves, device(), kQuick);
  const auto state = plan->make_state(queue());
  plan->execute(queue(), *state, Samples<std::uint16_t>(wide.data(), {600, 7}, {21, 3}));
  Result<std::int64_t> result(of_halves);
  plan->read(queue(), *state, result.views());
  queue().synchronise();
  expect_equal(of_halves, result, run_on(kReference, of_halves, dense), "strides");
}

TEST_P(GpuCalls, SumsToDeviceMemory) {
  const Config config{.sensors = 9, .bins = 6, .levels = 4};
  const auto data = random_counts<std::uint8_t>(800, 9, 255);
  const auto plan = make_plan(config, device(), kQuick);
  const auto state = plan->make_state(queue());
  plan->execute(queue(), *state, view_of(data, 9));
  Result<std::int64_t> result(config);
  const device::Buffer there = device()->allocate(result.sums.size() * 8);
  Sums views;
  views.sums = core::View<std::int64_t, 2>(there.as<std::int64_t>(), {9, result.lags});
  plan->read(queue(), *state, views);
  queue().copy(result.sums.data(), there.data(), there.bytes());
  queue().synchronise();
  EXPECT_EQ(result.sums, run_on(kReference, config, data).sums);
}

INSTANTIATE_TEST_SUITE_P(Devices, GpuCalls, ::testing::ValuesIn(tautline::tests::gpu_names()),
                         [](const auto& info) { return tautline::tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests

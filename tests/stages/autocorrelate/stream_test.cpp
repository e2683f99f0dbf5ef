// Streams: any split of the input gives the same bits; a state can be read during a run, saved and
// loaded; a run whose sums could wrap throws.
#include <cstdlib>

#include "tests/stages/autocorrelate/support.h"
#include "tests/support/error_of.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

class Stream : public EachBackend {};

TEST_P(Stream, AnySplit) {
  auto random = generator();
  for (const std::size_t sensors : {1u, 3u, 16u, 37u, 66u})
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
      for (const std::size_t longest : {1u, 7u, 300u}) {
        const Config config{.sensors = sensors, .lag_scheme = scheme, .bins = 8, .levels = 6};
        const std::size_t samples = longest == 1 ? 700 : 3000;
        const auto data = random_counts<std::uint8_t>(samples, sensors, 255);
        const auto made = plan(config, {.block_samples = 64, .series_block_samples = 1024});
        const auto expected = run(*made, queue(), data);
        const auto state = made->make_state(queue());
        for (std::size_t t = 0; t < samples;) {
          const std::size_t count = std::min<std::size_t>(samples - t, random() % (longest + 1));
          made->execute(queue(), *state, view_of(data, sensors, t, count));
          t += count;
          if (random() % 50 == 0) {
            Result<std::int64_t> on_the_way(config);
            made->read(queue(), *state, on_the_way.views());
          }
        }
        EXPECT_EQ(state->samples(), samples);
        Result<std::int64_t> result(config);
        made->read(queue(), *state, result.views());
        expect_equal(config, result, expected, config_text(config, samples));
      }
}

TEST_P(Stream, ReadOnTheWayIsTheReference) {
  const Config config{.sensors = 3, .bins = 6, .levels = 6};
  const auto data = random_counts<std::uint8_t>(4000, 3, 255);
  const auto made = plan(config, {.block_samples = 64, .series_block_samples = 1024});
  const auto state = made->make_state(queue());
  for (std::size_t t = 0; t < 4000; t += 500) {
    made->execute(queue(), *state, view_of(data, 3, t, 500));
    Result<std::int64_t> result(config);
    made->read(queue(), *state, result.views());
    const std::vector<std::uint8_t> part(data.begin(),
                                         data.begin() + static_cast<std::ptrdiff_t>((t + 500) * 3));
    expect_equal(config, result, run_on(kReference, config, part), std::to_string(t + 500));
  }
}

TEST_P(Stream, CutAtEveryCall) {
  for (const std::size_t sensors : {2u, 20u, 66u})
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
      const Config config{.sensors = sensors, .lag_scheme = scheme, .bins = 6, .levels = 6};
      const auto made = plan(config, {.block_samples = 64, .series_block_samples = 1024});
      expect_cut_everywhere(*made, queue(), random_counts<std::uint8_t>(2000, sensors, 255), 300);
    }
  for (const SampleType type :
       {SampleType::u16, SampleType::u32, SampleType::f32, SampleType::f64}) {
    const auto made =
        plan({.sensors = type == SampleType::f64 ? 20u : 3u, .bins = 6, .levels = 4, .type = type});
    if (type == SampleType::u16)
      expect_cut_everywhere(*made, queue(), random_counts<std::uint16_t>(700, 3, 65535), 99);
    else if (type == SampleType::u32)
      expect_cut_everywhere(*made, queue(), random_counts<std::uint32_t>(700, 3, 1e6), 99);
    else if (type == SampleType::f32)
      expect_cut_everywhere(*made, queue(), random_counts<float>(700, 3, 10), 99);
    else
      expect_cut_everywhere(*made, queue(), random_counts<double>(700, 20, 10), 99);
  }
}

TEST_P(Stream, StatesOfOtherPlansAreRefused) {
  const Config config{.sensors = 20, .bins = 6, .levels = 6};
  std::vector<std::shared_ptr<const Plan>> others{
      plan(config, {.block_samples = 128}), plan(config, {.block_samples = 512}),
      stages::autocorrelate::make_plan(config, opened(kReference))};
  for (const Config& other : other_configs(config)) others.push_back(plan(other));
  const auto made = plan(config);
  expect_states_told_apart(*made, queue(), others);
}

// A stream that was refused stays so.
TEST_P(Stream, RefusedStatesStayRefused) {
  const auto made = plan({.sensors = 2, .bins = 4, .levels = 1, .type = SampleType::u32});
  const auto state = made->make_state(queue()), later = made->make_state(queue());
  const std::vector<std::uint32_t> bad(100'000, 4'000'000'000u), good(2, 7);
  EXPECT_THROW(made->execute(queue(), *state, view_of(bad, 2)), core::Error);
  later->load(state->save());
  EXPECT_THROW(made->execute(queue(), *later, view_of(good, 2)), core::Error);
}

TEST_P(Stream, ResetStartsAgain) {
  const Config config{.sensors = 18, .bins = 6, .levels = 6};
  const auto data = random_counts<std::uint8_t>(1000, 18, 255);
  const auto made = plan(config);
  const auto state = made->make_state(queue());
  made->execute(queue(), *state, view_of(random_counts<std::uint8_t>(999, 18, 255), 18));
  state->reset();
  made->execute(queue(), *state, view_of(data, 18));
  Result<std::int64_t> result(config);
  made->read(queue(), *state, result.views());
  expect_equal(config, result, run(*made, queue(), data), "after reset");
}

TEST_P(Stream, NothingGiven) {
  const Config config{.sensors = 5, .bins = 6, .levels = 6};
  const auto made = plan(config);
  const auto state = made->make_state(queue());
  Result<std::int64_t> result(config);
  made->read(queue(), *state, result.views());
  for (const auto* values : {&result.sums, &result.lead_in, &result.direct, &result.delayed,
                             &result.totals, &result.counts})
    for (const std::int64_t value : *values) EXPECT_EQ(value, 0);
}

// 2 (4e9)^2 exceeds 2^63; the square of a count just below 2^31.5 does not.
TEST_P(Stream, RefusesSumsThatCouldWrap) {
  const Config config{.sensors = 2, .bins = 4, .levels = 1, .type = SampleType::u32};
  const auto made = plan(config);
  const auto state = made->make_state(queue());
  const std::vector<std::uint32_t> good(2, 3'037'000'499u), bad(200'000, 4'000'000'000u);
  made->execute(queue(), *state, view_of(good, 2));
  Result<std::int64_t> result(config);
  made->read(queue(), *state, result.views());
  EXPECT_EQ(result.sums[0], 3'037'000'499 * std::int64_t{3'037'000'499});
  const auto feed_bad = [&] {
    made->execute(queue(), *state, view_of(bad, 2, 0, 50'000));
    made->execute(queue(), *state, view_of(bad, 2, 50'000));
    made->read(queue(), *state, result.views());
  };
  EXPECT_THROW(feed_bad(), core::Error);
  EXPECT_THROW(made->execute(queue(), *state, view_of(good, 2)), core::Error);
  EXPECT_THROW(made->read(queue(), *state, result.views()), core::Error);
  state->reset();
  EXPECT_NO_THROW(made->execute(queue(), *state, view_of(good, 2)));
}

// Plan::bytes gives a state's size before it is made, and the size does not grow with the run.
TEST_P(Stream, MemoryIsAConstantPerSensor) {
  const auto bytes = [&](std::size_t sensors) {
    return plan({.sensors = sensors})->bytes().host_bytes;
  };
  // Sensors are padded to groups of 64 at most.
  const std::size_t per_group = bytes(128) - bytes(64);
  EXPECT_EQ(bytes(6400) - bytes(64), 99 * per_group);
  EXPECT_LT(per_group / 64, 32u * 1024);
}

INSTANTIATE_TEST_SUITE_P(Backends, Stream, ::testing::ValuesIn(kBackends),
                         [](const auto& info) { return info.param.name; });

TEST(Config, SaysWhatIsWrong) {
  const auto device = opened(kReference);
  const auto expect_error = [&](Config config, const char* field) {
    const core::Error error =
        tautline::tests::error_of([&] { stages::autocorrelate::make_plan(config, device); });
    EXPECT_NE(error.field().find(field), std::string::npos) << error.what();
  };
  expect_error({.sensors = 0}, "sensors");
  expect_error({.bins = 0}, "bins");
  expect_error({.bins = 1025}, "bins");
  expect_error({.lag_scheme = LagScheme::standard, .bins = 15}, "bins");
  expect_error({.levels = 0}, "levels");
  expect_error({.levels = 41}, "levels");
  expect_error({.max_samples = 0}, "max_samples");
  expect_error({.type = SampleType::i16}, "type");
  expect_error({.sensors = 4, .pairs = {{1, 4}}}, "pairs");
}

TEST(Config, ExecuteChecksItsViews) {
  for (const Backend& backend : {kReference, kBackends[0]}) {
    const auto device = opened(backend);
    const auto queue = device->make_queue();
    const auto plan = stages::autocorrelate::make_plan({.sensors = 4, .max_samples = 10}, device);
    const auto state = plan->make_state(*queue);
    const std::vector<std::uint8_t> data(44);
    const std::vector<float> floats(40);
    EXPECT_THROW(plan->execute(*queue, *state, view_of(data, 4)), core::Error);
    EXPECT_THROW(plan->execute(*queue, *state, view_of(data, 11)), core::Error);
    EXPECT_THROW(plan->execute(*queue, *state, view_of(floats, 4)), core::Error);
    Result<double> wrong_type(plan->config());
    EXPECT_THROW(plan->read(*queue, *state, wrong_type.views()), core::Error);
    Result<std::int64_t> wrong_shape(Config{.sensors = 3});
    EXPECT_THROW(plan->read(*queue, *state, wrong_shape.views()), core::Error);
  }
}

TEST(Reference, StatesAreCutAndToldApart) {
  const auto device = opened(kReference);
  const auto queue = device->make_queue();
  const auto made = [&](const Config& config) {
    return stages::autocorrelate::make_plan(config, device);
  };
  const Config config{.sensors = 3, .bins = 4, .levels = 4};
  expect_cut_everywhere(*made(config), *queue, random_counts<std::uint8_t>(300, 3, 255), 40);
  std::vector<std::shared_ptr<const Plan>> others;
  for (const Config& other : other_configs(config)) others.push_back(made(other));
  expect_states_told_apart(*made(config), *queue, others);
}

TEST(OneCall, IsThePlanFedInBlocks) {
  for (const Backend& backend : {kReference, kBackends[0]})
    for (const std::size_t samples : {0u, 1u, 99u, 100u, 101u, 1234u}) {
      Config config{.sensors = 3, .bins = 6, .levels = 5, .max_samples = 100};
      const auto data = random_counts<std::uint8_t>(samples, 3, 255);
      Result<std::int64_t> result(config);
      autocorrelate(config, view_of(data, 3), result.views(), backend.selection);
      config.max_samples = 2000;
      expect_equal(config, result, run_on(kReference, config, data), config_text(config, samples));
    }
  Config config{.sensors = 3, .bins = 6, .levels = 5, .type = SampleType::f32};
  const auto data = random_counts<float>(500, 3, 10);
  Result<double> result(config);
  autocorrelate(config, view_of(data, 3), result.views());
  EXPECT_EQ(result.sums, run_on(kReference, config, data).sums);
  config.type = SampleType::u8;
  EXPECT_THROW(autocorrelate(config, view_of(data, 3), result.views()), core::Error);
}

// With a progress the pieces are shorter: here 4,096 samples.
TEST(OneCall, TellsItsProgressAndStops) {
  const auto counts = random_counts<std::uint8_t>(9000, 64, 255);
  std::vector<double> whole(counts.begin(), counts.end()), last = whole, first = whole;
  last.back() = 0.5;
  first.front() = 0.5;
  const auto check = [&]<class Value, class Sum>(const std::vector<Value>& data,
                                                 core::SampleType type, Sum) {
    const Config config{
        .sensors = 64, .lag_scheme = LagScheme::standard, .bins = 1024, .levels = 2, .type = type};
    Result<Sum> alone(config), told(config), stopped(config);
    autocorrelate(config, view_of(data, 64), alone.views());
    std::vector<std::size_t> done;
    autocorrelate(config, view_of(data, 64), told.views(), {},
                  [&](std::size_t samples) { done.push_back(samples); });
    EXPECT_EQ(told.sums, alone.sums);
    EXPECT_EQ(told.totals, alone.totals);
    EXPECT_GE(done.size(), 3u);
    EXPECT_EQ(done.back(), 9000u);
    EXPECT_THROW(
        autocorrelate(config, view_of(data, 64), stopped.views(), {}, [](std::size_t) { throw 1; }),
        int);
    EXPECT_EQ(stopped.sums, Result<Sum>(config).sums) << "nothing is written";
  };
  check(counts, core::SampleType::u8, std::int64_t{});
  check(last, core::SampleType::f64, 0.0);
  if (std::getenv("TAUTLINE_SMALL") != nullptr) return;
  check(whole, core::SampleType::f64, 0.0);
  check(first, core::SampleType::f64, 0.0);
}

TEST(Config, LagsOfEachScheme) {
  const auto chain = lags_of({});
  ASSERT_EQ(chain.size(), 320u);
  EXPECT_EQ(chain[32].samples, 32u);
  EXPECT_EQ(chain[33].samples, 34u);
  EXPECT_EQ(chain.back().samples, 32u * 511 + 31 * 512);  // 32,224
  const auto standard = lags_of({.lag_scheme = LagScheme::standard, .bins = 16, .levels = 3});
  ASSERT_EQ(standard.size(), 17u + 8 + 8);
  EXPECT_EQ(standard[16].samples, 16u);
  EXPECT_EQ(standard[17].samples, 18u);
  EXPECT_EQ(standard.back().samples, 64u);
  EXPECT_DOUBLE_EQ(operations_per_sample({}), 64 - 64. / 1024);
}

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests

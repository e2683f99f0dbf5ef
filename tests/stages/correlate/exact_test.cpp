// Integer correlation equals the int64 reference bit for bit, on every instruction set.
#include <algorithm>
#include <cstdlib>

#include "tautline/stages/correlate/case.h"
#include "tests/stages/correlate/correlate_support.h"
#include "tests/support/error_of.h"

namespace tautline::stages::correlate::tests {
namespace {

class Exact : public EachBackend {
 protected:
  /// Checks that the forced backend will run, runs it, and compares with the reference.
  template <class Sample>
  void check(const Samples<Sample>& samples, const std::string& what, std::size_t threads = 2) {
    const auto device = opened(GetParam(), threads);
    const auto plan = make_plan(config_for(samples), device);
    ASSERT_TRUE(GetParam().named_by(plan->backend())) << plan->backend();
    const auto queue = device->make_queue();
    expect_equal(run(*plan, *queue, samples), run_reference(samples), what);
  }
};

std::string size_text(std::size_t inputs, std::size_t samples) {
  return std::to_string(inputs) + " inputs, " + std::to_string(samples) + " samples";
}

TEST_P(Exact, EveryNumberOfInputs) {
  for (const std::size_t inputs : kTestInputs)
    for (const std::size_t samples : {1u, 33u, 130u}) {
      Data<core::ci8> data(2, inputs, samples);
      check(data.samples(), size_text(inputs, samples));
    }
}

TEST_P(Exact, AwkwardTimes) {
  for (const std::size_t inputs : {3u, 19u})
    for (const std::size_t samples : kTestSamples) {
      Data<core::ci8> data(1, inputs, samples);
      check(data.samples(), size_text(inputs, samples));
    }
}

TEST_P(Exact, FourBits) {
  for (const std::size_t inputs : kTestInputs) {
    Data<core::ci4> data(1, inputs, 67);
    check(data.samples(), size_text(inputs, 67));
  }
  for (const std::size_t samples : kTestSamples) {
    Data<core::ci4> data(2, 5, samples);
    check(data.samples(), size_text(5, samples));
  }
}

// After begin() the first call of an integration, masked or not, overwrites the buffers, and so
// does flush() without calls; also when each call has a state that was saved and loaded.
TEST_P(Exact, BeginOverwritesTheBuffers) {
  Data<core::ci8> data(3, 7, 90);
  Masks masks(3, 7, 90);
  masks.randomise(0.2);
  const auto device = opened(GetParam(), 2);
  const auto queue = device->make_queue(), own = reference_device()->make_queue();
  for (const bool on_device : {false, true})
    for (const int kind : {0, 1, 2, 3})
      for (const char* calls : {"", "a", "m", "aa", "am", "ma", "0a"}) {
        if (on_device && !device->compiles()) continue;
        const bool hold = (kind & 1) != 0, cut = (kind & 2) != 0;
        Config config = config_for(data.samples());
        config.defer_sums = hold;
        const auto plan = make_plan(config, device);
        const auto reference = make_plan(config, reference_device());
        auto state = plan->make_state(*queue);
        const auto own_state = reference->make_state(*own);
        Sums<core::ci64> got(3, 7), expected(3, 7);
        const device::Buffer sums = device->allocate(got.visibilities.size() * sizeof(core::ci64));
        const device::Buffer numbers = device->allocate(got.counts.size() * sizeof(std::int64_t));
        if (on_device) {
          queue->copy(sums.data(), got.visibilities.data(), sums.bytes());
          queue->copy(numbers.data(), got.counts.data(), numbers.bytes());
        }
        const auto visibilities =
            on_device ? got.view(sums.as<core::ci64>()) : got.visibility_view();
        const auto counts = on_device ? got.view(numbers.as<std::int64_t>()) : got.count_view();
        for (auto& v : expected.visibilities) v = {};
        for (auto& n : expected.counts) n = 0;
        state->begin();
        for (const char* call = calls; *call != 0; ++call) {
          if (cut) state = saved_and_loaded(*plan, *queue, *state);
          const Validity valid = *call == 'm' ? masks.view() : Validity();
          const Samples<core::ci8> some = data.samples().slice(2, 0, *call == '0' ? 0 : 90);
          plan->execute(*queue, *state, some, valid, visibilities, counts);
          reference->execute(*own, *own_state, some, valid, expected.visibility_view(),
                             expected.count_view());
        }
        if (cut) state = saved_and_loaded(*plan, *queue, *state);
        plan->flush(*queue, *state, visibilities, counts);
        if (cut) state = saved_and_loaded(*plan, *queue, *state);
        plan->flush(*queue, *state, visibilities, counts);  // adds nothing
        if (on_device) {
          queue->copy(got.visibilities.data(), sums.data(), sums.bytes());
          queue->copy(got.counts.data(), numbers.data(), numbers.bytes());
        }
        queue->synchronise();
        expect_equal(got, expected,
                     std::string(calls) + (hold ? ", deferred" : "") + (cut ? ", cut" : ""));
      }
}

TEST_P(Exact, StatesOfOtherPlansAreRefused) {
  const auto device = opened(GetParam(), 2);
  const auto queue = device->make_queue();
  const Config config{.channels = 2, .inputs = 5, .max_samples = 100, .defer_sums = true};
  const auto state = make_plan(config, device)->make_state(*queue);
  const auto saved = state->save();
  Config channels = config, inputs = config, format = config;
  channels.channels = 3, inputs.inputs = 6, format.format = core::kCi4;
  const auto expect_refused = [&](State& other, std::span<const std::byte> bytes) {
    const core::Error error = tautline::tests::error_of([&] { other.load(bytes); });
    EXPECT_EQ(error.kind(), core::ErrorKind::format);
  };
  for (const Config& other : {channels, inputs, format})
    expect_refused(*make_plan(other, device)->make_state(*queue), saved);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, saved.size() - 1})
    expect_refused(*state, std::span(saved).first(count));
  auto longer = saved;
  longer.push_back({});
  expect_refused(*state, longer);
}

TEST_P(Exact, ResetForgetsBeginAndDeferredSums) {
  Data<core::ci8> data(2, 130, 64);
  const auto device = opened(GetParam(), 2);
  const auto queue = device->make_queue();
  Config config = config_for(data.samples());
  config.defer_sums = true;
  const auto plan = make_plan(config, device);
  const auto state = plan->make_state(*queue);
  Sums<core::ci64> sums(2, 130), other(2, 130);
  plan->execute(*queue, *state, data.samples(), {}, other.visibility_view(), other.count_view());
  state->begin();
  state->reset();
  plan->flush(*queue, *state, sums.visibility_view(), sums.count_view());
  expect_equal(sums, Sums<core::ci64>(2, 130), "untouched");
}

TEST_P(Exact, EveryPairOfByteValues) {
  Data<core::ci8> data = every_pair_of_bytes();
  check(data.samples(), "all byte values");
  // A few hundred short sums of the same values, in which no error can cancel another.
  for (std::size_t first = 0; first + 2 <= 65536; first += 257) {
    check(data.samples().slice(2, first, 2), "two samples at " + std::to_string(first));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Exact, EveryPairOfNibbleValues) {
  Data<core::ci4> data(1, 2, 65536);
  for (std::size_t t = 0; t < 65536; ++t) {
    data.view()(0, 0, t).packed = static_cast<std::uint8_t>(t & 255);
    data.view()(0, 1, t).packed = static_cast<std::uint8_t>(t >> 8);
  }
  check(data.samples(), "all pairs of 4 + 4 bit values");
}

TEST_P(Exact, FullScaleBeyond32BitSums) {
  const core::ci8 corners[] = {{-128, -128}, {-128, 127}, {127, -128}, {127, 127}};
  for (const std::size_t samples : {65535u, 65536u, 70000u, 140000u})
    for (const core::ci8 first : corners) {
      Data<core::ci8> data(1, 3, samples);
      data.fill(0, {-128, -128});
      data.fill(1, first);
      data.fill(2, {127, -128});
      check(data.samples(), "full scale, " + std::to_string(samples) + " samples");
      if (HasFatalFailure()) return;
    }
  // 70,000 x 2 x 128^2, which does not fit 32 bits.
  Data<core::ci8> data(1, 2, 70000);
  data.fill(0, {-128, -128});
  data.fill(1, {-128, -128});
  Sums<core::ci64> start(1, 2);
  const auto sums = run(opened(GetParam()), data.samples());
  for (std::size_t b = 0; b < 3; ++b) {
    EXPECT_EQ(sums.visibilities[b].re - start.visibilities[b].re, 70000ll * 32768);
    EXPECT_EQ(sums.visibilities[b].im - start.visibilities[b].im, 0);
  }
}

TEST_P(Exact, AnyStrides) {
  for (const Spacing spacing : {Spacing{1, 5, 0}, Spacing{3, 0, 7}, Spacing{2, 1, 1}}) {
    Data<core::ci8> data(3, 19, 131, spacing);
    check(data.samples(), "ci8 time stride " + std::to_string(spacing.time));
    Data<core::ci4> small(3, 19, 131, spacing);
    check(small.samples(), "ci4 time stride " + std::to_string(spacing.time));
  }
  // [time][input] in memory: transposed.
  Data<core::ci8> data(1, 1, 40 * 70);
  const Samples<core::ci8> transposed(data.storage.data(), {1, 40, 70}, {0, 1, 40});
  check(transposed, "[time][input]");
  // A negative stride in time.
  const Samples<core::ci8> backwards(data.storage.data() + 69, {1, 40, 70}, {0, 70, -1});
  check(backwards, "time backwards");
}

TEST_P(Exact, StridedOutputs) {
  Data<core::ci8> data(2, 21, 100);
  const auto device = opened(GetParam());
  const auto plan = make_plan(config_for(data.samples()), device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  Sums<core::ci64> got(2, 21, 3), expected(2, 21, 3);
  plan->execute(*queue, *state, data.samples(), {}, got.visibility_view(), got.count_view());
  const auto oracle = make_plan(config_for(data.samples()), reference_device());
  oracle->execute(*queue, *state, data.samples(), {}, expected.visibility_view(),
                  expected.count_view());
  expect_equal(got, expected, "every third element, the others untouched");
}

TEST_P(Exact, ChannelsAndThreads) {
  // One channel for all threads; one for each thread; remaining channels; many rounds; fewer
  // channels than threads.
  for (const std::size_t threads : {1u, 2u, 3u, 8u})
    for (const std::size_t channels : {1u, 2u, 3u, 7u, 49u}) {
      Data<core::ci8> data(channels, 37, 1100);
      check(data.samples().slice(2, 0, channels == 1 ? 1100 : 70),
            std::to_string(channels) + " channels, " + std::to_string(threads) + " threads",
            threads);
      if (HasFatalFailure()) return;
    }
}

TEST_P(Exact, SplitCallsAddUp) {
  Data<core::ci8> data(2, 19, 3000);
  const auto device = opened(GetParam());
  const auto plan = make_plan(config_for(data.samples()), device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  Sums<core::ci64> got(2, 19);
  auto random = generator();
  for (std::size_t first = 0; first < 3000;) {
    const std::size_t count = std::min<std::size_t>(random() % 700, 3000 - first);  // 0 too
    plan->execute(*queue, *state, data.samples().slice(2, first, count), {}, got.visibility_view(),
                  got.count_view());
    first += count;
  }
  expect_equal(got, run_reference(data.samples()), "split calls");
}

TEST_P(Exact, MoreInputsThanOneLaneHolds) {
  Data<core::ci8> data(2, 2100, 2);
  check(data.samples(), "2100 inputs");
}

INSTANTIATE_TEST_SUITE_P(Backends, Exact, ::testing::ValuesIn(kBackends), backend_name);

// The largest number of inputs, compared with products: a second set of sums would take another
// 200 MB.
TEST(Correlate, LargestNumberOfInputs) {
  if (std::getenv("TAUTLINE_SMALL") != nullptr)
    GTEST_SKIP() << "200 MB of sums: too many for sanitizers (TAUTLINE_SMALL)";
  constexpr std::size_t kMost = 4096, kTimes = 2;
  Data<core::ci8> data(1, kMost, kTimes);
  const auto device = device::open({device::Api::cpu, std::nullopt}, {.threads = 2});
  const auto plan = make_plan(config_for(data.samples()), device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  state->begin();
  const std::size_t baselines = core::baseline_count(kMost);
  std::vector<core::ci64> sums(baselines, core::ci64{-7, -7});
  std::vector<std::int64_t> counts(baselines, -7);
  plan->execute(*queue, *state, data.samples(), {}, {sums.data(), {1, baselines}},
                {counts.data(), {1, baselines}});
  const auto samples = data.samples();
  std::size_t wrong = 0;
  for (std::size_t i = 0, at = 0; i < kMost; ++i)
    for (std::size_t j = 0; j <= i; ++j, ++at) {
      std::int64_t re = 0, im = 0;
      for (std::size_t t = 0; t < kTimes; ++t) {
        const core::ci8 a = samples(0, i, t), b = samples(0, j, t);
        re += a.re * b.re + a.im * b.im;
        im += a.im * b.re - a.re * b.im;
      }
      wrong += sums[at].re != re || sums[at].im != im || counts[at] != kTimes ? 1 : 0;
    }
  EXPECT_EQ(wrong, 0U);
}

TEST(Correlate, OneShotIsTheReference) {
  // Longer than one execute() of its plan.
  Data<core::ci8> data(2, 3, (1 << 16) + 70);
  Masks masks(2, 3, data.extents[2]);
  masks.randomise(0.1);
  Sums<core::ci64> got(2, 3);
  correlate(data.samples(), masks.view(), got.visibility_view(), got.count_view());
  expect_equal(got, run_reference(data.samples(), masks.view()), "one shot");
}

TEST_P(Exact, OneShotTakesADeviceAndEveryType) {
  const auto check_type = [&](auto data) {
    using Sample = typename decltype(data.storage)::value_type;
    Sums<VisibilityOf<Sample>> got(2, 9);
    correlate(data.samples(), {}, got.visibility_view(), got.count_view(), GetParam().selection);
    const auto device = device::open(GetParam().selection);
    const auto expected = run(device, data.samples());
    EXPECT_EQ(got.visibilities, expected.visibilities);
    EXPECT_EQ(got.counts, expected.counts);
  };
  check_type(Data<core::ci8>(2, 9, 70));
  check_type(Data<core::ci4>(2, 9, 70));
  check_type(Data<core::ci16>(2, 9, 70));
  check_type(Data<core::cf16>(2, 9, 70));
  check_type(Data<std::complex<float>>(2, 9, 70));
}

TEST(Correlate, KnownProduct) {
  // (2 + 3i) conj(5 - 7i) = (2 + 3i)(5 + 7i) = -11 + 29i.
  Data<core::ci8> data(1, 2, 1);
  data.view()(0, 1, 0) = {2, 3};
  data.view()(0, 0, 0) = {5, -7};
  Sums<core::ci64> start(1, 2);
  const auto sums = run_reference(data.samples());
  const std::size_t b = core::baseline_index(1, 0);
  EXPECT_EQ(sums.visibilities[b].re - start.visibilities[b].re, -11);
  EXPECT_EQ(sums.visibilities[b].im - start.visibilities[b].im, 29);
  EXPECT_EQ(sums.counts[b] - start.counts[b], 1);
}

TEST(Correlate, UsefulOperations) {
  EXPECT_EQ(useful_operations({.channels = 3, .inputs = 4}, 5), 8.0 * 10 * 3 * 5);
}

}  // namespace
}  // namespace tautline::stages::correlate::tests

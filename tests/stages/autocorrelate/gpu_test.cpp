// The GPU's sums equal the reference's to the bit, on every device that compiles: PoCL makes one of
// the CPU.
#include <cstdlib>
#include <cstring>
#include <set>
#include <tuple>

#include "tautline/stages/autocorrelate/gpu/layout.h"
#include "tautline/stages/autocorrelate/gpu/plan.h"
#include "tests/stages/autocorrelate/closed_form.h"
#include "tests/support/gpus.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

using gpu::make_plan;

// Few lags, since PoCL unrolls slowly; short chunks and parts, so that there are many.
constexpr GpuTunables kQuick{
    .lags = 4, .threads = 16, .part_rows = 64, .chunk_samples = 256, .pending_rows = 16};
constexpr GpuTunables kPortable{.design = GpuDesign::portable,
                                .lags = 4,
                                .threads = 16,
                                .part_rows = 64,
                                .chunk_samples = 256,
                                .pending_rows = 16};

constexpr GpuTunables kLong{.design = GpuDesign::portable, .lags = 4, .threads = 16};

class Gpu : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device_ = device::open(device::parse_selection(GetParam()));
    queue_ = device_->make_queue();
  }
  const std::shared_ptr<const device::Device>& device() const { return device_; }
  device::Queue& queue() { return *queue_; }
  bool matrix() const { return gpu::has_matrix_design(*device_); }
  /// The designs that the device has.
  std::vector<GpuTunables> designs() const {
    return matrix() ? std::vector{kQuick, kPortable} : std::vector{kPortable};
  }

  template <class Count>
  void check(const Config& config, const std::vector<Count>& data) {
    const auto expected = run_on(kReference, config, data);
    for (const GpuTunables& tunables : designs()) check(config, data, expected, tunables);
  }
  template <class Count>
  void check(const Config& config, const std::vector<Count>& data,
             const Result<ValueOf<Count>>& expected, const GpuTunables& tunables) {
    const std::string where = config_text(config, data.size() / config.sensors) + ", design " +
                              (tunables.design == GpuDesign::matrix ? "matrix" : "portable") +
                              ", chunk " + std::to_string(tunables.chunk_samples);
    expect_equal(config, run(*make_plan(config, device_, tunables), *queue_, data), expected,
                 where);
  }

 private:
  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<device::Queue> queue_;
};

TEST_P(Gpu, NamesItself) {
  const Config config{.sensors = 4, .bins = 4, .levels = 1};
  const std::string api = GetParam().substr(0, GetParam().find(':'));
  const std::string units = matrix() ? " mma" : " portable";
  const std::string name = autocorrelate::make_plan(config, device())->backend();
  EXPECT_TRUE(name.starts_with(api + units + " (")) << name;
  EXPECT_EQ(make_plan(config, device(), designs()[0], "by hand")->backend(),
            api + units + " (by hand)");
  EXPECT_EQ(make_plan(config, device(), kPortable)->backend(), api + " portable");
}

TEST_P(Gpu, EveryNumberOfSensors) {
  for (const std::size_t sensors : kTestSensors)
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
      check({.sensors = sensors, .lag_scheme = scheme, .bins = 6, .levels = 5},
            random_counts<std::uint8_t>(sensors > 100 ? 333 : 1111, sensors, 255));
}

TEST_P(Gpu, LengthsAroundEveryBoundary) {
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
    const Config config{.sensors = 3, .lag_scheme = scheme, .bins = 4, .levels = 5};
    for (std::size_t samples = 1; samples < 70; ++samples)
      check(config, random_counts<std::uint8_t>(samples, 3, 255));
    for (const std::size_t level : {7u, 8u, 9u, 10u, 11u})
      for (const int beside : {-1, 0, 1})
        check(config,
              random_counts<std::uint8_t>(static_cast<std::size_t>((1 << level) + beside), 3, 255));
  }
}

TEST_P(Gpu, BinsAndLevels) {
  for (const std::size_t bins : {1u, 2u, 3u, 8u, 9u, 16u, 17u, 24u, 25u, 26u, 32u, 33u, 34u, 70u}) {
    const auto data = random_counts<std::uint8_t>(1200, 5, 255);
    check({.sensors = 5, .bins = bins, .levels = 4}, data);
    if (bins % 2 == 0)
      check({.sensors = 5, .lag_scheme = LagScheme::standard, .bins = bins, .levels = 4}, data);
  }
}

// The paper's array: delayed windows from level 6 on do not start at block boundaries.
TEST_P(Gpu, TenGroupsOfThirtyTwo) {
  for (const std::size_t samples : {33'000u, 40'001u}) {
    check({.sensors = 2, .max_samples = 100'000}, random_counts<std::uint8_t>(samples, 2, 255));
    check({.sensors = 2, .max_samples = 100'000}, std::vector<std::uint8_t>(2 * samples, 255));
  }
}

TEST_P(Gpu, TenGroupsOfThirtyTwoAreTheClosedForm) {
  for (const std::size_t sensors : {31u, 33u, 1249u}) {
    const Config config{.sensors = sensors};
    const std::size_t samples = 16'999;
    const auto data = random_counts<std::uint8_t>(samples, sensors, 255);
    for (GpuTunables tunables : designs()) {
      tunables.chunk_samples = 8192;
      tunables.part_rows = 1024;
      expect_closed_form(config, run(*make_plan(config, device(), tunables), queue(), data), data,
                         config_text(config, samples));
    }
  }
}

TEST_P(Gpu, SixteenBits) {
  for (const double most : {300., 65535.})
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
      check({.sensors = 3, .lag_scheme = scheme, .bins = 6, .levels = 9, .type = SampleType::u16},
            random_counts<std::uint16_t>(2001, 3, most));
  check({.sensors = 33, .bins = 32, .levels = 5, .type = SampleType::u16},
        std::vector<std::uint16_t>(33 * 700, 65535));
}

TEST_P(Gpu, ThirtyTwoBits) {
  for (const double most : {7., 1e6})
    check({.sensors = 3, .bins = 6, .levels = 9, .type = SampleType::u32},
          random_counts<std::uint32_t>(2001, 3, most));
  check({.sensors = 2, .bins = 6, .levels = 1, .type = SampleType::u32},
        std::vector<std::uint32_t>{2147483651u, 2147483649u, 4294967u, 5});
}

TEST_P(Gpu, ManyLevels) {
  check({.sensors = 3, .bins = 2, .levels = 40}, random_counts<std::uint8_t>(5000, 3, 3));
  check({.sensors = 3,
         .lag_scheme = LagScheme::standard,
         .bins = 4,
         .levels = 30,
         .type = SampleType::u32},
        random_counts<std::uint32_t>(5000, 3, 3));
}

TEST_P(Gpu, Floats) {
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
    const Config config{
        .sensors = 3, .lag_scheme = scheme, .bins = 6, .levels = 5, .type = SampleType::f32};
    const auto data = random_counts<float>(2001, 3, 10);
    const auto got = run(*make_plan(config, device(), kPortable), queue(), data);
    const auto expected = run_on(kReference, config, data);
    expect_equal(config, got.sums, expected.sums, "sums", "floats");
    const double total = expected.totals[0];
    for (std::size_t i = 0; i < got.direct.size(); ++i) {
      EXPECT_NEAR(got.direct[i], expected.direct[i], kFloatMonitorTolerance * total);
      EXPECT_NEAR(got.delayed[i], expected.delayed[i], kFloatMonitorTolerance * total);
      EXPECT_NEAR(got.lead_in[i], expected.lead_in[i], kFloatMonitorTolerance * total * 1000);
    }
  }
}

TEST_P(Gpu, Coarsenings) {
  for (const Coarsening coarsening : {Coarsening::first, Coarsening::second})
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
      for (const std::size_t bins : {6u, 32u})
        check({.sensors = 3,
               .lag_scheme = scheme,
               .bins = bins,
               .levels = 6,
               .coarsening = coarsening},
              random_counts<std::uint8_t>(2500, 3, 255));
}

TEST_P(Gpu, PairsOfSensors) {
  const std::size_t sensors = 21;
  std::vector<Pair> pairs;
  auto random = generator();
  for (int i = 0; i < 37; ++i)
    pairs.push_back({static_cast<std::uint32_t>(random() % sensors),
                     static_cast<std::uint32_t>(random() % sensors)});
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
    for (const auto& some : {pairs, std::vector<Pair>{{3, 20}}})
      check({.sensors = sensors, .lag_scheme = scheme, .bins = 6, .levels = 5, .pairs = some},
            random_counts<std::uint8_t>(999, sensors, 255));
  check({.sensors = sensors, .bins = 32, .levels = 5, .type = SampleType::u16, .pairs = pairs},
        random_counts<std::uint16_t>(999, sensors, 65535));
}

// Constant counts have sums in closed form, for runs too long for the reference. 32-bit sums of
// level 9 would wrap after 128 windows.
TEST_P(Gpu, SumsFarBeyond32Bits) {
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
    // Fewer lags the second time: PoCL is slow.
    const std::size_t bins = scheme == LagScheme::chain ? 32 : 8;
    const Config config{.sensors = 3, .lag_scheme = scheme, .bins = bins, .max_samples = 1 << 16};
    const std::size_t samples = 40'000, calls = 3;
    GpuTunables tunables = designs().front();
    tunables.part_rows = tunables.chunk_samples = 65536;
    const auto plan = make_plan(config, device(), tunables);
    const auto state = plan->make_state(queue());
    const std::vector<std::uint8_t> data(samples * config.sensors, 255);
    for (std::size_t i = 0; i < calls; ++i)
      plan->execute(queue(), *state, view_of(data, config.sensors));
    Result<std::int64_t> result(config);
    plan->read(queue(), *state, result.views());
    queue().synchronise();
    expect_constant(config, result, samples * calls, 255, std::int64_t{1} << 36);
  }
}

// Adds `more` counts to every sensor's total in the state, and tells the host of them. Executing so
// many counts would take an emulated device too long.
std::vector<std::byte> with_more_counts(std::vector<std::byte> bytes, const gpu::GpuLayout& layout,
                                        std::uint64_t more) {
  // The head of a saved state, samples, refused and parity; known_at and the levels' rows.
  constexpr std::size_t kKnownTotalAt = 40 + 8 + 1 + 8;
  const std::size_t memory_at = kKnownTotalAt + 2 * 8 + (1 + layout.levels.size()) * sizeof more;
  const auto add = [&](std::size_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    value += more;
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  add(kKnownTotalAt);
  std::set<std::size_t> places;
  for (const gpu::GpuLevel& level : layout.levels)
    places.insert({level.total_d_at, level.total_e_at});
  for (const std::size_t place : places)
    for (std::size_t s = 0; s < layout.padded_sensors; ++s)
      add(memory_at + place + s * sizeof more);
  return bytes;
}

// 64-bit totals and monitors are exact, at every level.
TEST_P(Gpu, TotalsAndMonitorsBeyond32Bits) {
  constexpr std::int64_t kMore = (std::int64_t{1} << 40) + 12345;
  for (const SampleType type : {SampleType::u8, SampleType::u16})
    for (const GpuTunables& tunables : designs()) {
      const Config config{.sensors = 5, .bins = 6, .levels = 6, .type = type};
      const auto layout = gpu::make_layout(config, tunables, device()->properties().total_bytes);
      const auto plan = make_plan(config, device(), tunables);
      const auto state = plan->make_state(queue());
      const auto test = [&]<class Count>(const std::vector<Count>& data) {
        plan->execute(queue(), *state, view_of(data, 5, 0, 1000));
        state->load(with_more_counts(state->save(), layout, kMore));
        plan->execute(queue(), *state, view_of(data, 5, 1000));
        Result<std::int64_t> got(config), expected = run_on(kReference, config, data);
        plan->read(queue(), *state, got.views());
        queue().synchronise();
        for (auto* values : {&expected.totals, &expected.direct, &expected.delayed})
          for (std::int64_t& value : *values) value += kMore;
        expect_equal(config, got, expected, "totals beyond 32 bits");
      };
      if (type == SampleType::u8)
        test(random_counts<std::uint8_t>(2000, 5, 255));
      else
        test(random_counts<std::uint16_t>(2000, 5, 65535));
    }
  // And by executing full-scale counts, where few are enough.
  const Config config{.sensors = 1, .bins = 2, .levels = 2, .type = SampleType::u16};
  const auto plan = make_plan(config, device(), designs().front());
  const auto state = plan->make_state(queue());
  const std::vector<std::uint16_t> data(11'000, 65535);
  for (int i = 0; i < 6; ++i) plan->execute(queue(), *state, view_of(data, 1));
  Result<std::int64_t> result(config);
  plan->read(queue(), *state, result.views());
  queue().synchronise();
  expect_beyond_32_bits(config, result, 6 * data.size(), 65535);
}

// The limit of bytes on GPUs in docs/maths/autocorrelate.md: 255 x 2^(levels - 1) x total < 2^63.
TEST_P(Gpu, BytesAreRefusedAtTheDocumentedTotals) {
  const std::vector<std::uint8_t> data(40, 10);
  for (const auto& [levels, good, bad] :
       {std::tuple(10u, std::uint64_t{70'600'000'000'000}, std::uint64_t{70'700'000'000'000}),
        std::tuple(24u, std::uint64_t{4'310'000'000}, std::uint64_t{4'320'000'000})}) {
    const Config config{.sensors = 2, .bins = 2, .levels = levels};
    const auto layout = gpu::make_layout(config, kPortable, device()->properties().total_bytes);
    const auto plan = make_plan(config, device(), kPortable);
    const auto state = plan->make_state(queue());
    const auto empty = state->save();
    state->load(with_more_counts(empty, layout, good));
    EXPECT_NO_THROW(plan->execute(queue(), *state, view_of(data, 2))) << levels;
    state->load(with_more_counts(empty, layout, bad));
    EXPECT_THROW(plan->execute(queue(), *state, view_of(data, 2)), core::Error) << levels;
  }
}

TEST_P(Gpu, AnySplit) {
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
TEST_P(Gpu, SavedTakenUpAgainAndReset) {
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

TEST_P(Gpu, StatesAreCutAndToldApart) {
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

TEST_P(Gpu, OneCall) {
  const Config config{.sensors = 5, .bins = 6, .levels = 5, .max_samples = 300};
  const auto data = random_counts<std::uint8_t>(1000, 5, 255);
  Result<std::int64_t> result(config);
  autocorrelate::autocorrelate(config, view_of(data, 5), result.views(),
                               device::parse_selection(GetParam()));
  Config whole = config;
  whole.max_samples = 1000;
  expect_equal(config, result, run_on(kReference, whole, data), "one call");
}

TEST_P(Gpu, NothingGiven) {
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
TEST_P(Gpu, DeviceMemoryGivesTheSameSums) {
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

TEST_P(Gpu, HostMemoryOfAnyStrides) {
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

TEST_P(Gpu, SumsToDeviceMemory) {
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

TEST_P(Gpu, RefusesSumsThatCouldWrap) {
  const Config config{.sensors = 2, .bins = 4, .levels = 1, .type = SampleType::u32};
  const auto plan = make_plan(config, device(), kQuick);
  const auto state = plan->make_state(queue());
  const std::vector<std::uint32_t> good(2, 3'037'000'499u), bad(1000, 4'000'000'000u);
  plan->execute(queue(), *state, view_of(good, 2));
  Result<std::int64_t> result(config);
  plan->read(queue(), *state, result.views());
  queue().synchronise();
  EXPECT_EQ(result.sums[0], 3'037'000'499 * std::int64_t{3'037'000'499});
  EXPECT_THROW(plan->execute(queue(), *state, view_of(bad, 2)), core::Error);
  EXPECT_THROW(plan->execute(queue(), *state, view_of(good, 2)), core::Error);
  EXPECT_THROW(plan->read(queue(), *state, result.views()), core::Error);
  state->reset();
  EXPECT_NO_THROW(plan->execute(queue(), *state, view_of(good, 2)));
}

TEST_P(Gpu, MemoryIsAConstantPerSensor) {
  const auto bytes = [&](std::size_t sensors) {
    return make_plan({.sensors = sensors, .max_samples = 4096}, device(), kLong)
        ->bytes()
        .device_bytes;
  };
  const double each = static_cast<double>(bytes(20480) - bytes(10240)) / 10240;
  EXPECT_NEAR(static_cast<double>(bytes(40960) - bytes(20480)) / 20480, each, 1);
  EXPECT_LT(each, 48u * 1024);
}

TEST(GpuLayout, ChunksOfWideArraysFollowTheMemory) {
  constexpr std::size_t kGigabyte = 1'000'000'000;
  const auto chunk = [](std::size_t sensors, std::size_t memory_bytes, std::size_t samples = 65536,
                        GpuTunables tunables = {}) {
    const auto layout =
        gpu::make_layout({.sensors = sensors, .max_samples = samples}, tunables, memory_bytes);
    EXPECT_LT(layout.bytes, std::max(memory_bytes / 8, sensors * 400'000));
    return layout.chunk;
  };
  EXPECT_EQ(chunk(100'000, 0), 4096u);
  EXPECT_EQ(chunk(100'000, 24 * kGigabyte), 4096u);
  EXPECT_EQ(chunk(100'000, 80 * kGigabyte), 8192u);
  EXPECT_EQ(chunk(100'000, 141 * kGigabyte), 16384u);
  EXPECT_EQ(chunk(100'000, 141 * kGigabyte, 5000), 5000u);
  EXPECT_EQ(chunk(100'000, 141 * kGigabyte, 65536, {.chunk_samples = 1024}), 1024u);
  EXPECT_EQ(chunk(1024, 0), 65536u);
  EXPECT_EQ(chunk(1024, 141 * kGigabyte), 65536u);
}

TEST_P(Gpu, BadTunablesAreRefused) {
  for (const GpuTunables& bad : {GpuTunables{.lags = 0}, GpuTunables{.lags = 33},
                                 GpuTunables{.threads = 48}, GpuTunables{.part_rows = 1},
                                 GpuTunables{.chunk_samples = 1}, GpuTunables{.pending_rows = 0}})
    EXPECT_THROW(make_plan({.sensors = 4}, device(), bad), core::Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, Gpu, ::testing::ValuesIn(tautline::tests::gpu_names()),
                         [](const auto& info) { return tautline::tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests

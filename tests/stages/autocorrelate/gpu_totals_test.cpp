// Sums, totals and monitors on a GPU beyond 32 bits, and up to where they are refused.
#include <cstring>
#include <set>
#include <tuple>

#include "tautline/stages/autocorrelate/gpu/layout.h"
#include "tests/stages/autocorrelate/closed_form.h"
#include "tests/stages/autocorrelate/gpu_fixture.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

class GpuTotals : public OnGpu {};

// Constant counts have sums in closed form, for runs too long for the reference. 32-bit sums of
// level 9 would wrap after 128 windows.
TEST_P(GpuTotals, SumsFarBeyond32Bits) {
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
TEST_P(GpuTotals, TotalsAndMonitorsBeyond32Bits) {
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
TEST_P(GpuTotals, BytesAreRefusedAtTheDocumentedTotals) {
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

TEST_P(GpuTotals, RefusesSumsThatCouldWrap) {
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

INSTANTIATE_TEST_SUITE_P(Devices, GpuTotals, ::testing::ValuesIn(tautline::tests::gpu_names()),
                         [](const auto& info) { return tautline::tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests

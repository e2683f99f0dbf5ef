// Data, plans and comparison for the tests of the autocorrelator.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/case.h"
#include "tautline/stages/autocorrelate/cpu/plan.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::stages::autocorrelate::tests {
using device::InstructionSet;
using tautline::tests::generator;

/// A backend, by name and device.
struct Backend {
  const char* name;
  device::Selection selection;
};

inline constexpr Backend kReference{"reference", {device::Api::reference, std::nullopt}};
inline constexpr Backend kBackends[] = {{"portable", {device::Api::cpu, InstructionSet::portable}},
                                        {"avx2", {device::Api::cpu, InstructionSet::avx2}},
                                        {"avx512", {device::Api::cpu, InstructionSet::avx512}},
                                        {"vnni", {device::Api::cpu, InstructionSet::vnni}}};

inline std::shared_ptr<const device::Device> opened(const Backend& backend) {
  return device::open(backend.selection, {.threads = 2});
}

/// Random counts, [time][sensor], with a different mean for each sensor; `most` is the largest
/// value.
template <class Count>
std::vector<Count> random_counts(std::size_t samples, std::size_t sensors, double most) {
  auto random = generator();
  std::vector<Count> data(samples * sensors);
  std::vector<double> scale(sensors);
  for (double& s : scale) s = std::uniform_real_distribution<double>(0.3, 1)(random) * most;
  std::uniform_real_distribution<double> draw(0, 1);
  for (std::size_t i = 0; i < data.size(); ++i) {
    // Rare full-scale values test overflows.
    const bool full = std::is_integral_v<Count> && random() % 16 == 0;
    data[i] = static_cast<Count>(full ? most : draw(random) * scale[i % sensors]);
  }
  return data;
}

/// All outputs of `read`, poisoned before.
template <class Value>
struct Result {
  explicit Result(const Config& config) : pairs(config.pair_count()), lags(lags_of(config).size()) {
    const Value poison = static_cast<Value>(-77);
    for (auto* values : {&sums, &lead_in, &direct, &delayed}) values->assign(pairs * lags, poison);
    totals.assign(pairs * 2, poison);
    counts.assign(lags, -77);
  }
  Sums views() {
    const auto view = [&](std::vector<Value>& values,
                          std::size_t columns) -> core::MutableSampleView<2> {
      return core::View<Value, 2>(values.data(), {pairs, columns});
    };
    return {view(sums, lags),    view(lead_in, lags), view(direct, lags),
            view(delayed, lags), view(totals, 2),     counts};
  }
  std::size_t pairs, lags;
  std::vector<Value> sums, lead_in, direct, delayed, totals;
  std::vector<std::int64_t> counts;
};

template <class Count>
using Samples = core::View<const Count, 2>;

template <class Count>
Samples<Count> view_of(const std::vector<Count>& data, std::size_t sensors, std::size_t first = 0,
                       std::size_t count = std::numeric_limits<std::size_t>::max()) {
  const std::size_t samples = std::min(count, data.size() / sensors - first);
  return {data.data() + first * sensors, {samples, sensors}};
}

template <class Count>
using ValueOf = std::conditional_t<std::is_floating_point_v<Count>, double, std::int64_t>;

/// Executes `data` in one call.
template <class Count>
Result<ValueOf<Count>> run(const Plan& plan, device::Queue& queue, const std::vector<Count>& data) {
  const auto state = plan.make_state(queue);
  plan.execute(queue, *state, view_of(data, plan.config().sensors));
  Result<ValueOf<Count>> result(plan.config());
  plan.read(queue, *state, result.views());
  queue.synchronise();
  return result;
}

template <class Count>
Result<ValueOf<Count>> run_on(const Backend& backend, const Config& config,
                              const std::vector<Count>& data) {
  const auto device = opened(backend);
  const auto queue = device->make_queue();
  return run(*make_plan(config, device), *queue, data);
}

template <class Value>
void expect_equal(const Config& config, const std::vector<Value>& got,
                  const std::vector<Value>& expected, const char* what, const std::string& where) {
  ASSERT_EQ(got.size(), expected.size());
  const auto lags = lags_of(config);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], expected[i])
        << what << ", pair " << i / lags.size() << ", level " << lags[i % lags.size()].level
        << ", k " << lags[i % lags.size()].steps << "; " << where;
}

template <class Value>
void expect_equal(const Config& config, const Result<Value>& got, const Result<Value>& expected,
                  const std::string& where) {
  expect_equal(config, got.sums, expected.sums, "sums", where);
  expect_equal(config, got.lead_in, expected.lead_in, "lead_in", where);
  EXPECT_EQ(got.counts, expected.counts) << where;
  EXPECT_EQ(got.totals, expected.totals) << where;
  if constexpr (std::is_same_v<Value, std::int64_t>) {
    expect_equal(config, got.direct, expected.direct, "monitor_direct", where);
    expect_equal(config, got.delayed, expected.delayed, "monitor_delayed", where);
  }
}

/// Cuts a stream at every call: each call's state is saved and loaded into another one.
template <class Count>
void expect_cut_everywhere(const Plan& plan, device::Queue& queue, const std::vector<Count>& data,
                           std::size_t longest) {
  auto random = generator();
  const std::size_t sensors = plan.config().sensors, samples = data.size() / sensors;
  auto state = plan.make_state(queue);
  for (std::size_t t = 0; t < samples;) {
    const std::size_t count = std::min<std::size_t>(samples - t, 1 + random() % longest);
    plan.execute(queue, *state, view_of(data, sensors, t, count));
    t += count;
    const auto bytes = state->save();
    state = plan.make_state(queue);
    // The state's contents before the load do not matter.
    plan.execute(queue, *state, view_of(data, sensors, 0, 1));
    state->load(bytes);
    ASSERT_EQ(state->samples(), t);
    ASSERT_TRUE(state->save() == bytes) << "saved, loaded and saved again after " << t;
  }
  Result<ValueOf<Count>> result(plan.config());
  plan.read(queue, *state, result.views());
  queue.synchronise();
  const auto expected = run(plan, queue, data);
  EXPECT_EQ(result.sums, expected.sums);
  EXPECT_EQ(result.lead_in, expected.lead_in);
  EXPECT_EQ(result.direct, expected.direct);
  EXPECT_EQ(result.delayed, expected.delayed);
  EXPECT_EQ(result.totals, expected.totals);
  EXPECT_EQ(result.counts, expected.counts);
}

/// Expects Error(format).
inline void expect_refused(State& state, std::span<const std::byte> bytes,
                           const std::string& what) {
  const core::Error error = tautline::tests::error_of([&] { state.load(bytes); });
  EXPECT_EQ(error.kind(), core::ErrorKind::format) << what << ": " << error.what();
}

/// A state of `plan` is refused by the states of `others`, and by its own when it is cut or too long.
inline void expect_states_told_apart(const Plan& plan, device::Queue& queue,
                                     const std::vector<std::shared_ptr<const Plan>>& others) {
  const auto state = plan.make_state(queue);
  const std::vector<std::uint8_t> data(40 * plan.config().sensors, 3);
  plan.execute(queue, *state, view_of(data, plan.config().sensors));
  auto bytes = state->save();
  for (std::size_t i = 0; i < others.size(); ++i)
    expect_refused(*others[i]->make_state(queue), bytes,
                   "a state of other plan " + std::to_string(i));
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, std::size_t{39},
                                   std::size_t{40}, std::size_t{45}, bytes.size() - 1})
    expect_refused(*state, std::span(bytes).first(length), std::to_string(length) + " bytes");
  bytes.push_back({});
  expect_refused(*state, bytes, "a byte too many");
  bytes.pop_back();
  state->load(bytes);
  EXPECT_EQ(state->samples(), 40u);
}

/// Configs that differ from `config` in one field each.
inline std::vector<Config> other_configs(const Config& config) {
  std::vector<Config> others(7, config);
  others[0].sensors += 1;
  others[1].lag_scheme = LagScheme::standard;
  others[2].bins += 2;
  others[3].levels += 1;
  others[4].type = SampleType::u16;
  others[5].pairs = {{0, 1}, {1, 0}};
  others[6].coarsening = Coarsening::first;
  return others;
}

inline std::string config_text(const Config& config, std::size_t samples) {
  return std::string(config.lag_scheme == LagScheme::chain ? "chain" : "standard") + ", " +
         std::to_string(config.sensors) + " sensors, " + std::to_string(config.bins) + " bins, " +
         std::to_string(config.levels) + " levels, " + std::to_string(samples) + " samples";
}

/// Compares the outputs of `samples` equal counts with their closed form. At level 9 every sum is
/// above `least`.
inline void expect_constant(const Config& config, const Result<std::int64_t>& result,
                            std::size_t samples, std::int64_t value, std::int64_t least) {
  const auto lags = lags_of(config);
  for (std::size_t i = 0; i < result.sums.size(); ++i) {
    const Lag& lag = lags[i % lags.size()];
    const std::int64_t count = pairs_at(config, lag, samples);
    const std::int64_t window = value * (std::int64_t{1} << lag.level);
    const std::string where = config_text(config, samples) + ", lag " + std::to_string(i);
    ASSERT_EQ(result.counts[i % lags.size()], count) << where;
    ASSERT_EQ(result.sums[i] - result.lead_in[i], count * window * window) << where;
    ASSERT_EQ(result.direct[i], count * window) << where;
    ASSERT_EQ(result.delayed[i], count * window) << where;
    if (lag.level == 9) {
      ASSERT_GT(result.sums[i], least) << where;
    }
  }
}

/// The same for a run whose totals and monitors exceed 32 bits.
inline void expect_beyond_32_bits(const Config& config, const Result<std::int64_t>& result,
                                  std::size_t samples, std::int64_t value) {
  expect_constant(config, result, samples, value, 0);
  const std::int64_t total = static_cast<std::int64_t>(samples) * value;
  EXPECT_GT(total, std::int64_t{1} << 32);
  for (const std::int64_t found : result.totals) EXPECT_EQ(found, total);
  EXPECT_GT(result.direct[0], std::int64_t{1} << 32);
}

/// A test for each backend; skipped where the machine does not have it.
class EachBackend : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!device::supported(*GetParam().selection.instruction_set))
      GTEST_SKIP() << "this processor has no " << GetParam().name;
  }
  std::shared_ptr<const Plan> plan(const Config& config, const Tunables& tunables = {}) {
    device_ = opened(GetParam());
    queue_ = device_->make_queue();
    auto made = cpu::make_plan(config, device_, tunables);
    EXPECT_EQ(made->backend(), GetParam().name);
    return made;
  }
  device::Queue& queue() { return *queue_; }

 private:
  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<device::Queue> queue_;
};

}  // namespace tautline::stages::autocorrelate::tests

// Plans: which code and method they chose, what they refuse, what they promise.
#include <cmath>

#include "tautline/stages/dedisperse/fields.h"
#include "tests/stages/dedisperse/support.h"

namespace tautline::stages::dedisperse {
namespace {

struct Forced {
  std::string name, backend;
};
class PlanOn : public ::testing::TestWithParam<Forced> {};

TEST_P(PlanOn, AForcedInstructionSetIsTheOneThatRuns) {
  device::Selection selection;
  try {
    selection = device::parse_selection(GetParam().name);
  } catch (const core::Error& error) {
    if (error.kind() != core::ErrorKind::unsupported) throw;
    GTEST_SKIP() << error.what();
  }
  const auto plan = make_plan(small_config(16, 8, 4), device::open(selection));
  EXPECT_EQ(plan->backend(), GetParam().backend);
}

INSTANTIATE_TEST_SUITE_P(
    Host, PlanOn,
    ::testing::Values(Forced{"reference", "reference"}, Forced{"cpu:portable", "portable"},
                      Forced{"cpu:avx2", "avx2"}, Forced{"cpu:avx512", "avx512"},
                      Forced{"cpu:vnni", "avx512"}, Forced{"cpu:amx", "avx512"}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::erase(name, ':');
      return name;
    });

TEST(Plan, CountsDecideWhetherSumsAreShared) {
  const auto device = device::open({});
  Config config = apertif(200).config;
  const auto plan = make_plan(config, device);
  EXPECT_EQ(plan->choice().method, Method::shared);
  EXPECT_LT(plan->choice().adds, 0.25 * plan->choice().plain_adds);
  EXPECT_FALSE(plan->choice().text.empty());
  // Low frequencies, where delays differ by hundreds of samples from trial to trial, share nothing.
  config = lofar(40).config;
  const auto low = make_plan(config, device);
  EXPECT_EQ(low->choice().method, Method::exact);
  EXPECT_EQ(low->choice().adds, low->choice().plain_adds);
  for (const Method method : {Method::exact, Method::shared}) {
    config = apertif(50).config;
    config.method = method;
    EXPECT_EQ(make_plan(config, device)->choice().method, method);
  }
}

// However much sub-bands would save: a loss has to be asked for.
TEST(Plan, SubbandsRunWhereALossWasAskedFor) {
  Config config = small_config(96, 8, 40);
  config.pulse_width_s = 0.01;
  for (const std::string device : {"cpu", "reference"}) {
    const auto on = device::open(device::parse_selection(device));
    config.method = Method::automatic;
    config.subband_loss = 0;
    EXPECT_NE(make_plan(config, on)->choice().method, Method::subband) << device;
    EXPECT_EQ(make_plan(config, on)->choice().loss, 0) << device;
    config.subband_loss = 0.1;
    EXPECT_EQ(make_plan(config, on)->choice().method, Method::subband) << device;
    for (const Method method : {Method::exact, Method::shared}) {
      config.method = method;
      EXPECT_EQ(make_plan(config, on)->choice().loss, 0) << device;
    }
    // 1 % where Method::subband is not told.
    config.method = Method::subband;
    config.subband_loss = 0;
    const double loss = make_plan(config, on)->choice().loss;
    EXPECT_GT(loss, 0) << device;
    EXPECT_LE(loss, 0.01) << device;
  }
}

TEST(Plan, MethodsHaveNames) {
  for (const Method method : {Method::automatic, Method::exact, Method::shared, Method::subband})
    EXPECT_EQ(method_text().read(to_string(method)), method);
  EXPECT_THROW(method_text().read("best"), core::Error);
}

TEST(Plan, RefusalsNameTheField) {
  const auto device = device::open({});
  const auto field_of = [&](const auto& change) {
    Config config = small_config(8, 8, 3);
    change(config);
    try {
      make_plan(config, device);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::config);
      return error.field();
    }
    return std::string("accepted");
  };
  using C = Config&;
  EXPECT_EQ(field_of([](C c) { c.frequencies_mhz.clear(); }), "dedisperse frequencies_mhz");
  EXPECT_EQ(field_of([](C c) { c.frequencies_mhz[2] = 0; }), "dedisperse frequencies_mhz");
  EXPECT_EQ(field_of([](C c) { c.sample_time_s = 0; }), "dedisperse sample_time_s");
  EXPECT_EQ(field_of([](C c) { c.dms.clear(); }), "dedisperse dms");
  EXPECT_EQ(field_of([](C c) { c.dms[1] = -1; }), "dedisperse dms");
  EXPECT_EQ(field_of([](C c) { c.dms[1] = 1e12; }), "dedisperse dms");
  EXPECT_EQ(field_of([](C c) { c.bits = 3; }), "dedisperse bits");
  EXPECT_EQ(field_of([](C c) { c.bits = 4, c.signed_samples = true; }),
            "dedisperse signed_samples");
  EXPECT_EQ(field_of([](C c) { c.max_value = 256; }), "dedisperse max_value");
  EXPECT_EQ(field_of([](C c) { c.beams = 0; }), "dedisperse beams");
  EXPECT_EQ(field_of([](C c) { c.max_samples = 0; }), "dedisperse max_samples");
  EXPECT_EQ(field_of([](C c) { c.downsample = 0; }), "dedisperse downsample");
  EXPECT_EQ(field_of([](C c) { c.bits = 16, c.downsample = 2; }), "dedisperse downsample");
  EXPECT_EQ(field_of([](C c) { c.subband_loss = 0.9; }), "dedisperse subband_loss");
  for (const double width : {-1.0, 1e300, std::nan("")})
    EXPECT_EQ(field_of([&](C c) { c.pulse_width_s = width; }), "dedisperse pulse_width_s");
  EXPECT_EQ(field_of([](C c) { c.ignored_channels = {8}; }), "dedisperse ignored_channels");
  EXPECT_EQ(field_of([](C c) { c.ignored_channels = {0, 1, 2, 3, 4, 5, 6, 7}; }),
            "dedisperse ignored_channels");
  EXPECT_EQ(field_of([](C c) { c.reference_mhz = 1000; }), "dedisperse reference_mhz");
  EXPECT_EQ(field_of([](C) {}), "accepted");
}

TEST(Plan, CallsThatContradictThePlanAreRefused) {
  Config config = small_config(8, 8, 3);
  config.max_samples = 100;
  const auto device = device::open({});
  const auto plan = make_plan(config, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  std::vector<std::byte> spectra(200 * 8);
  std::vector<std::int32_t> out(3 * 100);
  const auto call = [&](std::size_t count, std::size_t trials, std::size_t room) {
    plan->execute(*queue, *state, {.data = spectra.data(), .count = count},
                  core::View<std::int32_t, 3>(out.data(), {1, trials, room}));
  };
  EXPECT_THROW(call(101, 3, 100), core::Error);
  EXPECT_THROW(call(100, 2, 100), core::Error);
  EXPECT_THROW(call(100, 3, 10), core::Error);
  EXPECT_EQ(state->held_samples(), 0u);
  call(0, 3, 100);
  call(100, 3, 100);
  EXPECT_EQ(state->held_samples(), plan->max_delay());
  state->reset();
  EXPECT_EQ(state->held_samples(), 0u);
  EXPECT_THROW(state->load({}), core::Error);
  // Trials of another type.
  std::vector<float> floats(3 * 100);
  EXPECT_THROW(plan->execute(*queue, *state, {.data = spectra.data(), .count = 100},
                             core::View<float, 3>(floats.data(), {1, 3, 100})),
               core::Error);
}

TEST(Plan, SavedStatesAreOfOneConfig) {
  for (const std::string name : {"cpu", "reference"}) {
    const auto device = device::open(device::parse_selection(name));
    const auto queue = device->make_queue();
    Config config = small_config(8, 8, 3);
    config.max_samples = 100;
    const auto plan = make_plan(config, device);
    const auto state = plan->make_state(*queue);
    std::vector<std::byte> spectra(100 * 8);
    std::vector<std::int32_t> out(3 * 100);
    plan->execute(*queue, *state, {.data = spectra.data(), .count = 100},
                  core::View<std::int32_t, 3>(out.data(), {1, 3, 100}));
    const std::vector<std::byte> saved = state->save();
    const auto loads = [&](const auto& change) {
      Config other = config;
      change(other);
      const auto into = make_plan(other, device)->make_state(*queue);
      try {
        into->load(saved);
      } catch (const core::Error& error) {
        EXPECT_EQ(error.kind(), core::ErrorKind::format);
        return false;
      }
      return into->held_samples() == state->held_samples();
    };
    using C = Config&;
    EXPECT_TRUE(loads([](C) {}));
    EXPECT_TRUE(loads([](C c) { c.max_samples = 7, c.method = Method::exact; }));
    EXPECT_FALSE(loads([](C c) { c.dms[1] += 1e-9; }));
    EXPECT_FALSE(loads([](C c) { c.frequencies_mhz[3] += 1; }));
    EXPECT_FALSE(loads([](C c) { c.ignored_channels = {2}; }));
    EXPECT_FALSE(loads([](C c) { c.signed_samples = true; }));
    EXPECT_FALSE(loads([](C c) { c.zero_dm = true; }));
    EXPECT_FALSE(loads([](C c) { c.downsample = 2; }));
    std::vector<std::byte> cut = saved;
    cut.pop_back();
    EXPECT_THROW(state->load(cut), core::Error);
  }
}

// A pulse of DM 30 in the whole of a short observation, by one call.
TEST(Dedisperse, FindsAPulseInOneCall) {
  Config config = small_config(32, 8, 21);
  const std::size_t times = 400, arrival = 123, trial = 12;
  ASSERT_EQ(config.dms[trial], 30);
  std::vector<std::uint8_t> spectra(times * 32, 10);
  const double highest = config.frequencies_mhz.front();
  for (std::size_t c = 0; c < 32; ++c)
    spectra[(arrival + static_cast<std::size_t>(core::dispersion_delay_samples(
                           30, config.frequencies_mhz[c], highest, config.sample_time_s))) *
                32 +
            c] = 20;
  std::vector<std::int32_t> trials(21 * times, -1);
  const core::View<std::int32_t, 3> view(trials.data(), {1, 21, times});
  for (const std::size_t block : {std::size_t{16384}, std::size_t{77}})
    for (const bool rows : {false, true}) {
      config.max_samples = block;
      const auto raw = std::as_bytes(std::span(spectra));
      const auto bytes = rows ? to_rows(config, {raw.begin(), raw.end()}, times)
                              : std::vector<std::byte>(raw.begin(), raw.end());
      const Input input{rows ? Input::Layout::rows : Input::Layout::spectra, bytes.data(), times};
      const Result result = dedisperse(config, input, view);
      EXPECT_EQ(result.samples, times - make_plan(config, device::open({}))->max_delay());
      EXPECT_EQ(view(0, trial, arrival), 32 * 20);
      EXPECT_EQ(view(0, trial, arrival + 1), 32 * 10);
      EXPECT_LT(view(0, 0, arrival), 32 * 20);
    }
}

}  // namespace
}  // namespace tautline::stages::dedisperse

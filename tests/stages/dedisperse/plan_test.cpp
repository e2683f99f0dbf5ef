// Plans: which code and method they chose, what they refuse, what they promise.
#include <cmath>

#include "tests/stages/dedisperse/support.h"

namespace tautline::stages::dedisperse {
namespace {

TEST(Plan, AForcedInstructionSetIsTheOneThatRuns) {
  const Config config = small_config(16, 8, 4);
  for (const auto& [name, backend] :
       std::vector<std::pair<std::string, std::string>>{{"reference", "reference"},
                                                        {"cpu:portable", "portable"},
                                                        {"cpu:avx2", "avx2"},
                                                        {"cpu:avx512", "avx512"},
                                                        {"cpu:vnni", "avx512"}}) {
    try {
      const auto device = device::open(device::parse_selection(name));
      EXPECT_EQ(make_plan(config, device)->backend(), backend);
    } catch (const core::Error& error) {
      if (error.kind() != core::ErrorKind::unsupported) throw;
      std::cout << "skipped " << name << ": " << error.what() << std::endl;
    }
  }
}

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
    config.max_loss = 0;
    EXPECT_NE(make_plan(config, on)->choice().method, Method::subband) << device;
    EXPECT_EQ(make_plan(config, on)->choice().loss, 0) << device;
    config.max_loss = 0.1;
    EXPECT_EQ(make_plan(config, on)->choice().method, Method::subband) << device;
    for (const Method method : {Method::exact, Method::shared}) {
      config.method = method;
      EXPECT_EQ(make_plan(config, on)->choice().loss, 0) << device;
    }
    // 1 % where Method::subband is not told.
    config.method = Method::subband;
    config.max_loss = 0;
    const double loss = make_plan(config, on)->choice().loss;
    EXPECT_GT(loss, 0) << device;
    EXPECT_LE(loss, 0.01) << device;
  }
}

TEST(Plan, MethodsHaveNames) {
  for (const Method method : {Method::automatic, Method::exact, Method::shared, Method::subband})
    EXPECT_EQ(parse_method(to_string(method)), method);
  EXPECT_THROW(parse_method("best"), core::Error);
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
  EXPECT_EQ(field_of([](C c) { c.max_loss = 0.9; }), "dedisperse max_loss");
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
                  {{out.data(), {1, trials, room}}, {}});
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
}

}  // namespace
}  // namespace tautline::stages::dedisperse

// The GPU kernel as something to tune: candidates agree with the CPU and are timed.
#include "tautline/stages/dedisperse/gpu_tuning.h"
#include "tautline/stages/dedisperse/tune.h"
#include "tests/stages/dedisperse/support.h"
#include "tests/support/gpus.h"
#include "tests/support/recording_device.h"

namespace tautline::stages::dedisperse {
namespace {

class Tuning : public ::testing::TestWithParam<std::string> {};

TEST_P(Tuning, CandidatesAreCheckedAndTimed) {
  SKIP_WITHOUT_GPU(GetParam());
  const auto device = device::open(device::parse_selection(GetParam()));
  for (const auto& [bits, method] : {std::pair(8, Method::exact), std::pair(32, Method::exact),
                                     std::pair(8, Method::automatic)}) {
    Config config = small_config(24, bits, 30);
    config.method = method;
    config.max_samples = 300;
    const jit::Tunable tunable = make_tunable(config, device);
    EXPECT_EQ(tunable.key.stage, "dedisperse");
    EXPECT_EQ(tunable.operations, 24.0 * 30 * 300);
    tunable.prepare();
    const auto candidate = tunable.build({{"items_time", 16},
                                          {"items_dm", 2},
                                          {"elements_time", 1},
                                          {"elements_dm", 2},
                                          {"local_kib", 16},
                                          {"groups", 1},
                                          {"levels", method == Method::exact ? 0 : 2}});
    EXPECT_EQ(candidate->check(), "");
    EXPECT_GT(candidate->run(2), 0);
    EXPECT_EQ(candidate->check(), "");
  }
}

TEST_P(Tuning, DefaultsAreInTheSpace) {
  SKIP_WITHOUT_GPU(GetParam());
  const auto device = device::open(device::parse_selection(GetParam()));
  EXPECT_EQ(tunables_of(tuning_space(*device, Method::shared).usual()), GpuTunables{});
}

TEST(TuningOfBands, WhereThereAreMatrixUnits) {
  jit::Configuration bands{{"items_time", 64},  {"items_dm", 4},    {"elements_time", 8},
                           {"elements_dm", 16}, {"local_kib", 256}, {"groups", 1},
                           {"levels", 0},       {"makers", 4},      {"band_channels", 8}};
  const tests::RecordingDevice hopper("sm_90a", 90, 227 << 10), pascal("sm_61", 61, 96 << 10);
  EXPECT_TRUE(tuning_space(hopper, Method::shared).legal(bands));
  EXPECT_FALSE(tuning_space(hopper, Method::exact).legal(bands));
  EXPECT_FALSE(tuning_space(pascal, Method::shared).legal(bands));
  bands["makers"] = 0;
  EXPECT_FALSE(tuning_space(hopper, Method::shared).legal(bands));
}

TEST(TuningOfTheHost, IsRefused) {
  EXPECT_THROW(make_tunable(small_config(4, 8, 2), device::open({})), core::Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, Tuning, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::dedisperse

// The autocorrelator's interface to the tuner: candidates agree with the CPU, and are timed.
#include "tautline/stages/autocorrelate/gpu/tuning.h"

#include "tautline/stages/autocorrelate/gpu/plan.h"
#include "tautline/stages/autocorrelate/tune.h"
#include "tests/stages/autocorrelate/support.h"
#include "tests/support/gpus.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

class Tuning : public ::testing::TestWithParam<std::string> {};

TEST_P(Tuning, CandidatesAreCheckedAndTimed) {
  SKIP_WITHOUT_GPU(GetParam());
  const auto device = device::open(device::parse_selection(GetParam()));
  for (const SampleType type : {SampleType::u8, SampleType::f32}) {
    const Config config{.sensors = 24, .bins = 6, .levels = 5, .type = type, .max_samples = 300};
    const jit::Tunable tunable = make_tunable(config, device);
    EXPECT_EQ(tunable.key.stage, "autocorrelate");
    EXPECT_EQ(tunable.operations, 24.0 * 300);
    tunable.prepare();
    const auto candidate = tunable.build({{"design", 0},
                                          {"lags", 4},
                                          {"threads", 32},
                                          {"part_rows", 512},
                                          {"chunk_samples", 4096},
                                          {"pending_rows", 256}});
    EXPECT_EQ(candidate->check(), "");
    EXPECT_GT(candidate->run(2), 0.0);
    EXPECT_EQ(candidate->check(), "");
  }
}

TEST_P(Tuning, DefaultsAreInTheSpace) {
  SKIP_WITHOUT_GPU(GetParam());
  const auto device = device::open(device::parse_selection(GetParam()));
  GpuTunables defaults;
  if (!gpu::has_matrix_design(*device)) defaults.design = GpuDesign::portable;
  EXPECT_EQ(gpu::tunables_of(gpu::tuning_space({.sensors = 4}, *device).default_configuration()),
            defaults);
}

TEST(PortableTunables, MatterWhereMatrixUnitsDoNotTakeEveryLevel) {
  const auto matter = [](const Config& config, GpuDesign design = GpuDesign::matrix) {
    return gpu::portable_tunables_matter(config, {.design = design});
  };
  EXPECT_FALSE(matter({.sensors = 4}));
  EXPECT_TRUE(matter({.sensors = 4}, GpuDesign::portable));
  EXPECT_FALSE(matter({.sensors = 4, .type = SampleType::u16}));
  EXPECT_FALSE(matter({.sensors = 4, .levels = 1, .type = SampleType::u32}));
  EXPECT_TRUE(matter({.sensors = 4, .levels = 2, .type = SampleType::u32}));
  EXPECT_TRUE(matter({.sensors = 4, .levels = 26}));
  EXPECT_TRUE(matter({.sensors = 4, .levels = 1, .type = SampleType::f32}));
}

TEST(TuningOfTheHost, IsRefused) {
  EXPECT_THROW(make_tunable({.sensors = 4}, device::open({})), core::Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, Tuning, ::testing::ValuesIn(tautline::tests::gpu_names()),
                         [](const auto& info) { return tautline::tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests

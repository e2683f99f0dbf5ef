// The tuning space of the correlator, its candidates, and plans with tuned configurations.
#include "tautline/stages/correlate/gpu/tuning.h"

#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tautline/jit/evaluator.h"
#include "tautline/jit/wisdom.h"
#include "tautline/stages/correlate/gpu/plan.h"
#include "tautline/stages/correlate/tune.h"
#include "tests/jit/fake_device.h"
#include "tests/support/environment.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"

namespace tautline::stages::correlate {
namespace {

class Tuning : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device_ = device::open(device::parse_selection(GetParam()));
    config_ = {.channels = 2, .inputs = 21, .max_samples = 130};
  }

  // A legal configuration that is not the default.
  jit::Configuration other() const {
    const jit::Space space = gpu::tuning_space(config_, *device_);
    jit::Configuration c = space.default_configuration();
    c["design"] = static_cast<std::int64_t>(GpuDesign::tiled);
    c["register_rows"] = c["register_rows"] == 1 ? 2 : 1;
    c["stage_bytes"] = 32;
    EXPECT_TRUE(space.legal(c));
    return c;
  }
  jit::WisdomEntry found(const Config& config, jit::Configuration configuration) const {
    return {gpu::tuning_key(config, *device_), std::move(configuration), 1e-3, 0.01, 2e-3, {}, {}};
  }

  std::shared_ptr<const device::Device> device_;
  Config config_;
  tautline::tests::ScratchFolder folder_;
  tautline::tests::Environment cache_{"TAUTLINE_CACHE", folder_.path().string()};
};

TEST_P(Tuning, ChecksAndTimesEveryFormat) {
  for (const core::SampleFormat format :
       {core::kCi4, core::kCi8, core::kCi16, core::kCf16, core::kCf32}) {
    config_.format = format;
    const jit::Tunable tunable = make_tunable(config_, device_);
    EXPECT_EQ(tunable.key.variant, core::to_string(format));
    EXPECT_EQ(tunable.key.problem, (jit::Sizes{{"inputs", 21}, {"channels", 2}, {"samples", 130}}));
    EXPECT_EQ(tunable.operations, useful_operations(config_, 130));
    const auto evaluator = jit::make_local_evaluator(tunable, 0);
    for (const jit::Configuration& c : {tunable.space.default_configuration(), other()}) {
      const jit::Result result = evaluator->evaluate({.configuration = c});
      EXPECT_EQ(result.outcome, jit::Outcome::measured)
          << core::to_string(format) << " " << jit::describe(c) << ": " << result.reason;
      EXPECT_GT(result.seconds, 0);
    }
  }
}

TEST_P(Tuning, TheSpaceHasWhatTheKernelTakes) {
  const jit::Space space = gpu::tuning_space(config_, *device_);
  const GpuTunables defaults = gpu::tunables_of(space.default_configuration());
  EXPECT_NE(defaults.design, GpuDesign::automatic);
  EXPECT_NE(defaults.tiled.register_rows, 0u);
  EXPECT_NE(defaults.tiled.local_buffers, -1);
  EXPECT_NO_THROW(gpu::make_gpu_plan(config_, device_, defaults));
  // Too large for the local memory of some devices: 128 inputs on each side, two buffers of 256
  // bytes.
  jit::Configuration large = space.default_configuration();
  large["design"] = static_cast<std::int64_t>(GpuDesign::tiled);
  large["register_rows"] = large["register_columns"] = 8;
  large["thread_rows"] = large["thread_columns"] = 16;
  large["local_buffers"] = 2;
  large["stage_bytes"] = 256;
  const bool fits = 2 * 256 * (256 + 16) <= device_->properties().local_bytes &&
                    256 <= device_->properties().max_group_threads;
  EXPECT_EQ(space.legal(large), fits);
}

// On devices that are not here: their properties determine the space.
TEST(TuningSpace, HasEachDesignThatTheDeviceRuns) {
  tautline::tests::FakeDevice device(device::Api::cuda);
  device.properties_value.local_bytes = 227 << 10;
  device.properties_value.max_group_threads = 1024;
  const auto space = [&](int capability, core::SampleFormat format = core::kCi8) {
    device.properties_value.compute_capability = capability;
    return gpu::tuning_space({.inputs = 512, .format = format}, device);
  };
  const auto design = [](GpuDesign d) { return static_cast<std::int64_t>(d); };
  EXPECT_EQ(space(90).default_configuration().at("design"), design(GpuDesign::wgmma));
  EXPECT_EQ(space(80).default_configuration().at("design"), design(GpuDesign::mma));
  EXPECT_EQ(space(120).default_configuration().at("design"), design(GpuDesign::mma));
  EXPECT_EQ(space(75).default_configuration().at("design"), design(GpuDesign::tiled));
  EXPECT_EQ(space(90, core::kCf32).default_configuration().at("design"), design(GpuDesign::tiled));
  EXPECT_EQ(space(90, core::kCf16).default_configuration().at("design"), design(GpuDesign::wgmma));
  EXPECT_FALSE(space(75).default_configuration().contains("mma_stages"));
  // Deferred sums have their own kernel, where tiles are full enough.
  const auto held = [&](std::size_t inputs) {
    return gpu::tuning_space({.inputs = inputs, .defer_sums = true}, device)
        .default_configuration();
  };
  device.properties_value.compute_capability = 90;
  EXPECT_TRUE(held(512).contains("wgmma_held_stages"));
  EXPECT_FALSE(held(20).contains("wgmma_held_stages"));
  EXPECT_EQ(gpu::tuning_key({.inputs = 512, .defer_sums = true}, device).variant, "ci8 deferred");
  // A change of the design alone is legal; tunables of other designs must be the default's.
  jit::Configuration c = space(90).default_configuration();
  c["design"] = design(GpuDesign::tiled);
  EXPECT_TRUE(space(90).legal(c));
  c["stage_bytes"] = 32;
  EXPECT_TRUE(space(90).legal(c));
  c["design"] = design(GpuDesign::wgmma);
  EXPECT_FALSE(space(90).legal(c));
  const GpuTunables defaults = gpu::tunables_of(space(90).default_configuration());
  EXPECT_EQ(defaults.design, GpuDesign::wgmma);
  EXPECT_NE(defaults.wgmma.stages, 0u);
}

TEST_P(Tuning, PlansTakeWhatWasFoundAndSaySo) {
  const auto backend = [&] { return make_plan(config_, device_)->backend(); };
  EXPECT_NE(backend().find("(default)"), std::string::npos) << backend();
  Config near = config_;
  near.inputs = 32;
  jit::append_wisdom(jit::wisdom_path(), found(near, other()));
  EXPECT_NE(backend().find("(tuned for channels=2 inputs=32 samples=130)"), std::string::npos)
      << backend();
  jit::append_wisdom(jit::wisdom_path(), found(config_, other()));
  EXPECT_NE(backend().find("(tuned)"), std::string::npos) << backend();
  const GpuTunables expected = gpu::tunables_of(other());
  const std::string tile = std::to_string(expected.tiled.register_rows) + "x" +
                           std::to_string(expected.tiled.register_columns) + " registers";
  EXPECT_NE(backend().find(tile), std::string::npos) << backend();
}

INSTANTIATE_TEST_SUITE_P(Devices, Tuning, testing::ValuesIn(tautline::tests::gpu_names()),
                         [](const auto& info) { return tautline::tests::test_name(info.param); });

TEST(TuningOfACpu, IsRefused) {
  EXPECT_THROW(make_tunable({}, device::open({})), core::Error);
  EXPECT_THROW(make_tunable({}, nullptr), core::Error);
}

}  // namespace
}  // namespace tautline::stages::correlate

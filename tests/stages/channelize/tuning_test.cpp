// The tuning space of the filter bank, its candidates, and plans with tuned configurations.
#include "tautline/stages/channelize/gpu/tuning.h"

#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tautline/jit/evaluator.h"
#include "tautline/jit/wisdom.h"
#include "tautline/stages/channelize/gpu/plan.h"
#include "tautline/stages/channelize/tune.h"
#include "tests/stages/channelize/support.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"

namespace tautline::stages::channelize {
namespace {

class Tuning : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device_ = device::open(device::parse_selection(GetParam()));
    config_.inputs = 2, config_.channels = 64, config_.taps = 4;
    config_.max_samples = 64 * 40;
  }

  Bank bank() const { return Bank(config_); }
  // A legal configuration that is not the default.
  jit::Configuration other() const {
    const jit::Space space = gpu::tuning_space(bank(), *device_);
    jit::Configuration c = space.default_configuration();
    c["spectra"] = 16;
    c["filter_spectra"] = 4;
    c["positions"] = 2;
    EXPECT_TRUE(space.legal(c));
    EXPECT_NE(c, space.default_configuration());
    return c;
  }
  jit::WisdomEntry found(const Config& config, jit::Configuration configuration) const {
    return {gpu::tuning_key(Bank(config), *device_),
            std::move(configuration),
            1e-3,
            0.01,
            2e-3,
            {},
            {}};
  }

  std::shared_ptr<const device::Device> device_;
  Config config_;
  tests::ScratchFolder folder_;
  tests::Environment cache_{"TAUTLINE_CACHE", folder_.path().string()};
};

TEST_P(Tuning, ChecksAndTimesEveryOutput) {
  for (const auto& [format, output] :
       {std::pair{"ci8", Output::corner_turned_ci8}, {"f32", Output::spectra_float}}) {
    config_.input = core::parse_sample_format(format);
    config_.output = output;
    config_.max_samples = config_.frame_samples() * 40;
    const jit::Tunable tunable = make_tunable(config_, device_);
    EXPECT_EQ(tunable.key.problem.at("taps"), 4u);
    EXPECT_EQ(tunable.operations, 2.0 * 37 * static_cast<double>(config_.hop_samples()));
    const auto evaluator = jit::make_local_evaluator(tunable, 0);
    jit::Configuration separate = tunable.space.default_configuration();
    separate["design"] = static_cast<std::int64_t>(GpuDesign::separate);
    for (const jit::Configuration& c : {tunable.space.default_configuration(), other(), separate}) {
      const jit::Result result = evaluator->evaluate({.configuration = c});
      EXPECT_EQ(result.outcome, jit::Outcome::measured)
          << format << " " << jit::describe(c) << ": " << result.reason;
      EXPECT_GT(result.seconds, 0);
    }
  }
}

TEST_P(Tuning, TheSpaceHasWhatTheKernelsTake) {
  const jit::Space space = gpu::tuning_space(bank(), *device_);
  const GpuTunables defaults = gpu::tunables_of(space.default_configuration());
  EXPECT_EQ(defaults.design, GpuDesign::fused);
  EXPECT_NE(defaults.points, 0u);
  jit::Configuration c = space.default_configuration();
  c["filter_spectra"] = 16, c["spectra"] = 8;
  EXPECT_FALSE(space.legal(c));
  c = space.default_configuration();
  c["design"] = static_cast<std::int64_t>(GpuDesign::split);
  EXPECT_FALSE(space.legal(c));
  // Every default is a value of the space.
  for (const char* format : {"ci8", "f32", "i16", "cf32"})
    for (const std::size_t channels :
         {2u, 3u, 4u, 12u, 30u, 64u, 100u, 1024u, 4096u, 16384u, 65536u})
      for (const std::size_t taps : {1u, 8u, 16u, 100u})
        for (const Output output : {Output::spectra_float, Output::corner_turned_ci4}) {
          config_.input = core::parse_sample_format(format);
          config_.channels = channels, config_.taps = taps, config_.output = output;
          const jit::Space any = gpu::tuning_space(bank(), *device_);
          EXPECT_TRUE(any.legal(any.default_configuration()))
              << format << ' ' << channels << ' ' << taps;
        }
  config_ = {};
  config_.channels = 100;
  const jit::Space other_space = gpu::tuning_space(bank(), *device_);
  EXPECT_EQ(gpu::tunables_of(other_space.default_configuration()).design, GpuDesign::separate);
}

TEST_P(Tuning, PlansTakeWhatWasFoundAndSaySo) {
  const auto backend = [&] { return make_plan(config_, device_)->backend(); };
  EXPECT_NE(backend().find("(default)"), std::string::npos) << backend();
  Config near = config_;
  near.inputs = 4;
  jit::append_wisdom(jit::wisdom_path(), found(near, other()));
  EXPECT_NE(backend().find("(tuned for "), std::string::npos) << backend();
  jit::append_wisdom(jit::wisdom_path(), found(config_, other()));
  EXPECT_NE(backend().find("(tuned)"), std::string::npos) << backend();
  EXPECT_NE(backend().find("16 spectra of"), std::string::npos) << backend();
}

INSTANTIATE_TEST_SUITE_P(Devices, Tuning, testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

TEST(TuningOfACpu, IsRefused) {
  EXPECT_THROW(make_tunable({}, device::open({})), core::Error);
  EXPECT_THROW(make_tunable({}, nullptr), core::Error);
}

}  // namespace
}  // namespace tautline::stages::channelize

// The GPU kernel as something to tune: candidates agree with the CPU and are timed.
#include "tautline/stages/dedisperse/gpu/tuning.h"

#include "tautline/jit/wisdom.h"
#include "tautline/stages/dedisperse/tune.h"
#include "tests/stages/dedisperse/support.h"
#include "tests/support/environment.h"
#include "tests/support/gpus.h"
#include "tests/support/recording_device.h"
#include "tests/support/scratch.h"

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
  EXPECT_EQ(tunables_of(tuning_space(*device, Method::shared).default_configuration()),
            GpuTunables{});
}

// Plans on a GPU that is not here, with wisdom of their own.
class TunedPlans : public ::testing::Test {
 protected:
  TunedPlans() {
    device_->shared().set_log(
        [this](core::LogLevel, const std::string& text) { log_ += text + "\n"; });
  }
  static Config problem(Method method, std::size_t trials = 100) {
    Config config = apertif(trials).config;
    config.frequencies_mhz.resize(256);
    config.dms = even_dms(1, trials);
    config.max_samples = 4096;
    config.method = method;
    return config;
  }
  // As `tautline tune` remembers it.
  void remember(const Config& config, const GpuTunables& found) {
    const jit::Tunable tunable = make_tunable(config, device_);
    jit::Configuration configuration = tunable.space.default_configuration();
    configuration["items_time"] = static_cast<std::int64_t>(found.items_time);
    configuration["levels"] = static_cast<std::int64_t>(found.levels);
    configuration["groups"] = static_cast<std::int64_t>(found.groups);
    ASSERT_TRUE(tunable.space.legal(configuration));
    jit::append_wisdom(jit::wisdom_path(), {tunable.key, configuration, 1e-3, 0, 2e-3, {}, {}});
  }
  std::string variant(const Config& config) const {
    return make_tunable(config, device_).key.variant;
  }
  // The choice of a plan, and its description.
  std::string text(const Config& config) {
    log_.clear();
    return make_plan(config, device_)->choice().text;
  }
  std::string default_text(const Config& config) {
    return make_plan(config, device_, Tunables{})->choice().text;
  }
  void expect_default(const Config& config) {
    EXPECT_EQ(text(config), default_text(config));
    EXPECT_NE(log_.find("takes the default"), std::string::npos) << log_;
  }

  tests::ScratchFolder folder_;
  tests::Environment cache_{"TAUTLINE_CACHE", folder_ / "cache"};
  std::shared_ptr<const device::Device> device_ =
      std::make_shared<tests::RecordingDevice>("sm_80", 80, 160 << 10);
  std::string log_;
};

TEST_F(TunedPlans, AWinnerServesTheMethodThatItWasFoundFor) {
  EXPECT_EQ(variant(problem(Method::exact)), "8 bits exact");
  EXPECT_EQ(variant(problem(Method::shared)), "8 bits shared");
  GpuTunables found;
  found.levels = 3;
  remember(problem(Method::shared), found);
  ASSERT_NE(text(problem(Method::shared)), default_text(problem(Method::shared)));
  EXPECT_NE(text(problem(Method::shared)).find("groups of 8"), std::string::npos)
      << text(problem(Method::shared)) << "; by default " << default_text(problem(Method::shared));
  // Sub-channel blocks have the same sizes, other delays and another default.
  Config subband = problem(Method::subband);
  subband.subband_loss = 0.05;
  ASSERT_EQ(text(subband).find("subband"), 0u);
  expect_default(subband);
  expect_default(problem(Method::exact));
  // `auto` is what it comes to.
  Config automatic = problem(Method::automatic);
  ASSERT_EQ(variant(automatic), "8 bits shared");
  EXPECT_EQ(text(automatic), text(problem(Method::shared)));
  automatic.subband_loss = 0.3;
  automatic.pulse_width_s = 0.05;
  ASSERT_EQ(default_text(automatic).find("subband"), 0u) << default_text(automatic);
  expect_default(automatic);
}

TEST_F(TunedPlans, AWinnerServesProblemsThatAreNear) {
  GpuTunables found;
  found.levels = 3;
  remember(problem(Method::shared), found);
  for (const std::size_t trials : {60, 199}) {
    EXPECT_NE(text(problem(Method::shared, trials)), default_text(problem(Method::shared, trials)));
    EXPECT_NE(log_.find("takes what was tuned for"), std::string::npos) << log_;
  }
  for (const std::size_t trials : {40, 210}) {
    expect_default(problem(Method::shared, trials));
    EXPECT_NE(log_.find("too far"), std::string::npos) << log_;
  }
  // Another telescope.
  Config other = lofar(100).config;
  other.max_samples = 4096;
  other.method = Method::shared;
  expect_default(other);
}

// A configuration with levels is of shared sums, also where the default would sum plainly; one
// without is what it was when it was timed.
TEST_F(TunedPlans, SumAsTheCandidateDid) {
  const auto any = std::make_shared<const DelayPlan>(problem(Method::automatic));
  const auto method = [&](Method runs, std::size_t levels) {
    GpuTunables t;
    t.levels = levels;
    return problem_of_candidate(any, runs, t)->config().method;
  };
  EXPECT_EQ(method(Method::exact, 0), Method::exact);
  EXPECT_EQ(method(Method::exact, 3), Method::shared);
  EXPECT_EQ(method(Method::shared, 0), Method::shared);
}

TEST(TuningOfTheHost, IsRefused) {
  EXPECT_THROW(make_tunable(small_config(4, 8, 2), device::open({})), core::Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, Tuning, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::dedisperse

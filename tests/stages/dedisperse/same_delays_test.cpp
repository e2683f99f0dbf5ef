// What is summed follows from the Config: whatever the backend, its tunables and what it takes the
// machine to cost, all of which may change how it is summed.
#include <set>
#include <string>
#include <vector>

#include "tautline/stages/dedisperse/backends.h"
#include "tests/stages/dedisperse/support.h"
#include "tests/support/environment.h"
#include "tests/support/gpus.h"
#include "tests/support/recording_device.h"
#include "tests/support/scratch.h"

namespace tautline::stages::dedisperse {
namespace {

struct Asked {
  Method method;
  double subband_loss;
  bool subbands;  // run
};
constexpr Asked kAsked[] = {{Method::exact, 0, false},     {Method::shared, 0, false},
                            {Method::automatic, 0, false}, {Method::subband, 0, true},
                            {Method::subband, 0.05, true}, {Method::automatic, 0.1, true}};

// A band in which sub-bands save much, for pulses of ten samples.
Config problem(const Asked& asked) {
  Config config = small_config(96, 8, 40);
  config.pulse_width_s = 1e-2;
  config.method = asked.method;
  config.subband_loss = asked.subband_loss;
  return config;
}

// Shared sums are nearly free, or hardly worth making.
CpuCost cpu_cost(double shared) {
  CpuCost cost = kXeonCost;
  for (double* each : {&cost.add_rows, &cost.add_sums, &cost.add_four}) *each *= shared;
  return cost;
}
GpuCost gpu_cost(double shared) {
  GpuCost cost = kH200Cost;
  for (double* each : {&cost.make_sums, &cost.barrier, &cost.channel_block}) *each *= shared;
  return cost;
}
constexpr double kShared[] = {0.001, 1, 1000};

std::vector<Tunables> cpu_tunables() {
  return {{},
          {.time_tile = 512, .block_trials = 3},
          {.block_trials = 40, .levels = 2, .near_bytes = 4096, .scratch_bytes = 4096}};
}
std::vector<Tunables> gpu_tunables() {
  return {{},
          {.gpu = {16, 2, 1, 4, 32}},
          {.gpu = {16, 1, 1, 2, 0}},
          {.gpu = {.items_time = 16, .items_dm = 8, .elements_time = 2, .levels = 3}}};
}

std::vector<std::int64_t> exact_delays(const DelayPlan& plan) {
  std::vector<std::int64_t> exact;
  for (std::size_t i = 0; i < plan.trials(); ++i)
    for (std::size_t c = 0; c < plan.channels(); ++c) exact.push_back(plan.exact()(i, c));
  return exact;
}

// Of every trial and channel.
std::vector<std::int64_t> delays_of(const Plan& plan) {
  std::vector<std::int64_t> delays;
  for (std::size_t i = 0; i < plan.config().dms.size(); ++i)
    for (std::size_t c = 0; c < plan.config().frequencies_mhz.size(); ++c)
      delays.push_back(plan.delay(i, c));
  return delays;
}

class SameDelays : public ::testing::TestWithParam<Asked> {
 protected:
  // The plans of one problem that differ from the reference's.
  void expect_same(const Plan& plan, const std::string& what) {
    EXPECT_EQ(plan.choice().method == Method::subband, GetParam().subbands) << what;
    EXPECT_EQ(plan.choice().loss, reference_->choice().loss) << what;
    EXPECT_TRUE(delays_of(plan) == delays_) << what;
    texts_.insert(plan.choice().text);
  }
  // The plan's series are the reference's, to the bit.
  void expect_sums(const Plan& plan, const device::Device& device) {
    EXPECT_TRUE(run(plan, *device.make_queue(), spectra_, times_, {}).integers == sums_.integers)
        << plan.backend() << ": " << plan.choice().text;
  }

  Config config_ = problem(GetParam());
  std::shared_ptr<const Plan> reference_ =
      make_plan(config_, device::open(device::parse_selection("reference")));
  std::vector<std::int64_t> delays_ = delays_of(*reference_);
  std::set<std::string> texts_;  // ways to sum

  const std::size_t times_ = reference_->max_delay() + 90;
  std::mt19937_64 random_ = tests::generator();
  const std::vector<std::byte> spectra_ = make_spectra(config_, times_, random_);
  const Series sums_ = run("reference", config_, spectra_, times_);
  const std::shared_ptr<const DelayPlan> plan_ =
      std::make_shared<const DelayPlan>(fitted(config_, times_, {}));
};

TEST_P(SameDelays, TheReferenceSumsThem) {
  EXPECT_EQ(reference_->choice().method == Method::subband, GetParam().subbands);
  EXPECT_EQ(reference_->choice().loss > 0, GetParam().subbands);
  EXPECT_EQ(delays_ != exact_delays(DelayPlan(config_)), GetParam().subbands);
}

// As where a header rounds them: a quarter of a hertz off.
TEST(SameDelaysOf, FrequenciesThatAreHardlyOff) {
  std::mt19937_64 random = tests::generator();
  Config config = problem({Method::automatic, 0, false});
  for (double& mhz : config.frequencies_mhz) mhz += random() % 2 == 0 ? 0.25e-6 : -0.25e-6;
  const std::vector<std::int64_t> exact = exact_delays(DelayPlan(config));
  std::vector<std::string> names = host_devices();
  names.push_back("reference");
  for (const std::string& name : names) {
    const auto plan = make_plan(config, device::open(device::parse_selection(name)));
    EXPECT_NE(plan->choice().method, Method::subband) << name;
    EXPECT_EQ(plan->choice().loss, 0) << name;
    EXPECT_TRUE(delays_of(*plan) == exact) << name;
  }
}

TEST_P(SameDelays, OnProcessors) {
  const auto plan = std::make_shared<const DelayPlan>(config_);
  for (const std::string& name : host_devices()) {
    const auto device = device::open(device::parse_selection(name));
    for (const Tunables& tunables : cpu_tunables())
      for (const double shared : kShared)
        expect_same(*make_cpu_plan(plan, *device, tunables, cpu_cost(shared)), name);
  }
  EXPECT_GE(texts_.size(), 3u) << "nothing changed how it is summed";
}

TEST_P(SameDelays, OnGpusThatAreNotHere) {
  const tests::ScratchFolder folder;
  const tests::Environment cache("TAUTLINE_CACHE", folder / "cache");
  const auto plan = std::make_shared<const DelayPlan>(config_);
  for (const auto& [architecture, capability] : {std::pair("sm_90a", 90), std::pair("sm_61", 61)}) {
    const auto device =
        std::make_shared<tests::RecordingDevice>(architecture, capability, 100 << 10);
    for (const Tunables& tunables : gpu_tunables())
      for (const double shared : kShared)
        expect_same(*make_gpu_plan(plan, device, tunables, gpu_cost(shared)), architecture);
  }
  EXPECT_GE(texts_.size(), 3u) << "nothing changed how it is summed";
}

TEST_P(SameDelays, SumsAreTheReferences) {
  const auto cpu = device::open({});
  for (const double shared : kShared)
    expect_sums(*make_cpu_plan(plan_, *cpu, {}, cpu_cost(shared)), *cpu);
}

TEST_P(SameDelays, SumsOnGpusAreTheReferences) {
  for (const std::string& name : tests::gpu_names()) {
    SKIP_WITHOUT_GPU(name);
    const auto gpu = device::open(device::parse_selection(name), {.threads = 2});
    for (const Tunables& tunables : {gpu_tunables()[1], gpu_tunables()[2]})
      expect_sums(*make_gpu_plan(plan_, gpu, tunables), *gpu);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, SameDelays, ::testing::ValuesIn(kAsked), [](const auto& info) {
  return to_string(info.param.method) +
         std::to_string(static_cast<int>(100 * info.param.subband_loss));
});

}  // namespace
}  // namespace tautline::stages::dedisperse

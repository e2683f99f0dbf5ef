// Candidates that do not build, give wrong answers, launch nothing, crash or hang, on every device
// that compiles: in this process as far as that goes, and in a worker.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/jit/process_evaluator.h"
#include "tautline/jit/search.h"
#include "tests/jit/toy.h"
#include "tests/support/error_of.h"
#include "tests/support/gpus.h"

namespace {

using namespace tautline;
using jit::Configuration;
using jit::Outcome;
using tests::toy_tunable;

constexpr std::size_t kCount = 10'007;
constexpr const char* kDeviceVariable = "TAUTLINE_TOY_DEVICE";

Configuration items(std::int64_t value) {
  return {{"items", value}, {"threads", 16}};
}

// Not a test of its own: this program again, as the worker of the tests below.
TEST(ToyWorker, DISABLED_Serve) {
  const auto device = device::open(device::parse_selection(std::getenv(kDeviceVariable)));
  jit::serve_evaluations(toy_tunable(device, kCount), 1);
}
TEST(ToyWorker, DISABLED_NeverReady) {
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

std::vector<std::string> command(const std::string& test) {
  return {std::filesystem::read_symlink("/proc/self/exe"),
          "--gtest_filter=ToyWorker.DISABLED_" + test, "--gtest_also_run_disabled_tests"};
}

class Toy : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(GetParam()); }

  // Candidates run for milliseconds; a busy machine under a sanitizer may take seconds.
  std::unique_ptr<jit::Evaluator> worker(std::stop_token stop = {}, double run_s = 60) const {
    return jit::make_process_evaluator(command("Serve"), {{kDeviceVariable, GetParam()}},
                                       {.prepare_s = 60, .build_s = 60, .run_s = run_s}, stop);
  }
};

TEST_P(Toy, InThisProcessWrongCandidatesAreDroppedWithTheirReason) {
  const auto device = device::open(device::parse_selection(GetParam()));
  const auto evaluator = jit::make_local_evaluator(toy_tunable(device, kCount), 1);
  const std::vector<Configuration> next{items(4), items(tests::kNoBuildItems)};
  evaluator->expect(next);
  const auto good = evaluator->evaluate({.configuration = items(1)});
  EXPECT_EQ(good.outcome, Outcome::measured) << good.reason;
  EXPECT_GT(good.seconds, 0);
  EXPECT_EQ(evaluator->evaluate({.configuration = items(4)}).outcome, Outcome::measured);
  const auto unbuilt = evaluator->evaluate({.configuration = items(tests::kNoBuildItems)});
  EXPECT_EQ(unbuilt.outcome, Outcome::not_built);
  EXPECT_NE(unbuilt.reason.find("toy/reduce.kernel with ITEMS=1 THREADS=16 TRAP=2"),
            std::string::npos)
      << unbuilt.reason;
  EXPECT_NE(unbuilt.reason.find("this value does not build"), std::string::npos) << unbuilt.reason;
  const auto wrong = evaluator->evaluate({.configuration = items(tests::kWrongItems)});
  EXPECT_EQ(wrong.outcome, Outcome::wrong);
  EXPECT_NE(wrong.reason.find("expected"), std::string::npos) << wrong.reason;
  const auto nothing = evaluator->evaluate({.configuration = items(tests::kLaunchesNothingItems)});
  EXPECT_NE(nothing.outcome, Outcome::measured);
  EXPECT_FALSE(evaluator->device_failed());
}

TEST_P(Toy, AWorkerThatHangsIsEndedAndTheNextCandidateTried) {
  const auto evaluator = worker({}, 12.5);
  EXPECT_EQ(evaluator->evaluate({.configuration = items(1)}).outcome, Outcome::measured);
  const auto hung = evaluator->evaluate({.configuration = items(tests::kHangingItems)});
  EXPECT_EQ(hung.outcome, Outcome::hung);
  EXPECT_NE(hung.reason.find("12.5 s"), std::string::npos) << hung.reason;
  const auto after = evaluator->evaluate({.configuration = items(4)});
  EXPECT_EQ(after.outcome, Outcome::measured) << after.reason;
}

TEST_P(Toy, AWorkerThatCrashesIsNamedAndTheNextCandidateTried) {
  const auto evaluator = worker();
  const std::vector<Configuration> next{items(4)};
  evaluator->expect(next);
  const auto crashed = evaluator->evaluate({.configuration = items(tests::kCrashingItems)});
  // On a CPU the process dies; a GPU reports the fault, and the worker ends itself behind it.
  EXPECT_TRUE(crashed.outcome == Outcome::died || crashed.outcome == Outcome::not_run)
      << jit::to_string(crashed.outcome);
  EXPECT_FALSE(crashed.reason.empty());
  const auto after = evaluator->evaluate({.configuration = items(1)});
  EXPECT_EQ(after.outcome, Outcome::measured) << after.reason;
}

TEST_P(Toy, ASearchNamesEveryTrapAndFindsAWinner) {
  const auto device = device::open(device::parse_selection(GetParam()));
  const jit::Space space = tests::toy_space();
  const auto evaluator = worker();
  const auto report = jit::search(
      space, *evaluator, {.strategy = jit::StrategyKind::exhaustive, .rounds = 3, .ahead = 1});
  EXPECT_TRUE(report.whole_space);
  ASSERT_EQ(report.results.size(), 11u);
  std::map<std::int64_t, Outcome> outcomes;
  for (const jit::Result& result : report.results) {
    outcomes[result.configuration.at("items")] = result.outcome;
    EXPECT_EQ(result.reason.empty(), result.outcome == Outcome::measured);
  }
  EXPECT_EQ(outcomes[tests::kWrongItems], Outcome::wrong);
  EXPECT_EQ(outcomes[tests::kNoBuildItems], Outcome::not_built);
  EXPECT_EQ(outcomes[tests::kHangingItems], Outcome::hung);
  EXPECT_NE(outcomes[tests::kLaunchesNothingItems], Outcome::measured);
  EXPECT_NE(outcomes[tests::kCrashingItems], Outcome::measured);
  ASSERT_NE(report.best(), nullptr);
  EXPECT_LT(report.best()->configuration.at("items"), 100);
}

TEST_P(Toy, AStopEndsTheWorkerAtOnce) {
  std::stop_source stop;
  const auto evaluator = worker(stop.get_token());
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop.request_stop();
  });
  const auto result = evaluator->evaluate({.configuration = items(tests::kHangingItems)});
  EXPECT_EQ(result.outcome, Outcome::interrupted);
}

INSTANTIATE_TEST_SUITE_P(Devices, Toy, testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

TEST(Worker, ThatDoesNotStartIsAnError) {
  const auto none = jit::make_process_evaluator({"/nowhere/tautline"}, {}, {}, {});
  EXPECT_THROW(none->evaluate({.configuration = items(1)}), core::Error);
  const auto ends =
      jit::make_process_evaluator({"/bin/sh", "-c", "echo no luck >&2; exit 3"}, {}, {}, {});
  const core::Error error = tests::error_of([&] { ends->evaluate({.configuration = items(1)}); });
  EXPECT_NE(std::string(error.what()).find("status 3: no luck"), std::string::npos) << error.what();
  const auto silent =
      jit::make_process_evaluator(command("NeverReady"), {}, {.prepare_s = 0.3}, {});
  EXPECT_THROW(silent->evaluate({.configuration = items(1)}), core::Error);
}

}  // namespace

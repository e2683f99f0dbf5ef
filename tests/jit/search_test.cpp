// Strategies and the search, on candidates whose times are made up.
#include "tautline/jit/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "tautline/jit/strategy.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using jit::Configuration;
using jit::Outcome;
using jit::Result;
using jit::Space;
using jit::StrategyKind;

// Seven parameters of five values: 78,125 combinations, of which the constraint takes some away.
Space large() {
  std::vector<jit::Parameter> parameters;
  for (char name = 'a'; name < 'h'; ++name)
    parameters.push_back({std::string(1, name), {0, 1, 2, 3, 4}, 0, ""});
  return Space(parameters, [](const Configuration& c) { return c.at("a") + c.at("b") < 7; });
}

Space small() {
  return Space({{"x", {1, 2, 3, 4, 5}, 1, ""}, {"y", {1, 2, 3, 4}, 1, ""}},
               [](const Configuration& c) { return c.at("x") != 3 || c.at("y") != 3; });
}

// One smooth valley with its floor at 3, 1, 3, 1, ...
double valley(const Configuration& c) {
  double seconds = 1;
  for (const auto& [name, value] : c) {
    const double miss = static_cast<double>(value - (name[0] % 2 == 1 ? 3 : 1));
    seconds += miss * miss;
  }
  return seconds;
}

// Times by a function; remembers what it was asked.
class ScriptedEvaluator final : public jit::Evaluator {
 public:
  explicit ScriptedEvaluator(std::function<double(const Configuration&)> time)
      : time_(std::move(time)) {}

  void expect(std::span<const Configuration> next) override {
    most_ahead = std::max(most_ahead, next.size());
  }
  Result evaluate(const jit::Request& request) override {
    asked.push_back(request);
    for (const auto& [configuration, outcome] : traps)
      if (configuration == request.configuration && (request.check || !only_checks))
        return {request.configuration, outcome, "trap", 0, 0, 0};
    if (on_evaluate) on_evaluate();
    return {request.configuration, Outcome::measured, {}, time_(request.configuration), 0.01, 7};
  }

  std::vector<jit::Request> asked;
  std::map<Configuration, Outcome> traps;
  bool only_checks = false;
  std::size_t most_ahead = 0;
  std::function<void()> on_evaluate;

 private:
  std::function<double(const Configuration&)> time_;
};

std::vector<Configuration> proposals(StrategyKind kind, const Space& space, std::uint64_t seed,
                                     std::size_t most = 1000) {
  const auto strategy = jit::make_strategy(kind, space, seed);
  std::vector<Configuration> list;
  while (list.size() < most) {
    const auto next = strategy->next(3);
    if (next.empty()) break;
    list.push_back(next[0]);
    strategy->tell({next[0], Outcome::measured, {}, valley(next[0]), 0, 1});
  }
  return list;
}

class EveryStrategy : public testing::TestWithParam<StrategyKind> {};

TEST_P(EveryStrategy, ProposesEachLegalConfigurationOnce) {
  const Space space = small();
  const auto list = proposals(GetParam(), space, tests::generator()());
  EXPECT_EQ(std::set<Configuration>(list.begin(), list.end()).size(), list.size());
  EXPECT_EQ(list.size(), 19u);
  EXPECT_EQ(jit::count_legal(space), 19u);
  for (const Configuration& c : list) EXPECT_TRUE(space.legal(c));
}

TEST_P(EveryStrategy, RepeatsWithItsSeed) {
  const Space space = large();
  EXPECT_EQ(proposals(GetParam(), space, 7, 200), proposals(GetParam(), space, 7, 200));
  if (GetParam() != StrategyKind::exhaustive) {
    EXPECT_NE(proposals(GetParam(), space, 7, 200), proposals(GetParam(), space, 8, 200));
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy,
                         testing::Values(StrategyKind::exhaustive, StrategyKind::random,
                                         StrategyKind::guided),
                         [](const auto& info) { return std::string(jit::to_string(info.param)); });

TEST(Strategies, RandomDrawsFromSpacesTooLargeToList) {
  std::vector<jit::Parameter> parameters;
  for (char name = 'a'; name < 'u'; ++name)
    parameters.push_back({std::string(1, name), {0, 1, 2, 3, 4, 5, 6, 7}, 0, ""});
  const Space space(parameters);
  const auto list = proposals(StrategyKind::random, space, 3, 500);
  EXPECT_EQ(std::set<Configuration>(list.begin(), list.end()).size(), 500u);
  EXPECT_EQ(jit::count_legal(space), 0u);
}

// Of 70,000 configurations a walk needs a few hundred to find the one best.
TEST(Strategies, GuidedFindsTheFloorOfAValley) {
  const Space space = large();
  for (int round = 0; round < 5; ++round) {
    const auto list = proposals(StrategyKind::guided, space, tests::generator()(), 400);
    double best = valley(list[0]);
    for (const Configuration& c : list) best = std::min(best, valley(c));
    EXPECT_EQ(best, 1);
  }
}

TEST(Strategies, GuidedLeavesALocalMinimum) {
  // Two basins: the default's, and a deeper one that no single change leads to.
  const Space space =
      Space({{"x", {0, 1, 2, 3, 4, 5, 6, 7}, 0, ""}, {"y", {0, 1, 2, 3, 4, 5, 6, 7}, 0, ""}});
  const auto time = [](const Configuration& c) {
    const auto x = c.at("x"), y = c.at("y");
    if (x == 6 && y == 5) return 0.5;
    return x == 0 && y == 0 ? 1.0 : 2.0;
  };
  const auto strategy = jit::make_strategy(StrategyKind::guided, space, tests::generator()());
  bool found = false;
  for (int step = 0; step < 64 && !found; ++step) {
    const Configuration c = strategy->next(1).at(0);
    found = time(c) == 0.5;
    strategy->tell({c, Outcome::measured, {}, time(c), 0, 1});
  }
  EXPECT_TRUE(found);
}

TEST(Search, StartsWithTheDefaultAndEndsWithTheBest) {
  const Space space = small();
  ScriptedEvaluator evaluator(
      [](const Configuration& c) { return 1.0 / static_cast<double>(c.at("x") * c.at("y")); });
  const auto report =
      jit::search(space, evaluator, {.strategy = StrategyKind::exhaustive, .ahead = 2});
  EXPECT_EQ(evaluator.asked.front().configuration, space.default_configuration());
  EXPECT_EQ(evaluator.most_ahead, 2u);
  EXPECT_TRUE(report.whole_space);
  EXPECT_FALSE(report.stopped);
  EXPECT_EQ(report.results.size(), 19u);
  EXPECT_EQ(report.legal, 19u);
  ASSERT_NE(report.best(), nullptr);
  EXPECT_EQ(report.best()->configuration, (Configuration{{"x", 5}, {"y", 4}}));
  // Five, and the default.
  EXPECT_EQ(report.finalists.size(), 6u);
  ASSERT_TRUE(report.default_result);
  EXPECT_EQ(report.default_result->seconds, 1.0);
  for (const Result& finalist : report.finalists) EXPECT_EQ(finalist.samples, 9u);
}

// The first time is the fastest by luck; the rounds tell.
TEST(Search, TimesTheBestFewAgainInTurn) {
  const Space space = small();
  const Configuration lucky{{"x", 2}, {"y", 2}}, better{{"x", 4}, {"y", 3}};
  std::map<Configuration, int> calls;
  ScriptedEvaluator evaluator([&](const Configuration& c) {
    const bool first = calls[c]++ == 0;
    if (c == lucky) return first ? 0.1 : 0.9;
    return c == better ? 0.5 : 2.0;
  });
  const auto report = jit::search(space, evaluator, {.strategy = StrategyKind::random, .seed = 4});
  EXPECT_EQ(report.best()->configuration, better);
  EXPECT_EQ(report.best()->seconds, 0.5);
  // In turn: no candidate twice in a row among the requests that only time.
  for (std::size_t k = 1; k < evaluator.asked.size(); ++k)
    if (!evaluator.asked[k].check) {
      EXPECT_NE(evaluator.asked[k].configuration, evaluator.asked[k - 1].configuration);
    }
}

TEST(Search, DropsAndNamesWhatFails) {
  const Space space = small();
  ScriptedEvaluator evaluator(
      [](const Configuration& c) { return 1.0 / static_cast<double>(c.at("x") * c.at("y")); });
  const std::vector<Outcome> outcomes{Outcome::not_built, Outcome::not_run, Outcome::wrong,
                                      Outcome::hung, Outcome::died};
  std::int64_t x = 1;
  for (const Outcome outcome : outcomes) evaluator.traps[{{"x", x++}, {"y", 4}}] = outcome;
  const auto report = jit::search(space, evaluator, {.strategy = StrategyKind::exhaustive});
  std::map<Outcome, int> seen;
  for (const Result& result : report.results) ++seen[result.outcome];
  for (const Outcome outcome : outcomes) EXPECT_EQ(seen[outcome], 1) << jit::to_string(outcome);
  EXPECT_EQ(report.best()->configuration, (Configuration{{"x", 5}, {"y", 3 - (0)}}));
}

TEST(Search, ChecksTheWinnerOnceMore) {
  const Space space = small();
  ScriptedEvaluator evaluator(
      [](const Configuration& c) { return 1.0 / static_cast<double>(c.at("x") * c.at("y")); });
  const Configuration racy{{"x", 5}, {"y", 4}};
  std::size_t checks = 0;
  evaluator.on_evaluate = [&] {
    if (evaluator.asked.back().configuration == racy && evaluator.asked.back().check &&
        checks++ == 0) {
      evaluator.traps[racy] = Outcome::wrong;
      evaluator.only_checks = true;
    }
  };
  std::vector<Result> heard;
  const auto report = jit::search(space, evaluator,
                                  {.strategy = StrategyKind::exhaustive,
                                   .on_result = [&](const Result& r) { heard.push_back(r); }});
  EXPECT_NE(report.best()->configuration, racy);
  EXPECT_EQ(heard.back().outcome, Outcome::wrong);
  EXPECT_EQ(heard.back().configuration, racy);
  EXPECT_NE(heard.back().reason.find("final rounds"), std::string::npos);
}

class GoingOn : public testing::TestWithParam<StrategyKind> {};

TEST_P(GoingOn, TriesNothingTwice) {
  const Space space = large();
  const std::uint64_t seed = tests::generator()();
  // Runs until `count` more candidates were tried.
  const auto run = [&](std::size_t count, const std::vector<Result>& known,
                       std::vector<Result>& log) {
    ScriptedEvaluator evaluator(valley);
    std::stop_source stop;
    evaluator.on_evaluate = [&] {
      if (evaluator.asked.size() == count) stop.request_stop();
    };
    jit::TuningSearchOptions options{.strategy = GetParam(), .seed = seed, .known = known};
    options.on_result = [&](const Result& r) { log.push_back(r); };
    options.stop = stop.get_token();
    return jit::search(space, evaluator, options);
  };
  std::vector<Result> log;
  const auto stopped = run(60, {}, log);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.best(), nullptr);
  ASSERT_EQ(log.size(), 60u);
  const auto known = log;
  const auto going_on = run(40, known, log);
  EXPECT_EQ(going_on.known, 60u);
  EXPECT_EQ(going_on.results.size(), 100u);
  ASSERT_EQ(log.size(), 100u);
  std::set<Configuration> tried;
  for (const Result& result : log) tried.insert(result.configuration);
  EXPECT_EQ(tried.size(), 100u);
  if (GetParam() == StrategyKind::guided) return;  // it goes on from the best of all that it knows
  std::vector<Result> whole;
  run(100, {}, whole);
  for (std::size_t k = 0; k < 100; ++k)
    EXPECT_EQ(whole[k].configuration, log[k].configuration) << k;
}

INSTANTIATE_TEST_SUITE_P(Strategies, GoingOn,
                         testing::Values(StrategyKind::exhaustive, StrategyKind::random,
                                         StrategyKind::guided),
                         [](const auto& info) { return std::string(jit::to_string(info.param)); });

TEST(Search, TakesTheLastOfSeveralKnownResults) {
  const Space space = small();
  ScriptedEvaluator evaluator(
      [](const Configuration& c) { return static_cast<double>(c.at("x") + c.at("y")); });
  const Configuration racy{{"x", 2}, {"y", 2}}, gone{{"x", 3}, {"y", 3}};
  const std::vector<Result> known{{racy, Outcome::measured, {}, 0.1, 0, 7},
                                  {gone, Outcome::measured, {}, 0.1, 0, 7},  // illegal by now
                                  {racy, Outcome::wrong, "in the final rounds: differs", 0, 0, 0}};
  const auto report =
      jit::search(space, evaluator, {.strategy = StrategyKind::exhaustive, .known = known});
  EXPECT_EQ(report.known, 1u);
  EXPECT_EQ(report.results.size(), 19u);
  for (const Result& finalist : report.finalists) EXPECT_NE(finalist.configuration, racy);
  EXPECT_EQ(report.best()->configuration, space.default_configuration());
}

TEST(Search, KeepsToItsBudget) {
  const Space space = large();
  ScriptedEvaluator evaluator(valley);
  // At least 40 ms each, more on a busy machine: 50 at most in the two seconds.
  evaluator.on_evaluate = [] { std::this_thread::sleep_for(std::chrono::milliseconds(40)); };
  const auto report =
      jit::search(space, evaluator,
                  {.strategy = StrategyKind::random, .budget_s = 2, .finalists = 1, .rounds = 3});
  EXPECT_FALSE(report.whole_space);
  EXPECT_GT(report.results.size(), 3u);
  EXPECT_LE(report.results.size(), 51u);
}

// The same for every problem, as a comparison of problems needs.
TEST(Search, EndsAfterSoManyCandidatesWhichTheSeedDecides) {
  std::vector<std::set<Configuration>> tried;
  for (const double slowness : {1.0, 100.0}) {
    ScriptedEvaluator pretender([&](const Configuration& c) { return slowness * valley(c); });
    const Space space = large();
    jit::TuningSearchOptions options;
    options.strategy = StrategyKind::random;
    options.seed = 5;
    options.most_candidates = 12;
    const auto report = jit::search(space, pretender, options);
    EXPECT_EQ(report.results.size(), 12u);
    EXPECT_FALSE(report.whole_space);
    EXPECT_NE(report.best(), nullptr);
    tried.emplace_back();
    for (const Result& result : report.results) tried.back().insert(result.configuration);
  }
  EXPECT_EQ(tried[0], tried[1]);
}

TEST(Search, SaysSoWhenNothingRuns) {
  const Space space = Space({{"x", {1, 2}, 1, ""}});
  ScriptedEvaluator evaluator([](const Configuration&) { return 1.0; });
  evaluator.traps[{{"x", 1}}] = Outcome::wrong;
  evaluator.traps[{{"x", 2}}] = Outcome::hung;
  const auto report = jit::search(space, evaluator, {.strategy = StrategyKind::guided});
  EXPECT_EQ(report.best(), nullptr);
  ASSERT_TRUE(report.default_result);
  EXPECT_EQ(report.default_result->outcome, Outcome::wrong);
  EXPECT_TRUE(report.whole_space);
}

}  // namespace

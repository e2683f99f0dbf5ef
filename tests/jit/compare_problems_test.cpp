// Several tuned problems beside each other: no fixed configuration beats what tuning chose.
#include "tautline/jit/compare_problems.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "tautline/jit/tuning_sweep.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using jit::Configuration;
using jit::Outcome;
using jit::Result;
using jit::TunedProblem;

jit::Space space() {
  return jit::Space({{"x", {1, 2, 3, 4, 5, 6}, 1, ""}, {"y", {1, 2, 3, 4, 5}, 1, ""}},
                    [](const Configuration& c) { return c.at("x") + c.at("y") < 11; });
}

// Times by a table, each timing longer than it by up to `noise`; what is in `broken` fails.
class Pretender final : public jit::Evaluator {
 public:
  Pretender(std::function<double(const Configuration&)> time, double noise, std::mt19937_64& random)
      : time_(std::move(time)), noise_(noise), random_(random) {}

  void expect(std::span<const Configuration>) override {}
  Result evaluate(const jit::Request& request) override {
    ++asked;
    if (request.configuration == broken && !request.time)
      return {broken, Outcome::wrong, "differs", 0, 0, 0};
    const double factor = 1 + std::uniform_real_distribution<double>(0, noise_)(random_);
    return {request.configuration,
            Outcome::measured,
            {},
            time_(request.configuration) * factor,
            0.01,
            7};
  }

  static inline thread_local std::size_t asked = 0;
  Configuration broken;

 private:
  std::function<double(const Configuration&)> time_;
  double noise_;
  std::mt19937_64& random_;
};

TunedProblem named(const std::string& name) {
  return {name,
          {"cuda", "Fake", "580", "nvrtc", "abc", "toy", "ci8", {{"size", 4}}},
          space(),
          100,
          "useful operations/s",
          jit::StrategyKind::random,
          9,
          60,
          {}};
}

Result measured(std::int64_t x, double seconds) {
  return {{{"x", x}, {"y", 1}}, Outcome::measured, {}, seconds, 0.01, 7};
}

void expect_never_slower(std::span<const TunedProblem> problems) {
  auto groups = jit::swept_together(problems);
  groups.emplace_back();
  for (std::size_t p = 0; p < problems.size(); ++p) groups.back().push_back(p);
  for (const auto& group : groups) {
    std::vector<const TunedProblem*> members;
    for (const std::size_t p : group) members.push_back(&problems[p]);
    const auto fixed = jit::best_fixed(members);
    ASSERT_TRUE(fixed);
    for (const double fraction : fixed->fractions) EXPECT_LE(fraction, 1);
  }
}

TEST(Compare, AFixedConfigurationThatIsFasterBecomesTheWinner) {
  auto random = tests::generator();
  // x = 2 is best in both, but had a slow moment in the first.
  std::vector<TunedProblem> problems{named("a"), named("b")};
  problems[0].report.results = {measured(1, 1), measured(2, 1.1), measured(3, 3)};
  problems[0].report.finalists = {measured(1, 1)};
  problems[1].report.results = {measured(2, 1)};
  problems[1].report.finalists = {measured(2, 1)};
  const auto time = [](const Configuration& c) {
    return c.at("x") == 2 ? 0.5 : static_cast<double>(c.at("x"));
  };
  jit::compare_problems(
      problems, [&](const TunedProblem&) { return std::make_unique<Pretender>(time, 0, random); },
      {});
  EXPECT_EQ(problems[0].report.best()->configuration, measured(2, 0).configuration);
  EXPECT_EQ(problems[0].report.best()->seconds, 0.5);
  // The first problem's winner and the default, which is the same, were measured in the second.
  EXPECT_EQ(problems[1].report.results.size(), 2u);
  expect_never_slower(problems);
}

TEST(Compare, WhatFailsInTheRepeatedRoundsIsOut) {
  auto random = tests::generator();
  std::vector<TunedProblem> problems{named("a"), named("b")};
  problems[0].report.results = {measured(1, 1), measured(2, 0.9)};
  problems[0].report.finalists = {measured(1, 1)};
  problems[1].report.results = {measured(1, 2), measured(2, 1)};
  problems[1].report.finalists = {measured(2, 1), measured(1, 2)};
  jit::compare_problems(problems,
                        [&](const TunedProblem&) {
                          auto evaluator = std::make_unique<Pretender>(
                              [](const Configuration&) { return 1.0; }, 0, random);
                          evaluator->broken = measured(2, 0).configuration;
                          return evaluator;
                        },
                        {});
  EXPECT_EQ(problems[0].report.best()->configuration, measured(1, 0).configuration);
  EXPECT_EQ(problems[0].report.results[1].outcome, Outcome::wrong);
  expect_never_slower(problems);
}

// Short searches of noisy candidates, in two sweeps and beside them.
TEST(Compare, NoFixedConfigurationIsFasterThanWhatWasChosen) {
  auto random = tests::generator();
  for (int round = 0; round < 20; ++round) {
    std::map<std::string, double> place;
    std::vector<TunedProblem> problems;
    for (const char* name : {"p,n=2", "p,n=4", "q,n=8", "p,n=8", "q,n=2", "alone"}) {
      problems.push_back(named(name));
      place[name] = std::uniform_real_distribution<double>(1, 6)(random);
    }
    const auto make = [&](const TunedProblem& problem) {
      const double best = place[problem.name];
      const auto time = [best](const Configuration& c) {
        return 1 + 0.05 * std::fabs(static_cast<double>(c.at("x")) - best) +
               0.02 * static_cast<double>(c.at("y"));
      };
      return std::make_unique<Pretender>(time, 0.3, random);
    };
    for (TunedProblem& problem : problems) {
      jit::TuningSearchOptions options;
      options.strategy = jit::StrategyKind::random;
      options.seed = random();
      options.most_candidates = 12;
      options.finalists = 2;
      problem.report = jit::search(problem.space, *make(problem), options);
    }
    jit::compare_problems(problems, make, {});
    expect_never_slower(problems);
  }
}

TEST(Compare, StopsWhenAsked) {
  auto random = tests::generator();
  std::stop_source stop;
  stop.request_stop();
  jit::TunerOptions options;
  options.stop = stop.get_token();
  std::vector<TunedProblem> problems{named("a"), named("b")};
  problems[0].report.finalists = problems[0].report.results = {measured(1, 1)};
  problems[1].report.finalists = problems[1].report.results = {measured(2, 1)};
  Pretender::asked = 0;
  jit::compare_problems(
      problems,
      [&](const TunedProblem&) {
        return std::make_unique<Pretender>([](const Configuration&) { return 1.0; }, 0, random);
      },
      options);
  EXPECT_EQ(Pretender::asked, 0u);
}

}  // namespace

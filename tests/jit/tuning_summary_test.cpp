// The report of a tuning run: its figures, its JSON, its page.
#include "tautline/jit/tuning_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tautline/jit/tuning_figures.h"
#include "tautline/jit/tuning_sweep.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using jit::Configuration;
using jit::Outcome;
using jit::Result;
using jit::TunedProblem;

Result measured_result(std::int64_t x, double seconds) {
  return {{{"x", x}}, Outcome::measured, {}, seconds, 0.01, 7};
}

TunedProblem problem(const std::string& name, std::vector<Result> results) {
  TunedProblem p{name,
                 {"cuda", "Fake <1>", "580", "nvrtc", "abc", "toy", "ci8", {{"size", 4}}},
                 jit::Space({{"x", {1, 2, 3, 4, 5}, 1, "what & why"}}),
                 100,
                 "useful operations/s",
                 jit::StrategyKind::random,
                 9,
                 60,
                 {}};
  p.report.results = std::move(results);
  for (const Result& r : p.report.results) {
    if (r.configuration.at("x") == 1) p.report.default_result = r;
    if (r.outcome != Outcome::measured) continue;
    auto& f = p.report.finalists;
    f.insert(
        std::find_if(f.begin(), f.end(), [&](const Result& o) { return o.seconds > r.seconds; }),
        r);
  }
  return p;
}

TEST(Summary, FiguresAreThoseOfTheRates) {
  // Rates 100, 50, 25, 25.
  const auto p = problem("one", {measured_result(1, 2),
                                 measured_result(2, 1),
                                 measured_result(3, 4),
                                 measured_result(4, 4),
                                 {{{"x", 5}}, Outcome::wrong, "differs", 0, 0, 0}});
  const auto d = jit::distribution(p);
  EXPECT_EQ(d.count, 4u);
  EXPECT_DOUBLE_EQ(d.mean, 50);
  EXPECT_NEAR(d.deviation, std::sqrt((2500 + 0 + 625 + 625) / 3.0), 1e-12);
  EXPECT_NEAR(d.optimum_sigmas, 50 / d.deviation, 1e-12);
  EXPECT_EQ(d.least, 25);
  EXPECT_EQ(d.most, 100);
  EXPECT_EQ(d.bins.size(), 40u);
  EXPECT_EQ(d.bins.back(), 1u);
  EXPECT_EQ(d.bins[10], 2u);
  EXPECT_DOUBLE_EQ(jit::gain_over_default(p), 2);
}

TEST(Summary, BinsHoldEveryCandidateOnce) {
  auto random = tests::generator();
  std::lognormal_distribution<double> time(0, 2);
  for (const std::size_t count : {1u, 2u, 7u, 500u}) {
    std::vector<Result> results;
    for (std::size_t k = 0; k < count; ++k)
      results.push_back(measured_result(static_cast<std::int64_t>(k), time(random)));
    const auto d = jit::distribution(problem("many", results));
    std::size_t total = 0;
    for (const std::size_t bin : d.bins) total += bin;
    EXPECT_EQ(total, count);
    EXPECT_TRUE(std::isfinite(d.optimum_sigmas));
  }
  EXPECT_EQ(jit::distribution(problem("none", {})).count, 0u);
}

TEST(Summary, TheBestFixedConfigurationIsBestOverAllProblems) {
  // 1 wins the first, 2 the second, 3 is near both; 4 was measured in one alone.
  const std::vector<TunedProblem> problems{
      problem("a", {measured_result(1, 1), measured_result(2, 4), measured_result(3, 1.25),
                    measured_result(4, 1)}),
      problem("b", {measured_result(1, 5), measured_result(2, 1), measured_result(3, 1.25)})};
  const auto fixed = jit::best_fixed(problems);
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->configuration, (Configuration{{"x", 3}}));
  ASSERT_EQ(fixed->fractions.size(), 2u);
  EXPECT_DOUBLE_EQ(fixed->fractions[0], 0.8);
  EXPECT_DOUBLE_EQ(fixed->fractions[1], 0.8);
  const std::vector<TunedProblem> strangers{problem("a", {measured_result(1, 1)}),
                                            problem("b", {measured_result(2, 1)})};
  EXPECT_FALSE(jit::best_fixed(strangers));
}

TEST(Summary, TheJsonSaysEverything) {
  const std::vector<TunedProblem> problems{
      problem("a", {measured_result(1, 2),
                    measured_result(2, 1),
                    {{{"x", 5}}, Outcome::hung, "still running", 0, 0, 0}}),
      problem("b", {measured_result(1, 1), measured_result(2, 1.5)})};
  const auto json = nlohmann::json::parse(jit::report_json(problems));
  EXPECT_EQ(json["schema"], "tautline.tuning");
  EXPECT_EQ(json["version"], 1);
  ASSERT_EQ(json["problems"].size(), 2u);
  const auto& a = json["problems"][0];
  EXPECT_EQ(a["best"]["configuration"]["x"], 2);
  EXPECT_EQ(a["gain_over_default"], 2);
  EXPECT_EQ(a["results"].size(), 3u);
  EXPECT_EQ(a["results"][2]["outcome"], "hung");
  EXPECT_EQ(a["results"][2]["reason"], "still running");
  EXPECT_EQ(a["distribution"]["sample"], "random sample");
  EXPECT_EQ(json["best_fixed"]["gain_of_tuning"].size(), 2u);
}

TEST(Summary, ThePageStandsAloneAndEscapesWhatItShows) {
  std::vector<Result> results{
      measured_result(1, 2),
      measured_result(2, 1),
      {{{"x", 5}}, Outcome::not_built, "error: <bad> & \"worse\"", 0, 0, 0}};
  const std::vector<TunedProblem> problems{problem("a", results), problem("b", results)};
  const std::string page = jit::report_page(problems);
  EXPECT_NE(page.find("error: &lt;bad&gt; &amp; &quot;worse&quot;"), std::string::npos);
  EXPECT_NE(page.find("Fake &lt;1&gt;"), std::string::npos);
  EXPECT_NE(page.find("What tuning is worth"), std::string::npos);
  for (const char* outside :
       {"http:", "https:", "src=", "href=", "@import", "url(", "nan", "inf\""})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  // Nothing ran, or nothing was tried.
  EXPECT_FALSE(jit::report_page(std::vector{problem("none", {})}).empty());
  EXPECT_FALSE(jit::report_page(std::vector{problem("broken", {results[2]})}).empty());
  EXPECT_FALSE(jit::report_page({}).empty());
}

TEST(Figures, RoundToThreeDigitsWithAPrefix) {
  EXPECT_EQ(jit::figures::with_prefix(0), "0");
  EXPECT_EQ(jit::figures::with_prefix(0.4213), "0.421");
  EXPECT_EQ(jit::figures::with_prefix(999.4), "999");
  EXPECT_EQ(jit::figures::with_prefix(999.7), "1 k");
  EXPECT_EQ(jit::figures::with_prefix(12.345e12), "12.3 T");
}

TEST(Sweep, PointsAreInOrderOfSizeWithTheBestFixedConfigurationOfTheirProblem) {
  // x = 2 is never far from the best; 1 and 3 are best once.
  const std::vector<TunedProblem> problems{
      problem("toy,n=16", {measured_result(1, 4), measured_result(2, 1.25), measured_result(3, 1)}),
      problem("toy,n=4", {measured_result(1, 1), measured_result(2, 1.25), measured_result(3, 4)}),
      problem("other,n=4", {measured_result(1, 1)}),
      problem("toy", {measured_result(1, 1)}),
  };
  const auto sweeps = jit::sweeps_of(problems);
  ASSERT_EQ(sweeps.size(), 1u);  // one size alone is no sweep
  const jit::Sweep& sweep = sweeps[0];
  EXPECT_EQ(sweep.problem, "toy");
  EXPECT_EQ(sweep.key, "n");
  EXPECT_EQ(sweep.fixed, (Configuration{{"x", 2}}));
  ASSERT_EQ(sweep.points.size(), 2u);
  EXPECT_EQ(sweep.points[0].value, 4u);
  EXPECT_EQ(sweep.points[1].value, 16u);
  for (const jit::SweepPoint& point : sweep.points) {
    EXPECT_DOUBLE_EQ(point.tuned, 100);
    EXPECT_NEAR(point.gain_over_fixed(), 1.25, 1e-12);
    EXPECT_EQ(point.candidates, 3u);
  }
  EXPECT_DOUBLE_EQ(sweep.points[0].default_rate, 100);
  EXPECT_DOUBLE_EQ(sweep.points[1].default_rate, 25);
  EXPECT_NEAR(sweep.points[0].optimum_sigmas, jit::distribution(problems[1]).optimum_sigmas, 1e-12);

  const auto report = nlohmann::json::parse(jit::report_json(problems));
  EXPECT_EQ(report["sweeps"][0]["points"][1]["value"], 16);
  EXPECT_EQ(report["sweeps"][0]["best_fixed"]["x"], 2);
  const std::string page = jit::report_page(problems);
  EXPECT_NE(page.find("toy: speed-up over the best fixed configuration"), std::string::npos);
  EXPECT_EQ(jit::swept_name("toy", "n", 16), "toy,n=16");
}

TEST(Sweep, WhatNothingRanAtHasNoRate) {
  const std::vector<TunedProblem> problems{
      problem("toy,n=4", {measured_result(1, 1)}),
      problem("toy,n=8", {{{{"x", 1}}, Outcome::hung, "hung", 0, 0, 0}}),
  };
  const auto sweeps = jit::sweeps_of(problems);
  ASSERT_EQ(sweeps.size(), 1u);
  EXPECT_EQ(sweeps[0].points[1].tuned, 0);
  EXPECT_EQ(sweeps[0].points[1].gain_over_fixed(), 0);
  EXPECT_FALSE(sweeps[0].fixed);
  EXPECT_NE(jit::report_page(problems).find("<h2>toy against n"), std::string::npos);
}

}  // namespace

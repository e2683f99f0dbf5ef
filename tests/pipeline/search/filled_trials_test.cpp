// What of each trial is filled, against a sum over all its values.
#include "tautline/pipeline/search/filled_trials.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "tautline/device/device.h"
#include "tautline/pipeline/filled_values.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

struct FilledBand {
  std::size_t channels = 0;
  std::shared_ptr<FilledValues> values;
  TrialStream stream;
  std::vector<std::vector<bool>> lost;  // [channel][sample]
};

constexpr std::size_t kFilledTimes = 6000;  // of a series, before they are added up
constexpr std::uint64_t kGridFirst = 300;   // sample of the grid that is the first of the series

FilledBand make_band(std::size_t downsample, std::mt19937_64& random) {
  FilledBand band;
  band.channels = 3 + random() % 100;
  stages::dedisperse::Config config;
  for (std::size_t c = 0; c < band.channels; ++c)
    config.frequencies_mhz.push_back(1500 - 300.0 * static_cast<double>(c) /
                                                static_cast<double>(band.channels));
  config.sample_time_s = 1e-3;
  config.dms = {0, 37.5, 400, 12, 900};
  config.downsample = downsample;
  config.ignored_channels = {random() % band.channels};
  config.max_samples = 512;
  band.values = std::make_shared<FilledValues>(band.channels);
  auto filterbank = std::make_shared<FilterbankStream>();
  filterbank->filled = {band.values};
  band.stream.filterbank = filterbank;
  band.stream.plan = make_plan(config, device::open(device::parse_selection("cpu")));
  band.stream.dms = config.dms;
  band.stream.downsample = downsample;
  band.stream.description.tsamp_s = config.sample_time_s;
  const std::size_t samples =
      kGridFirst + kFilledTimes + (band.stream.plan->max_delay() + 1) * downsample;
  band.lost.assign(band.channels, std::vector<bool>(samples, false));
  std::vector<FilledRun> runs;
  for (int k = 0; k < 12; ++k) {
    FilledRun run;
    run.first = random() % samples;
    run.end = std::min<std::uint64_t>(samples, run.first + 1 + random() % 90);
    if (random() % 2 == 0) run.channel = random() % band.channels;
    for (std::size_t c = 0; c < band.channels; ++c)
      if (run.channel == FilledRun::kAllChannels || run.channel == c)
        for (std::uint64_t t = run.first; t < run.end; ++t) band.lost[c][t] = true;
    runs.push_back(run);
  }
  band.values->add(runs);
  return band;
}

double expected_fraction(const FilledBand& band, std::size_t trial, std::size_t first,
                         std::size_t samples) {
  const auto& ignored = band.stream.plan->config().ignored_channels;
  double lost = 0, values = 0;
  for (std::size_t c = 0; c < band.channels; ++c) {
    if (c == ignored.front()) continue;
    const auto delay = static_cast<std::size_t>(band.stream.plan->delay(trial, c));
    for (std::size_t t = 0; t < samples * band.stream.downsample; ++t) {
      lost += band.lost[c][kGridFirst + (first + delay) * band.stream.downsample + t];
      ++values;
    }
  }
  return lost / values;
}

TEST(FilledTrials, AreThoseThatALossTouchesAndNoOthers) {
  auto random = tests::generator();
  for (const std::size_t downsample : {1, 2, 4}) {
    const FilledBand band = make_band(downsample, random);
    FilledTrials filled(band.stream);
    const std::size_t times = kFilledTimes / downsample - random() % 50;
    for (std::size_t done = 0; done < times;) {
      const std::size_t some = std::min<std::size_t>(times - done, 1 + random() % 700);
      filled.add(kGridFirst + done * downsample, some);
      done += some;
    }
    const auto record = filled.record();
    const auto step_samples = record.at("step_samples").get<std::size_t>();
    EXPECT_EQ(step_samples, 100 / downsample);  // 0.1 s
    std::map<std::size_t, nlohmann::json> steps;
    for (const auto& step : record.at("steps"))
      steps[step.at("step").get<std::size_t>()] = step.at("fraction");
    std::size_t touched = 0;
    for (std::size_t step = 0; step * step_samples < times; ++step)
      for (std::size_t trial = 0; trial < band.stream.dms.size(); ++trial) {
        const std::size_t first = step * step_samples;
        const double expected =
            expected_fraction(band, trial, first, std::min(step_samples, times - first));
        const double given = steps.contains(step) ? steps[step].at(trial).get<double>() : 0.0;
        EXPECT_NEAR(given, expected, 6e-4 * expected) << "step " << step << " trial " << trial;
        EXPECT_EQ(given > 0, expected > 0);
        touched += expected > 0;
      }
    EXPECT_GT(touched, 0U);
    EXPECT_LE(steps.size(), (times + step_samples - 1) / step_samples);
  }
}

// Steps become longer, and the sum over all of them stays.
TEST(FilledTrials, OfLongSeriesHaveLongSteps) {
  auto random = tests::generator();
  const FilledBand band = make_band(1, random);
  FilledTrials filled(band.stream);
  const std::size_t times = 100 * FilledTrials::kMostSteps * 3;
  filled.add(kGridFirst, kFilledTimes);  // what follows is beyond all losses
  for (std::size_t done = kFilledTimes; done < times;) {
    const std::size_t some = std::min<std::size_t>(times - done, 1 + random() % 9000);
    filled.add(kGridFirst + done, some);
    done += some;
  }
  const auto record = filled.record();
  const auto step_samples = record.at("step_samples").get<std::size_t>();
  EXPECT_EQ(step_samples, 400U);
  for (std::size_t trial = 0; trial < band.stream.dms.size(); ++trial) {
    double sum = 0;
    for (const auto& step : record.at("steps"))
      sum += step.at("fraction").at(trial).get<double>() * static_cast<double>(step_samples);
    // Without the losses of which a series has the last part only.
    double expected = 0;
    for (std::size_t first = 0; first < kFilledTimes; first += 100)
      expected += 100 * expected_fraction(band, trial, first, 100);
    EXPECT_GE(sum, expected * (1 - 1e-3)) << trial;
    EXPECT_LE(sum, expected * (1 + 1e-3) + 1200) << trial;
  }
}

TEST(FilledTrials, OfAStreamThatDoesNotKnowAreNotKnown) {
  TrialStream stream;
  stream.description.tsamp_s = 1e-3;
  FilledTrials filled(stream);
  filled.add(0, 1000);
  EXPECT_TRUE(filled.record().is_null());
}

}  // namespace
}  // namespace tautline::pipeline

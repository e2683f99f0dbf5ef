// The report's digest: what it keeps of a run, and that it keeps the run's means.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "tautline/core/error.h"
#include "tautline/pipeline/report/messages.h"
#include "tautline/pipeline/report/visibility_digest.h"
#include "tests/support/seed.h"
#include "tests/support/synthetic_visibilities.h"

namespace tautline::pipeline::report {
namespace {

using tests::SyntheticVisibilities;

// Sums in double what the digest averages: per kept baseline, weighted by counts.
struct Oracle {
  std::map<std::pair<std::size_t, std::size_t>, std::complex<double>> sum;
  std::map<std::pair<std::size_t, std::size_t>, double> weight;
  std::vector<double> power, power_weight;

  void add(const SyntheticVisibilities& sky, const formats::Integration& integration) {
    power.resize(sky.inputs());
    power_weight.resize(sky.inputs());
    for (std::size_t c = 0; c < sky.channels(); ++c)
      for (std::size_t i = 0; i < sky.inputs(); ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          const std::size_t packed = core::baseline_index(i, j);
          const auto count = static_cast<double>(integration.counts(c, packed));
          const std::complex<double> value(integration.visibilities(c, packed));
          if (count == 0) continue;
          sum[{j, i}] += value * count;
          weight[{j, i}] += count;
          if (i == j) {
            power[i] += value.real() * count;
            power_weight[i] += count;
          }
        }
  }
};

// Mean over all cells of the digest, each weighted by what it holds.
std::complex<double> mean_of(const VisibilityDigest& digest, std::size_t baseline) {
  std::complex<double> sum = 0;
  double weights = 0;
  const ChannelBins& bins = digest.channel_bins();
  for (std::size_t time = 0; time < digest.times().size(); ++time)
    for (std::size_t bin = 0; bin < bins.bins; ++bin) {
      const auto members =
          static_cast<double>(std::min(bins.per_bin, bins.channels - bin * bins.per_bin));
      const double weight =
          digest.weight(time, baseline, bin) * digest.times()[time].expected * members;
      sum += weight * std::complex<double>(digest.visibility(time, baseline, bin));
      weights += weight;
    }
  return sum / weights;
}

TEST(ReportDigest, DecimationKeepsMeans) {
  auto random = tests::generator();
  std::uniform_int_distribution<std::int64_t> count(0, 10'000);
  // Channels and times that fit, that divide and that do not.
  for (const auto& [channels, integrations] :
       {std::pair<std::size_t, int>{7, 3}, {16, 8}, {37, 31}, {64, 50}}) {
    SyntheticVisibilities sky(4, channels, 100, 150e6, 1e6, random());
    DigestLimits limits;
    limits.times = 8;
    limits.channels = 16;
    VisibilityDigest digest(sky.description, limits);
    Oracle oracle;
    for (int k = 0; k < integrations; ++k) {
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t i = 0; i < sky.inputs(); ++i)
          for (std::size_t j = 0; j <= i; ++j)
            sky.count(c, i, j) = count(random) < 2000 ? 0 : count(random);
      const formats::Integration integration = sky.make(k + 0.5);
      digest.add(integration);
      oracle.add(sky, integration);
    }
    EXPECT_LE(digest.times().size(), limits.times);
    EXPECT_LE(digest.channel_bins().bins, limits.channels);
    std::int64_t held = 0;
    for (const TimeCell& cell : digest.times()) held += cell.integrations;
    EXPECT_EQ(held, integrations);
    ASSERT_FALSE(digest.choice().baselines.empty());
    for (std::size_t b = 0; b < digest.choice().baselines.size(); ++b) {
      const KeptBaseline& kept = digest.choice().baselines[b];
      const std::pair<std::size_t, std::size_t> pair{kept.first, kept.second};
      const std::complex<double> expected = oracle.sum[pair] / oracle.weight[pair];
      EXPECT_LT(std::abs(mean_of(digest, b) - expected), 1e-5 * 400)
          << kept.first << " " << kept.second;
    }
    for (std::size_t input = 0; input < sky.inputs(); ++input) {
      double sum = 0, weights = 0;
      for (std::size_t time = 0; time < digest.times().size(); ++time) {
        const double weight = digest.valid(time, input) * digest.times()[time].expected;
        sum += weight * digest.power(time, input);
        weights += weight;
      }
      EXPECT_NEAR(sum / weights, oracle.power[input] / oracle.power_weight[input], 1e-6 * 400);
    }
  }
}

TEST(ReportDigest, KeepsTheKnownSkyWithoutNoise) {
  SyntheticVisibilities sky(5, 12);
  sky.noise = false;
  VisibilityDigest digest(sky.description);
  for (int k = 0; k < 3; ++k) digest.add(sky.make(k + 0.5));
  for (std::size_t b = 0; b < digest.choice().baselines.size(); ++b) {
    const KeptBaseline& kept = digest.choice().baselines[b];
    for (std::size_t bin = 0; bin < 12; ++bin) {
      const double power =
          std::sqrt(sky.bandpass(kept.first, bin) * sky.bandpass(kept.second, bin));
      const std::complex<double> expected = power * sky.truth(kept.second, kept.first, bin, 1.5);
      EXPECT_LT(std::abs(std::complex<double>(digest.visibility(1, b, bin)) - expected),
                1e-6 * power);
    }
  }
  // arg V(b,a) + arg V(c,b) - arg V(c,a), from the sky itself.
  for (std::size_t t = 0; t < digest.choice().triangles.size(); ++t) {
    const auto [a, b, c] = digest.choice().triangles[t].inputs;
    std::complex<double> expected = 0;
    for (std::size_t channel = 0; channel < 12; ++channel)
      expected += sky.truth(b, a, channel, 0.5) * sky.truth(c, b, channel, 0.5) *
                  std::conj(sky.truth(c, a, channel, 0.5));
    EXPECT_NEAR(std::arg(digest.bispectrum(0, t) / expected), 0, 1e-5);
  }
}

TEST(ReportDigest, ChoosesShortLongStrongAndClosing) {
  SyntheticVisibilities sky(16, 8);
  DigestLimits limits;
  VisibilityDigest digest(sky.description, limits);
  digest.add(sky.make(0.5));
  const BaselineChoice& choice = digest.choice();
  EXPECT_EQ(choice.baselines.size(), limits.baselines);
  EXPECT_EQ(choice.triangles.size(), 10U);
  std::set<std::pair<std::size_t, std::size_t>> seen;
  std::map<std::string, int> reasons;
  double shortest = 1e9, longest = 0;
  for (const KeptBaseline& kept : choice.baselines) {
    EXPECT_LT(kept.first, kept.second);
    EXPECT_TRUE(seen.emplace(kept.first, kept.second).second) << "twice";
    for (const std::string& reason : kept.reasons) ++reasons[reason];
    shortest = std::min(shortest, kept.length_m);
    longest = std::max(longest, kept.length_m);
  }
  for (const char* reason : {"strongest", "shortest", "longest", "closure"})
    EXPECT_GE(reasons[reason], 5) << reason;
  const auto& array = sky.description.array;
  double true_shortest = 1e9, true_longest = 0;
  for (std::size_t p = 0; p < array.antennas.size(); ++p)
    for (std::size_t q = 0; q < p; ++q) {
      double square = 0;
      for (std::size_t axis = 0; axis < 3; ++axis)
        square += std::pow(array.antennas[p].ecef_m[axis] - array.antennas[q].ecef_m[axis], 2);
      true_shortest = std::min(true_shortest, std::sqrt(square));
      true_longest = std::max(true_longest, std::sqrt(square));
    }
  EXPECT_NEAR(shortest, true_shortest, 1e-6);
  EXPECT_NEAR(longest, true_longest, 1e-6);
  for (const Triangle& triangle : choice.triangles) {
    const auto& side = choice.baselines;
    EXPECT_EQ(side[triangle.sides[0]].first, triangle.inputs[0]);
    EXPECT_EQ(side[triangle.sides[0]].second, triangle.inputs[1]);
    EXPECT_EQ(side[triangle.sides[1]].first, triangle.inputs[1]);
    EXPECT_EQ(side[triangle.sides[1]].second, triangle.inputs[2]);
    EXPECT_EQ(side[triangle.sides[2]].first, triangle.inputs[0]);
    EXPECT_EQ(side[triangle.sides[2]].second, triangle.inputs[2]);
  }
}

// A fringe below the noise of a channel, on a baseline that is neither short nor long, and a tone in one channel of
// another.
TEST(ReportDigest, KeepsAWeakFringe) {
  const std::uint64_t seed = tests::generator()();
  SyntheticVisibilities sky(20, 512, 120, 150e6, 1.28e6, seed);
  sky.sources.clear();
  const formats::Integration first = sky.make(0.5);
  const std::size_t i = 22, j = 12;
  const double sigma = 1 / std::sqrt(static_cast<double>(sky.description.nominal_count));
  for (std::size_t c = 0; c < sky.channels(); ++c)
    sky.value(c, i, j) += std::complex<float>(
        std::polar(0.8 * sigma * std::sqrt(sky.bandpass(i, c) * sky.bandpass(j, c)),
                   0.02 * static_cast<double>(c)));
  EXPECT_NEAR(fringe_coefficient(first, i, j, 512), 0.8 * sigma, 0.3 * sigma);
  EXPECT_NEAR(fringe_coefficient(first, i, i, 512), 1, 0.1);
  sky.value(100, 30, 8) += 400;
  EXPECT_LT(fringe_coefficient(first, 30, 8, 512), 0.75 * sigma);
  DigestLimits limits;
  limits.closure_antennas = 0;
  VisibilityDigest digest(sky.description, limits);
  digest.add(first);
  const auto& kept = digest.choice().baselines;
  ASSERT_FALSE(kept.empty());
  const auto strongest = std::max_element(
      kept.begin(), kept.end(),
      [](const KeptBaseline& a, const KeptBaseline& b) { return a.strength < b.strength; });
  EXPECT_EQ(strongest->first, j);
  EXPECT_EQ(strongest->second, i);
}

// A page that a run writes sees what a flagged channel has summed; a file of the run holds none of it.
TEST(ReportDigest, FlaggedChannelsAreAsWithoutSamples) {
  auto random = tests::generator();
  const std::size_t flagged = random() % 7;
  SyntheticVisibilities sky(4, 7, 100, 150e6, 1e6, random());
  VisibilityDigest zeros(sky.description);
  formats::VisibilityDescription description = sky.description;
  description.flagged_channels = {flagged};
  VisibilityDigest digest(description);
  for (int k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < sky.inputs(); ++i)
      for (std::size_t j = 0; j <= i; ++j) sky.count(flagged, i, j) = sky.description.nominal_count;
    const formats::Integration integration = sky.make(k + 0.5);
    digest.add(integration);
    for (std::size_t i = 0; i < sky.inputs(); ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        sky.count(flagged, i, j) = 0;
        sky.value(flagged, i, j) = 0;
      }
    zeros.add(integration);
  }
  EXPECT_EQ(description_message(digest), description_message(zeros));
  EXPECT_EQ(integrations_message(digest, 0, 3), integrations_message(zeros, 0, 3));
  EXPECT_NEAR(digest.valid_fraction(), 6.0 / 7, 1e-9);
}

// An input of which the first integration has two spectra: coefficients of about 1, which say nothing.
TEST(ReportDigest, FewSpectraAreNoFringe) {
  SyntheticVisibilities sky(6, 64, 100, 150e6, 1.28e6, tests::generator()());
  sky.sources.clear();
  const std::size_t few = 4;
  const auto count_few = [&](std::int64_t count) {
    for (std::size_t c = 0; c < sky.channels(); ++c)
      for (std::size_t other = 0; other < sky.inputs(); ++other)
        sky.count(c, std::max(few, other), std::min(few, other)) = count;
  };
  count_few(2);
  const formats::Integration first = sky.make(0.5);
  for (std::size_t c = 0; c < sky.channels(); ++c)
    sky.value(c, 9, 1) += std::complex<float>(std::polar(
        0.05 * std::sqrt(sky.bandpass(9, c) * sky.bandpass(1, c)), 0.02 * static_cast<double>(c)));
  VisibilityDigest digest(sky.description);
  digest.add(first);
  count_few(sky.description.nominal_count / 2);
  digest.add(sky.make(1.5));
  const auto& kept = digest.choice().baselines;
  const auto strongest = std::max_element(
      kept.begin(), kept.end(),
      [](const KeptBaseline& a, const KeptBaseline& b) { return a.strength < b.strength; });
  EXPECT_EQ(strongest->first, 1U);
  EXPECT_EQ(strongest->second, 9U);
  for (std::size_t b = 0; b < kept.size(); ++b) {
    const bool of_few = kept[b].first == few || kept[b].second == few;
    EXPECT_EQ(digest.present(0, b, 7), !of_few);
    EXPECT_EQ(digest.fraction(0, b), of_few ? 0 : 1);
    EXPECT_TRUE(digest.present(1, b, 7));
    EXPECT_NEAR(digest.fraction(1, b), of_few ? 0.5 : 1, 1e-4);
  }
}

// After a heavy loss the first integration shows hardly anything.
TEST(ReportDigest, ChoosesByAnIntegrationThatHasData) {
  SyntheticVisibilities sky(16, 8, 120, 150e6, 1.28e6, tests::generator()());
  VisibilityDigest digest(sky.description), whole(sky.description);
  const auto count_all = [&](std::int64_t count) {
    for (std::size_t c = 0; c < sky.channels(); ++c)
      for (std::size_t i = 0; i < sky.inputs(); ++i)
        for (std::size_t j = 0; j <= i; ++j) sky.count(c, i, j) = count;
  };
  count_all(1);
  digest.add(sky.make(0.5));
  EXPECT_EQ(digest.choices(), 1U);
  const std::vector<KeptBaseline> before = digest.choice().baselines;
  std::vector<std::complex<float>> values;
  for (std::size_t b = 0; b < before.size(); ++b) values.push_back(digest.visibility(0, b, 3));
  count_all(sky.description.nominal_count);
  const formats::Integration second = sky.make(1.5);
  digest.add(second);
  whole.add(second);
  EXPECT_EQ(digest.choices(), 2U);
  const auto &is = digest.choice().baselines, &should = whole.choice().baselines;
  ASSERT_EQ(is.size(), should.size());
  std::size_t kept = 0;
  for (std::size_t b = 0; b < is.size(); ++b) {
    EXPECT_EQ(is[b].first, should[b].first);
    EXPECT_EQ(is[b].second, should[b].second);
    EXPECT_EQ(is[b].reasons, should[b].reasons);
    EXPECT_EQ(digest.visibility(1, b, 3), whole.visibility(0, b, 3));
    // What came before stays where the baseline does.
    const auto same = std::ranges::find_if(before, [&](const KeptBaseline& one) {
      return one.first == is[b].first && one.second == is[b].second;
    });
    const auto place = static_cast<std::size_t>(same - before.begin());
    kept += same != before.end() ? 1 : 0;
    EXPECT_EQ(digest.visibility(0, b, 3),
              same != before.end() ? values[place] : std::complex<float>());
  }
  EXPECT_GT(kept, 0U);
  ASSERT_EQ(digest.choice().triangles.size(), whole.choice().triangles.size());
  for (std::size_t t = 0; t < whole.choice().triangles.size(); ++t) {
    EXPECT_EQ(digest.choice().triangles[t].inputs, whole.choice().triangles[t].inputs);
    EXPECT_EQ(digest.bispectrum(1, t), whole.bispectrum(0, t));
  }
  digest.add(sky.make(2.5));
  EXPECT_EQ(digest.choices(), 2U);
}

// The end of a run cuts the last integration short.
TEST(ReportDigest, ALastIntegrationOfFewSpectraIsLeftOut) {
  SyntheticVisibilities sky(2, 4, 100, 150e6, 1.28e6, tests::generator()());
  VisibilityDigest digest(sky.description);
  digest.add(sky.make(0.5));
  constexpr std::int64_t kFew = 3;
  for (std::size_t c = 0; c < sky.channels(); ++c)
    for (std::size_t i = 0; i < sky.inputs(); ++i)
      for (std::size_t j = 0; j <= i; ++j) sky.count(c, i, j) = kFew;
  formats::Integration last = sky.make(1);
  last.integration_s =
      static_cast<double>(kFew) / static_cast<double>(sky.description.nominal_count);
  digest.add(last);
  ASSERT_EQ(digest.times().size(), 2U);
  for (std::size_t b = 0; b < digest.choice().baselines.size(); ++b) {
    EXPECT_TRUE(digest.present(0, b, 1));
    EXPECT_FALSE(digest.present(1, b, 1));
  }
  EXPECT_GT(digest.power(0, 0), 0);
  EXPECT_EQ(digest.power(1, 0), 0);
}

TEST(ReportDigest, TakesArraysOfOneAndTwoAntennas) {
  for (std::size_t antennas : {1, 2}) {
    SyntheticVisibilities sky(antennas, 4);
    VisibilityDigest digest(sky.description);
    digest.add(sky.make(0.5));
    EXPECT_EQ(digest.choice().baselines.size(), sky.inputs() * (sky.inputs() - 1) / 2);
    EXPECT_TRUE(digest.choice().triangles.empty());
    EXPECT_EQ(digest.valid_fraction(), 1);
  }
}

TEST(ReportDigest, ShowsGapsAndLosses) {
  SyntheticVisibilities sky(3, 8);
  VisibilityDigest digest(sky.description);
  for (std::size_t i = 0; i < sky.inputs(); ++i)
    for (std::size_t j = 0; j <= i; ++j) sky.count(5, i, j) = 0;
  digest.add(sky.make(0.5));
  digest.add(sky.make(10.5));
  ASSERT_EQ(digest.times().size(), 2U);
  EXPECT_DOUBLE_EQ(digest.times()[0].end_s, 1);
  EXPECT_DOUBLE_EQ(digest.times()[1].start_s, 10);
  EXPECT_DOUBLE_EQ(digest.covered_s(), 2);
  EXPECT_DOUBLE_EQ(digest.valid_fraction(), 7.0 / 8);
  EXPECT_EQ(digest.valid_spectrum(0, 5), 0);
  EXPECT_EQ(digest.valid_spectrum(0, 4), 1);
  EXPECT_EQ(digest.weight(0, 0, 5), 0);
}

// Merging leaves a gap open, and a stream of nothing but gaps is still bounded.
TEST(ReportDigest, MergesAroundGaps) {
  SyntheticVisibilities sky(2, 2);
  DigestLimits limits;
  limits.times = 8;
  VisibilityDigest digest(sky.description, limits), sparse(sky.description, limits);
  for (int k = 0; k < 40; ++k) {
    if (k < 13 || k >= 20) digest.add(sky.make(k + 0.5));
    sparse.add(sky.make(10 * k + 0.5));
  }
  double widest_s = 0, open_s = 0;
  for (std::size_t t = 0; t < digest.times().size(); ++t) {
    const TimeCell& cell = digest.times()[t];
    EXPECT_DOUBLE_EQ(cell.end_s - cell.start_s, static_cast<double>(cell.integrations));
    widest_s = std::max(widest_s, cell.end_s - cell.start_s);
    if (t > 0) open_s += cell.start_s - digest.times()[t - 1].end_s;
  }
  EXPECT_DOUBLE_EQ(open_s, 7);
  EXPECT_LE(widest_s, 8);
  EXPECT_LE(sparse.times().size(), limits.times);
  EXPECT_EQ(sparse.integrations(), 40);
}

TEST(ReportDigest, IgnoresValuesThatAreNotFinite) {
  SyntheticVisibilities sky(3, 4);
  VisibilityDigest digest(sky.description);
  const formats::Integration integration = sky.make(0.5);
  sky.value(2, 3, 3) = std::numeric_limits<float>::quiet_NaN();
  sky.value(1, 4, 0) = {0, std::numeric_limits<float>::infinity()};
  digest.add(integration);
  EXPECT_EQ(digest.values_not_finite(), 1U);  // autocorrelations are counted
  for (std::size_t b = 0; b < digest.choice().baselines.size(); ++b)
    for (std::size_t bin = 0; bin < 4; ++bin)
      EXPECT_TRUE(std::isfinite(std::abs(digest.visibility(0, b, bin))));
  EXPECT_TRUE(std::isfinite(digest.power(0, 3)));
}

// The page of a long run is as small as that of a short one.
TEST(ReportDigest, IsBounded) {
  SyntheticVisibilities sky(12, 1024);
  sky.noise = false;
  DigestLimits limits;
  VisibilityDigest digest(sky.description, limits);
  const formats::Integration integration = sky.make(0.5);
  for (int k = 0; k < 1000; ++k) {
    formats::Integration later = integration;
    later.middle.seconds += k;
    digest.add(later);
  }
  EXPECT_EQ(digest.integrations(), 1000);
  EXPECT_LE(digest.times().size(), limits.times);
  EXPECT_GT(digest.times().size(), limits.times / 2);
  EXPECT_EQ(digest.channel_bins().bins, limits.channels);
  EXPECT_LT(digest.bytes(), std::size_t{40} << 20);
  EXPECT_LT(integrations_message(digest, 0, digest.times().size()).size(), std::size_t{8} << 20);
}

TEST(ReportDigest, RefusesWrongShapesAndLimits) {
  SyntheticVisibilities sky(3, 4), other(3, 5);
  VisibilityDigest digest(sky.description);
  EXPECT_THROW(digest.add(other.make(0.5)), core::Error);
  DigestLimits odd;
  odd.times = 3;
  EXPECT_THROW(VisibilityDigest(sky.description, odd), core::Error);
  formats::VisibilityDescription empty = sky.description;
  empty.channel_hz.clear();
  EXPECT_THROW(VisibilityDigest{empty}, core::Error);
  empty = sky.description;
  empty.nominal_count = 0;
  EXPECT_THROW(VisibilityDigest{empty}, core::Error);
}

TEST(ReportDigest, PutsDescendingChannelsInOrder) {
  SyntheticVisibilities sky(3, 10);
  std::reverse(sky.description.channel_hz.begin(), sky.description.channel_hz.end());
  DigestLimits limits;
  limits.channels = 4;
  VisibilityDigest digest(sky.description, limits);
  const std::vector<double> centres = digest.channel_bins().centres_hz(sky.description.channel_hz);
  EXPECT_TRUE(std::is_sorted(centres.begin(), centres.end()));
  EXPECT_EQ(digest.channel_bins().bin_of(9), 0U);
}

}  // namespace
}  // namespace tautline::pipeline::report

// Visibilities of fewer samples count for less in the means of a figure.
#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "tautline/formats/few_samples.h"
#include "tests/pipeline/plot/plot_fixture.h"
#include "tests/support/visibilities.h"

namespace tautline::tests {
namespace {

#ifdef TAUTLINE_HDF5

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Mean {
  std::complex<double> sum;
  double count = 0;
};

std::vector<double> amplitudes(const std::vector<Mean>& means) {
  double fullest = 0;
  for (const Mean& mean : means) fullest = std::fmax(fullest, mean.count);
  std::vector<double> made;
  for (const Mean& mean : means)
    made.push_back(formats::says_something(mean.count, fullest) ? std::abs(mean.sum) / mean.count
                                                                : kNan);
  return made;
}

void expect_line(const figure::Line& line, const std::vector<double>& expected) {
  ASSERT_EQ(line.y.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    if (std::isnan(expected[k])) {
      EXPECT_TRUE(std::isnan(line.y[k])) << k;
    } else {
      EXPECT_NEAR(line.y[k], expected[k], 1e-5) << k;
    }
  }
}

TEST_F(Plot, VisibilitiesCountByTheirSamples) {
  auto random = generator();
  constexpr std::size_t kChannels = 7, kIntegrations = 4, kInputs = 3;
  RandomVisibilities v =
      random_visibilities({kInputs, "x", kChannels, kIntegrations, false, true}, random);
  std::normal_distribution<float> normal;
  for (std::size_t k = 0; k < v.values.size(); ++k) {
    const std::size_t b = k % v.baselines();
    for (std::size_t input = 0; input < kInputs; ++input)
      if (b == core::baseline_index(input, input)) {
        v.values[k] = 1 + std::fabs(normal(random));
        v.counts[k] = std::max<std::int64_t>(v.counts[k], 1);
      }
  }
  // One length: a column each.
  v.integration_s.assign(kIntegrations, v.description.integration_s);
  auto writer = formats::create_visibilities(scratch / "v.uvh5", v.description, true);
  for (std::size_t k = 0; k < kIntegrations; ++k) writer->write(v.integration(k));
  writer->finish();

  constexpr std::size_t kFirst = 2, kSecond = 0;
  const std::size_t b = core::baseline_index(kFirst, kSecond);
  std::vector<Mean> spectrum(kChannels), series(kIntegrations);
  double strength = 0, strength_counts = 0;
  for (std::size_t k = 0; k < kIntegrations; ++k)
    for (std::size_t c = 0; c < kChannels; ++c) {
      const formats::Integration one = v.integration(k);
      const std::complex<double> value(one.visibilities(c, b));
      const auto count = static_cast<double>(one.counts(c, b));
      for (Mean* mean : {&spectrum[c], &series[k]})
        mean->sum += count * value, mean->count += count;
      const std::size_t first = core::baseline_index(kFirst, kFirst),
                        second = core::baseline_index(kSecond, kSecond);
      const double level = std::sqrt(double{one.visibilities(c, first).real()} *
                                     double{one.visibilities(c, second).real()}),
                   coefficient = std::abs(value) / level;
      // Above 1 it is that of the sums.
      const double of_sums = count / std::sqrt(static_cast<double>(one.counts(c, first)) *
                                               static_cast<double>(one.counts(c, second)));
      strength += count * coefficient * (coefficient > 1 ? std::min(1.0, of_sums) : 1);
      strength_counts += count;
    }
  const auto& antennas = v.description.array.antennas;
  pipeline::PlotConfig config;
  config.baseline =
      std::to_string(antennas[kSecond].number) + "-" + std::to_string(antennas[kFirst].number);
  const figure::Figure made = figure_of("v.uvh5", config);
  expect_line(panel(made, "Amplitude, mean over time").lines.at(0), amplitudes(spectrum));
  expect_line(panel(made, "Amplitude, mean over frequency").lines.at(0), amplitudes(series));
  const figure::Panel& matrix = panel(made, "Strength");
  EXPECT_EQ(matrix.image.colour.label, "correlation coefficient");
  const auto named = [&](std::size_t input) {
    const std::string name = std::to_string(antennas[input].number) + "x";
    return static_cast<std::size_t>(std::ranges::find(matrix.x.names, name) -
                                    matrix.x.names.begin());
  };
  ASSERT_LT(named(kFirst), kInputs);
  EXPECT_NEAR(matrix.image.values.at(named(kFirst) * kInputs + named(kSecond)),
              strength / strength_counts, 1e-5);
}

// Samples that hold nothing lower the autocorrelation of an input, where they are invalid for the other: the baseline has
// none of them.
TEST_F(Plot, ACoefficientIsNotAboveOneBecauseOfSamplesThatHoldNothing) {
  auto random = generator();
  constexpr std::size_t kSamples = 400, kEmpty = 150;
  std::normal_distribution<double> normal;
  RandomVisibilities v = random_visibilities({2, "x", 5, 6, false, true}, random);
  const std::size_t cross = core::baseline_index(1, 0), auto0 = core::baseline_index(0, 0),
                    auto1 = core::baseline_index(1, 1);
  double strength = 0;
  const std::size_t all = v.values.size() / v.baselines();
  for (std::size_t k = 0; k < all; ++k) {
    // The inputs differ by little noise in the samples that both have.
    double power0 = 0, power1 = 0;
    std::complex<double> product;
    for (std::size_t t = 0; t < kSamples; ++t) {
      const std::complex<double> signal(normal(random), normal(random)),
          other = signal + 0.05 * std::complex<double>(normal(random), normal(random));
      power0 += std::norm(signal), power1 += std::norm(other);
      product += other * std::conj(signal);
    }
    const std::size_t at = k * v.baselines();
    const auto put = [&](std::size_t b, std::complex<double> sum, std::size_t count) {
      v.values[at + b] = std::complex<float>(sum / static_cast<double>(count));
      v.counts[at + b] = static_cast<std::int64_t>(count);
    };
    put(auto0, power0, kSamples + kEmpty);
    put(auto1, power1, kSamples);
    put(cross, product, kSamples);
    strength += std::abs(product) / std::sqrt(power0 * power1);
  }
  auto writer = formats::create_visibilities(scratch / "v.uvh5", v.description, true);
  for (std::size_t k = 0; k < 6; ++k) writer->write(v.integration(k));
  writer->finish();
  const figure::Figure made = figure_of("v.uvh5");
  const float drawn = panel(made, "Strength").image.values.at(1);
  EXPECT_LE(drawn, 1 + 1e-6);
  EXPECT_NEAR(drawn, strength / static_cast<double>(all), 1e-5);
  EXPECT_TRUE(std::ranges::any_of(made.notes, [](const std::string& note) {
    return note.starts_with(
        "Correlation coefficients of noise alone are about 0.05: 1/sqrt(n), of n = 400 ");
  }));
}

#endif

}  // namespace
}  // namespace tautline::tests

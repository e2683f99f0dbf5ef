// Integrations of several lengths at their times, and baselines without data.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "tests/pipeline/plot/plot_fixture.h"
#include "tests/pipeline/plot/shown.h"
#include "tests/support/visibilities.h"

namespace tautline::tests {
namespace {

#ifdef TAUTLINE_HDF5

class PlotIntegrations : public Plot {
 protected:
  void write(const std::string& file, const RandomVisibilities& v) {
    auto writer = formats::create_visibilities(scratch / file, v.description, true);
    for (std::size_t k = 0; k < v.middles.size(); ++k) writer->write(v.integration(k));
    writer->finish();
  }
  static std::string cross_of(const RandomVisibilities& v) {
    const auto& antennas = v.description.array.antennas;
    return std::to_string(antennas[0].number) + "-" + std::to_string(antennas[1].number);
  }
};

// A gap cuts integrations short, and the next one begins anywhere: each column shows the integration at its time.
TEST_F(PlotIntegrations, ThatGapsCutShortAreDrawnAtTheirTimes) {
  auto random = generator();
  constexpr std::size_t kIntegrations = 9;
  RandomVisibilities v = random_visibilities({2, "x", 3, kIntegrations, false, true}, random);
  std::uniform_real_distribution<double> part(0.15, 0.85);
  std::vector<double> starts_s;
  double now_s = 0;
  for (std::size_t k = 0; k < kIntegrations; ++k) {
    const bool cut = k % 3 == 1;
    v.integration_s[k] =
        cut ? part(random) * v.description.integration_s : v.description.integration_s;
    starts_s.push_back(now_s);
    v.middles[k] = core::advance(
        v.middles[0], std::llround(1e9 * (now_s + v.integration_s[k] / 2 - v.integration_s[0] / 2)),
        {1'000'000'000, 1});
    now_s += v.integration_s[k] + (cut ? part(random) : 0);
  }
  const std::size_t each = v.values.size() / kIntegrations;
  for (std::size_t k = 0; k < v.values.size(); ++k) {
    v.values[k] = static_cast<float>(k / each + 1);
    v.counts[k] = 1000;
  }
  std::vector<std::string> files{"v.uvh5"};
#ifdef TAUTLINE_CASACORE
  files.push_back("v.ms");
#endif
  for (const std::string& file : files) {
    write(file, v);
    pipeline::PlotConfig config;
    config.baseline = cross_of(v);
    const figure::Figure made = figure_of(file, config);
    const figure::Panel& picture = panel(made, "Amplitude of baseline");
    const auto& image = picture.image;
    ASSERT_GT(image.columns, kIntegrations) << file;
    EXPECT_NEAR(seconds_of(picture.x), now_s, 1e-3 * now_s) << file;
    const double column_s = seconds_of(picture.x) / static_cast<double>(image.columns);
    const figure::Line& series = panel(made, "Amplitude, mean over frequency").lines.at(0);
    ASSERT_EQ(series.y.size(), image.columns) << file;
    std::vector<std::size_t> drawn(kIntegrations);
    for (std::size_t c = 0; c < image.columns; ++c) {
      const double middle_s = (static_cast<double>(c) + 0.5) * column_s;
      std::size_t at = kIntegrations;
      bool at_an_edge = false;  // times of files are rounded
      for (std::size_t k = 0; k < kIntegrations; ++k) {
        const double into_s = middle_s - starts_s[k];
        at_an_edge =
            at_an_edge || std::abs(into_s) < 2e-4 || std::abs(into_s - v.integration_s[k]) < 2e-4;
        if (into_s >= 0 && into_s < v.integration_s[k]) at = k;
      }
      if (at_an_edge) continue;
      if (at == kIntegrations) {
        EXPECT_TRUE(std::isnan(image.values[c])) << file << " column " << c;
        EXPECT_TRUE(std::isnan(series.y[c])) << file << " column " << c;
        continue;
      }
      ++drawn[at];
      EXPECT_NEAR(image.values[c], static_cast<double>(at + 1), 1e-4) << file << " column " << c;
      EXPECT_NEAR(series.y[c], static_cast<double>(at + 1), 1e-4) << file << " column " << c;
    }
    for (std::size_t k = 0; k < kIntegrations; ++k) EXPECT_GT(drawn[k], 0U) << file << ' ' << k;
  }
}

// A part of the last one's time, and no more, shows it.
TEST_F(PlotIntegrations, ThatTheEndCutsShortIsDrawnAsLongAsItIs) {
  auto random = generator();
  constexpr std::size_t kIntegrations = 4;
  RandomVisibilities v = random_visibilities({2, "x", 3, kIntegrations, false, true}, random);
  const double whole_s = v.description.integration_s;
  std::uniform_real_distribution<double> part(0.1, 0.9);
  double now_s = 0;
  for (std::size_t k = 0; k < kIntegrations; ++k) {
    v.integration_s[k] = k + 1 == kIntegrations ? part(random) * whole_s : whole_s;
    v.middles[k] = core::advance(v.middles[0],
                                 std::llround(1e9 * (now_s + (v.integration_s[k] - whole_s) / 2)),
                                 {1'000'000'000, 1});
    now_s += v.integration_s[k];
  }
  const std::size_t each = v.values.size() / kIntegrations;
  for (std::size_t k = 0; k < v.values.size(); ++k) {
    v.values[k] = static_cast<float>(k / each + 1);
    v.counts[k] = 1000;
  }
  write("v.uvh5", v);
  pipeline::PlotConfig config;
  config.baseline = cross_of(v);
  const figure::Figure made = figure_of("v.uvh5", config);
  const figure::Panel& picture = panel(made, "Amplitude of baseline");
  EXPECT_NEAR(seconds_of(picture.x), now_s, 1e-3 * now_s);
  const auto& values = picture.image.values;
  ASSERT_EQ(values.size() % picture.image.columns, 0U);
  const auto last = std::count_if(
      values.begin(), values.begin() + static_cast<std::ptrdiff_t>(picture.image.columns),
      [](float value) { return std::abs(value - static_cast<float>(kIntegrations)) < 1e-4F; });
  EXPECT_NEAR(static_cast<double>(last) / static_cast<double>(picture.image.columns),
              v.integration_s.back() / now_s, 2.0 / static_cast<double>(picture.image.columns));
}

TEST_F(PlotIntegrations, OfOneLengthHaveAColumnEach) {
  auto random = generator();
  constexpr std::size_t kIntegrations = 6;
  RandomVisibilities v = random_visibilities({2, "x", 3, kIntegrations, false, true}, random);
  for (std::int64_t& count : v.counts) count = 1000;
  for (std::size_t k = 0; k < kIntegrations; ++k) {
    v.integration_s[k] = v.description.integration_s;
    // A gap of three integrations behind the second one.
    v.middles[k] = core::advance(v.middles[0],
                                 static_cast<std::int64_t>(k + (k > 1 ? 3 : 0)) *
                                     std::llround(1e9 * v.description.integration_s),
                                 {1'000'000'000, 1});
  }
  write("v.uvh5", v);
  pipeline::PlotConfig config;
  config.baseline = cross_of(v);
  const figure::Figure made = figure_of("v.uvh5", config);
  const auto& image = panel(made, "Amplitude of baseline").image;
  ASSERT_EQ(image.columns, kIntegrations + 3);
  for (std::size_t c = 0; c < image.columns; ++c)
    EXPECT_EQ(std::isnan(image.values[c]), c >= 2 && c < 5) << c;
}

TEST_F(PlotIntegrations, ABaselineWithoutDataIsNamed) {
  auto random = generator();
  RandomVisibilities v = random_visibilities({3, "x", 4, 5, false, true}, random);
  for (std::size_t k = 0; k < v.counts.size(); ++k)
    v.counts[k] = k % v.baselines() == core::baseline_index(1, 0) ? 0 : 1000;
  write("v.uvh5", v);
  const auto no_data = [&](const std::string& baseline) {
    pipeline::PlotConfig config;
    config.baseline = baseline;
    const figure::Figure made = figure_of("v.uvh5", config);
    return std::ranges::any_of(made.notes, [](const std::string& note) {
      return note.starts_with("No data: no sample of baseline ") && note.ends_with(" is valid.");
    });
  };
  const auto& antennas = v.description.array.antennas;
  EXPECT_TRUE(no_data(cross_of(v)));
  EXPECT_FALSE(
      no_data(std::to_string(antennas[0].number) + "-" + std::to_string(antennas[2].number)));
}

#endif

}  // namespace
}  // namespace tautline::tests

// Figures of photons: time tags, counts and the curves made of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/npy/header.h"
#include "tautline/pipeline/plot/figures.h"
#include "tests/formats/ptu/tag_file.h"
#include "tests/pipeline/plot/plot_fixture.h"

namespace tautline::tests {
namespace {

TEST_F(Plot, PhotonTagsTheirRateAndHistogram) {
  // HydraHarp v2 T3: photons of detector 0, whose microtimes are 25 with few exceptions; overflows of 1,024 periods.
  std::vector<std::uint32_t> words;
  for (int k = 0; k < 5000; ++k) {
    words.push_back(0xFE000001U);
    words.push_back(static_cast<std::uint32_t>(k % 10 == 0 ? 400 : 25) << 10 | 7U);
  }
  save(scratch / "p.ptu", tag_file(0x01010304, words, 5e-8));
  const json described = drawn("p.ptu");
  ASSERT_EQ(described["panels"].size(), 2u);
  EXPECT_EQ(described["panels"][1]["x"]["unit"], "ns");
  EXPECT_TRUE(described["panels"][1]["y"]["logarithmic"]);
  const figure::Figure made = figure_of("p.ptu");
  EXPECT_NEAR(peak_of(panel(made, "Photons within").lines.at(0)), 25.5 * 4e-3, 4e-3);
  const std::vector<double>& rate = panel(made, "Count rate").lines.at(0).y;
  double mean = 0;
  for (const double one : rate) mean += one / static_cast<double>(rate.size());
  EXPECT_NEAR(mean, 1 / (1024 * 5e-8) / 1e3, 0.02 / (1024 * 5e-8) / 1e3);
}

TEST_F(Plot, CountsOfEveryTypeAreCounts) {
  for (const char* type : {"|u1", "<u2", "<i4", "<f4"}) {
    const std::size_t bytes = 256 * formats::npy::element_bytes(type);
    write_file(scratch / "x.npy",
               formats::npy::format_header(type, {64, 4}) + std::string(bytes, '\1'));
    EXPECT_TRUE(figure_of("x.npy").panels.at(0).title.starts_with("Count rate")) << type;
    // Of which something is said that only voltages have.
    pipeline::PlotConfig voltages;
    voltages.reader.assumed.centre_hz = 1e6;
    voltages.reader.named = {"centre_hz"};
    EXPECT_THROW(figure_of("x.npy", voltages), core::Error) << type;
  }
}

TEST_F(Plot, ACamerasFirstRowIsAtTheTop) {
  std::string counts(64 * 6, '\1');
  for (std::size_t t = 0; t < 64; ++t) counts[6 * t + 1] = '\7';  // row 0, column 1
  write_file(scratch / "x.npy", formats::npy::format_header("|u1", {64, 2, 3}) + counts);
  drawn("x.npy");
  const figure::Figure made = figure_of("x.npy");
  const figure::Panel& map = panel(made, "Mean of each sensor");
  EXPECT_TRUE(map.y.downwards);
  EXPECT_EQ(map.y.names, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(map.x.names, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(map.image.values, (std::vector<float>{1, 7, 1, 1, 1, 1}));
}

TEST_F(Plot, CountsAndTheirCurve) {
  must({"simulate", "photons", "--sensors", "64", "--duration", "0.2", "--bin", "1e-5", "--model",
        "diffusion:n=2,tau=1e-3,rate=50000", "-o", scratch / "x.npy"});
  const json counts = drawn("x.npy", {"--bin", "1e-5"});
  EXPECT_EQ(counts["panels"][0]["y"]["unit"], "kHz");
  must({"autocorrelate", scratch / "x.npy", "-o", scratch / "g.zip", "--bin", "1e-5", "--levels",
        "4"});
  const json curves = drawn("g.zip");
  EXPECT_TRUE(curves["panels"][0]["x"]["logarithmic"]);
  EXPECT_EQ(curves["panels"][0]["x"]["label"], "lag");
  EXPECT_EQ(curves["panels"][0]["lines"].size(), 8u);
  EXPECT_FALSE(curves["notes"].empty()) << "more curves than are drawn";
}

TEST_F(Plot, SumsAreNotDrawnAsCorrelations) {
  must({"simulate", "photons", "--sensors", "2", "--duration", "0.1", "--bin", "1e-5", "--model",
        "diffusion:n=2,tau=1e-3,rate=50000", "-o", scratch / "x.npy"});
  for (const std::string normalize : {"none", "global"})
    for (const std::string file : {"g.h5", "g.zip"}) {
      must({"autocorrelate", scratch / "x.npy", "-o", scratch / file, "--bin", "1e-5", "--levels",
            "4", "--normalize", normalize, "--overwrite"});
      const json described = drawn(file, {"--overwrite"});
      const bool sums = normalize == "none";
      EXPECT_EQ(described["panels"][0]["y"]["label"],
                sums ? "sum of products, not normalised" : "G");
      EXPECT_EQ(described["panels"][0]["title"], sums ? "Sums of products" : "Correlation");
      EXPECT_EQ(described["notes"].dump().find("not G") != std::string::npos, sums) << described;
    }
}

TEST(FigureOfCurves, HasNoCountRatesWhereSomeCurvesAreNotShown) {
  std::vector<core::CorrelationCurve> curves(3);
  for (core::CorrelationCurve& curve : curves) {
    curve.lag_s = {1e-6, 2e-6};
    curve.g = {1, 0.5};
    curve.first.mean_rate_hz = 2000;
  }
  const auto rates = [&](std::size_t count) {
    return std::ranges::count_if(pipeline::plot::figure_of_curves("x", curves, count).facts,
                                 [](const auto& fact) { return fact.first == "count rates"; });
  };
  EXPECT_EQ(rates(3), 1);
  EXPECT_EQ(rates(4), 0);
}

// Names are looked up: a comparison of each with all takes a minute. Of this process, however busy the machine is.
TEST(FigureOfCurves, OfManySensorsIsMadeInTheirNumber) {
  std::vector<core::CorrelationCurve> curves(200'000);
  for (std::size_t k = 0; k < curves.size(); ++k) {
    curves[k].lag_s = {1e-6, 2e-6};
    curves[k].g = {1, 0.5};
    curves[k].first.label = "sensor of a camera, " + std::to_string(k);
    curves[k].first.mean_rate_hz = 2000;
  }
  const std::clock_t begin = std::clock();
  pipeline::plot::figure_of_curves("x", curves, curves.size());
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 10);
}

TEST(FigureOfCurves, HasTheCountRatesOfAllOfThem) {
  const auto fact = [](const std::vector<double>& rates_hz, bool cross) {
    std::vector<core::CorrelationCurve> curves;
    for (const double rate : rates_hz) {
      core::CorrelationCurve curve;
      curve.lag_s = {1e-6, 2e-6};
      curve.g = {1, 0.5};
      curve.first.label = "sensor " + std::to_string(curves.size());
      curve.first.mean_rate_hz = rate;
      curves.push_back(curve);
    }
    if (cross) {
      curves.front().cross = true;
      curves.front().second = curves.back().first;
    }
    std::string found;
    for (const auto& [name, value] :
         pipeline::plot::figure_of_curves("x", curves, curves.size()).facts)
      if (name.starts_with("count rate")) found = name + ": " + value;
    return found;
  };
  EXPECT_EQ(fact({2000}, false), "count rate: 2 kHz");
  EXPECT_EQ(fact({2000, 1000}, false), "count rates: 2 kHz and 1 kHz");
  EXPECT_EQ(fact({2000, 1000}, true), "count rates: 2 kHz and 1 kHz");
  EXPECT_EQ(fact({2000, 1000, NAN, 3e6}, false), "count rates: 1 kHz to 3 MHz");
  EXPECT_EQ(fact({NAN, 0}, false), "");
}

}  // namespace
}  // namespace tautline::tests

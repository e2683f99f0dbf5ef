// The page of fits, and a run from a file of curves to a table and a page.
#include "tautline/pipeline/photons/fit_page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/pipeline/photons/fit_curves.h"
#include "tautline/pipeline/report/base64.h"
#include "tests/pipeline/photons/fit_examples.h"
#include "tests/support/scratch.h"

namespace tautline::pipeline {
namespace {

using namespace tests;

// The page counts the lags that have points, and judges by errors only where there are some.
TEST(FitPage, LagsThatWereFittedAndNoChiWithoutWeights) {
  auto c = exact(kPlain, 2, 0.02);
  const std::size_t last = c.lags - 20;
  for (std::size_t l = last; l < c.lags; ++l)
    for (std::size_t k = 0; k < 2; ++k)
      c.standard_error[k * c.lags + l] = std::numeric_limits<double>::quiet_NaN();
  FitConfig config;
  const auto page = [&] {
    const FitResult result = fit_curves(c, config);
    return nlohmann::json::parse(report::fit_message(result, c, config));
  };
  const auto weighted = page();
  const std::string lags = weighted["facts"]["Lags fitted"];
  EXPECT_NE(lags.find(std::to_string(last) + " lags"), std::string::npos) << lags;
  EXPECT_NE(lags.find("\u00b5s to "), std::string::npos) << lags;
  EXPECT_NE(weighted["columns"].dump().find("reduced_chi2"), std::string::npos);
  config.weighted = false;
  const auto unweighted = page();
  const std::string all = unweighted["facts"]["Lags fitted"];
  EXPECT_NE(all.find(std::to_string(c.lags) + " lags"), std::string::npos) << all;
  EXPECT_EQ(unweighted["columns"].dump().find("reduced_chi2"), std::string::npos);
  EXPECT_TRUE(unweighted["medians"]["reduced_chi2"].is_null());
}

// Maps: 0 is coloured, 1 and 2 are grey, 3 is hatched.
TEST(FitPage, MarksWhatIsHotMaskedAndDoubtful) {
  auto c = exact(kPlain, 12, 0.02);
  add_noise(c);
  c.mask.assign(12, 1);
  c.mask[3] = 0;
  c.first[5].mean_rate_hz = 1e6;
  // Hot, and noise alone: hot all the same.
  c.first[6].mean_rate_hz = 2e6;
  for (std::size_t l = 0; l < c.lags; ++l) {
    c.g[6 * c.lags + l] = std::nan("");
    c.g[7 * c.lags + l] = std::nan("");
    c.g[8 * c.lags + l] *= 1e-3;  // far more particles than the bound allows for
  }
  FitConfig config;
  config.bounds["n"] = {0.1, 100};
  const FitResult result = fit_curves(c, config);
  EXPECT_EQ(result.hot, 2u);
  EXPECT_EQ(result.fits[6].status, "hot");
  EXPECT_NE(result.fits[8].status.find("n is at a bound"), std::string::npos)
      << result.fits[8].status;
  EXPECT_EQ(result.failed, 2u);
  const auto message = nlohmann::json::parse(report::fit_message(result, c, config));
  const std::vector<std::uint8_t> expected{0, 0, 0, 1, 0, 2, 2, 3, 3, 0, 0, 0};
  EXPECT_EQ(message["status"], report::base64(expected));
  EXPECT_EQ(message["good"], 7);
  EXPECT_EQ(message["shape"]["rows"], 2);
  EXPECT_EQ(message["shape"]["columns"], 8);
}

TEST(FitPage, OfSeveralFilesSaysHowMany) {
  const auto c = exact(kTriplet, 2, 0.02);
  FitConfig config;
  config.model = kTriplet;
  config.input = "folder/a.h5";
  const auto title = [&] {
    return nlohmann::json::parse(report::fit_message(fit_curves(c, config), c, config))["title"];
  };
  EXPECT_EQ(title(), "Fit of a.h5");
  config.more_inputs = {"b.h5", "c.h5"};
  EXPECT_EQ(title(), "Fit of a.h5 and 2 more files");
}

// One map would show half of the sensors.
TEST(FitPage, ArraysOfTwoFilesAreNotOneMap) {
  auto c = exact(kPlain, 4, 0.02);
  const auto shape = [&] {
    return nlohmann::json::parse(report::fit_message(fit_curves(c, {}), c, {}))["shape"];
  };
  EXPECT_FALSE(shape().is_null());
  for (std::size_t s = 2; s < 4; ++s) {
    c.first[s].row = c.first[s - 2].row;
    c.first[s].column = c.first[s - 2].column;
  }
  EXPECT_TRUE(shape().is_null());
}

TEST(FitFile, CsvInCsvAndPageOut) {
  const tests::ScratchFolder folder;
  auto c = exact(kTriplet, 1, 0.02);
  add_noise(c);
  c.first[0].label = "</script><b>x";
  formats::curves::write_csv(folder / "g.csv", c.curve(0), {"", {}}, false);
  FitConfig config;
  config.model = kTriplet;
  config.input = folder / "g.csv";
  config.output = folder / "f.csv";
  config.report = folder / "f.html";
  const FitResult result = fit_file(config);
  EXPECT_EQ(result.good, 1u);
  EXPECT_NEAR(result.fits[0].solution.values[0], 3.5, 0.3);
  std::ifstream file(folder / "f.html", std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(page.find("tautline.fit.page"), std::string::npos);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org"));  // nothing is fetched
  EXPECT_THROW(fit_file(config), core::Error);                      // they exist
}

}  // namespace
}  // namespace tautline::pipeline

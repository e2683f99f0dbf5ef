// Figures of all recorded files: titles, axes, and the numbers that are known of each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/pipeline/plot/plot_fixture.h"
#include "tests/pipeline/plot/shown.h"

namespace tautline::tests {
namespace {

namespace fs = std::filesystem;

// Of 4,096 spectra five share a column, of 832 channels two a row.
std::vector<Shown> dynamic_spectrum(std::size_t channels, std::size_t rows,
                                    const std::string& unit) {
  return {{"Dynamic spectrum", "time (s)", "frequency (MHz)", rows, 820},
          {"Mean over channels", "time (s)", "power (" + unit + ")", 0, 0, 1, 820},
          {"Bandpass", "frequency (MHz)", "power (" + unit + ")", 0, 0, 1, channels}};
}

// 65,535 real samples: spectra of 1,024, of which the first spans four.
std::vector<Shown> snapshot() {
  return {{"Power, mean of all inputs", "time (ms)", "frequency (MHz)", 512, 60},
          {"Power of each input", "time (ms)", "power (dB of the mean)", 0, 0, 5, 60},
          {"Bandpass of each input", "frequency (MHz)", "power (dB of the mean)", 0, 0, 5, 512}};
}

Shown series(std::size_t cells) {
  return {"Series", "time (s)", "level (units of the file)", 0, 0, 3, cells};
}

std::vector<Shown> tags(std::size_t detectors, const std::string& bin, std::size_t bins) {
  return {{"Count rate", "time (s)", "count rate (kHz)", 0, 0, detectors, 500},
          {"Photons within the period", "time since the pulse (ns)", "photons (in " + bin + ")", 0,
           0, detectors, bins}};
}

std::map<std::string, std::vector<Shown>> expected_figures() {
  std::map<std::string, std::vector<Shown>> all{
      {"parkes_8bit_1.fil", dynamic_spectrum(832, 416, "counts")},
      {"parkes_4bit.fil", dynamic_spectrum(832, 416, "counts")},
      {"parkes_2bit.fil", dynamic_spectrum(832, 416, "counts")},
      {"parkes_1bit.fil", dynamic_spectrum(832, 416, "counts")},
      {"parkes_4bit.sf", dynamic_spectrum(416, 416, "units of the file")},
      {"GBT_J1807-0847.dat", {series(993)}},
      {"GBT_J1807-0847.tim", {series(994)}},
      {"v20_t3.ptu", tags(2, "0.448 ns", 447)},
      {"Point_1.pt3", tags(1, "0.112 ns", 447)},
      {"ALV-7004.ASC",
       {{"Correlation of channel 0", "lag (s)", "G", 0, 0, 1},
        {"Count rate", "time (s)", "count rate (kHz)", 0, 0, 1}}},
      {"Correlator.com_Integer-Mode.SIN",
       {{"Correlation", "lag (s)", "G", 0, 0, 4},
        {"Count rate", "time (s)", "count rate (kHz)", 0, 0, 4, 287}}},
      {"PyCorrFit_CC_A488_withVariance.csv", {{"Correlation of", "lag (s)", "G", 0, 0, 1}}}};
  for (int minute = 159; minute != 207; minute = minute == 159 ? 200 : minute + 1)
    all[fmt::format("tart_20131020T0{}03.dada", minute)] = snapshot();
  return all;
}

class PlotRecorded : public Plot {
 protected:
  void SetUp() override {
    const fs::path folder(TAUTLINE_DATA_DIR);
    if (!fs::exists(folder)) GTEST_SKIP() << "the recorded files are absent (" << folder << ")";
    for (const char* kind : {"filterbank", "tart", "fcs"})
      for (const auto& entry : fs::directory_iterator(folder / kind)) {
        const std::string name = entry.path().filename();
        fs::create_symlink(fs::absolute(entry.path()), scratch / name);
        if (name != "array.toml" && !name.ends_with(".inf")) files_.push_back(name);
      }
  }
  std::vector<std::string> files_;  // those that hold data
};

// PSRFITS files are the next test's.
TEST_F(PlotRecorded, EveryFile) {
  const auto expected = expected_figures();
  for (const std::string& file : files_) {
    SCOPED_TRACE(file);
    const auto found = expected.find(file);
    if (found == expected.end())
      ADD_FAILURE() << "nothing says what its figure should be";
    else if (!file.ends_with(".sf"))
      expect_shown(drawn(file), found->second);
  }
  EXPECT_EQ(files_.size(), expected.size());
}

TEST_F(PlotRecorded, PsrfitsFile) {
#ifdef TAUTLINE_CFITSIO
  const std::string file = "parkes_4bit.sf";
  expect_shown(drawn(file), expected_figures().at(file));
#else
  GTEST_SKIP() << "a build without cfitsio";
#endif
}

TEST_F(PlotRecorded, BandsAreWhereTheyWereReceived) {
  for (const std::string file : {"parkes_8bit_1.fil", "parkes_1bit.fil"}) {
    const figure::Figure made = figure_of(file);
    const figure::Panel& picture = panel(made, "Dynamic spectrum");
    EXPECT_NEAR(picture.y.high, 4032, 1e-6);
    EXPECT_NEAR(picture.y.low, 4032 - 832 * 4, 1e-6);
    EXPECT_NEAR(seconds_of(picture.x), 820 * 5 * 512e-6, 1e-9);
  }
  const figure::Figure made = figure_of("tart_20131020T020203.dada");
  const figure::Panel& picture = panel(made, "Power, mean");
  EXPECT_NEAR((picture.y.low + picture.y.high) / 2, 1575.42, 0.01);
  EXPECT_NEAR(picture.y.high - picture.y.low, 8.184, 1e-6);
  // One bit a sample: no input has more power than another.
  for (const figure::Line& line : panel(made, "Power of each").lines)
    for (const double decibels : line.y) EXPECT_NEAR(decibels, 0, 0.5);
}

TEST_F(PlotRecorded, EveryPhotonIsDrawn) {
  for (const auto& [file, photons] : std::map<std::string, std::vector<double>>{
           {"v20_t3.ptu", {45'012, 32'871}}, {"Point_1.pt3", {191'790}}}) {
    const figure::Figure made = figure_of(file);
    const figure::Panel &rate = panel(made, "Count rate"), &within = panel(made, "Photons within");
    ASSERT_EQ(rate.lines.size(), photons.size());
    for (std::size_t k = 0; k < photons.size(); ++k) {
      EXPECT_NEAR(photons_of(rate, rate.lines[k]), photons[k], 0.1);
      double sum = 0;
      for (const double count : within.lines.at(k).y) sum += count;
      EXPECT_EQ(sum, photons[k]);
    }
    // Light comes after the pulse, early in the period.
    EXPECT_LT(peak_of(within.lines.at(0)), 0.1 * within.x.high);
  }
}

TEST_F(PlotRecorded, CurvesHaveTheNumbersOfTheirFiles) {
  const figure::Figure alv = figure_of("ALV-7004.ASC");
  const figure::Line& of_alv = panel(alv, "Correlation").lines.at(0);
  EXPECT_NEAR(of_alv.x[1], 5e-8, 1e-18);
  EXPECT_EQ(of_alv.y[1], 4.07452e-1);
  EXPECT_TRUE(of_alv.error.empty());
  const figure::Figure pycorrfit = figure_of("PyCorrFit_CC_A488_withVariance.csv");
  const figure::Line& of_pycorrfit = panel(pycorrfit, "Correlation").lines.at(0);
  EXPECT_EQ(of_pycorrfit.x[0], 2e-7);
  EXPECT_EQ(of_pycorrfit.y[0], 1.5649271e-01);
  EXPECT_EQ(of_pycorrfit.error[0], 8.0729478907e-03);
  const figure::Figure made = figure_of("Correlator.com_Integer-Mode.SIN");
  const figure::Panel& curves = panel(made, "Correlation");
  EXPECT_EQ(curves.lines.at(0).name, "input 2 x input 3");
  EXPECT_EQ(curves.lines.at(0).x[0], 1.25e-8);
  // The third lag of input 0 x input 1 and of input 1 x input 0.
  EXPECT_EQ(std::count(made.notes.begin(), made.notes.end(),
                       "2 points of the shortest lags outside of the picture, up to 28.4."),
            1);
  EXPECT_NEAR(panel(made, "Count rate").lines.at(0).y[0], 9.412765625, 1e-9);
}

}  // namespace
}  // namespace tautline::tests

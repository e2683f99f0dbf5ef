// Times without data in figures of filterbanks and photons: hatched cells, gaps of lines, grey ranges.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tests/formats/ptu/recorded_tags.h"
#include "tests/formats/ptu/tag_file.h"
#include "tests/pipeline/plot/plot_fixture.h"
#include "tests/support/error_of.h"

namespace tautline::tests {
namespace {

namespace fs = std::filesystem;

class PlotStops : public Plot {
 protected:
  // A recorded file, or nothing where the folder is absent.
  static std::string recorded(const std::string& file) {
    const fs::path path = fs::path(TAUTLINE_DATA_DIR) / file;
    return fs::exists(path) ? read_file(path) : std::string();
  }
  // Ranges in seconds of the panel's only unit, s.
  static void expect_grey(const figure::Panel& rate, double first_s, double end_s) {
    ASSERT_EQ(rate.x.unit, "s");
    ASSERT_EQ(rate.empty.size(), 1u);
    const double cell = (rate.x.high - rate.x.low) / 500;
    EXPECT_NEAR(rate.empty[0].first, first_s, 2 * cell);
    EXPECT_NEAR(rate.empty[0].second, end_s, 2 * cell);
  }
};

TEST_F(PlotStops, StretchesThatHoldNothingAreLeftOutOfTheScale) {
  simulate_pulse(2.1, 50);
  std::string bytes = read_file(scratch / "a.fil");
  const std::size_t spectra = 10000, header = bytes.size() - spectra * 128;
  ASSERT_LT(header, 1000u);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(header + 4000 * 128), 1000 * 128, '\0');
  // One channel that never changes, and one that stops for a while, at a level that no other has.
  constexpr std::size_t kConstant = 5, kStops = 40;
  for (std::size_t t = 0; t < spectra; ++t) {
    bytes[header + t * 128 + kConstant] = '\100';
    if (t >= 6000 && t < 8000) bytes[header + t * 128 + kStops] = '\377';
  }
  write_file(scratch / "gap.fil", bytes);
  drawn("gap.fil");
  const figure::Figure made = figure_of("gap.fil"), whole = figure_of("a.fil");
  const figure::Image& image = panel(made, "Dynamic spectrum").image;
  const figure::Image& before = panel(whole, "Dynamic spectrum").image;
  EXPECT_NEAR(image.colour.low, before.colour.low, 0.2 * (before.colour.high - before.colour.low));
  // Ten samples a column, and a row for each channel, the last one at the foot.
  ASSERT_EQ(image.columns, 1000u);
  ASSERT_EQ(image.rows, 128u);
  for (std::size_t row = 0; row < image.rows; ++row)
    for (std::size_t column = 0; column < image.columns; ++column) {
      const bool none = (column >= 400 && column < 500) || row == 127 - kConstant ||
                        (row == 127 - kStops && column >= 600 && column < 800);
      ASSERT_EQ(std::isnan(image.values[row * image.columns + column]), none)
          << "row " << row << ", column " << column;
    }
  // No step where the channel stops, though its level there is far from that of the others.
  const auto& line = panel(made, "Mean over channels").lines.at(0).y;
  const auto& line_before = panel(whole, "Mean over channels").lines.at(0).y;
  double step = 0;
  for (std::size_t column = 500; column < 1000; ++column)
    step += (column >= 600 && column < 800 ? 1.0 / 200 : -1.0 / 300) *
            (line[column] - line_before[column]);
  EXPECT_NEAR(step, 0, 0.1);
  EXPECT_TRUE(std::isnan(line[450]));
  const auto& band = panel(made, "Bandpass").lines.at(0).y;
  ASSERT_EQ(band.size(), 128u);
  for (std::size_t c = 0; c < 128; ++c) EXPECT_EQ(std::isnan(band[c]), c == 127 - kConstant) << c;
  ASSERT_EQ(made.facts.size(), whole.facts.size() + 2);
  const auto said = [&](const std::string& name, const std::string& begin) {
    return std::any_of(made.facts.begin(), made.facts.end(), [&](const auto& fact) {
      return fact.first == name && fact.second.starts_with(begin);
    });
  };
  EXPECT_TRUE(said("empty", "1000 samples in 1 stretch"));
  EXPECT_TRUE(said("stopped", "2 channels, 11,0"));  // a neighbour may have the same value
  EXPECT_EQ(made.notes.at(0), "Hatched: no data.");
  EXPECT_EQ(whole.notes.size() + 1, made.notes.size());
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end(), '\0');
  write_file(scratch / "zero.fil", bytes);
  const core::Error error = error_of([&] { figure_of("zero.fil"); });
  EXPECT_NE(std::string(error.what()).find("the same spectrum at all times"), std::string::npos)
      << error.what();
}

// Equal spectra between those of a recording: hatched there, and nothing else changes.
TEST_F(PlotStops, PaddingInARecording) {
  constexpr std::size_t kChannels = 832, kTimes = 4096, kPerColumn = 5, kPadded = 80;
  std::string bytes = recorded("filterbank/parkes_8bit_1.fil");
  if (bytes.empty()) GTEST_SKIP() << "the recorded filterbanks are absent";
  write_file(scratch / "a.fil", bytes);
  const std::size_t first = 100 + generator()() % 500;  // column
  const std::size_t place = bytes.size() - (kTimes - first * kPerColumn) * kChannels;
  std::string spectrum(kChannels, '\0');
  for (char& value : spectrum) value = static_cast<char>(generator()());
  for (std::size_t n = 0; n < kPadded * kPerColumn; ++n) bytes.insert(place, spectrum);
  write_file(scratch / "padded.fil", bytes);
  const figure::Figure whole = figure_of("a.fil"), made = figure_of("padded.fil");
  const figure::Image &before = panel(whole, "Dynamic spectrum").image,
                      &image = panel(made, "Dynamic spectrum").image;
  ASSERT_EQ(image.columns, before.columns + kPadded);
  for (std::size_t row = 0; row < image.rows; ++row)
    for (std::size_t column = 0; column < image.columns; ++column) {
      const float value = image.values[row * image.columns + column];
      const bool empty = column >= first && column < first + kPadded;
      ASSERT_EQ(std::isnan(value), empty) << "row " << row << ", column " << column;
      if (empty) continue;
      const std::size_t same = column < first ? column : column - kPadded;
      ASSERT_NEAR(value, before.values[row * before.columns + same], 1e-5);
    }
  EXPECT_EQ(image.colour.low, before.colour.low);
  EXPECT_EQ(image.colour.high, before.colour.high);
  const auto& line = panel(made, "Mean over channels").lines.at(0).y;
  for (std::size_t column = 0; column < line.size(); ++column)
    EXPECT_EQ(std::isnan(line[column]), column >= first && column < first + kPadded) << column;
  EXPECT_EQ(panel(made, "Bandpass").lines.at(0).y, panel(whole, "Bandpass").lines.at(0).y);
  EXPECT_EQ(made.notes.at(0), "Hatched: no data.");
  drawn("padded.fil");
}

// HydraHarp v2 T3: in each step of 1,024 periods (51.2 us) each of two detectors has a photon or none.
TEST_F(PlotStops, DetectorsOfTimeTags) {
  constexpr std::size_t kSteps = 60'000;
  constexpr double kStep_s = 1024 * 5e-8;
  auto random = generator();
  const std::size_t first = 15'000 + random() % 10'000, end = 35'000 + random() % 10'000;
  const auto made_of = [&](bool zero_stops, bool one_stops) {
    std::vector<std::uint32_t> words;
    for (std::size_t k = 0; k < kSteps; ++k) {
      words.push_back(0xFE000001U);
      const bool stopped = k >= first && k < end;
      for (std::uint32_t detector = 0; detector < 2; ++detector)
        if (!(stopped && (detector == 0 ? zero_stops : one_stops)) && random() % 4 == 0)
          words.push_back(detector << 25 | 25U << 10 | (detector == 0 ? 7U : 90U));
    }
    save(scratch / "t.ptu", tag_file(0x01010304, words, 5e-8));
    return figure_of("t.ptu");
  };
  const figure::Figure whole = made_of(false, false);
  EXPECT_TRUE(panel(whole, "Count rate").empty.empty());
  EXPECT_TRUE(whole.notes.empty());
  for (const bool one_too : {false, true}) {
    const figure::Figure made = made_of(true, one_too);
    expect_grey(panel(made, "Count rate"), static_cast<double>(first) * kStep_s,
                static_cast<double>(end) * kStep_s);
    ASSERT_EQ(made.notes.size(), 1u);
    EXPECT_EQ(made.notes[0], one_too ? "Grey: the counts of detector 0, detector 1 stop."
                                     : "Grey: the counts of detector 0 stop.");
  }
  drawn("t.ptu");
}

TEST_F(PlotStops, RecordedTagsWithACut) {
  const std::string bytes = recorded("fcs/Point_1.pt3");
  if (bytes.empty()) GTEST_SKIP() << "the recorded photons are absent";
  write_file(scratch / "whole.pt3", bytes);
  EXPECT_TRUE(panel(figure_of("whole.pt3"), "Count rate").empty.empty());
  auto random = generator();
  const double first_s = 4 + static_cast<double>(random() % 10'000) * 1e-3,
               length_s = 6 + static_cast<double>(random() % 4'000) * 1e-3;
  write_file(scratch / "cut.pt3", cut_pt3(bytes, first_s, length_s).bytes);
  const figure::Figure made = figure_of("cut.pt3");
  expect_grey(panel(made, "Count rate"), first_s, first_s + length_s);
  EXPECT_EQ(made.notes.at(0), "Grey: the counts of detector 1 stop.");
  drawn("cut.pt3");
}

}  // namespace
}  // namespace tautline::tests

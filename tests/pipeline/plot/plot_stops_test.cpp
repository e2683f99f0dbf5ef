// Times without data in figures of filterbanks and counts: hatched cells, gaps of lines, grey ranges.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/npy/npy.h"
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

// One of two detectors, again and again: each time is grey, and a note has their number.
TEST_F(PlotStops, DetectorsThatStopAgainAndAgain) {
  constexpr std::size_t kSteps = 60'000, kPeriod = 4000, kLength = 400;
  constexpr double kStep_s = 1024 * 5e-8;
  auto random = generator();
  const std::size_t phase = 1000 + random() % 2000;
  std::vector<std::uint32_t> words;
  for (std::size_t k = 0; k < kSteps; ++k) {
    words.push_back(0xFE000001U);
    for (std::uint32_t detector = 0; detector < 2; ++detector)
      if ((detector == 0 || (k + phase) % kPeriod >= kLength) && random() % 4 == 0)
        words.push_back(detector << 25 | 25U << 10 | (detector == 0 ? 7U : 90U));
  }
  save(scratch / "t.ptu", tag_file(0x01010304, words, 5e-8));
  const figure::Figure made = figure_of("t.ptu");
  const auto& ranges = panel(made, "Count rate").empty;
  ASSERT_EQ(ranges.size(), kSteps / kPeriod);
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    const double first_s = static_cast<double>((k + 1) * kPeriod - phase) * kStep_s;
    EXPECT_NEAR(ranges[k].first, first_s, 60 * kStep_s);
    EXPECT_NEAR(ranges[k].second, first_s + kLength * kStep_s, 60 * kStep_s);
  }
  ASSERT_EQ(made.notes.size(), 1u);
  EXPECT_TRUE(made.notes[0].starts_with("Grey: the counts of detector 1 stop 15 times, for 0.3"))
      << made.notes[0];
  drawn("t.ptu");
  // Of a part of the time.
  pipeline::PlotConfig config;
  config.start_s = ranges[4].first + 0.005;
  config.duration_s = 0.3;
  const figure::Figure part = figure_of("t.ptu", config);
  ASSERT_EQ(panel(part, "Count rate").x.unit, "s");
  ASSERT_EQ(panel(part, "Count rate").empty.size(), 2u);
  EXPECT_NEAR(panel(part, "Count rate").empty[0].first, config.start_s, 1e-9);
  EXPECT_NEAR(panel(part, "Count rate").empty[1].first, ranges[5].first, 1e-9);
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

// A shutter that closed, in the counts and in the rate of their curve.
TEST_F(Plot, CountsThatStop) {
  must({"simulate", "photons", "--sensors", "1", "--duration", "2", "--bin", "1e-3", "--model",
        "diffusion:n=20,tau=1e-3,rate=50000", "-o", scratch / "x.npy"});
  const std::string bytes = read_file(scratch / "x.npy");
  std::string closed = bytes;
  const std::size_t begin = bytes.size() - 2000;
  std::fill_n(closed.begin() + static_cast<std::ptrdiff_t>(begin + 600), 400, '\0');
  write_file(scratch / "closed.npy", closed);
  pipeline::PlotConfig config;
  config.bin_s = 1e-3;
  EXPECT_TRUE(panel(figure_of("x.npy", config), "Count rate").empty.empty());
  const figure::Figure counts = figure_of("closed.npy", config);
  const auto& ranges = panel(counts, "Count rate").empty;
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_NEAR(ranges[0].first, 0.6, 0.005);
  EXPECT_NEAR(ranges[0].second, 1, 0.005);
  ASSERT_FALSE(counts.notes.empty());
  EXPECT_EQ(counts.notes[0], "Grey: the counts of the sensor stop.");
  EXPECT_EQ(panel(counts, "Count rate").y.low, 0);
  must({"autocorrelate", scratch / "closed.npy", "-o", scratch / "g.csv", "--bin", "1e-3"});
  const figure::Figure curve = figure_of("g.csv");
  const auto& of_curve = panel(curve, "Count rate").empty;
  EXPECT_EQ(panel(curve, "Count rate").x.low, 0);
  EXPECT_EQ(panel(curve, "Count rate").y.low, 0);
  ASSERT_EQ(of_curve.size(), 1u);
  EXPECT_NEAR(of_curve[0].first, 0.6, 0.003);
  EXPECT_NEAR(of_curve[0].second, 1, 0.003);
  // So long that it is left out of the curve, and of its trace.
  must({"autocorrelate", scratch / "closed.npy", "-o", scratch / "left.h5", "--bin", "1e-2"});
  const figure::Figure left = figure_of("left.h5");
  const auto& left_out = panel(left, "Count rate");
  ASSERT_EQ(left_out.empty.size(), 1u);
  EXPECT_NEAR(left_out.empty[0].first, 6, 0.03);
  EXPECT_NEAR(left_out.empty[0].second, 10, 0.03);
  // The line has a gap there.
  const figure::Line& line = left_out.lines.at(0);
  std::size_t gaps = 0;
  for (std::size_t k = 0; k < line.x.size(); ++k) {
    const bool gap = std::isnan(line.y[k]);
    gaps += gap ? 1 : 0;
    EXPECT_TRUE(line.x[k] < 6.05 || line.x[k] > 9.95 || gap) << line.x[k];
  }
  EXPECT_EQ(gaps, 1u);
  drawn("closed.npy", {"--bin", "1e-3"});
}

TEST_F(Plot, CountsOfOneSensorThatStop) {
  must({"simulate", "photons", "--sensors", "4", "--duration", "2", "--bin", "1e-3", "--model",
        "diffusion:n=20,tau=1e-3,rate=50000", "-o", scratch / "x.npy"});
  std::string bytes = read_file(scratch / "x.npy");
  const std::size_t begin = bytes.size() - 4 * 2000;
  for (std::size_t t = 600; t < 1000; ++t) bytes[begin + 4 * t + 2] = '\0';
  write_file(scratch / "one.npy", bytes);
  for (std::size_t t = 600; t < 1000; ++t)
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin + 4 * t), 4, '\0');
  write_file(scratch / "all.npy", bytes);
  pipeline::PlotConfig config;
  config.bin_s = 1e-3;
  EXPECT_TRUE(panel(figure_of("x.npy", config), "Count rate").empty.empty());
  for (const auto& [name, said] : {std::pair{"one.npy", "Grey: the counts of sensor 2 stop."},
                                   {"all.npy", "Grey: the counts of all sensors stop."}}) {
    const figure::Figure made = figure_of(name, config);
    const auto& ranges = panel(made, "Count rate").empty;
    ASSERT_EQ(ranges.size(), 1u) << name;
    EXPECT_NEAR(ranges[0].first, 0.6, 0.005) << name;
    EXPECT_NEAR(ranges[0].second, 1, 0.005) << name;
    ASSERT_FALSE(made.notes.empty());
    EXPECT_EQ(made.notes[0], said);
  }
}

// Three times, for less than a step of the curves' count rates.
TEST_F(Plot, CountsThatStopAFewTimes) {
  constexpr std::size_t kBins = 300'000, kStops = 3, kLength = 300;
  constexpr double kBin_s = 1e-4;
  auto random = generator();
  std::poisson_distribution<int> draw(3);
  std::vector<std::uint8_t> counts(2 * kBins);
  for (auto& count : counts) count = static_cast<std::uint8_t>(draw(random));
  std::vector<double> from_s;
  for (std::size_t k = 0; k < kStops; ++k) {
    const std::size_t first = (4 * k + 1) * kBins / (4 * kStops) + random() % (kBins / 8);
    std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(2 * first), 2 * kLength, 0);
    from_s.push_back(static_cast<double>(first) * kBin_s);
  }
  formats::npy::ArrayWriter writer(scratch / "x.npy", "|u1", {kBins, 2}, true);
  writer.write(std::as_bytes(std::span(counts)));
  writer.finish();
  must({"autocorrelate", scratch / "x.npy", "-o", scratch / "g.csv", "--bin", "1e-4", "--pairs",
        "0x1"});
  pipeline::PlotConfig config;
  config.bin_s = kBin_s;
  for (const figure::Figure& made : {figure_of("g.csv"), figure_of("x.npy", config)}) {
    const auto& ranges = panel(made, "Count rate").empty;
    ASSERT_EQ(ranges.size(), kStops);
    for (std::size_t k = 0; k < kStops; ++k) {
      EXPECT_NEAR(ranges[k].first, from_s[k], 0.041);
      EXPECT_NEAR(ranges[k].second, from_s[k] + kLength * kBin_s, 0.041);
    }
    EXPECT_TRUE(std::ranges::any_of(made.notes, [](const std::string& note) {
      return note.starts_with("Grey: the counts of all sensors stop");
    }));
  }
}

// Of one sensor or of both: in counts, and in the rates of their curves, from whatever file these are read.
TEST_F(Plot, CountsThatStopAgainAndAgain) {
  constexpr std::size_t kBins = 20'000, kPeriod = 500, kLength = 30;
  auto random = generator();
  std::poisson_distribution<int> draw(30);
  std::vector<std::uint8_t> drawn_counts(2 * kBins);
  for (auto& count : drawn_counts)
    count = static_cast<std::uint8_t>(std::clamp(draw(random), 1, 99));
  formats::npy::ArrayWriter writer(scratch / "x.npy", "|u1", {kBins, 2}, true);
  writer.write(std::as_bytes(std::span(drawn_counts)));
  writer.finish();
  const std::string whole = read_file(scratch / "x.npy");
  const std::size_t begin = whole.size() - 2 * kBins, phase = 50 + random() % 400;
  pipeline::PlotConfig config;
  config.bin_s = 1e-3;
  EXPECT_TRUE(panel(figure_of("x.npy", config), "Count rate").empty.empty());
  for (const bool both : {false, true}) {
    std::string bytes = whole;
    for (std::size_t t = 0; t < kBins; ++t) {
      char* const row = &bytes[begin + 2 * t];
      if ((t + kPeriod - phase) % kPeriod >= kLength) continue;
      row[1] = '\0';
      if (both) row[0] = '\0';
    }
    write_file(scratch / "stops.npy", bytes);
    const std::string said = fmt::format("Grey: the counts of {} stop 40 times, for 1.2 s in all.",
                                         both ? "all sensors" : "sensor 1");
    const auto expect_grey = [&](const figure::Figure& made, std::size_t first, double start_s) {
      const figure::Panel& rate = panel(made, "Count rate");
      ASSERT_EQ(rate.x.unit, "s");
      ASSERT_EQ(rate.empty.size(), kBins / kPeriod - first);
      for (std::size_t k = first; k < kBins / kPeriod; ++k) {
        const double from_s = static_cast<double>(phase + k * kPeriod) * 1e-3 - start_s;
        EXPECT_NEAR(rate.empty[k - first].first, from_s, both ? 0.041 : 1e-6);
        EXPECT_NEAR(rate.empty[k - first].second, from_s + kLength * 1e-3, both ? 0.041 : 1e-6);
      }
    };
    const figure::Figure counts = figure_of("stops.npy", config);
    expect_grey(counts, 0, 0);
    EXPECT_EQ(counts.notes.at(counts.notes.size() - 1), said);
    std::vector<std::string> names{"g.csv", "g.zip"};
#ifdef TAUTLINE_HDF5
    names.push_back("g.h5");
#endif
    for (const std::string& name : names) {
      must({"autocorrelate", scratch / "stops.npy", "-o", scratch / name, "--bin", "1e-3",
            "--pairs", "0x1", "--overwrite"});
      const figure::Figure curve = figure_of(name);
      expect_grey(curve, 0, 0);
      EXPECT_NE(std::find(curve.notes.begin(), curve.notes.end(), said), curve.notes.end());
    }
    // Of a part, whose time counts from its begin.
    const double start_s = static_cast<double>(phase + 2 * kPeriod + 100) * 1e-3;
    must({"autocorrelate", scratch / "stops.npy", "-o", scratch / "part.zip", "--bin", "1e-3",
          "--start", std::to_string(start_s)});
    expect_grey(figure_of("part.zip"), 3, start_s);
    fs::remove(scratch / "part.zip");
    // More than can be seen are one range, and counted.
    bytes = whole;
    std::size_t times = 0;
    for (std::size_t t = 100; t + 100 < kBins; t += 30, ++times)
      for (std::size_t n = 0; n < 12; ++n)
        for (std::size_t s = both ? 0 : 1; s < 2; ++s) bytes[begin + 2 * (t + n) + s] = '\0';
    write_file(scratch / "often.npy", bytes);
    const figure::Figure often = figure_of("often.npy", config);
    ASSERT_EQ(panel(often, "Count rate").empty.size(), 1u);
    EXPECT_NE(often.notes.back().find(fmt::format("stop {} times, for ", times)), std::string::npos)
        << often.notes.back();
  }
}

// The last cell has one spectrum, which is louder than all others. 20 spectra have a cell before.
TEST_F(Plot, ALastCellOfFewSpectraDoesNotChooseTheRange) {
  constexpr std::size_t kChannels = 16, kTaps = 4, kSpectra = 381, kHeader = 4096, kTimeBytes = 8;
  constexpr std::size_t kTimes = kChannels * (kSpectra + kTaps - 1) + kChannels / 2;
  DadaFile dada;
  dada.payload_bytes = kTimeBytes * kTimes;
  std::string bytes = dada.bytes();
  for (std::size_t k = kHeader; k + kTimeBytes * (kTaps * kChannels + kChannels / 2) < bytes.size();
       ++k)
    bytes[k] = static_cast<char>(static_cast<signed char>(bytes[k]) / 16);
  write_file(scratch / "x.dada", bytes);
  pipeline::PlotConfig config;
  config.channels = kChannels;
  config.columns = 20;
  const figure::Figure made = figure_of("x.dada", config);
  const figure::Panel& power = panel(made, "Power of each input");
  double before = -HUGE_VAL, last = -HUGE_VAL;
  for (const figure::Line& line : power.lines) {
    ASSERT_EQ(line.y.size(), 20u);
    last = std::max(last, line.y.back());
    before = std::max(before, *std::max_element(line.y.begin(), line.y.end() - 1));
  }
  EXPECT_GT(power.y.high, before);
  EXPECT_LT(power.y.high, last);
}

}  // namespace
}  // namespace tautline::tests

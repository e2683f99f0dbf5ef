// Each kind of file makes a page and a picture, and what is known to be in it stands at its place in the figure.
#include "tautline/pipeline/plot/plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tests/pipeline/plot/plot_fixture.h"
#include "tests/support/small_disk.h"

namespace tautline::tests {
namespace {

namespace fs = std::filesystem;

TEST_F(Plot, AFilterbanksPulseIsAtItsTimeAndFrequencies) {
  simulate_pulse(2.1, 50);
  const json described = drawn("a.fil");
  ASSERT_EQ(described["panels"].size(), 3u);
  EXPECT_EQ(described["panels"][0]["x"]["unit"], "s");
  EXPECT_EQ(described["panels"][0]["y"]["unit"], "MHz");
  EXPECT_NEAR(described["panels"][0]["y"]["high"].get<double>(), 1451, 1e-6);
  EXPECT_NEAR(described["panels"][0]["y"]["low"].get<double>(), 1450 - 127 * 2 - 1, 1e-6);
  const figure::Figure made = figure_of("a.fil");
  const figure::Panel& picture = panel(made, "Dynamic spectrum");
  ASSERT_EQ(picture.image.rows, 128u);
  // Row by row the brightest cell follows the sweep: k DM (f^-2 - f_ref^-2).
  for (const std::size_t row : {std::size_t{0}, std::size_t{64}, std::size_t{127}}) {
    const auto* const cells = picture.image.values.data() + row * picture.image.columns;
    // A few rows together, since one has noise of its own.
    std::vector<float> sum(picture.image.columns);
    const std::size_t from = std::min<std::size_t>(row, 120);
    for (std::size_t r = from; r < from + 8; ++r)
      for (std::size_t c = 0; c < sum.size(); ++c)
        sum[c] += picture.image.values[r * sum.size() + c];
    ASSERT_TRUE(std::isfinite(cells[0]));
    const auto column = std::max_element(sum.begin(), sum.end()) - sum.begin();
    const double time = picture.x.low + (static_cast<double>(column) + 0.5) *
                                            (picture.x.high - picture.x.low) /
                                            static_cast<double>(sum.size());
    const double f = 1450 - 127 * 2 + 2 * (static_cast<double>(from) + 3.5);
    const double expected = 2.1 + 4148.808 * 50 * (1 / (f * f) - 1 / (1450.0 * 1450.0));
    EXPECT_NEAR(time, expected, 0.03) << "row " << row;
  }
  EXPECT_NEAR(peak_of(panel(made, "Mean over channels").lines.at(0)), 2.12, 0.06);
}

TEST_F(Plot, PartsOfAFileAreReadAndManySamplesAveraged) {
  simulate_pulse(2.1, 0);
  pipeline::PlotConfig config;
  config.start_s = 2;
  config.duration_s = 0.4;
  config.columns = 100;
  config.rows = 32;
  const figure::Figure made = figure_of("a.fil", config);
  const figure::Panel& picture = panel(made, "Dynamic spectrum");
  EXPECT_EQ(picture.image.rows, 32u);
  EXPECT_EQ(picture.image.columns, 100u);
  EXPECT_EQ(picture.x.unit, "s");
  EXPECT_NEAR(picture.x.low, 2, 1e-9);
  EXPECT_NEAR(picture.x.high, 2.4, 1e-9);
  EXPECT_NEAR(peak_of(panel(made, "Mean over channels").lines.at(0)), 2.1, 0.02);
  ASSERT_EQ(made.notes.size(), 1u);
  EXPECT_NE(made.notes[0].find("8 samples and 4 channels"), std::string::npos) << made.notes[0];
  config.start_s = 7;
  EXPECT_THROW(figure_of("a.fil", config), core::Error);
}

TEST_F(Plot, TrialsAndSeriesAndCandidatesOfASearch) {
  // So narrow that a DM that is 12 off halves its largest sample, which is then some 20 standard deviations less.
  simulate_pulse(2.1, 50, 0.005);
  must({"dedisperse", scratch / "a.fil", "-o", scratch / "d.npy", "--dms", "0:100:2"});
  drawn("d.npy");
  const figure::Figure trials = figure_of("d.npy");
  EXPECT_NEAR(peak_of(panel(trials, "Largest sample").lines.at(0)), 50, 10);
  EXPECT_NEAR(peak_of(panel(trials, "Series of DM").lines.at(0)), 2.1, 0.03);
  // The lower half of the row of DM 0 is cut off.
  const figure::Panel& picture = panel(trials, "DM against time");
  EXPECT_EQ(picture.image.rows, 101u);
  EXPECT_EQ(picture.y.low, 0);
  const std::size_t brightest = static_cast<std::size_t>(
      std::max_element(picture.image.values.begin(), picture.image.values.end()) -
      picture.image.values.begin());
  const double row = (picture.y.high - picture.y.low) / 101;
  EXPECT_NEAR((static_cast<double>(brightest / picture.image.columns) + 0.5) * row, 50, 10);
  EXPECT_EQ(panel(trials, "Largest sample").x.low, 0);
  must({"dedisperse", scratch / "a.fil", "-o", scratch / "s.tim", "--dms", "50:50:1"});
  drawn("s.tim");
  EXPECT_NEAR(peak_of(panel(figure_of("s.tim"), "Series").lines.at(0)), 2.1, 0.03);
  must({"search", scratch / "a.fil", "-o", scratch / "c.csv", "--dms", "0:100:2"});
  const json described = drawn("c.csv");
  EXPECT_EQ(described["panels"][0]["y"]["unit"], "pc cm\u207b\u00b3");
  const figure::Figure list = figure_of("c.csv");
  const figure::Line& discs = panel(list, "Candidates").lines.at(0);
  const auto best = static_cast<std::size_t>(
      std::max_element(discs.strength.begin(), discs.strength.end()) - discs.strength.begin());
  EXPECT_NEAR(discs.x[best], 2.1, 0.03);
  EXPECT_NEAR(discs.y[best], 50, 6);
  for (const char* strengths : {"Strength and DM", "Strength and width"}) {
    const figure::Panel& one = panel(list, strengths);
    const auto ticks = figure::ticks(one.y, 5);
    ASSERT_FALSE(ticks.empty());
    EXPECT_LE(ticks.front().value, *std::min_element(discs.strength.begin(), discs.strength.end()));
  }
}

TEST_F(Plot, SeriesShowWhereTheFilterbankHeldNothing) {
  constexpr std::size_t kSpectra = 10'000, kChannels = 128;
  simulate_pulse(2.1, 50);
  must({"dedisperse", scratch / "a.fil", "-o", scratch / "whole.npy", "--dms", "0:100:20"});
  EXPECT_TRUE(panel(figure_of("whole.npy"), "Series of DM").empty.empty());
  auto random = generator();
  const std::size_t first = 5000 + random() % 2000, length = 500 + random() % 1000;
  std::string bytes = read_file(scratch / "a.fil");
  std::fill_n(bytes.end() - static_cast<std::ptrdiff_t>((kSpectra - first) * kChannels),
              length * kChannels, '\0');
  write_file(scratch / "b.fil", bytes);
  must({"dedisperse", scratch / "b.fil", "-o", scratch / "b.npy", "--dms", "0:100:20"});
  const figure::Figure made = figure_of("b.npy");
  const auto& ranges = panel(made, "Series of DM").empty;
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_NEAR(ranges[0].first, static_cast<double>(first) * 5e-4, 1e-9);
  EXPECT_NEAR(ranges[0].second, static_cast<double>(first + length) * 5e-4, 1e-9);
  EXPECT_TRUE(std::ranges::any_of(made.notes, [](const std::string& note) {
    return note.starts_with("Grey or a line in the series");
  }));
  drawn("b.npy");
}

// Lists in the forms of other programs show the candidates of the CSV, as far as they have digits. Of PRESTO's the time
// is that of the boxcar's middle, and the DMs are for its dispersion constant, which is larger by 1.4e-4.
TEST_F(Plot, CandidateListsOfEveryFormat) {
  simulate_pulse(2.1, 50);
  const auto made_of = [&](const std::string& file) {
    must({"search", scratch / "a.fil", "-o", scratch / file, "--dms", "0:100:2", "--threshold",
          "5"});
    drawn(file);
    return figure_of(file);
  };
  const figure::Figure list = made_of("c.csv");
  const figure::Line& discs = panel(list, "Candidates").lines.at(0);
  const std::vector<double>& widths = panel(list, "Strength and width").lines.at(0).x;
  ASSERT_FALSE(discs.x.empty());
  for (const char* file : {"c.cand", "c.singlepulse", "c.your.csv"}) {
    const figure::Figure made = made_of(file);
    const figure::Line& found = panel(made, "Candidates").lines.at(0);
    ASSERT_EQ(found.x.size(), discs.x.size()) << file;
    for (std::size_t k = 0; k < discs.x.size(); ++k) {
      bool there = false;
      for (std::size_t n = 0; n < found.x.size(); ++n)
        there = there || (std::fabs(found.strength[n] - discs.strength[k]) < 0.006 &&
                          std::fabs(found.x[n] - discs.x[k]) < (widths[k] / 2 + 1) * 5e-4 &&
                          std::fabs(found.y[n] - discs.y[k]) < 0.01 + 2e-4 * discs.y[k]);
      EXPECT_TRUE(there) << file << ": S/N " << discs.strength[k] << " at " << discs.x[k]
                         << " s, DM " << discs.y[k];
    }
    EXPECT_EQ(made.facts.at(0), list.facts.at(0)) << file;
  }
}

TEST_F(Plot, AToneOfVoltagesIsAtItsFrequency) {
  write_tone();
  const json described = drawn("tone.dada");
  EXPECT_EQ(described["panels"][0]["colour"]["unit"], "dB of the mean");
  const figure::Figure made = figure_of("tone.dada");
  const figure::Panel& spectra = panel(made, "Bandpass");
  ASSERT_EQ(spectra.lines.size(), 2u);
  for (const figure::Line& line : spectra.lines) EXPECT_NEAR(peak_of(line), kToneMhz, 1.28 / 512);
  const figure::Panel& picture = panel(made, "Power");
  std::vector<float> column(picture.image.rows);
  for (std::size_t r = 0; r < column.size(); ++r)
    column[r] = picture.image.values[r * picture.image.columns + picture.image.columns / 2];
  const auto row = std::max_element(column.begin(), column.end()) - column.begin();
  EXPECT_NEAR(picture.y.low + (static_cast<double>(row) + 0.5) * (picture.y.high - picture.y.low) /
                                  static_cast<double>(column.size()),
              kToneMhz, 1.28 / 512);
  for (const float value : picture.image.values) ASSERT_TRUE(std::isfinite(value));
}

// Counts are arrays, too: the record, the type and the axes tell.
TEST_F(Plot, AToneOfAChannelizedArrayIsAtItsFrequency) {
  write_tone();
  for (const char* bits : {"off", "8"}) {
    const std::string name = std::string(bits) + ".npy", path = scratch / name;
    must({"channelize", scratch / "tone.dada", "-o", path, "--channels", "64", "--requantize",
          bits});
    const json described = drawn(name);
    ASSERT_EQ(described["panels"][0]["colour"]["unit"], "dB of the mean") << bits;
    const figure::Figure made = figure_of(name);
    const figure::Panel& spectra = panel(made, "Bandpass");
    ASSERT_EQ(spectra.lines.size(), 2u);
    EXPECT_EQ(spectra.lines[1].name, "1x");
    for (const figure::Line& line : spectra.lines) {
      ASSERT_EQ(line.x.size(), 64u);
      EXPECT_NEAR(line.x.back() - line.x.front(), 1.28 * 63 / 64, 1e-9);
      if (bits == std::string("off")) {  // rounding to bits has brought all channels to one level
        EXPECT_NEAR(peak_of(line), kToneMhz, 1.28 / 64);
      }
    }
    fs::remove(path + ".json");
    const CommandResult unknown = run({"plot", path, "-o", path + "2.html"});
    EXPECT_EQ(unknown.status, kWrongUsage) << bits;
    EXPECT_NE(unknown.err.find("--rate-hz"), std::string::npos) << unknown.err;
  }
}

#ifdef TAUTLINE_HDF5
TEST_F(Plot, ABaselinesAmplitudeAndPhase) {
  write_tone();
  must({"correlate", scratch / "tone.dada", "-o", scratch / "v.uvh5", "--channels", "64",
        "--integration", "0.01"});
  const json described = drawn("v.uvh5");
  EXPECT_EQ(described["panels"][1]["colour"]["low"], -180);
  EXPECT_EQ(described["panels"][1]["colour"]["unit"], "degrees");
  const figure::Figure made = figure_of("v.uvh5");
  const double width = 1.28 / 64;
  EXPECT_NEAR(peak_of(panel(made, "Amplitude, mean over time").lines.at(0)), kToneMhz, width);
  const figure::Line& phase = panel(made, "Phase, mean over time").lines.at(0);
  const auto channel = std::min_element(phase.x.begin(), phase.x.end(),
                                        [](double a, double b) {
                                          return std::fabs(a - kToneMhz) < std::fabs(b - kToneMhz);
                                        }) -
                       phase.x.begin();
  EXPECT_NEAR(phase.y[static_cast<std::size_t>(channel)], 0, 2)
      << "both antennas have the same tone";
  double strongest = 0;
  for (const double y : panel(made, "Amplitude, mean over time").lines.at(0).y)
    strongest = std::fmax(strongest, y);
  EXPECT_LT(panel(made, "Amplitude of").image.colour.high, 0.5 * strongest)
      << "a tone in one channel does not set the scale of all others";
  EXPECT_EQ(panel(made, "Strength").x.names, (std::vector<std::string>{"0x", "1x"}));
  const figure::Image& matrix = panel(made, "Strength").image;
  EXPECT_TRUE(std::isnan(matrix.values[0])) << "an input with itself is left out";
  EXPECT_FLOAT_EQ(matrix.values[1], matrix.values[matrix.columns]);
  pipeline::PlotConfig config;
  config.baseline = "1-0";
  EXPECT_EQ(figure_of("v.uvh5", config).panels.size(), made.panels.size());
  for (const char* wrong : {"5", "0-9", "a-b", "0-", "0q-1"}) {
    config.baseline = wrong;
    EXPECT_THROW(figure_of("v.uvh5", config), core::Error) << wrong;
  }
}
#endif

#ifdef TAUTLINE_HDF5
TEST_F(Plot, OneAntennaHasNoBaselines) {
  DadaFile file;
  file.nant = "1";
  for (const char* polarisations : {"1", "2"}) {
    file.npol = polarisations;
    write_file(scratch / "one.dada", file.bytes());
    must({"correlate", scratch / "one.dada", "-o", scratch / "one.uvh5", "--channels", "16",
          "--overwrite"});
    const figure::Figure made = figure_of("one.uvh5");
    for (const auto& [name, value] : made.facts) {
      EXPECT_NE(name, "baseline") << value;
      EXPECT_EQ(value.find("strongest"), std::string::npos) << value;
    }
    for (const figure::Panel& one : made.panels)
      EXPECT_EQ(one.title.find("baseline"), std::string::npos) << one.title;
  }
}
#endif

TEST_F(Plot, InspectSaysWhatAMeasurementSetHolds) {
  write_tone();
  const CommandResult written = run({"correlate", scratch / "tone.dada", "-o", scratch / "v.ms",
                                     "--channels", "64", "--integration", "0.01"});
  if (written.err.find("a build with casacore") != std::string::npos)
    GTEST_SKIP() << "a build without casacore";
  ASSERT_EQ(written.status, kDone) << written.err;
  const CommandResult said = run({"--json", "inspect", scratch / "v.ms"});
  ASSERT_EQ(said.status, kDone) << said.err;
  const json held = json::parse(said.out);
  const double seconds = 200000 / 1.28e6;
  EXPECT_EQ(held["antennas"].size(), 2u);
  ASSERT_EQ(held["windows"].size(), 1u);
  EXPECT_EQ(held["windows"][0]["channels"], 64);
  EXPECT_NEAR(held["windows"][0]["channel_width_hz"].get<double>(), 1.28e6 / 64, 1e-6);
  EXPECT_NEAR(held["windows"][0]["lowest_hz"].get<double>(), 154.88e6 - 0.64e6, 1e-3);
  EXPECT_EQ(held["integrations"], static_cast<int>(std::ceil(seconds / 0.01)));
  EXPECT_EQ(held["rows"].get<int>(), 3 * held["integrations"].get<int>());
  EXPECT_NEAR(held["integration_s"].get<double>(), 0.01, 1e-9);
  EXPECT_EQ(held["flagged_rows"], 0);
  EXPECT_LE(held["highest_weight"].get<double>(), 1);
  EXPECT_GT(held["lowest_weight"].get<double>(), 0);
}

TEST_F(Plot, WhatBenchPrints) {
  std::string lines;
  for (const auto& [problem, part] : {std::pair{"small", 0.25}, {"large", 0.75}, {"middle", 0.5}})
    lines += json{{"schema", "tautline.bench"}, {"version", 1},    {"stage", "correlate"},
                  {"problem", problem},         {"device", "cpu"}, {"fraction_of_limit", part}}
                 .dump() +
             "\n";
  write_file(scratch / "b.jsonl", lines);
  const json described = drawn("b.jsonl");
  const json& names = described["panels"][0]["y"]["names"];
  EXPECT_EQ(names,
            json({"correlate small on cpu", "correlate middle on cpu", "correlate large on cpu"}));
  EXPECT_EQ(figure_of("b.jsonl").panels[0].lines[0].x, (std::vector<double>{25, 50, 75}));
  write_file(scratch / "b.jsonl", lines + "{half a line\n");
  EXPECT_THROW(figure_of("b.jsonl"), core::Error);
}

TEST_F(Plot, RefusesWhatItCannotDraw) {
  write_file(scratch / "empty.fil", "");
  write_file(scratch / "words.txt", "no data at all");
  write_file(scratch / "none.csv",
             "snr,time_s,sample,width_samples,width_s,dm,dm_index,members,first_sample,last_sample,"
             "mjd,mjd_inf,"
             "f_ref_mhz,beam,file,filled\n");
  fs::create_directory(scratch / "folder");
  for (const auto& [file, words] : {std::pair{"empty.fil", "empty"},
                                    {"words.txt", "words.txt"},
                                    {"none.csv", "no candidates"},
                                    {"missing.fil", "missing.fil"},
                                    {"folder", "folder"}}) {
    const CommandResult result = run({"plot", scratch / file});
    EXPECT_EQ(result.status, kFailed) << file << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(fs::exists(scratch / (std::string(file) + ".html")));
  }
  EXPECT_EQ(run({"plot", scratch / "words.txt", "-o", scratch / "x.gif"}).status, kWrongUsage);
}

TEST_F(Plot, RefusesAnExistingPageAndItsOwnInput) {
  simulate_pulse(1, 10);
  write_file(scratch / "a.fil.html", "mine");
  EXPECT_NE(run({"plot", scratch / "a.fil"}).status, kDone);
  EXPECT_EQ(read_file(scratch / "a.fil.html"), "mine");
  fs::copy_file(scratch / "a.fil", scratch / "a.png");
  EXPECT_EQ(run({"plot", scratch / "a.png", "-o", scratch / "a.png", "--overwrite"}).status,
            kWrongUsage);
}

TEST_F(Plot, ADiskThatIsFullLeavesNothing) {
  simulate_pulse(1, 10);
  const std::string disk = scratch / "disk";
  fs::create_directory(disk);
  const int status = on_small_disk(disk, 65536, [&] {
    for (const char* name : {"/x.html", "/x.png"}) {
      if (run({"plot", scratch / "a.fil", "-o", disk + name}).status == kDone) return 1;
      if (!fs::is_empty(disk)) return 2;
    }
    return 0;
  });
  if (status == kNoSmallDisk) GTEST_SKIP() << "this machine does not allow mounts";
  EXPECT_EQ(status, 0) << "1: written, 2: something was left";
}

#ifdef TAUTLINE_CAIRO
TEST_F(Plot, WithoutItsModulePagesAreStillMade) {
  simulate_pulse(1, 10);
  const std::string alone = scratch / "tautline";
  fs::copy_file(command_path(), alone);
  const CommandResult page =
      run_program(alone, {"plot", scratch / "a.fil"}, scratch.path().string());
  EXPECT_EQ(page.status, kDone) << page.err;
  const CommandResult picture = run_program(
      alone, {"plot", scratch / "a.fil", "-o", scratch / "a.png"}, scratch.path().string());
  EXPECT_EQ(picture.status, kFailed);
  EXPECT_NE(picture.err.find("module libtautline_cairo.so"), std::string::npos) << picture.err;
  EXPECT_FALSE(fs::exists(scratch / "a.png"));
}
#endif

}  // namespace
}  // namespace tautline::tests

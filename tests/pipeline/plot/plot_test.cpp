// Each kind of file makes a page and a picture, and what is known to be in it stands at its place in the figure.
#include "tautline/pipeline/plot/plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/formats/npy/header.h"
#include "tests/formats/ptu/tag_file.h"
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
  simulate_pulse(2.1, 50);
  must({"dedisperse", scratch / "a.fil", "-o", scratch / "d.npy", "--dms", "0:100:2"});
  drawn("d.npy");
  const figure::Figure trials = figure_of("d.npy");
  EXPECT_NEAR(peak_of(panel(trials, "Largest sample").lines.at(0)), 50, 10);
  EXPECT_NEAR(peak_of(panel(trials, "Series of DM").lines.at(0)), 2.1, 0.03);
  EXPECT_EQ(panel(trials, "DM against time").image.rows, 51u);
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

// An antenna that stops for a while is marked, and one that never changes throughout; nothing is where all goes on.
TEST_F(Plot, InputsThatStop) {
  write_tone();
  EXPECT_TRUE(panel(figure_of("tone.dada"), "Power of each").empty.empty());
  const std::string whole = read_file(scratch / "tone.dada");
  constexpr std::size_t kTimes = 200000, kBytes = 4;  // of both antennas' complex samples
  const std::size_t first = 60000 + generator()() % 20000, last = 120000;
  const auto stopped = [&](std::size_t antenna, std::size_t from, std::size_t to) {
    std::string bytes = whole;
    const std::size_t header = bytes.size() - kTimes * kBytes;
    for (std::size_t t = from; t < to; ++t)
      bytes.replace(header + t * kBytes + 2 * antenna, 2, 2, '\0');
    write_file(scratch / "stops.dada", bytes);
    return figure_of("stops.dada");
  };
  const figure::Figure part = stopped(1, first, last);
  const figure::Panel& power = panel(part, "Power of each");
  ASSERT_EQ(power.lines.size(), 2u);
  EXPECT_EQ(power.lines[1].name, "1x");
  ASSERT_EQ(power.empty.size(), 1u);
  const double cell = (power.x.high - power.x.low) / static_cast<double>(power.lines[1].x.size());
  const auto place = [&](std::size_t t) { return static_cast<double>(t) / 1.28e6 * 1e3; };
  ASSERT_EQ(power.x.unit, "ms");
  // Spectra of 512 channels and four taps need samples of the stretch.
  const double spectrum = place(512);
  EXPECT_NEAR(power.empty[0].first, place(first), 4 * spectrum + cell);
  EXPECT_NEAR(power.empty[0].second, place(last), 4 * spectrum + cell);
  for (std::size_t k = 0; k < power.lines[1].x.size(); ++k) {
    const double x = power.lines[1].x[k];
    EXPECT_EQ(std::isnan(power.lines[1].y[k]),
              x > power.empty[0].first && x < power.empty[0].second);
    EXPECT_TRUE(std::isfinite(power.lines[0].y[k]));
  }
  EXPECT_EQ(part.notes.at(0), "Grey: no data of 1x.");
  const figure::Figure never = stopped(0, 0, kTimes);
  const auto& all = panel(never, "Power of each").empty;
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].first, panel(never, "Power of each").x.low);
  EXPECT_EQ(all[0].second, panel(never, "Power of each").x.high);
  EXPECT_EQ(never.notes.at(0), "Grey: no data of 0x.");
  drawn("stops.dada");
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
  must({"autocorrelate", scratch / "closed.npy", "-o", scratch / "g.csv", "--bin", "1e-3"});
  const figure::Figure curve = figure_of("g.csv");
  const auto& of_curve = panel(curve, "Count rate").empty;
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

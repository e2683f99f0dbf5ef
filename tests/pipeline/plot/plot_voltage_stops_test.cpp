// Times without data in figures of voltages: grey ranges of each input.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/pipeline/plot/plot_fixture.h"

namespace tautline::tests {
namespace {

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

TEST_F(Plot, InputsThatStopAtDifferentTimes) {
  write_tone();
  std::string bytes = read_file(scratch / "tone.dada");
  constexpr std::size_t kTimes = 200000, kBytes = 4;
  const std::size_t header = bytes.size() - kTimes * kBytes;
  const std::size_t begins[] = {40000 + generator()() % 20000, 120000 + generator()() % 20000};
  for (const std::size_t antenna : {0u, 1u})
    for (std::size_t t = begins[antenna]; t < begins[antenna] + 30000; ++t)
      bytes.replace(header + t * kBytes + 2 * antenna, 2, 2, '\0');
  write_file(scratch / "stops.dada", bytes);
  const figure::Figure made = figure_of("stops.dada");
  const auto& empty = panel(made, "Power of each").empty;
  ASSERT_EQ(empty.size(), 2u);
  EXPECT_EQ(
      made.notes.at(0),
      fmt::format("Grey: no data of 0x from {:.6g} to {:.6g} ms; 1x from {:.6g} to {:.6g} ms.",
                  empty[0].first, empty[0].second, empty[1].first, empty[1].second));
}

// An input's samples [first, end) of write_tone()'s file are zeros, which no other sample of the tone is.
class PlotVoltageStops : public Plot {
 protected:
  PlotVoltageStops() {
    write_tone();
    bytes = read_file(scratch / "tone.dada");
    // A column of 50 spectra of 8 channels.
    config.channels = 8;
    config.columns = 500;
  }
  void stop(std::size_t antenna, std::size_t first, std::size_t end) {
    const std::size_t header = bytes.size() - kTimes * kBytes;
    for (std::size_t t = first; t < end; ++t)
      bytes.replace(header + t * kBytes + 2 * antenna, 2, 2, '\0');
  }
  figure::Figure made() {
    write_file(scratch / "stops.dada", bytes);
    return figure_of("stops.dada", config);
  }
  // Of each input, as `channelize` counts them.
  json counted() {
    const CommandResult result = run({"--json", "channelize", scratch / "stops.dada", "-o",
                                      scratch / "spectra.npy", "--channels", "8", "--overwrite"});
    EXPECT_EQ(result.status, kDone) << result.err;
    return json::parse(result.out)["empty_inputs"];
  }
  static bool says(const figure::Figure& made, const std::string& note) {
    return std::find(made.notes.begin(), made.notes.end(), note) != made.notes.end();
  }
  static constexpr std::size_t kTimes = 200000, kBytes = 4, kColumn = 400;
  std::string bytes;
  pipeline::PlotConfig config;
};

// One or two columns of 1,000.
TEST_F(PlotVoltageStops, TooBriefToBeSeenAreNotSaidToBeGrey) {
  const std::size_t first = 40000 + generator()() % 90000;
  stop(0, first, first + 150);
  config.columns = 1000;
  const figure::Figure figure = made();
  const auto& empty = panel(figure, "Power of each").empty;
  ASSERT_EQ(empty.size(), 1u);
  EXPECT_EQ(figure.notes.at(0),
            fmt::format("No data, too briefly to be seen as grey, of 0x from {:.6g} to {:.6g} ms.",
                        empty[0].first, empty[0].second));
}

TEST_F(PlotVoltageStops, OfAPartOfAColumnAreGreyAndCounted) {
  auto random = generator();
  const std::size_t column = 100 + random() % 200, length = 150 + random() % 100,
                    first = column * kColumn + random() % (kColumn - length),
                    other = 160000 + random() % 10000, much = 3000;
  stop(1, first, first + length);
  stop(0, other, other + much);
  const figure::Figure figure = made();
  const figure::Panel& power = panel(figure, "Power of each");
  ASSERT_EQ(power.empty.size(), 2u);
  ASSERT_EQ(power.x.unit, "ms");
  const auto place = [](std::size_t t) { return static_cast<double>(t) / 1.28e3; };
  // The four taps of a spectrum, and a column on either side.
  const double near = place(4 * 8 + kColumn);
  EXPECT_LE(power.empty[0].first, place(first));
  EXPECT_GT(power.empty[0].first, place(first) - near);
  EXPECT_GT(power.empty[0].second, power.empty[0].first);
  EXPECT_LT(power.empty[0].second, place(first + length) + near);
  for (const figure::Line& line : power.lines)
    for (std::size_t k = 0; k < line.x.size(); ++k)
      EXPECT_TRUE(std::isfinite(line.y[k]) || line.x[k] > power.empty[1].first);
  EXPECT_TRUE(says(figure, fmt::format("Samples that never change, taken for lost: input 0x for {} "
                                       "of 200000 samples ({:.3g} %), input 1x for {} of 200000 "
                                       "samples ({:.3g} %).",
                                       much, 100.0 * static_cast<double>(much) / kTimes, length,
                                       100.0 * static_cast<double>(length) / kTimes)))
      << fmt::format("{}", fmt::join(figure.notes, "\n"));
  EXPECT_EQ(counted(),
            json({{{"input", 0}, {"samples", much}}, {{"input", 1}, {"samples", length}}}));
}

// Grey columns would be most of the picture, though nine tenths of the data are there.
TEST_F(PlotVoltageStops, ThatComeAgainAndAgainAreCounted) {
  constexpr std::size_t kLength = 100, kEvery = 1000, kQuiet = 20000;  // the noise is learnt first
  const std::size_t phase = 1 + generator()() % (kEvery - kLength - 1);
  for (std::size_t t = kQuiet + phase; t < kTimes; t += kEvery)
    for (const std::size_t antenna : {0u, 1u}) stop(antenna, t, t + kLength);
  const figure::Figure figure = made();
  EXPECT_TRUE(panel(figure, "Power of each").empty.empty());
  EXPECT_TRUE(says(figure,
                   "Samples that never change, taken for lost: all inputs for 18000 of 200000 "
                   "samples (9 %)."))
      << fmt::format("{}", fmt::join(figure.notes, "\n"));
  EXPECT_TRUE(
      says(figure, "Many columns lack some data. Those that lack less than 50 % are not grey."));
  EXPECT_EQ(counted(),
            json({{{"input", 0}, {"samples", 18000}}, {{"input", 1}, {"samples", 18000}}}));
}

TEST_F(PlotVoltageStops, AreNotWhereAllGoesOn) {
  const figure::Figure figure = made();
  EXPECT_TRUE(panel(figure, "Power of each").empty.empty());
  for (const std::string& note : figure.notes) {
    EXPECT_EQ(note.find("never change"), std::string::npos) << note;
    EXPECT_EQ(note.find("no data"), std::string::npos) << note;
  }
}

}  // namespace
}  // namespace tautline::tests

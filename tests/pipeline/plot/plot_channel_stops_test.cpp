// Channels of channelized voltages that stop in some inputs, or never change, in figures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>

#include "tautline/formats/npy/header.h"
#include "tests/pipeline/plot/plot_fixture.h"

namespace tautline::tests {
namespace {

TEST_F(Plot, ChannelsThatStopOrNeverChange) {
  constexpr std::size_t kChannels = 8, kInputs = 3, kTimes = 20'000;
  auto random = generator();
  std::string bytes(kChannels * kInputs * kTimes * 2, '\0');
  std::normal_distribution<double> normal(0, 20);
  for (char& one : bytes)
    one = static_cast<char>(std::clamp(std::round(normal(random)), -127.0, 127.0));
  const auto hold = [&](std::size_t channel, std::size_t input, std::size_t first, std::size_t end,
                        char value) {
    const std::size_t from = (channel * kInputs + input) * kTimes * 2;
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(from + 2 * first),
              bytes.begin() + static_cast<std::ptrdiff_t>(from + 2 * end), value);
  };
  const auto draw = [&] {
    write_file(scratch / "c.npy",
               formats::npy::format_header("|i1", {kChannels, kInputs, kTimes, 2}) + bytes);
    pipeline::PlotConfig config;
    config.columns = 200;
    config.reader.assumed.rate_hz = {10'000, 1};
    config.reader.assumed.centre_hz = 1e8;
    config.reader.assumed.format = core::parse_sample_format("ci8");
    return figure_of("c.npy", config);
  };
  const figure::Figure whole = draw();
  for (const float value : panel(whole, "Power, mean").image.values)
    ASSERT_TRUE(std::isfinite(value));
  for (const std::string& note : whole.notes) EXPECT_EQ(note.find("hannel"), note.npos) << note;

  constexpr std::size_t kConstant = 2, kStops = 5, kColumn = kTimes / 200;
  const std::size_t first = kColumn * (40 + random() % 20), end = first + kColumn * 60;
  hold(kConstant, 1, 0, kTimes, 7);
  hold(kStops, 2, first, end, 0);
  hold(kStops, 2, first - 1, first, 99);
  hold(kStops, 2, end, end + 1, 99);
  const figure::Figure made = draw();
  const figure::Panel& picture = panel(made, "Power, mean");
  ASSERT_EQ(picture.image.rows, kChannels);
  ASSERT_EQ(picture.image.columns, 200u);
  for (std::size_t row = 0; row < kChannels; ++row)
    for (std::size_t column = 0; column < 200; ++column)
      EXPECT_EQ(std::isnan(picture.image.values[row * 200 + column]),
                row == kConstant ||
                    (row == kStops && column >= first / kColumn && column < end / kColumn))
          << row << " " << column;
  // A channel without any data is marked in the bandpass, and the other inputs are drawn in it.
  const figure::Panel& bandpass = panel(made, "Bandpass");
  ASSERT_EQ(bandpass.empty.size(), 1u);
  const double width = (picture.y.high - picture.y.low) / kChannels;
  EXPECT_NEAR(bandpass.empty[0].first, picture.y.low + kConstant * width, 1e-9);
  EXPECT_NEAR(bandpass.empty[0].second, picture.y.low + (kConstant + 1) * width, 1e-9);
  for (std::size_t input = 0; input < kInputs; ++input)
    for (std::size_t c = 0; c < kChannels; ++c)
      EXPECT_EQ(std::isnan(bandpass.lines[input].y[c]), input == 1 && c == kConstant);
  // The level of neither input has a step there, and none is grey.
  const figure::Panel& power = panel(made, "Power of each");
  EXPECT_TRUE(power.empty.empty());
  for (const figure::Line& line : power.lines)
    for (const double y : line.y) EXPECT_NEAR(y, 0, 1.5);
  const auto says = [&](const std::string& note) {
    return std::ranges::find(made.notes, note) != made.notes.end();
  };
  EXPECT_TRUE(says("Hatched: channels that stop, or never change, in one of the inputs or more."));
  EXPECT_TRUE(says("Channels that never change, left out: channel 2 of input 1x."));
  EXPECT_TRUE(
      says(fmt::format("Channels that stop: channel 5 of input 2x for {} samples.", end - first)))
      << fmt::format("{}", fmt::join(made.notes, "\n"));
}

}  // namespace
}  // namespace tautline::tests

// The filter bank's response to tones at 128 offsets a channel, through the public interface.
#include <gtest/gtest.h>

#include <numbers>

#include "tests/stages/channelize/support.h"

namespace tautline::stages::channelize {
namespace {

constexpr std::size_t kChannels = 256;
constexpr std::size_t kOffsets = 128;

struct Anchor {
  const char* window;
  std::size_t taps;
  double edge_db, beyond_1_db, beyond_1_5_db;
};

// Computed in float64 for a sinc of cutoff 1 times the window; dB relative to the centre.
const std::vector<Anchor> kAnchors = {
    {"rect", 1, -3.92, -13.3, -13.5},    {"hamming", 4, -6.08, -50.3, -67.9},
    {"hamming", 8, -6.01, -63.9, -67.4}, {"hann", 8, -6.03, -62.5, -81.3},
    {"hann", 16, -6.02, -80.5, -99.3},   {"kaiser:9", 16, -6.02, -100.6, -109.9}};

// Power against distance from the channel's centre in 1/128 channel. Tone j is j/128 channels above
// the centre of channel C/2; its distance from the other channels' centres is larger by whole
// channels.
std::vector<double> response_db(const Anchor& anchor, const std::string& device) {
  Config c;
  c.inputs = kOffsets, c.channels = kChannels, c.taps = anchor.taps;
  c.input = core::kCf32;
  c.window = core::parse_window(anchor.window);
  c.output = Output::corner_turned_float;
  Stream stream(c.input, c.inputs, Case{c, 1}.samples());
  for (std::size_t j = 0; j < kOffsets; ++j)
    for (std::size_t n = 0; n < stream.samples; ++n) {
      // The phase is reduced exactly, so that the tone is as pure as floats allow.
      const double turns = static_cast<double>(j * n % (kOffsets * kChannels)) /
                           static_cast<double>(kOffsets * kChannels);
      stream.set(j, 2 * n, std::cos(2 * std::numbers::pi * turns));
      stream.set(j, 2 * n + 1, std::sin(2 * std::numbers::pi * turns));
    }
  const auto opened = open_device(device);
  const auto plan = make_plan(c, opened);
  const Result result = Runner(plan, opened).run(stream);
  // Tone j is n + j / 128 channels from the centre of channel C/2 - n.
  std::vector<double> db(kChannels / 2 * kOffsets);
  const double centre = std::norm(std::complex<double>(result.values[kChannels / 2 * kOffsets]));
  for (std::size_t n = 0; n < kChannels / 2; ++n)
    for (std::size_t j = 0; j < kOffsets; ++j)
      db[n * kOffsets + j] =
          10 * std::log10(std::norm(std::complex<double>(
                              result.values[(kChannels / 2 - n) * kOffsets + j])) /
                              centre +
                          1e-30);
  return db;
}

TEST(Response, IsThatOfTheTable) {
  for (const std::string& device : forced_devices())
    for (const Anchor& anchor : kAnchors) {
      SCOPED_TRACE(device + " " + anchor.window + " " + std::to_string(anchor.taps));
      const std::vector<double> db = response_db(anchor, device);
      const auto worst = [&db](double from) {
        return *std::max_element(db.begin() + static_cast<std::ptrdiff_t>(from * kOffsets),
                                 db.end());
      };
      EXPECT_NEAR(db[0], 0, 1e-9);
      EXPECT_NEAR(db[kOffsets / 2], anchor.edge_db, 0.1);
      EXPECT_NEAR(worst(1), anchor.beyond_1_db, 0.1);
      EXPECT_NEAR(worst(1.5), anchor.beyond_1_5_db, 0.1);
    }
}

}  // namespace
}  // namespace tautline::stages::channelize

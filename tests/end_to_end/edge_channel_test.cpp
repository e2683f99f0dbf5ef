// The channel that holds both ends of a band of complex samples: flagged, left out of averages, named.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tautline/formats/npy/header.h"
#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kEdgeTimes = 40'000;
constexpr double kEdgeRate_hz = 1e6, kEdgeCentre_hz = 1e9;

/// Two inputs of noise, [input][time] of cf32, and a tone that both have.
class EdgeChannel : public ::testing::Test {
 protected:
  void write(double tone_hz) {
    auto random = generator();
    std::normal_distribution<float> normal;
    std::string bytes = formats::npy::format_header("<c8", {2, kEdgeTimes});
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t t = 0; t < kEdgeTimes; ++t) {
        const double phase =
            2 * M_PI * std::fmod(tone_hz / kEdgeRate_hz * static_cast<double>(t), 1.0);
        const std::complex<float> value = std::complex<float>(normal(random), normal(random)) +
                                          std::complex<float>(std::polar(2.0, phase));
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
      }
    write_file(scratch / "x.npy", bytes);
  }
  nlohmann::json correlate(const std::string& output, std::vector<std::string> more) {
    std::vector<std::string> arguments{
        "--json",    "correlate", scratch / "x.npy", "-o",  scratch / output,
        "--rate-hz", "1000000",   "--centre-hz",     "1e9", "--integration",
        "0.1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out);
  }
  ScratchFolder scratch;
};

// A tone 0.3 of a channel below the upper edge lies in the channel that is labelled with the lower one.
TEST_F(EdgeChannel, IsWhereATonePastTheEdgeWrapsTo) {
  constexpr std::size_t kChannels = 32;
  write(kEdgeRate_hz / 2 - 0.3 * kEdgeRate_hz / kChannels);
  const auto kept = correlate("kept.uvh5", {"--channels", "32", "--keep-edge"});
  EXPECT_TRUE(kept["edge_channels"].empty());
  const auto summary = correlate("out.uvh5", {"--channels", "32"});
  EXPECT_EQ(summary["edge_channels"], nlohmann::json({0}));
  for (const auto& [name, flagged] : {std::pair{"out.uvh5", true}, {"kept.uvh5", false}}) {
    const std::string told = run_command({"inspect", scratch / name}, scratch.path().string()).out;
    EXPECT_EQ(told.find("flagged     edge channel 0\n") != std::string::npos, flagged) << told;
    EXPECT_EQ(told.find("flagged_edge_channels"), std::string::npos) << told;
  }
  const auto all = formats::open_visibilities(scratch / "kept.uvh5");
  const auto flagged = formats::open_visibilities(scratch / "out.uvh5");
  EXPECT_EQ(all->description().channel_hz[0], kEdgeCentre_hz - kEdgeRate_hz / 2);
  const formats::Integration a = all->read(0), b = flagged->read(0);
  std::size_t loudest = 0;
  for (std::size_t c = 0; c < kChannels; ++c) {
    if (std::abs(a.visibilities(c, 1)) > std::abs(a.visibilities(loudest, 1))) loudest = c;
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_GT(a.counts(c, k), 0);
      EXPECT_EQ(b.counts(c, k), c == 0 ? 0 : a.counts(c, k)) << c;
      if (c > 0) {
        EXPECT_EQ(b.visibilities(c, k), a.visibilities(c, k)) << c;
      }
    }
  }
  EXPECT_EQ(loudest, 0u);
}

TEST_F(EdgeChannel, AveragesAreMadeWithoutIt) {
  write(kEdgeRate_hz / 2);
  const auto summary = correlate("out.uvh5", {"--channels", "32", "--average-channels", "8"});
  EXPECT_EQ(summary["edge_channels"], nlohmann::json({0}));
  correlate("kept.uvh5", {"--channels", "32", "--average-channels", "8", "--keep-edge"});
  const auto reader = formats::open_visibilities(scratch / "out.uvh5");
  const auto kept = formats::open_visibilities(scratch / "kept.uvh5");
  const formats::Integration a = reader->read(0), b = kept->read(0);
  EXPECT_EQ(8 * a.counts(0, 0), 7 * b.counts(0, 0));
  EXPECT_EQ(a.counts(1, 0), b.counts(1, 0));
  // The tone is gone.
  EXPECT_LT(std::abs(a.visibilities(0, 1)), std::abs(b.visibilities(0, 1)) / 10);
}

// Spectra that are in a file: the record beside it says which channel it is.
TEST_F(EdgeChannel, IsKnownOfSpectraInFiles) {
  constexpr std::size_t kChannels = 32;
  write(kEdgeRate_hz / 2 - 0.3 * kEdgeRate_hz / kChannels);
  correlate("direct.uvh5", {"--channels", "32", "--requantize", "off"});
  // One integration, [channel][baseline].
  const FileVisibilities expected = visibilities_in(scratch / "direct.uvh5");
  ASSERT_EQ(expected.counts.size(), 3 * kChannels);
  EXPECT_EQ(expected.counts.front(), 0);
  const auto run = [&](const std::vector<std::string>& words) {
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out);
  };
  for (const std::string file : {"s.npy", "s.dada"}) {
    run({"--json", "channelize", scratch / "x.npy", "-o", scratch / file, "--rate-hz", "1000000",
         "--centre-hz", "1e9", "--channels", "32"});
    const auto of_spectra = [&](const std::string& output, std::vector<std::string> more) {
      std::vector<std::string> words{"--json", "correlate",      scratch / file,
                                     "-o",     scratch / output, "--integration",
                                     "0.1",    "--overwrite"};
      words.insert(words.end(), more.begin(), more.end());
      return run(words);
    };
    EXPECT_EQ(of_spectra("out.uvh5", {})["edge_channels"], nlohmann::json({0}));
    EXPECT_TRUE(of_spectra("kept.uvh5", {"--keep-edge"})["edge_channels"].empty());
    const FileVisibilities out = visibilities_in(scratch / "out.uvh5"),
                           kept = visibilities_in(scratch / "kept.uvh5");
    EXPECT_EQ(out.counts, expected.counts) << file;
    EXPECT_EQ(kept.counts,
              std::vector<std::int64_t>(expected.counts.size(), expected.counts.back()))
        << file;
    for (std::size_t k = 0; k < 3 * kChannels; ++k)  // those of channel 0 are read as zeros
      EXPECT_LE(std::abs(out.values[k] - expected.values[k]),
                1e-4f * std::abs(expected.values[k / 3 * 3]))
          << file << " " << k;
    // Of fine channels inside it, those up to its middle hold the band's other end, and the tone.
    auto edges = nlohmann::json({0, 1, 2});
    for (std::size_t c = 4; c < 4 * kChannels; c += 4) edges.push_back(c);
    EXPECT_EQ(of_spectra("fine.uvh5", {"--fine", "4"})["edge_channels"], edges);
    of_spectra("fine.uvh5", {"--fine", "4", "--keep-edge"});
    const FileVisibilities fine = visibilities_in(scratch / "fine.uvh5");
    std::size_t loudest = 0;
    for (std::size_t c = 0; c < 4 * kChannels; ++c)
      if (std::abs(fine.values[3 * c + 1]) > std::abs(fine.values[3 * loudest + 1])) loudest = c;
    EXPECT_EQ(loudest, 1u);
  }
}

TEST_F(EdgeChannel, IsNoneWhereChannelsAreOddOrTheRangeLeavesItOut) {
  write(0);
  EXPECT_TRUE(correlate("odd.uvh5", {"--channels", "27"})["edge_channels"].empty());
  EXPECT_TRUE(
      correlate("range.uvh5", {"--channels", "32", "--channel-range", "1:20"})["edge_channels"]
          .empty());
  const auto reader = formats::open_visibilities(scratch / "range.uvh5");
  EXPECT_GT(reader->read(0).counts(0, 0), 0);
}

}  // namespace
}  // namespace tautline::tests

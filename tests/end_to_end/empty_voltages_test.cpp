// An antenna that stops, padding: invalid samples of their inputs alone, counted and named, in blocks of any length.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tautline/formats/npy/header.h"
#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kStoppedInputs = 4, kStoppedTimes = 300'000;
constexpr std::size_t kStoppedChannels = 32, kStoppedTaps = 4;

/// Counts [integration][channel][baseline] and values of a file.
struct StoppedVisibilities {
  std::vector<std::int64_t> counts;
  std::vector<std::complex<float>> values;
  std::size_t channels = 0, baselines = 0;

  explicit StoppedVisibilities(const std::string& path) {
    const auto reader = formats::open_visibilities(path);
    for (std::size_t k = 0; k < reader->integrations(); ++k) {
      const formats::Integration one = reader->read(k);
      channels = one.counts.extent(0), baselines = one.counts.extent(1);
      for (std::size_t c = 0; c < channels; ++c) {
        counts.insert(counts.end(), one.counts.row(c), one.counts.row(c) + baselines);
        values.insert(values.end(), one.visibilities.row(c), one.visibilities.row(c) + baselines);
      }
    }
  }
  std::int64_t count(std::size_t baseline) const {
    std::int64_t sum = 0;
    for (std::size_t k = baseline; k < counts.size(); k += channels * baselines) sum += counts[k];
    return sum;
  }
};

/// Complex noise of 8 bits, [input][time], 1 MHz.
class EmptyVoltageFiles : public ::testing::Test {
 protected:
  EmptyVoltageFiles() : voltages(kStoppedInputs * kStoppedTimes * 2, '\0') {
    auto random = generator();
    for (char& byte : voltages) byte = static_cast<char>(random() % 61) - 30;
  }
  void stop(std::size_t input, std::size_t first, std::size_t samples, char value) {
    std::fill_n(voltages.begin() + static_cast<std::ptrdiff_t>((input * kStoppedTimes + first) * 2),
                samples * 2, value);
  }
  void write() {
    write_file(scratch / "x.npy",
               formats::npy::format_header("|i1", {kStoppedInputs, kStoppedTimes, 2}) + voltages);
  }
  nlohmann::json run(const std::string& command, const std::string& output,
                     const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--json",          command,
                                       scratch / "x.npy", "-o",
                                       scratch / output,  "--overwrite",
                                       "--format",        "ci8",
                                       "--rate-hz",       "1000000",
                                       "--centre-hz",     "1e9",
                                       "--taps",          std::to_string(kStoppedTaps),
                                       "--channels",      std::to_string(kStoppedChannels)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out);
  }
  // Spectra that need none of the samples [first, first + samples).
  static std::int64_t spectra_without(std::size_t first, std::size_t samples) {
    std::int64_t count = 0;
    for (std::size_t s = 0; (s + kStoppedTaps) * kStoppedChannels <= kStoppedTimes; ++s)
      count +=
          (s + kStoppedTaps) * kStoppedChannels <= first || s * kStoppedChannels >= first + samples
              ? 1
              : 0;
    return count;
  }
  ScratchFolder scratch;
  std::string voltages;
  CommandResult result;
};

// Channelized: [channel][input][time]; channel 3 of input 1 and channel 5 of both have one value.
TEST_F(EmptyVoltageFiles, AChannelThatNeverChangesIsFlagged) {
  constexpr std::size_t kChannels = 8, kInputs = 2, kTimes = 4000;
  std::string samples = voltages.substr(0, kChannels * kInputs * kTimes * 2);
  const auto hold = [&](std::size_t channel, std::size_t input, char value) {
    const std::size_t first = (channel * kInputs + input) * kTimes * 2;
    std::fill_n(samples.begin() + static_cast<std::ptrdiff_t>(first), kTimes * 2, value);
  };
  const auto constant = [](std::size_t channel, std::size_t i, std::size_t j) {
    return channel == 5 || (channel == 3 && (i == 1 || j == 1));
  };
  hold(3, 1, 7);
  hold(5, 0, 0);
  hold(5, 1, -9);
  write_file(scratch / "c.npy",
             formats::npy::format_header("|i1", {kChannels, kInputs, kTimes, 2}) + samples);
  const auto correlate = [&](const std::string& output, std::vector<std::string> more) {
    std::vector<std::string> words{
        "--json",    "correlate", scratch / "c.npy", "-o",  scratch / output, "--format", "ci8",
        "--rate-hz", "1000",      "--centre-hz",     "1e9", "--integration",  "1"};
    words.insert(words.end(), more.begin(), more.end());
    result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out);
  };
  const auto kept = correlate("kept.uvh5", {"--keep-constant"});
  EXPECT_EQ(kept["constant_channels"], nlohmann::json::array());
  EXPECT_EQ(result.err.find("never change"), std::string::npos) << result.err;
  const auto summary = correlate("v.uvh5", {});
  EXPECT_EQ(summary["constant_channels"], nlohmann::json({{{"channel", 3}, {"inputs", {1}}},
                                                          {{"channel", 5}, {"inputs", {0, 1}}}}));
  EXPECT_NE(result.err.find("channel 3 of input 1x; channel 5 of all inputs"), std::string::npos)
      << result.err;
  const StoppedVisibilities all(scratch / "kept.uvh5"), found(scratch / "v.uvh5");
  ASSERT_EQ(found.counts.size(), all.counts.size());
  ASSERT_EQ(found.channels, kChannels);
  for (std::size_t k = 0; k < found.counts.size(); ++k) {
    const std::size_t channel = k / found.baselines % kChannels, baseline = k % found.baselines;
    const std::size_t i = baseline > 0 ? 1 : 0, j = baseline == 2 ? 1 : 0;
    const bool none = constant(channel, i, j);
    EXPECT_GT(all.counts[k], 0);
    EXPECT_EQ(found.counts[k], none ? 0 : all.counts[k]) << channel << " " << baseline;
    EXPECT_EQ(found.values[k], none ? std::complex<float>() : all.values[k]) << channel;
  }
}

TEST_F(EmptyVoltageFiles, AnAntennaThatStopsLowersNoOtherWeights) {
  auto random = generator();
  const std::size_t first = random() % 200'000, samples = 2'000 + random() % 90'000;
  stop(1, first, samples, static_cast<char>(random() % 3));
  // Different from the stretch, so that its ends are known.
  voltages[(kStoppedTimes + first + samples) * 2] = 99;
  if (first > 0) voltages[(kStoppedTimes + first - 1) * 2] = 99;
  write();
  const auto summary = run("correlate", "all.uvh5",
                           {"--integration", "0.05", "--keep-edge", "--polarisations", "2",
                            "--report", scratch / "page.html"});
  EXPECT_EQ(summary["empty_samples"], samples);
  EXPECT_EQ(summary["lost_samples"], 0);
  ASSERT_EQ(summary["empty_stretches"].size(), 1u) << summary;
  EXPECT_EQ(summary["empty_stretches"][0]["inputs"], nlohmann::json({1}));
  EXPECT_EQ(summary["empty_stretches"][0]["first_sample"], first);
  EXPECT_EQ(summary["empty_stretches"][0]["samples"], samples);
  EXPECT_EQ(summary["empty_inputs"][0]["samples"], samples);
  EXPECT_NE(read_file(scratch / "page.html").find("input 0y for " + std::to_string(samples)),
            std::string::npos);
  const StoppedVisibilities found(scratch / "all.uvh5");
  const std::int64_t whole = spectra_without(0, 0), left = spectra_without(first, samples);
  ASSERT_LT(left, whole);
  for (std::size_t i = 0, baseline = 0; i < kStoppedInputs; ++i)
    for (std::size_t j = 0; j <= i; ++j, ++baseline)
      EXPECT_EQ(found.count(baseline), i == 1 || j == 1 ? left : whole) << i << " " << j;
  // Short blocks, which the stretch crosses: the same bits.
  run("correlate", "blocks.uvh5",
      {"--integration", "0.05", "--keep-edge", "--polarisations", "2", "--memory", "6M"});
  const StoppedVisibilities blocks(scratch / "blocks.uvh5");
  EXPECT_EQ(blocks.counts, found.counts);
  EXPECT_EQ(blocks.values, found.values);
  const auto kept =
      run("correlate", "kept.uvh5",
          {"--integration", "0.05", "--keep-edge", "--polarisations", "2", "--keep-constant"});
  EXPECT_EQ(kept["empty_samples"], 0);
  EXPECT_EQ(StoppedVisibilities(scratch / "kept.uvh5").count(2), whole);
}

// Lost packets that a recorder writes as zeros, and one antenna that stops for as short.
TEST_F(EmptyVoltageFiles, ShortStretchesAreEmpty) {
  auto random = generator();
  const std::size_t samples = 50 + random() % 200, of_one = 50 + random() % 200;
  for (const std::size_t first : {100'000 + random() % 1000, 200'000 + random() % 1000})
    for (std::size_t input = 0; input < kStoppedInputs; ++input) {
      stop(input, first, samples, 0);
      // Different from the stretch, so that its ends are known.
      for (const std::size_t beside : {first - 1, first + samples})
        voltages[(input * kStoppedTimes + beside) * 2] = 5;
    }
  stop(2, 150'000, of_one, 0);
  for (const std::size_t beside : {std::size_t{149'999}, 150'000 + of_one})
    voltages[(2 * kStoppedTimes + beside) * 2] = 5;
  write();
  const auto summary = run("correlate", "short.uvh5", {"--integration", "0.05"});
  EXPECT_EQ(summary["empty_samples"], 2 * samples * kStoppedInputs + of_one) << summary;
  ASSERT_EQ(summary["empty_stretches"].size(), 3u) << summary;
  EXPECT_EQ(summary["empty_stretches"][0]["inputs"], nlohmann::json({0, 1, 2, 3}));
  EXPECT_EQ(summary["empty_stretches"][0]["samples"], samples);
  EXPECT_EQ(summary["empty_stretches"][1]["inputs"], nlohmann::json({2}));
  EXPECT_EQ(summary["empty_stretches"][1]["samples"], of_one);
  const auto blocks = run("correlate", "blocks.uvh5", {"--integration", "0.05", "--memory", "6M"});
  EXPECT_EQ(blocks["empty_stretches"], summary["empty_stretches"]);
  EXPECT_EQ(StoppedVisibilities(scratch / "blocks.uvh5").counts,
            StoppedVisibilities(scratch / "short.uvh5").counts);
}

// A third of the time in stretches of 50 to 400 samples: the amplitudes are those of the other two thirds.
TEST_F(EmptyVoltageFiles, AnAntennaThatStopsAgainAndAgainHasTheRightAmplitude) {
  auto random = generator();
  // Inputs 0 and 1 have the same signal.
  std::copy_n(voltages.begin(), kStoppedTimes * 2,
              voltages.begin() + static_cast<std::ptrdiff_t>(kStoppedTimes * 2));
  const auto power = [&](const std::string& output) {
    write();
    result = run_command({"correlate", scratch / "x.npy", "-o", scratch / output, "--format", "ci8",
                          "--rate-hz", "1000000", "--centre-hz", "1e9", "--integration", "0.1",
                          "--keep-edge", "--channels", "8", "--taps", "2", "--requantize", "off"},
                         scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    const StoppedVisibilities found(scratch / output);
    std::vector<double> sums(3);
    std::vector<std::int64_t> counts(3);
    for (std::size_t k = 0; k < found.counts.size(); ++k)
      if (k % found.baselines < 3) {
        sums[k % found.baselines] +=
            std::abs(found.values[k]) * static_cast<double>(found.counts[k]);
        counts[k % found.baselines] += found.counts[k];
      }
    for (std::size_t b = 0; b < 3; ++b) sums[b] /= static_cast<double>(counts[b]);
    EXPECT_GT(found.count(1), 0);
    return std::pair(sums, found.count(1));
  };
  const auto [whole, all] = power("whole.uvh5");
  EXPECT_NE(result.out.find(" 0 empty"), std::string::npos) << result.out;
  std::size_t gone = 0;
  for (std::size_t t = random() % 1000; t + 400 < kStoppedTimes;) {
    const std::size_t length = 50 + random() % 351;
    stop(1, t, length, 0);
    gone += length;
    t += length + 2 * length;
  }
  const auto [found, left] = power("stops.uvh5");
  // "...; input 1x for 78 samples from 4711 ... (in all 440 stretches: input 1x 33 %)"
  EXPECT_NE(result.err.find(" stretches: input 1x 3"), std::string::npos) << result.err;
  const std::size_t at = result.out.find(" empty, ");
  ASSERT_NE(at, std::string::npos) << result.out;
  const double empty = std::stod(result.out.substr(result.out.rfind(' ', at - 1)));
  EXPECT_GT(empty, 0.97 * static_cast<double>(gone));
  EXPECT_LE(empty, 1.001 * static_cast<double>(gone));
  EXPECT_LT(left, 2 * all / 3);
  for (std::size_t b = 0; b < 3; ++b) EXPECT_NEAR(found[b] / whole[b], 1, 0.02) << b;
}

// Half of an integration of one antenna, 10 km east of the other: the time is the middle, the phase is not.
TEST_F(EmptyVoltageFiles, PhasesThatAreNotThoseOfTheTimeAreNamed) {
  write_file(scratch / "array.toml",
             "latitude_deg = 0\nlongitude_deg = 0\naltitude_m = 0\n"
             "[[antenna]]\nenu_m = [0, 0, 0]\n[[antenna]]\nenu_m = [10000, 0, 0]\n");
  stop(1, 100'000, 50'000, 0);
  write();
  const std::vector<std::string> more{"--integration",   "0.1", "--array",  scratch / "array.toml",
                                      "--polarisations", "2",   "--report", scratch / "page.html"};
  run("correlate", "half.uvh5", more);
  const std::string words =
      "less than three quarters of the samples are valid in 1 integration of input 0y";
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  // 7.29e-5 / s x 10 km x 1 GHz / c turns a second, for 0.025 s.
  EXPECT_NE(result.err.find("turn by up to 22 degrees"), std::string::npos) << result.err;
  EXPECT_NE(read_file(scratch / "page.html").find(words), std::string::npos);
  // Fringes that are rotated after the correlation have turned before, others have been stopped.
  EXPECT_NE(result.err.find("stopped before the correlation (--delays) have none"),
            std::string::npos)
      << result.err;
  std::vector<std::string> after = more, before = more;
  after.insert(after.end(), {"--phase-center", "Zenith=0,0", "--utc-start", "2026-03-20-14:00:00"});
  run("correlate", "after.uvh5", after);
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("turn by up to 22 degrees"), std::string::npos) << result.err;
  std::string delays = "phase_centre = \"Zenith\"\nra_deg = 0\ndec_deg = 0\n";
  for (const int antenna : {0, 1})
    delays += "[[delay]]\nantenna = " + std::to_string(antenna) +
              "\npiece = [{ start = \"1970-01-01T00:00:00\", delay_s = 0 }]\n";
  write_file(scratch / "delays.toml", delays);
  before.insert(before.end(), {"--delays", scratch / "delays.toml"});
  run("correlate", "before.uvh5", before);
  EXPECT_EQ(result.err.find("three quarters"), std::string::npos) << result.err;
  before.insert(before.end(), {"--phase-center", "Zenith"});
  run("correlate", "table.uvh5", before);
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  // A fifth is no cause, nor are short baselines.
  voltages.replace((kStoppedTimes + 100'000) * 2, 60'000, voltages, 0, 60'000);
  write();
  run("correlate", "fifth.uvh5", more);
  EXPECT_EQ(result.err.find("three quarters"), std::string::npos) << result.err;
  stop(1, 100'000, 50'000, 0);
  write();
  write_file(scratch / "array.toml",
             "latitude_deg = 0\nlongitude_deg = 0\naltitude_m = 0\n"
             "[[antenna]]\nenu_m = [0, 0, 0]\n[[antenna]]\nenu_m = [1000, 0, 0]\n");
  run("correlate", "short.uvh5", more);
  EXPECT_EQ(result.err.find("three quarters"), std::string::npos) << result.err;
}

// The same in a recording of GPS by five antennas, of one bit a sample.
TEST_F(EmptyVoltageFiles, AnAntennaOfARecordingThatStopsChangesNoOther) {
  const std::filesystem::path folder = std::filesystem::path(TAUTLINE_DATA_DIR) / "tart";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "the recordings are absent (" << folder << ")";
  constexpr std::size_t kHeader = 4096, kAntennas = 5, kStops = 3;
  std::string file = read_file((folder / "tart_20131020T015903.dada").string());
  const std::size_t times = (file.size() - kHeader) / kAntennas;
  auto random = generator();
  const std::size_t samples = times / 8 + random() % (times / 4),
                    first = random() % (times - samples);
  const auto correlate = [&](const std::string& name) {
    write_file(scratch / (name + ".dada"), file);
    const CommandResult done =
        run_command({"--json", "correlate", scratch / (name + ".dada"), "-o",
                     scratch / (name + ".uvh5"), "--channels", "32", "--taps", "4", "--integration",
                     "1", "--array", (folder / "array.toml").string()},
                    scratch.path().string());
    EXPECT_EQ(done.status, kDone) << done.err;
    return nlohmann::json::parse(done.out);
  };
  EXPECT_EQ(correlate("whole")["empty_samples"], 0);
  for (std::size_t t = first; t < first + samples; ++t) file[kHeader + t * kAntennas + kStops] = 0;
  const auto summary = correlate("stopped");
  EXPECT_EQ(summary["empty_samples"], samples);
  ASSERT_EQ(summary["empty_stretches"].size(), 1u) << summary;
  EXPECT_EQ(summary["empty_stretches"][0]["inputs"], nlohmann::json({kStops}));
  EXPECT_EQ(summary["empty_stretches"][0]["first_sample"], first);
  const StoppedVisibilities whole(scratch / "whole.uvh5"), stopped(scratch / "stopped.uvh5");
  ASSERT_EQ(whole.counts.size(), stopped.counts.size());
  for (std::size_t i = 0, baseline = 0; i < kAntennas; ++i)
    for (std::size_t j = 0; j <= i; ++j, ++baseline) {
      if (i == kStops || j == kStops) {
        EXPECT_LT(stopped.count(baseline), whole.count(baseline)) << i << " " << j;
        EXPECT_GT(stopped.count(baseline), 0) << i << " " << j;
        continue;
      }
      for (std::size_t k = baseline; k < whole.counts.size(); k += whole.baselines) {
        EXPECT_EQ(stopped.counts[k], whole.counts[k]) << i << " " << j;
        EXPECT_EQ(stopped.values[k], whole.values[k]) << i << " " << j;
      }
    }
}

// Packets of all five antennas that were lost, twice: their spectra are missing in every baseline alike.
TEST_F(EmptyVoltageFiles, LostPacketsOfARecordingLowerAllWeightsAlike) {
  const std::filesystem::path folder = std::filesystem::path(TAUTLINE_DATA_DIR) / "tart";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "the recordings are absent (" << folder << ")";
  constexpr std::size_t kHeader = 4096, kAntennas = 5, kBaselines = 15, kChannels = 32, kTaps = 4,
                        kSpectra = 64, kBlock = 2 * kChannels;
  std::string file = read_file((folder / "tart_20131020T015903.dada").string());
  const std::size_t times = (file.size() - kHeader) / kAntennas;
  const auto correlate = [&](const std::string& name) {
    write_file(scratch / (name + ".dada"), file);
    const CommandResult done = run_command(
        {"--json", "correlate", scratch / (name + ".dada"), "-o", scratch / (name + ".uvh5"),
         "--channels", std::to_string(kChannels), "--taps", std::to_string(kTaps), "--integration",
         std::to_string(kSpectra * kBlock / 16.368e6), "--requantize", "off", "--array",
         (folder / "array.toml").string()},
        scratch.path().string());
    EXPECT_EQ(done.status, kDone) << done.err;
    return nlohmann::json::parse(done.out);
  };
  EXPECT_EQ(correlate("whole")["empty_samples"], 0);
  auto random = generator();
  const std::size_t samples = 500 + random() % 1000;
  const std::vector<std::size_t> lost{times / 8 + random() % (times / 8),
                                      times / 2 + random() % (times / 8)};
  for (const std::size_t first : lost)
    std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(kHeader + first * kAntennas),
                samples * kAntennas, '\0');
  const auto summary = correlate("lost");
  EXPECT_EQ(summary["empty_samples"], 2 * samples * kAntennas);
  ASSERT_EQ(summary["empty_stretches"].size(), 2u) << summary;
  for (const std::size_t k : {0, 1}) {
    const auto& stretch = summary["empty_stretches"][k];
    EXPECT_EQ(stretch["inputs"], nlohmann::json({0, 1, 2, 3, 4}));
    EXPECT_EQ(stretch["first_sample"], lost[k]);
    EXPECT_EQ(stretch["samples"], samples);
  }
  const StoppedVisibilities whole(scratch / "whole.uvh5"), found(scratch / "lost.uvh5");
  ASSERT_EQ(whole.counts.size(), found.counts.size());
  const std::size_t rows = whole.channels * kBaselines, integrations = whole.counts.size() / rows;
  ASSERT_GT(integrations, 10u);
  std::size_t untouched = 0;
  for (std::size_t one = 0; one < integrations; ++one) {
    std::int64_t missing = 0;
    for (std::size_t s = one * kSpectra; s < (one + 1) * kSpectra; ++s)
      missing += std::any_of(lost.begin(), lost.end(), [&](std::size_t first) {
        return (s + kTaps) * kBlock > first && s * kBlock < first + samples;
      });
    untouched += missing == 0 ? 1 : 0;
    for (std::size_t k = one * rows; k < (one + 1) * rows; ++k) {
      ASSERT_EQ(found.counts[k], whole.counts[k] - missing) << "integration " << one;
      if (missing == 0) {
        ASSERT_EQ(found.values[k], whole.values[k]) << "integration " << one;
      }
    }
  }
  EXPECT_GT(untouched, 5u);
  EXPECT_LT(untouched, integrations);
}

TEST_F(EmptyVoltageFiles, PaddingAndDeadInputsAreNamed) {
  const std::size_t padding = 10'000;
  for (std::size_t i = 0; i < kStoppedInputs; ++i) {
    stop(i, kStoppedTimes - padding, padding, 0);
    voltages[(i * kStoppedTimes + kStoppedTimes - padding - 1) * 2] = 99;
  }
  stop(2, 0, kStoppedTimes, 5);
  write();
  const auto summary = run("correlate", "out.uvh5", {"--integration", "0.05", "--keep-edge"});
  EXPECT_EQ(summary["empty_samples"], (kStoppedInputs - 1) * padding + kStoppedTimes);
  // A warning, which --quiet leaves.
  const CommandResult text = run_command(
      {"--quiet", "correlate", scratch / "x.npy", "-o", scratch / "text.uvh5", "--format", "ci8",
       "--rate-hz", "1000000", "--centre-hz", "1e9", "--integration", "0.05"},
      scratch.path().string());
  EXPECT_NE(
      text.err.find("input 2x never changes; inputs 0x, 1x, 3x for 10000 samples from 290000"),
      std::string::npos)
      << text.err;
  const StoppedVisibilities found(scratch / "out.uvh5");
  for (std::size_t baseline = 0; baseline < 10; ++baseline)
    EXPECT_EQ(found.count(baseline), baseline >= 3 && (baseline <= 5 || baseline == 8)
                                         ? 0
                                         : spectra_without(kStoppedTimes - padding, padding))
        << baseline;
}

TEST_F(EmptyVoltageFiles, ChannelizeWritesThemAsInvalid) {
  stop(3, 100'000, 50'000, 0);
  voltages[(3 * kStoppedTimes + 150'000) * 2] = 99;
  voltages[(3 * kStoppedTimes + 99'999) * 2] = 99;
  write();
  const auto summary = run("channelize", "out.npy", {});
  const std::int64_t gone = spectra_without(0, 0) - spectra_without(100'000, 50'000);
  EXPECT_EQ(summary["empty_samples"], 50'000);
  EXPECT_EQ(summary["invalid_spectra"], gone);
  const auto record = nlohmann::json::parse(read_file(scratch / "out.npy.json"));
  EXPECT_EQ(record["empty_samples"], 50'000);
  EXPECT_EQ(record["empty_stretches"][0]["inputs"], nlohmann::json({3}));
  EXPECT_EQ(run("channelize", "out.npy", {"--keep-constant"})["invalid_spectra"], 0);
}

// Samples [channel][input][time], all channels of one input.
TEST_F(EmptyVoltageFiles, OfChannelizedInputToo) {
  constexpr std::size_t kChannels = 8, kInputs = 2, kTimes = 20'000;
  std::string bytes = voltages.substr(0, kChannels * kInputs * kTimes * 2);
  for (std::size_t c = 0; c < kChannels; ++c) {
    auto at = bytes.begin() + static_cast<std::ptrdiff_t>(((c * kInputs + 1) * kTimes) * 2);
    std::fill_n(at + 2 * 5'000, 2 * 3'000, '\0');
    at[2 * 4'999] = at[2 * 8'000] = 99;
  }
  write_file(scratch / "c.npy",
             formats::npy::format_header("|i1", {kChannels, kInputs, kTimes, 2}) + bytes);
  const CommandResult found =
      run_command({"--json", "correlate", scratch / "c.npy", "-o", scratch / "c.uvh5", "--format",
                   "ci8", "--rate-hz", "10000", "--centre-hz", "1e8", "--integration", "2"},
                  scratch.path().string());
  ASSERT_EQ(found.status, kDone) << found.err;
  EXPECT_EQ(nlohmann::json::parse(found.out)["empty_samples"], 3'000);
  const StoppedVisibilities visibilities(scratch / "c.uvh5");
  EXPECT_EQ(visibilities.counts[0], static_cast<std::int64_t>(kTimes));
  EXPECT_EQ(visibilities.counts[1], static_cast<std::int64_t>(kTimes - 3'000));
  EXPECT_EQ(visibilities.counts[2], static_cast<std::int64_t>(kTimes - 3'000));
}

}  // namespace
}  // namespace tautline::tests

// Channels that stop in voltages that come by a pipe.
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/end_to_end/streams/piped_voltages.h"

namespace tautline::tests {
namespace {

// 4 channels of 4 inputs: channel 2 of input 1 never changes, channel 3 of input 0 stops for a while.
class PipedChannels : public PipedVoltages {
 protected:
  static constexpr std::size_t kTimes = 60'000, kChannels = 4, kInputs = 4;

  void make_bytes(const std::string& bandwidth) {
    DadaFile dada;
    dada.nchan = std::to_string(kChannels);
    dada.bw = bandwidth;
    dada.payload_bytes = kTimes * kChannels * kInputs * 2;
    bytes = dada.bytes();
    stops = 10'000 + random() % 5'000, stopped = 5'000 + random() % 30'000;
    for (std::size_t t = 0; t < kTimes; ++t) {
      put(t, 2, 1, '\7');
      if (t >= stops && t < stops + stopped) put(t, 3, 0, '\0');
    }
    put(stops - 1, 3, 0, '\1');
    put(stops + stopped, 3, 0, '\1');
    write_file(scratch / "x.dada", bytes);
  }
  void put(std::size_t t, std::size_t channel, std::size_t input, char value) {
    const std::size_t at = 4096 + ((t * kChannels + channel) * kInputs + input) * 2;
    bytes[at] = bytes[at + 1] = value;
  }
  // The empty times of a channel and input.
  std::pair<std::size_t, std::size_t> empty_of(std::size_t channel, std::size_t input) const {
    if (channel == 2 && input == 1) return {0, kTimes};
    if (channel == 3 && input == 0) return {stops, stops + stopped};
    return {0, 0};
  }
  // Spectra of `hop` samples that need none of the empty times of either input.
  std::int64_t whole_spectra(std::size_t channel, std::size_t i, std::size_t j, std::size_t hop,
                             std::size_t taps) const {
    std::int64_t count = 0;
    for (std::size_t first = 0; first + taps * hop <= kTimes; first += hop) {
      const auto touches = [&](std::size_t input) {
        const auto [begin, end] = empty_of(channel, input);
        return begin < end && first < end && first + taps * hop > begin;
      };
      count += touches(i) || touches(j) ? 0 : 1;
    }
    return count;
  }
  // The summary of a command.
  nlohmann::json json_of(const CommandResult& result) const {
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out.empty() ? "{}" : result.out);
  }

  std::string bytes;
  std::size_t stops = 0, stopped = 0;
};

TEST_F(PipedChannels, ThatStopAreFlaggedAsTheyCome) {
  for (const std::string bandwidth : {"5.12", "-5.12"})
    for (const std::size_t fine : {1, 8}) {
      make_bytes(bandwidth);
      const std::size_t taps = fine > 1 ? 8 : 1;
      const auto words = [&](const std::string& input, const std::string& output) {
        std::vector<std::string> all{"--json",      "correlate",     input,  "-o",         output,
                                     "--overwrite", "--integration", "0.01", "--keep-edge"};
        if (fine > 1) all.insert(all.end(), {"--fine", std::to_string(fine)});
        return all;
      };
      const auto summary = json_of(run_piped(words(pipe, scratch / "pipe.uvh5"), bytes));
      EXPECT_EQ(summary["empty_values"], kTimes + stopped);
      EXPECT_EQ(summary["empty_channels"],
                nlohmann::json({{{"channel", 2}, {"input", 1}, {"samples", kTimes}},
                                {{"channel", 3}, {"input", 0}, {"samples", stopped}}}));
      EXPECT_EQ(summary["empty_samples"], 0);
      auto of_file = words(scratch / "x.dada", scratch / "file.uvh5");
      of_file.emplace_back("--keep-constant");
      json_of(run(of_file));
      const FileVisibilities live = visibilities_in(scratch / "pipe.uvh5"),
                             all = visibilities_in(scratch / "file.uvh5");
      ASSERT_EQ(live.counts.size(), all.counts.size());
      const std::size_t channels = kChannels * fine, baselines = kInputs * (kInputs + 1) / 2;
      for (std::size_t c = 0; c < channels; ++c) {
        const bool mirrored = fine > 1 && bandwidth[0] == '-';
        const std::size_t coarse = mirrored ? kChannels - 1 - c / fine : c / fine;
        for (std::size_t i = 0, baseline = 0; i < kInputs; ++i)
          for (std::size_t j = 0; j <= i; ++j, ++baseline) {
            std::int64_t count = 0;
            for (std::size_t k = c * baselines + baseline; k < live.counts.size();
                 k += channels * baselines) {
              count += live.counts[k];
              if (live.counts[k] == all.counts[k]) {
                EXPECT_EQ(live.values[k], all.values[k]);
              }
            }
            EXPECT_EQ(count, whole_spectra(coarse, i, j, fine, taps))
                << bandwidth << ", " << fine << ": " << c << " " << i << " " << j;
          }
      }
      // Of files, a channel that never changes is flagged as a whole.
      of_file.pop_back();
      const auto of_stop = json_of(run(of_file));
      EXPECT_EQ(of_stop["empty_values"], stopped);
      EXPECT_EQ(of_stop["empty_channels"], nlohmann::json({summary["empty_channels"][1]}));
      const FileVisibilities flagged = visibilities_in(scratch / "file.uvh5");
      for (std::size_t k = 0; k < flagged.counts.size(); ++k) {
        const std::size_t c = k / baselines % channels, baseline = k % baselines;
        const bool mirrored = fine > 1 && bandwidth[0] == '-';
        const std::size_t coarse = mirrored ? kChannels - 1 - c / fine : c / fine;
        const bool of_input_1 = baseline == 1 || baseline == 2 || baseline == 4 || baseline == 7;
        const bool never_changes = coarse == 2 && of_input_1;
        EXPECT_EQ(flagged.counts[k], never_changes ? 0 : live.counts[k]) << c;
        if (!never_changes) {
          EXPECT_EQ(flagged.values[k], live.values[k]) << c;
        }
      }
    }
}

TEST_F(PipedChannels, ThatStopAreInvalidInWhatChannelizeWrites) {
  constexpr std::size_t kFine = 8, kTaps = 8;
  make_bytes("5.12");
  const auto words = [&](const std::string& input, std::vector<std::string> more = {}) {
    std::vector<std::string> all{
        "--json", "channelize",          input,        "-o", scratch / "channels.dada",
        "--fine", std::to_string(kFine), "--overwrite"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto spectra = static_cast<std::int64_t>(kTimes / kFine - kTaps + 1);
  const auto invalid = [&](std::size_t channel, std::size_t input) {
    return spectra - whole_spectra(channel, input, input, kFine, kTaps);
  };
  // In one of four channels; rounded up in every block.
  const double of_pipe = static_cast<double>(invalid(2, 1) + invalid(3, 0)) / 4;
  const auto piped = json_of(run_piped(words(pipe), bytes));
  EXPECT_NEAR(piped["invalid_spectra"].get<double>(), of_pipe, 0.02 * of_pipe);
  const auto record = nlohmann::json::parse(read_file(scratch / "channels.dada.json"));
  EXPECT_EQ(record["empty_channels"].size(), 2u);
  // Spans are of whole inputs: the values of single channels are counted, and readers say so.
  EXPECT_EQ(record["invalid"], nlohmann::json::array());
  EXPECT_EQ(record["invalid_values"], kFine * (invalid(2, 1) + invalid(3, 0)));
  const CommandResult read =
      run({"correlate", scratch / "channels.dada", "-o", scratch / "v.uvh5"});
  EXPECT_EQ(read.status, kDamaged);
  EXPECT_NE(read.err.find(" invalid values of single channels are not listed"), std::string::npos)
      << read.err;
  const auto filed = json_of(run(words(scratch / "x.dada")));
  EXPECT_EQ(filed["constant_channels"], nlohmann::json({{{"channel", 2}, {"inputs", {1}}}}));
  const double of_file = static_cast<double>(spectra + invalid(3, 0)) / 4;
  EXPECT_NEAR(filed["invalid_spectra"].get<double>(), of_file, 0.02 * of_file);
  EXPECT_EQ(json_of(run(words(scratch / "x.dada", {"--keep-constant"})))["invalid_spectra"], 0);
}

}  // namespace
}  // namespace tautline::tests

// Recorded files through the commands: the Crab's band at four depths, a pulsar's series.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <tuple>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(TAUTLINE_DATA_DIR) / "filterbank";
constexpr std::size_t kRecordedTimes = 4096, kChannels = 832;

class Recorded : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder))
      GTEST_SKIP() << "the recorded filterbanks are absent (" << kFolder << ")";
  }
  CommandResult run(std::vector<std::string> arguments) {
    return run_command(arguments, scratch_.path().string());
  }
  // The array of a dedispersion: values as they stand in the file, [trial][time], also those of channels that stand
  // still for a while in the coarser files.
  std::vector<std::int32_t> dedisperse(const std::string& input, const std::string& dms) {
    const std::string output = scratch_ / "s.npy";
    const CommandResult result = run({"dedisperse", input, "-o", output, "--overwrite", "--dms",
                                      dms, "--max-loss", "0", "--keep-constant"});
    EXPECT_EQ(result.status, 0) << result.err;
    record_ = nlohmann::json::parse(read_file(output + ".json"));
    samples_ = record_["segments"][0]["samples"].get<std::size_t>();
    const std::string file = read_file(output);
    const std::size_t bytes = 4 * samples_ * record_["dms"].size();
    std::vector<std::int32_t> values(bytes / 4);
    std::memcpy(values.data(), file.data() + file.size() - bytes, bytes);
    return values;
  }
  // The candidates of a search, without the file's name.
  std::string list_of(const std::string& input, const std::vector<std::string>& more = {}) {
    const std::string output = scratch_ / "c.csv";
    std::vector<std::string> words{"search", input,     "-o",          output, "--overwrite",
                                   "--dms",  "0:200:5", "--threshold", "5"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, 0) << result.err;
    said_ = result.out;
    record_ = nlohmann::json::parse(read_file(output + ".json"));
    std::istringstream lines(read_file(output));
    std::string list;
    for (std::string line; std::getline(lines, line);) list += without_file(line) + "\n";
    return list;
  }
  // The 8-bit samples as they stand in the file, apart from our reader.
  static std::vector<std::uint8_t> eight_bits() {
    const std::string file = read_file((kFolder / "parkes_8bit_1.fil").string());
    const std::string tail = file.substr(file.size() - kRecordedTimes * kChannels);
    return {tail.begin(), tail.end()};
  }
  ScratchFolder scratch_;
  nlohmann::json record_;
  std::string said_;  // the summary
  std::size_t samples_ = 0;
};

// A file that its recorder filled up with zeros holds what it held before.
TEST_F(Recorded, PaddingChangesNoCandidate) {
  const std::string file = (kFolder / "parkes_8bit_1.fil").string();
  const std::string alone = list_of(file);
  EXPECT_EQ(record_["empty_samples"], 0);
  EXPECT_EQ(said_.find("empty:"), std::string::npos) << said_;
  write_file(scratch_ / "padded.fil", read_file(file) + std::string(403 * kChannels, '\0'));
  EXPECT_EQ(list_of(scratch_ / "padded.fil"), alone);
  EXPECT_GT(std::count(alone.begin(), alone.end(), '\n'), 1);
  EXPECT_EQ(record_["empty_samples"], 403);
  EXPECT_EQ(record_["empty_stretches"][0]["first_sample"], kRecordedTimes);
  EXPECT_NE(
      said_.find("\n  empty: 1 stretch in which no channel changes, left out as gaps are: 403 "
                 "samples from 4096\n"),
      std::string::npos)
      << said_;
}

#ifdef TAUTLINE_CFITSIO
// The same in PSRFITS, whose last row a recorder fills up: the end of its DATA, the last column.
TEST_F(Recorded, APaddedRowChangesNoCandidate) {
  constexpr std::size_t kPadded = 403, kSampleBytes = 416 * 4 / 2, kBlock = 2880;
  const std::string path = (kFolder / "parkes_4bit.sf").string();
  std::string file = read_file(path);
  const std::size_t header = file.rfind("XTENSION");
  ASSERT_NE(header, std::string::npos);
  const auto number = [&](const std::string& keyword) {
    return std::stoull(file.substr(file.find(keyword, header) + 10, 20));
  };
  const std::size_t rows = number("NAXIS1  =") * number("NAXIS2  =");
  const std::size_t data = file.size() - (rows + kBlock - 1) / kBlock * kBlock;
  std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(data + rows - kPadded * kSampleBytes),
              kPadded * kSampleBytes, '\0');
  write_file(scratch_ / "padded.sf", file);
  const double left_s = static_cast<double>(kRecordedTimes - kPadded) * 0.000512;
  const std::string alone = list_of(path, {"--duration", std::to_string(left_s)});
  EXPECT_EQ(list_of(scratch_ / "padded.sf"), alone);
  EXPECT_EQ(record_["empty_samples"], kPadded);
  EXPECT_GT(std::count(alone.begin(), alone.end(), '\n'), 1);
  // Taken for data it is another list.
  EXPECT_NE(list_of(scratch_ / "padded.sf", {"--keep-constant"}), alone);
}

// A few spectra of that row.
TEST_F(Recorded, LostSpectraOfARowAreFound) {
  constexpr std::size_t kLost = 8, kSampleBytes = 416 * 4 / 2, kBlock = 2880;
  std::string file = read_file((kFolder / "parkes_4bit.sf").string());
  const std::size_t header = file.rfind("XTENSION");
  ASSERT_NE(header, std::string::npos);
  const auto number = [&](const std::string& keyword) {
    return std::stoull(file.substr(file.find(keyword, header) + 10, 20));
  };
  const std::size_t rows = number("NAXIS1  =") * number("NAXIS2  =");
  const std::size_t data = file.size() - (rows + kBlock - 1) / kBlock * kBlock;
  constexpr std::size_t kFromEnd = 300;
  std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(data + rows - kFromEnd * kSampleBytes),
              kLost * kSampleBytes, '\0');
  write_file(scratch_ / "lost.sf", file);
  list_of(scratch_ / "lost.sf");
  EXPECT_EQ(record_["empty_samples"], kLost);
  ASSERT_EQ(record_["empty_stretches"].size(), 1u);
  EXPECT_EQ(record_["empty_stretches"][0]["first_sample"], kRecordedTimes - kFromEnd);
}
#endif

// Channels that stand still for a while in the coarser files, found by a plain loop over their codes: the rule of
// docs/design/empty.md. At the largest value for less than a second, they may have a pulse that is clipped.
TEST_F(Recorded, ChannelsThatStandStillAreCounted) {
  constexpr double kRate = kChannels / 0.000512;
  std::size_t stopped_anywhere = 0;
  for (const auto& [name, bits, repeat] : {std::tuple{"parkes_8bit_1.fil", 8, 0.7},
                                           {"parkes_4bit.fil", 4, 0.7},
                                           {"parkes_2bit.fil", 2, 0.8},
                                           {"parkes_1bit.fil", 1, 0.9}}) {
    std::size_t repeats = 1;
    for (double chances = 3600 * kRate * repeat; chances >= 1e-9; chances *= repeat) ++repeats;
    const std::string file = read_file((kFolder / name).string());
    const std::size_t begin = file.size() - kRecordedTimes * kChannels * bits / 8;
    const auto code = [&](std::size_t t, std::size_t c) {
      const std::size_t bit = (t * kChannels + c) * bits;
      return (static_cast<unsigned char>(file[begin + bit / 8]) >> bit % 8) & ((1 << bits) - 1);
    };
    std::map<std::size_t, std::size_t> expected;  // samples of each channel
    for (std::size_t c = 0; c < kChannels; ++c)
      for (std::size_t first = 0, t = 1; t <= kRecordedTimes; ++t) {
        if (t < kRecordedTimes && code(t, c) == code(first, c)) continue;
        const bool clipped = code(first, c) == (1 << bits) - 1 && (t - first) * 0.000512 < 1;
        if (t - first > repeats && !clipped) expected[c] += t - first;
        first = t;
      }
    std::size_t values = 0;
    for (const auto& [channel, samples] : expected) values += samples;
    const CommandResult found = run({"search", (kFolder / name).string(), "-o", scratch_ / "c.csv",
                                     "--overwrite", "--dms", "0:10:5"});
    ASSERT_EQ(found.status, 0) << name << ": " << found.err;
    const auto record = nlohmann::json::parse(read_file(scratch_ / "c.csv.json"));
    EXPECT_EQ(record["empty_values"], values) << name;
    ASSERT_EQ(record["empty_channels"].size(), expected.size()) << name;
    for (const auto& one : record["empty_channels"])
      EXPECT_EQ(one["samples"], expected[one["channel"].get<std::size_t>()]) << name;
    EXPECT_EQ(record["empty_samples"], 0) << name;
    stopped_anywhere += expected.size();
  }
  EXPECT_GT(stopped_anywhere, 0u);
}

// Plain loops over the bytes of the file; the coarser files' codes are functions of them, up to the
// borders between two codes.
TEST_F(Recorded, FourDepthsDedispersedAreTheSumsOfTheirSamples) {
  const auto samples = eight_bits();
  const auto delay = [&](double dm, std::size_t c) {
    const double mhz = 4030.0 - 4.0 * static_cast<double>(c);
    return static_cast<std::size_t>(
        std::llround(4148.808 * dm * (1 / (mhz * mhz) - 1 / (4030.0 * 4030.0)) / 0.000512));
  };
  const std::vector<double> dms{0, 28.385, 56.77, 85.155, 113.54};
  for (const auto& [name, code] : {std::pair<const char*, int>{"parkes_8bit_1.fil", 8},
                                   {"parkes_4bit.fil", 4},
                                   {"parkes_2bit.fil", 2},
                                   {"parkes_1bit.fil", 1}}) {
    const auto series = dedisperse((kFolder / name).string(), "0:113.54:28.385");
    ASSERT_EQ(record_["dms"].size(), dms.size());
    ASSERT_EQ(samples_, kRecordedTimes - delay(113.54, kChannels - 1));
    for (std::size_t i = 0; i < dms.size(); ++i)
      for (std::size_t t = 0; t < samples_; t += 7) {
        std::int32_t low = 0, high = 0;
        for (std::size_t c = 0; c < kChannels; ++c) {
          const int x = samples[(t + delay(dms[i], c)) * kChannels + c];
          const int four = static_cast<int>(std::floor(x / 17.0 + 0.5));
          low += code == 8   ? x
                 : code == 4 ? four
                 : code == 2 ? (x > 106) + (x > 127) + (x > 149)
                             : x >= 128;
          high += code == 8   ? x
                  : code == 4 ? four
                  : code == 2 ? (x >= 106) + (x > 127) + (x >= 149)
                              : x >= 128;
        }
        ASSERT_GE(series[i * samples_ + t], low) << name << ", DM " << dms[i] << ", time " << t;
        ASSERT_LE(series[i * samples_ + t], high) << name << ", DM " << dms[i] << ", time " << t;
      }
  }
}

// In two seconds the Crab shows no pulse over the noise; one that is put in must come out, whatever
// the depth it is recorded at.
TEST_F(Recorded, APulseAtTheCrabsDispersionIsFoundAmongRealNoise) {
  constexpr double kDm = 56.77;
  constexpr std::size_t kArrival = 1500;
  auto samples = eight_bits();
  for (std::size_t c = 0; c < kChannels; ++c) {
    const double mhz = 4030.0 - 4.0 * static_cast<double>(c);
    const auto delay = static_cast<std::size_t>(
        std::llround(4148.808 * kDm * (1 / (mhz * mhz) - 1 / (4030.0 * 4030.0)) / 0.000512));
    for (std::size_t k = 0; k < 6; ++k) {
      std::uint8_t& x = samples[(kArrival + k + delay) * kChannels + c];
      x = static_cast<std::uint8_t>(std::min(255, x + 40));
    }
  }
  std::string file = read_file((kFolder / "parkes_8bit_1.fil").string());
  std::copy(samples.begin(), samples.end(),
            file.end() - static_cast<std::ptrdiff_t>(samples.size()));
  write_file(scratch_ / "pulse.fil", file);
  const CommandResult found =
      run({"--json", "search", scratch_ / "pulse.fil", "-o", scratch_ / "c.csv", "--dms",
           "0:200:0.25", "--flag-channels", "--zero-dm"});
  ASSERT_EQ(found.status, 0) << found.err;
  const auto lines = json_lines(found.out);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_NEAR(lines[0]["dm"].get<double>(), kDm, 3);
  EXPECT_NEAR(lines[0]["sample"].get<double>(), kArrival + 3, 3);
  EXPECT_GT(lines[0]["snr"], 10);
  EXPECT_GT(lines.back()["flagged_channels"], 10);  // Parkes at 700 MHz has neighbours
  EXPECT_LT(lines.back()["flagged_channels"], 200);
}

TEST_F(Recorded, EveryFileIsSearchedAndItsRecordSaysWhatWasDone) {
  std::vector<std::string> names{"parkes_8bit_1.fil", "parkes_4bit.fil", "parkes_2bit.fil",
                                 "parkes_1bit.fil"};
#ifdef TAUTLINE_CFITSIO
  names.push_back("parkes_4bit.sf");
#endif
  for (const std::string& name : names) {
    const std::string output = scratch_ / (name + ".csv");
    const CommandResult found = run({"--json", "search", (kFolder / name).string(), "-o", output,
                                     "--dms", "0:200:2", "--flag-channels", "--zero-dm"});
    ASSERT_EQ(found.status, 0) << name << ": " << found.err;
    const auto record = nlohmann::json::parse(read_file(output + ".json"));
    EXPECT_EQ(record["samples"], kRecordedTimes);
    EXPECT_EQ(record["zero_dm"], true);
    EXPECT_GT(record["flagged_channels"].size(), 0u) << name;
    EXPECT_EQ(record["candidates"], json_lines(found.out).size() - 1);
  }
}

// PSR J1807-0847 turns once in 163.71 ms: pulses come at one phase, in both reductions.
TEST_F(Recorded, TheKnownPulsarIsFoundInItsSeries) {
  for (const std::string ending : {".dat", ".tim"}) {
    const std::string input = (kFolder / ("GBT_J1807-0847" + ending)).string();
    const CommandResult found =
        run({"--json", "search", input, "-o", scratch_ / "c.singlepulse", "--overwrite"});
    ASSERT_EQ(found.status, 0) << found.err;
    const auto lines = json_lines(found.out);
    double cosines = 0, sines = 0, n = 0;
    for (const auto& line : lines) {
      if (line["schema"] != "tautline.candidate" || line["snr"] < 20) continue;
      // Both headers say 112.3802, of which the .inf's goes with PRESTO's constant.
      const double constants = ending == ".dat" ? 1 / 2.41e-4 / 4148.808 : 1;
      EXPECT_NEAR(line["dm"].get<double>(), 112.3802 * constants, 1e-9);
      const double turns = line["time_s"].get<double>() / 0.163713;
      cosines += std::cos(2 * M_PI * turns);
      sines += std::sin(2 * M_PI * turns);
      n += 1;
    }
    EXPECT_GT(n, 20) << ending;
    EXPECT_GT(std::hypot(cosines, sines) / n, 0.8) << ending;
  }
}

}  // namespace
}  // namespace tautline::tests

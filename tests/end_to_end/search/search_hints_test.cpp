// What a search says of how to find more: followed, the advice does so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class SearchHints : public ::testing::Test {
 protected:
  static constexpr std::size_t kTimes = 24'000, kBand = 256;

  SearchHints() {
    shape_.nchans = kBand;
    shape_.fch1 = 1500;
    shape_.foff = -1;
    shape_.tsamp = 1e-3;
  }
  CommandResult search(const std::vector<double>& values,
                       const std::vector<std::string>& more = {}) {
    write_filterbank(scratch_ / "in.fil", shape_, values);
    std::vector<std::string> words{
        "--json",      "search", scratch_ / "in.fil", "-o",          scratch_ / "out.csv",
        "--overwrite", "--dms",  "0:100:1",           "--threshold", "7"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch_.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return result;
  }
  static nlohmann::json best_near(const CommandResult& result, double time_s) {
    nlohmann::json best;
    for (const auto& line : json_lines(result.out))
      if (line["schema"] == "tautline.candidate" &&
          std::fabs(line["time_s"].get<double>() - time_s) < 0.2 &&
          (best.is_null() || line["snr"] > best["snr"]))
        best = line;
    EXPECT_FALSE(best.is_null()) << result.out;
    return best;
  }
  static double snr_near(const CommandResult& result, double time_s) {
    const nlohmann::json best = best_near(result, time_s);
    return best.is_null() ? 0 : best["snr"].get<double>();
  }
  static void stop(std::vector<double>& values, std::size_t first, std::size_t samples,
                   std::size_t channel, std::size_t channels) {
    for (std::size_t t = first; t < std::min(first + samples, kTimes); ++t)
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(t * kBand + channel), channels, 0.0);
  }

  SigprocShape shape_;
  ScratchFolder scratch_;
  std::mt19937_64 random_ = generator();
};

// Half of the band stops half-way: noise costs a pulse half of its S/N, and its times without the channels 0.3 of it.
TEST_F(SearchHints, OfABandThatStopsSayHowToSearchItsTimes) {
  const std::size_t at = 18'000 + random_() % 4000;
  const double time_s = static_cast<double>(at) * shape_.tsamp;
  auto values = noise_with_pulses(shape_, kTimes, {{40, at, 14}}, random_);
  const double whole = snr_near(search(values), time_s);
  const std::size_t low = random_() % 128, first = 11'000 + random_() % 2000;
  stop(values, first, kTimes, low, 128);
  const CommandResult filled = search(values);
  EXPECT_NEAR(snr_near(filled, time_s), 0.5 * whole, 0.1 * whole);
  std::ostringstream expected;
  expected << "128 of 256 channels stop from " << static_cast<double>(first) / 1000
           << " to 24 s. Noise is in their place, which leaves pulses there 0.5 of their S/N; "
              "searched without these channels (";
  const std::size_t said = filled.err.find(expected.str());
  ASSERT_NE(said, std::string::npos) << filled.err << expected.str();
  EXPECT_NE(filled.err.find(") they keep 0.71", said), std::string::npos) << filled.err;
  const std::size_t begin = said + expected.str().size();
  std::istringstream advice(filled.err.substr(begin, filled.err.find(')', begin) - begin));
  std::vector<std::string> words;
  for (std::string word; advice >> word;) words.push_back(word);
  ASSERT_EQ(words.size(), 6u) << filled.err;
  EXPECT_EQ(words[0], "--start");
  EXPECT_EQ(words[2], "--duration");
  EXPECT_EQ(words[4], "--ignorechan");
  EXPECT_EQ(words[5], std::to_string(low) + ":" + std::to_string(low + 127));
  const CommandResult advised = search(values, words);
  EXPECT_NEAR(snr_near(advised, time_s), 0.71 * whole, 0.1 * whole);
  EXPECT_EQ(advised.err.find("Noise is in their place"), std::string::npos) << advised.err;
}

// A sixteenth of the band, or a stop of three seconds.
TEST_F(SearchHints, OfABandAreNotOfFewChannelsOrShortTimes) {
  auto values = noise_with_pulses(shape_, kTimes, {}, random_);
  stop(values, 12'000, 9000, random_() % 240, 16);
  stop(values, 3000 + random_() % 2000, 3000, 100, 128);
  const CommandResult result = search(values);
  EXPECT_EQ(result.err.find("Noise is in their place"), std::string::npos) << result.err;
  EXPECT_GT(json_lines(result.out).back()["empty_values"], 9000 * 16);
}

TEST_F(SearchHints, OfAPulseWiderThanTheWidestBoxcarNameTheOption) {
  constexpr std::size_t kAt = 12'000, kWidth = 300;
  std::vector<NoisePulse> wide, narrow;
  for (std::size_t k = 0; k < kWidth; ++k) wide.push_back({60, kAt + k, 1.5});
  for (std::size_t k = 0; k < 20; ++k) narrow.push_back({60, kAt + k, 6});
  EXPECT_EQ(search(noise_with_pulses(shape_, kTimes, narrow, random_)).err.find("widest boxcar"),
            std::string::npos);
  const auto values = noise_with_pulses(shape_, kTimes, wide, random_);
  const CommandResult before = search(values, {"--baseline", "8"});
  EXPECT_NE(before.err.find("about as wide as the widest boxcar (0.1 s, --max-width), at 12"),
            std::string::npos)
      << before.err;
  const CommandResult after = search(values, {"--baseline", "8", "--max-width", "0.6"});
  EXPECT_EQ(after.err.find("widest boxcar"), std::string::npos) << after.err;
  EXPECT_GT(snr_near(after, 12.15), 1.3 * snr_near(before, 12.15));
}

// With --keep-constant nothing is left out, and the summary says what would have been.
TEST_F(SearchHints, OfWhatIsKeptAsDataNameIt) {
  auto values = noise_with_pulses(shape_, kTimes, {}, random_);
  const std::size_t first = 5000 + random_() % 3000;
  stop(values, first, 400, 0, kBand);
  stop(values, first + 6000, 250, 0, kBand);
  stop(values, 0, kTimes, 20, 3);
  search(values);
  for (const char* command : {"search", "dedisperse"}) {
    const std::string output =
        scratch_ / (std::string(command) == "search" ? "out.csv" : "out.npy");
    const auto said = [&](const std::vector<std::string>& more) {
      std::vector<std::string> words{
          command, scratch_ / "in.fil", "-o", output, "--overwrite", "--dms", "0:20:10"};
      words.insert(words.end(), more.begin(), more.end());
      const CommandResult result = run_command(words, scratch_.path().string());
      EXPECT_EQ(result.status, kDone) << result.err;
      return result.out;
    };
    const std::string kept = said({"--keep-constant"});
    EXPECT_NE(
        kept.find("\n  kept: 2 stretches without data, of 650 samples, kept as data, as "
                  "--keep-constant says: 400 samples from " +
                  std::to_string(first) + ", 250 samples from " + std::to_string(first + 6000)),
        std::string::npos)
        << kept;
    EXPECT_NE(kept.find("\n  kept: 3 channels that never change kept as data, as --keep-constant "
                        "says"),
              std::string::npos)
        << kept;
    EXPECT_EQ(said({}).find("kept as data"), std::string::npos);
  }
}

}  // namespace
}  // namespace tautline::tests

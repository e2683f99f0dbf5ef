// Series of a filterbank that lacks data: a search of them leaves out what a search of the filterbank does.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class SeriesGaps : public ::testing::Test {
 protected:
  static constexpr std::size_t kTimes = 40'000, kBand = 32;
  static constexpr std::size_t kEnd = 500;  // times without data at the end: all trials end alike
  static constexpr const char* kTrials = "0:100:2.5";  // 86 samples of delay

  SeriesGaps() {
    shape_.nchans = kBand;
    shape_.fch1 = 1500;
    shape_.foff = -8;
    shape_.tsamp = 1e-3;
    values_ = noise_with_pulses(
        shape_, kTimes, {{50, 3000, 40}, {20, 9000, 30}, {80, 15000, 30}, {0, 36000, 35}}, random_);
    stop(kTimes - kEnd, kEnd, kBand);
  }
  void stop(std::size_t first, std::size_t samples, std::size_t channels) {
    for (std::size_t t = first; t < std::min(first + samples, kTimes); ++t)
      std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(t * kBand), channels, 0.0);
  }
  void write() { write_filterbank(scratch_ / "x.fil", shape_, values_); }
  void dedisperse(const std::vector<std::string>& files, const std::string& output,
                  const char* dms) {
    std::vector<std::string> words{"dedisperse"};
    for (const std::string& file : files) words.push_back(scratch_ / file);
    words.insert(words.end(), {"-o", scratch_ / output, "--overwrite", "--dms", dms});
    const CommandResult result = run_command(words, scratch_.path().string());
    ASSERT_EQ(result.status, kDone) << result.err;
  }
  // Candidates, best first.
  std::vector<nlohmann::json> search(const std::vector<std::string>& files,
                                     const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"--json", "search"};
    for (const std::string& file : files) words.push_back(scratch_ / file);
    words.insert(words.end(), {"-o", scratch_ / "c.csv", "--overwrite"});
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch_.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    EXPECT_EQ(result.err.find("read as data"), std::string::npos) << result.err;
    auto lines = json_lines(result.out);
    lines.pop_back();
    for (nlohmann::json& line : lines) line.erase("file"), line.erase("filled");
    return lines;
  }
  // The series of an array give the list of the filterbank, to the bit; those of PRESTO, floats whose noise is measured
  // without filling steps, its pulses.
  void expect_as_filterbank(const std::vector<std::string>& files) {
    std::vector<std::string> trials{"--dms", kTrials};
    const auto expected = search(files, trials);
    ASSERT_GE(expected.size(), 4u);
    dedisperse(files, "x.npy", kTrials);
    for (const char* memory : {"512M", "4M"}) {
      const auto found = search({"x.npy"}, {"--memory", memory});
      ASSERT_EQ(found.size(), expected.size()) << memory;
      for (std::size_t k = 0; k < found.size(); ++k) EXPECT_EQ(found[k], expected[k]) << memory;
    }
    dedisperse(files, "dat", kTrials);
    expect_pulses_of(search({"dat"}), expected);
    trials[1] = "50";
    const auto of_one = search(files, trials);
    for (const char* one : {"one.npy", "one.dat"}) {
      dedisperse(files, one, "50");
      expect_pulses_of(search({one}), of_one);
      std::filesystem::remove(scratch_ / one);
    }
    std::filesystem::remove_all(scratch_ / "dat");
  }
  static void expect_pulses_of(const std::vector<nlohmann::json>& found,
                               const std::vector<nlohmann::json>& expected) {
    const auto above = [](const std::vector<nlohmann::json>& list) {
      std::vector<nlohmann::json> pulses;
      for (const auto& one : list)
        if (one["snr"].get<double>() > kAboveNoise) pulses.push_back(one);
      std::ranges::sort(pulses, {},
                        [](const nlohmann::json& one) { return one["sample"].get<int>(); });
      return pulses;
    };
    const auto a = above(found), b = above(expected);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      EXPECT_EQ(a[k]["sample"], b[k]["sample"]);
      EXPECT_NEAR(a[k]["snr"].get<double>(), b[k]["snr"].get<double>(),
                  0.02 * b[k]["snr"].get<double>());
    }
    // A sum at the threshold may be above it in one of them.
    EXPECT_NEAR(static_cast<double>(found.size()), static_cast<double>(expected.size()), 2);
  }
  // The summary of a search of series counts and names what the filterbank lacked, of what the series have.
  void expect_counted(const std::string& series, std::size_t samples,
                      const std::vector<std::pair<std::size_t, std::size_t>>& gaps) {
    std::vector<std::string> words{"search", scratch_ / series, "-o", scratch_ / "c.csv",
                                   "--overwrite"};
    const CommandResult said = run_command(words, scratch_.path().string());
    words.insert(words.begin(), "--json");
    const CommandResult result = run_command(words, scratch_.path().string());
    ASSERT_EQ(result.status, kDone) << result.err;
    const nlohmann::json summary = json_lines(result.out).back();
    std::size_t all = 0;
    auto listed = nlohmann::json::array();
    for (const auto& [first, count] : gaps) {
      if (first >= samples) continue;
      const std::size_t there = std::min(count, samples - first);
      all += there;
      listed.push_back({{"beam", 0}, {"first_sample", first}, {"samples", there}});
    }
    EXPECT_EQ(summary["empty_samples"], all) << series;
    EXPECT_EQ(summary["samples"], samples) << series;
    EXPECT_EQ(summary["gap_samples"], 0) << series;
    const auto list = nlohmann::json::parse(read_file(scratch_ / "c.csv.json"))["empty_stretches"];
    EXPECT_EQ(list, listed) << series;
    EXPECT_NE(said.out.find(std::to_string(all) + " empty"), std::string::npos) << said.out;
    EXPECT_NE(said.out.find(std::to_string(listed.size()) +
                            " stretches without data in the filterbank, left out as gaps are: " +
                            std::to_string(gaps[0].second) + " samples from " +
                            std::to_string(gaps[0].first)),
              std::string::npos)
        << said.out;
    EXPECT_NE(said.err.find("much of the input holds no data"), std::string::npos) << said.err;
  }
  nlohmann::json record() const {
    return nlohmann::json::parse(read_file(scratch_ / "x.npy.json"));
  }

  SigprocShape shape_;
  ScratchFolder scratch_;
  std::mt19937_64 random_ = generator();
  std::vector<double> values_;
};

// A fifth of the data: stretches that a search leaves out, and shorter ones, that it fills with noise.
TEST_F(SeriesGaps, OfEmptyStretchesAreLeftOut) {
  std::vector<std::pair<std::size_t, std::size_t>> gaps;
  for (std::size_t t = 17'000; t < 34'000; t += 900 + random_() % 300) {
    const std::size_t samples = 250 + random_() % 250;
    gaps.emplace_back(t, samples);
    stop(t, samples, kBand);
    stop(t + samples + 150 + random_() % 100, 20 + random_() % 60, kBand);
  }
  gaps.emplace_back(kTimes - kEnd, kEnd);
  write();
  expect_as_filterbank({"x.fil"});
  const nlohmann::json segments = record()["data_segments"];
  ASSERT_EQ(segments.size(), gaps.size());
  std::size_t first = 0;
  for (std::size_t k = 0; k < gaps.size(); ++k) {
    EXPECT_EQ(segments[k],
              nlohmann::json({{"first_sample", first}, {"samples", gaps[k].first - first}}));
    first = gaps[k].first + gaps[k].second;
  }
  expect_counted("x.npy", record()["segments"][0]["samples"], gaps);
  dedisperse({"x.fil"}, "one.dat", "50");
  expect_counted("one.dat", std::filesystem::file_size(scratch_ / "one.dat") / sizeof(float), gaps);
  // Taken for data they are candidates.
  EXPECT_GT(search({"x.npy"}, {"--keep-constant"}).size(), search({"x.npy"}).size() + 20);
}

// A part of the band: noise takes its place in the series, too.
TEST_F(SeriesGaps, OfStoppedChannelsHaveNoise) {
  stop(17'000 + random_() % 2000, 9000, 24);
  stop(30'000 + random_() % 500, 3000, 8);
  write();
  expect_as_filterbank({"x.fil"});
  EXPECT_EQ(record()["data_segments"].size(), 1u);
}

// Between files: a long gap, and one that is searched through.
TEST_F(SeriesGaps, BetweenFilesAreLeftOut) {
  for (const std::size_t gap : {std::size_t{2000}, 40 + random_() % 80}) {
    const std::size_t cut = 20'000 + random_() % 1000;
    const auto at = values_.begin() + static_cast<std::ptrdiff_t>(cut * kBand);
    write_filterbank(scratch_ / "a.fil", shape_, {values_.begin(), at});
    SigprocShape later = shape_;
    later.tstart += static_cast<double>(cut + gap) * shape_.tsamp / 86400;
    write_filterbank(scratch_ / "b.fil", later, {at, values_.end()});
    expect_as_filterbank({"a.fil", "b.fil"});
    EXPECT_EQ(record()["data_segments"].size(), gap < 128 ? 1u : 2u) << gap;
  }
}

// PRESTO reads 39 pairs, the last of which ends with the series.
TEST_F(SeriesGaps, MoreThanPrestoReadsAreSaidToBe) {
  for (std::size_t t = 17'000; t < 37'000; t += 400) stop(t, 130 + t % 100, kBand);
  write();
  const CommandResult made =
      run_command({"dedisperse", scratch_ / "x.fil", "-o", scratch_ / "one.dat", "--dms", "50"},
                  scratch_.path().string());
  EXPECT_EQ(made.status, kDone) << made.err;
  EXPECT_NE(made.err.find("of which PRESTO reads 38 of an .inf"), std::string::npos) << made.err;
  const std::string inf = read_file(scratch_ / "one.inf");
  EXPECT_NE(inf.find("On/Off bin pair # 39"), std::string::npos) << inf;
  EXPECT_EQ(inf.find("On/Off bin pair # 40"), std::string::npos) << inf;
}

}  // namespace
}  // namespace tautline::tests

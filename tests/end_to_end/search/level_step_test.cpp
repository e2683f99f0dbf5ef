// Files whose level differs, read as one: what a search and a series make of the join.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kFileTimes = 8000, kFileChannels = 32;

class LevelStep : public ::testing::Test {
 protected:
  LevelStep() {
    shape_.nchans = kFileChannels;
    shape_.fch1 = 1500;
    shape_.foff = -8;
    shape_.tsamp = 1e-3;
  }
  // One observation, cut in two files. The second one has its level moved and its noise scaled about 100.
  void write(const std::vector<NoisePulse>& pulses, double moved, double scaled = 1) {
    const auto all = noise_with_pulses(shape_, 2 * kFileTimes, pulses, random_);
    const auto cut = all.begin() + kFileTimes * kFileChannels;
    write_filterbank(scratch_ / "a.fil", shape_, {all.begin(), cut});
    std::vector<double> second;
    std::transform(cut, all.end(), std::back_inserter(second), [&](double x) {
      return std::clamp(std::round(100 + scaled * (x - 100) + moved), 0.0, 255.0);
    });
    SigprocShape later = shape_;
    later.tstart += kFileTimes * shape_.tsamp / 86400;
    write_filterbank(scratch_ / "b.fil", later, second);
  }
  nlohmann::json search(std::vector<std::string> files, const std::vector<std::string>& more = {}) {
    for (std::string& file : files) file = scratch_ / file;
    std::vector<std::string> words{"--json", "search"};
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), {"-o", scratch_ / "out.csv", "--overwrite", "--dms", "0:100:1",
                               "--max-loss", "0"});
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch_.path().string());
    EXPECT_EQ(result.status, 0) << result.err;
    candidates_ = json_lines(result.out);
    const nlohmann::json summary = candidates_.back();
    candidates_.pop_back();
    record_ = nlohmann::json::parse(read_file(scratch_ / "out.csv.json"));
    return summary;
  }
  std::size_t near(double sample, double reach, double over_snr = 0) const {
    return static_cast<std::size_t>(
        std::count_if(candidates_.begin(), candidates_.end(), [&](const nlohmann::json& c) {
          return c["snr"] > over_snr && c["first_sample"].get<double>() <= sample + reach &&
                 c["last_sample"].get<double>() >= sample - reach;
        }));
  }
  SigprocShape shape_;
  ScratchFolder scratch_;
  std::mt19937_64 random_ = generator();
  std::vector<nlohmann::json> candidates_;
  nlohmann::json record_;
};

TEST_F(LevelStep, IsNoCandidate) {
  write({}, 6);
  EXPECT_EQ(search({"a.fil", "b.fil"}, {"--keep-constant"})["level_steps"], 0);
  EXPECT_EQ(record_["data_segments"].size(), 1u);
  EXPECT_GE(near(kFileTimes, 200, kAboveNoise), 1u);
  EXPECT_EQ(search({"a.fil", "b.fil"})["level_steps"], 1);
  EXPECT_EQ(near(kFileTimes, 200, kAboveNoise), 0u);
}

TEST_F(LevelStep, EndsASearchAndBeginsAnother) {
  // The second one's lowest channel is 48 samples late: it ends 12 samples before the join.
  write({{40, 2400, 40}, {60, kFileTimes - 60, 40}, {50, kFileTimes + 100, 40}}, 6);
  const nlohmann::json summary = search({"a.fil", "b.fil"});
  EXPECT_EQ(summary["level_steps"], 1);
  EXPECT_EQ(summary["data_segments"], 2);
  EXPECT_EQ(summary["gap_samples"], 0);
  EXPECT_EQ(summary["samples"], 2 * kFileTimes);
  ASSERT_EQ(record_["level_steps"].size(), 1u);
  EXPECT_EQ(record_["level_steps"][0], nlohmann::json({{"sample", kFileTimes},
                                                       {"before", scratch_ / "a.fil"},
                                                       {"after", scratch_ / "b.fil"},
                                                       {"of", "level"}}));
  EXPECT_EQ(record_["data_segments"][1]["first_sample"], kFileTimes);
  for (const std::size_t pulse : {std::size_t{2400}, kFileTimes - 60, kFileTimes + 100})
    EXPECT_GE(near(static_cast<double>(pulse), 5), 1u) << pulse;
  // The same as of each file alone.
  std::vector<std::pair<double, std::uint64_t>> expected, found;
  const auto add = [&](auto& to, std::uint64_t first) {
    for (const auto& c : candidates_)
      to.emplace_back(c["snr"].get<double>(), c["sample"].get<std::uint64_t>() + first);
    std::sort(to.begin(), to.end());
  };
  add(found, 0);
  search({"a.fil"});
  add(expected, 0);
  search({"b.fil"});
  add(expected, kFileTimes);
  EXPECT_EQ(found, expected);
}

// Of one trial or several, as an array or for PRESTO.
TEST_F(LevelStep, OfASeriesIsNoCandidate) {
  write({{40, 2400, 40}, {40, kFileTimes + 100, 40}}, 6);
  for (const auto& [name, dms] : {std::pair{"one.npy", "40"},
                                  {"several.npy", "0:80:1"},
                                  {"one.dat", "40"},
                                  {"folder", "0:80:1"}}) {
    std::vector<std::string> words{"dedisperse", scratch_ / "a.fil", scratch_ / "b.fil",
                                   "-o",         scratch_ / name,    "--dms",
                                   dms,          "--max-loss",       "0"};
    if (std::string(name) == "folder") words.insert(words.end(), {"--format", "dat"});
    const CommandResult made = run_command(words, scratch_.path().string());
    ASSERT_EQ(made.status, 0) << name << made.err;
    const auto search_series = [&](const std::vector<std::string>& more) {
      std::vector<std::string> search{
          "--json", "search", scratch_ / name, "-o", scratch_ / "out.csv", "--overwrite"};
      search.insert(search.end(), more.begin(), more.end());
      const CommandResult result = run_command(search, scratch_.path().string());
      EXPECT_EQ(result.status, 0) << name << result.err;
      EXPECT_EQ(result.err.find("breaks"), std::string::npos) << name << result.err;
      EXPECT_EQ(result.err.find("stretches"), std::string::npos) << name << result.err;
      candidates_ = json_lines(result.out);
      const nlohmann::json summary = candidates_.back();
      candidates_.pop_back();
      return summary;
    };
    EXPECT_EQ(search_series({"--keep-constant"})["level_steps"], 0) << name;
    if (std::string(dms) != "40") {  // a step across 46 samples is none
      EXPECT_GE(near(kFileTimes - 30, 80, kAboveNoise), 1u) << name;
    }
    const nlohmann::json summary = search_series({});
    EXPECT_EQ(summary["level_steps"], 1) << name;
    EXPECT_EQ(near(kFileTimes - 30, 80, kAboveNoise), 0u) << name;
    for (const double pulse : {2400.0, kFileTimes + 100.0})
      EXPECT_GE(near(pulse, 5, kAboveNoise), 1u) << name << " " << pulse;
  }
}

TEST_F(LevelStep, IsSaidToCostPulsesThatCrossIt) {
  const auto said = [&](const std::vector<std::string>& files) {
    std::vector<std::string> words{"search"};
    for (const std::string& file : files) words.push_back(scratch_ / file);
    words.insert(words.end(), {"-o", scratch_ / "out.csv", "--overwrite", "--dms", "0:100:1"});
    return run_command(words, scratch_.path().string()).out;
  };
  write({}, 6);
  const std::string step = said({"a.fil", "b.fil"});
  EXPECT_NE(step.find("searched: at DM 100 9"), std::string::npos) << step;
  EXPECT_NE(step.find("Before each of the 2 segments of data ends"), std::string::npos) << step;
  EXPECT_EQ(said({"a.fil"}).find("searched: at DM"), std::string::npos);
  write({}, 0);
  EXPECT_EQ(said({"a.fil", "b.fil"}).find("searched: at DM"), std::string::npos);
}

TEST_F(LevelStep, OfTheNoiseAloneIsOneToo) {
  write({}, 0, 1.5);
  EXPECT_EQ(search({"a.fil", "b.fil"})["level_steps"], 1);
}

// All channels at once, or those above 1,350 MHz; pulses close to the step are found.
TEST_F(LevelStep, InsideAFileIsOneToo) {
  const std::size_t at = 6000 + random_() % 4000;
  for (const std::size_t stepping : {kFileChannels, kFileChannels - 9}) {
    for (const bool pulses : {false, true}) {
      auto values = noise_with_pulses(
          shape_, 2 * kFileTimes,
          pulses ? std::vector<NoisePulse>{{40, 2400, 40}, {60, at - 90, 40}, {50, at + 60, 40}}
                 : std::vector<NoisePulse>{},
          random_);
      for (std::size_t t = at; t < 2 * kFileTimes; ++t)
        for (std::size_t c = 0; c < stepping; ++c) values[t * kFileChannels + c] += 6;
      write_filterbank(scratch_ / "a.fil", shape_, values);
      EXPECT_EQ(search({"a.fil"})["level_steps"], 1);
      ASSERT_EQ(record_["level_steps"].size(), 1u);
      // A sample of the weaker step, summed over channels, is three standard deviations.
      EXPECT_NEAR(record_["level_steps"][0]["sample"].get<double>(), static_cast<double>(at), 15);
      EXPECT_EQ(record_["level_steps"][0]["before"], scratch_ / "a.fil");
      EXPECT_EQ(record_["level_steps"][0]["after"], scratch_ / "a.fil");
      EXPECT_EQ(record_["data_segments"].size(), 2u);
      const auto middle = static_cast<double>(at);
      if (pulses) {
        for (const double pulse : {2400.0, middle - 90, middle + 60})
          EXPECT_GE(near(pulse, 5), 1u) << pulse;
      } else {
        EXPECT_EQ(near(middle, 200, kAboveNoise), 0u);
        search({"a.fil"}, {"--keep-constant"});
        EXPECT_GE(near(middle, 200, kAboveNoise), 1u);
      }
    }
  }
}

// Twice the noise at the same level: each side has its own.
TEST_F(LevelStep, OfTheNoiseInsideAFileIsOneToo) {
  const std::size_t at = 6000 + random_() % 4000;
  const std::vector<NoisePulse> pulses{{40, 2400, 60}, {60, at - 90, 60}, {50, at + 60, 60}};
  auto values = noise_with_pulses(shape_, 2 * kFileTimes, pulses, random_);
  for (std::size_t k = at * kFileChannels; k < values.size(); ++k)
    values[k] = std::clamp(2 * values[k] - 100, 0.0, 255.0);
  write_filterbank(scratch_ / "a.fil", shape_, values);
  // Some hundreds of the noise alone where it is not cut, one or two where it is.
  search({"a.fil"}, {"--threshold", "5", "--keep-constant"});
  EXPECT_GE(candidates_.size(), 30u);
  EXPECT_EQ(search({"a.fil"}, {"--threshold", "5"})["level_steps"], 1);
  ASSERT_EQ(record_["level_steps"].size(), 1u);
  EXPECT_NEAR(record_["level_steps"][0]["sample"].get<double>(), static_cast<double>(at), 10);
  EXPECT_EQ(record_["level_steps"][0]["of"], "noise");
  EXPECT_EQ(record_["data_segments"].size(), 2u);
  EXPECT_LE(candidates_.size(), 20u);
  for (const std::size_t pulse : {std::size_t{2400}, at - 90, at + 60})
    EXPECT_GE(near(static_cast<double>(pulse), 5), 1u) << pulse;
  const CommandResult searched =
      run_command({"search", scratch_ / "a.fil", "-o", scratch_ / "b.csv", "--dms", "0:100:1"},
                  scratch_.path().string());
  EXPECT_NE(searched.out.find("noise steps inside " + (scratch_ / "a.fil") + ": sample "),
            std::string::npos)
      << searched.out;
}

// For half a second another level and more noise, and a new level close to the end.
TEST_F(LevelStep, OfAReceiverThatDropsAndCloseToTheEndAreFound) {
  const std::size_t at = 5000 + random_() % 4000, last = 2 * kFileTimes - 900;
  auto values =
      noise_with_pulses(shape_, 2 * kFileTimes, {{40, 2400, 60}, {20, at + 2000, 60}}, random_);
  for (std::size_t t = at; t < 2 * kFileTimes; ++t)
    for (std::size_t c = 0; c < kFileChannels; ++c) {
      double& x = values[t * kFileChannels + c];
      if (t < at + 500) x = std::round(60 + 2.5 * (x - 100));
      if (t >= last) x += 8;
      x = std::clamp(x, 0.0, 255.0);
    }
  write_filterbank(scratch_ / "a.fil", shape_, values);
  search({"a.fil"}, {"--keep-constant"});
  const std::size_t without = candidates_.size();
  EXPECT_EQ(search({"a.fil"})["level_steps"], 3);
  ASSERT_EQ(record_["level_steps"].size(), 3u);
  const std::vector<std::size_t> steps{at, at + 500, last};
  for (std::size_t k = 0; k < steps.size(); ++k)
    EXPECT_NEAR(record_["level_steps"][k]["sample"].get<double>(), static_cast<double>(steps[k]),
                10);
  EXPECT_EQ(record_["data_segments"].size(), 4u);
  EXPECT_EQ(record_["uncut_levels"], nlohmann::json::array());
  EXPECT_LE(candidates_.size(), 6u) << without << " without the steps";
  EXPECT_EQ(near(static_cast<double>(last), 200, kAboveNoise), 0u);
  for (const std::size_t pulse : {std::size_t{2400}, at + 2000})
    EXPECT_GE(near(static_cast<double>(pulse), 5), 1u) << pulse;
}

// Without dispersion: a search has it as before, and a warning says when.
TEST_F(LevelStep, InterferenceIsNoneAndTold) {
  const std::size_t at = 5000 + random_() % 4000;
  auto values = noise_with_pulses(shape_, 2 * kFileTimes, {}, random_);
  for (std::size_t t = at; t < at + 600; ++t)
    for (std::size_t c = 0; c < kFileChannels; ++c) values[t * kFileChannels + c] += 20;
  write_filterbank(scratch_ / "a.fil", shape_, values);
  const nlohmann::json summary = search({"a.fil"});
  EXPECT_EQ(summary["level_steps"], 0);
  EXPECT_EQ(summary["uncut_levels"], 1);
  EXPECT_EQ(record_["data_segments"].size(), 1u);
  EXPECT_GE(near(static_cast<double>(at + 300), 300), 1u);
  ASSERT_EQ(record_["uncut_levels"].size(), 1u);
  EXPECT_NEAR(record_["uncut_levels"][0]["sample"].get<double>(), static_cast<double>(at), 10);
  EXPECT_NEAR(record_["uncut_levels"][0]["samples"].get<double>(), 600, 10);
  EXPECT_EQ(record_["uncut_levels"][0]["steps"], 2);
  const CommandResult searched =
      run_command({"search", scratch_ / "a.fil", "-o", scratch_ / "b.csv", "--dms", "0:100:1",
                   "--max-loss", "0"},
                  scratch_.path().string());
  EXPECT_NE(searched.err.find("the level of most channels rises and returns (at "),
            std::string::npos)
      << searched.err;
  EXPECT_NE(searched.out.find("level rises and returns, not cut: samples "), std::string::npos)
      << searched.out;
}

// A pulse whose sweep crosses the join is found there, and is no step.
TEST_F(LevelStep, EqualLevelsAreNotCut) {
  write({{80, kFileTimes - 60, 60}}, 0);
  const nlohmann::json summary = search({"a.fil", "b.fil"});
  EXPECT_EQ(summary["level_steps"], 0);
  EXPECT_EQ(summary["data_segments"], 1);
  EXPECT_EQ(record_["level_steps"], nlohmann::json::array());
  EXPECT_GE(near(kFileTimes - 60, 5), 1u);
}

TEST_F(LevelStep, IsNamedAndDrawnAndASeriesSaysWhereItIs) {
  write({}, 6);
  const std::string a = scratch_ / "a.fil", b = scratch_ / "b.fil";
  const std::string said = "level steps at the join of " + a + " and " + b + ": sample 8000";
  const CommandResult searched = run_command(
      {"search", b, a, "-o", scratch_ / "out.csv", "--dms", "0:100:1", "--plot", scratch_ / "page"},
      scratch_.path().string());
  ASSERT_EQ(searched.status, 0) << searched.err;
  EXPECT_NE(searched.out.find(said), std::string::npos) << searched.out;
  const CommandResult series = run_command(
      {"dedisperse", a, b, "-o", scratch_ / "s.dat", "--dms", "40"}, scratch_.path().string());
  ASSERT_EQ(series.status, 0) << series.err;
  EXPECT_NE(series.out.find(said), std::string::npos) << series.out;
  const auto record = nlohmann::json::parse(read_file(scratch_ / "s.dat.json"));
  EXPECT_EQ(record["level_steps"][0]["sample"], kFileTimes);
  EXPECT_EQ(record["samples"], 2 * kFileTimes);
  EXPECT_EQ(record["gap_samples"], 0);
  EXPECT_EQ(record["data_segments"], nlohmann::json::parse(R"([{"first_sample": 0, "samples": 8000},
                                      {"first_sample": 8000, "samples": 8000}])"));
  // The series of a pipeline, too.
  write_file(scratch_ / "p.toml",
             "[data]\ntype = \"filterbank_files\"\nfiles = [\"" + a + "\", \"" + b +
                 "\"]\nfill_gaps = true\n[sums]\ntype = \"dedisperse\"\ninputs = "
                 "\"data\"\ndms.range = \"40\"\n[series]\ntype = \"trial_files\"\n"
                 "inputs = \"sums\"\npath = \"" +
                 (scratch_ / "p.npy") + "\"\n");
  const CommandResult pipeline =
      run_command({"run", scratch_ / "p.toml"}, scratch_.path().string());
  ASSERT_EQ(pipeline.status, 0) << pipeline.err;
  EXPECT_EQ(nlohmann::json::parse(read_file(scratch_ / "p.npy.json"))["level_steps"],
            record["level_steps"]);
  const std::string inf = read_file(scratch_ / "s.inf");
  EXPECT_NE(inf.find("Any breaks in the data? (1 yes, 0 no)  =  1"), std::string::npos) << inf;
}

}  // namespace
}  // namespace tautline::tests

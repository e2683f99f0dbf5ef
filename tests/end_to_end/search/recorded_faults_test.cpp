// Recorded noise with the troubles of recorders put into it: spectra that do not change in the middle, lost packets, a
// step of level where two files join; and pulses half-way between the trials of the default plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <tuple>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

const std::filesystem::path kFaultyRecording =
    std::filesystem::path(TAUTLINE_DATA_DIR) / "filterbank" / "parkes_8bit_1.fil";
constexpr std::size_t kFaultyTimes = 4096, kFaultyChannels = 832;
constexpr double kFaultySample_s = 0.000512, kFaultyTopMhz = 4030, kFaultyChannelMhz = 4;

// Of the middle of a channel, in samples behind the highest one.
double delay_samples(double dm, double mhz) {
  return 4148.808 * dm * (1 / (mhz * mhz) - 1 / (kFaultyTopMhz * kFaultyTopMhz)) / kFaultySample_s;
}

class RecordedFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFaultyRecording))
      GTEST_SKIP() << "the recorded filterbank is absent (" << kFaultyRecording << ")";
    const std::string file = read_file(kFaultyRecording.string());
    header_ = file.substr(0, file.size() - kFaultyTimes * kFaultyChannels);
    samples_ = file.substr(header_.size());
  }
  void hold(std::size_t first, std::size_t times, char value) {
    std::fill_n(samples_.begin() + static_cast<std::ptrdiff_t>(first * kFaultyChannels),
                times * kFaultyChannels, value);
  }
  // The spectra [first, end) as a file that begins at their time.
  void write(const std::string& name, std::size_t first = 0, std::size_t end = kFaultyTimes) const {
    std::string header = header_;
    const std::size_t at = header.find("tstart") + 6;
    double mjd = 0;
    std::memcpy(&mjd, header.data() + at, 8);
    mjd += static_cast<double>(first) * kFaultySample_s / 86400;
    std::memcpy(header.data() + at, &mjd, 8);
    write_file(scratch_ / name,
               header + samples_.substr(first * kFaultyChannels, (end - first) * kFaultyChannels));
  }
  std::vector<nlohmann::json> search(const std::vector<std::string>& files,
                                     const std::vector<std::string>& more) {
    std::vector<std::string> words{"--json", "search"};
    for (const std::string& file : files) words.push_back(scratch_ / file);
    words.insert(words.end(), {"-o", scratch_ / "c.csv", "--overwrite"});
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch_.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    auto lines = json_lines(result.out);
    record_ = nlohmann::json::parse(read_file(scratch_ / "c.csv.json"));
    summary_ = lines.back();
    lines.pop_back();
    return lines;
  }
  std::vector<nlohmann::json> weak(const std::vector<std::string>& files,
                                   std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--dms", "0:40:2", "--threshold", "5"});
    return search(files, more);
  }
  // What does not depend on the file that a candidate is in, at its place in the recording.
  using Found = std::tuple<double, double, double, double>;
  static std::vector<Found> found(const std::vector<nlohmann::json>& candidates,
                                  std::size_t first = 0) {
    std::vector<Found> list;
    for (const auto& one : candidates)
      list.emplace_back(one["sample"].get<double>() + static_cast<double>(first), one["dm"],
                        one["width_samples"], one["snr"]);
    std::sort(list.begin(), list.end());
    return list;
  }
  static std::size_t touching(const std::vector<nlohmann::json>& candidates, double first,
                              double end, double least_snr = 0) {
    return static_cast<std::size_t>(
        std::count_if(candidates.begin(), candidates.end(), [&](const nlohmann::json& one) {
          return one["snr"] >= least_snr && one["first_sample"] < end &&
                 one["last_sample"] >= first;
        }));
  }
  std::vector<double> between_trials(std::size_t pulses);
  void put_pulse(double dm, double sample, double counts);

  std::string header_, samples_;
  ScratchFolder scratch_;
  nlohmann::json record_, summary_;
  std::mt19937_64 random_ = generator();
};

// A receiver that stops: its candidates are those of both parts, and none at either end of the stop.
TEST_F(RecordedFaults, AStopInTheMiddleIsAGap) {
  const std::size_t first = 1400 + random_() % 700, times = 260 + random_() % 140;
  for (const int value : {0, 128}) {
    hold(first, times, static_cast<char>(value));
    write("stop.fil");
    const auto candidates = weak({"stop.fil"});
    EXPECT_EQ(summary_["empty_samples"], times);
    ASSERT_EQ(record_["empty_stretches"].size(), 1u);
    EXPECT_EQ(record_["empty_stretches"][0]["first_sample"], first);
    EXPECT_EQ(record_["empty_stretches"][0]["samples"], times);
    ASSERT_EQ(record_["data_segments"].size(), 2u);
    EXPECT_EQ(record_["data_segments"][1]["first_sample"], first + times);
    write("before.fil", 0, first);
    write("behind.fil", first + times);
    auto parts = found(weak({"before.fil"}));
    const auto behind = found(weak({"behind.fil"}), first + times);
    parts.insert(parts.end(), behind.begin(), behind.end());
    EXPECT_EQ(found(candidates), parts);
    // Taken for data it moves the level of its surroundings.
    EXPECT_NE(found(weak({"stop.fil"}, {"--keep-constant"})), parts);
    EXPECT_EQ(summary_["empty_samples"], 0);
  }
}

// Packets that were lost, written as the largest number there is.
TEST_F(RecordedFaults, LostPacketsAreNoPulses) {
  constexpr std::size_t kLost = 3;
  std::vector<std::size_t> places;
  std::size_t lost = 0;
  for (std::size_t k = 0; k < kLost; ++k) {
    const std::size_t times = 20 + random_() % 60;
    places.push_back(600 + 1000 * k + random_() % 500);
    hold(places.back(), times, '\xff');
    lost += times;
  }
  write("lost.fil");
  constexpr double kPulse = 20;
  const auto kept = weak({"lost.fil"}, {"--keep-constant"});
  const auto candidates = weak({"lost.fil"});
  EXPECT_EQ(summary_["empty_samples"], lost);
  EXPECT_EQ(record_["empty_stretches"].size(), kLost);
  EXPECT_EQ(record_["data_segments"].size(), 1u);
  for (const std::size_t place : places) {
    const auto at = static_cast<double>(place);
    EXPECT_GE(touching(kept, at, at + 80, kPulse), 1u) << place;
    EXPECT_EQ(touching(candidates, at - 40, at + 120, kPulse), 0u) << place;
  }
}

// Cut in two, with the level of the second file moved or as it was recorded.
TEST_F(RecordedFaults, AStepOfLevelAtAJoinIsNoCandidate) {
  const std::size_t join = 1500 + random_() % 1000;
  write("whole.fil");
  const auto whole = found(weak({"whole.fil"}));
  write("a.fil", 0, join);
  write("b.fil", join);
  EXPECT_EQ(found(weak({"a.fil", "b.fil"})), whole);
  EXPECT_EQ(summary_["level_steps"], 0);
  EXPECT_EQ(record_["data_segments"].size(), 1u);
  for (std::size_t k = join * kFaultyChannels; k < samples_.size(); ++k)
    samples_[k] = static_cast<char>(std::min(255, static_cast<unsigned char>(samples_[k]) + 6));
  write("b.fil", join);
  const auto kept = weak({"a.fil", "b.fil"}, {"--keep-constant"});
  EXPECT_EQ(summary_["level_steps"], 0);
  const auto candidates = weak({"a.fil", "b.fil"});
  EXPECT_EQ(summary_["level_steps"], 1);
  ASSERT_EQ(record_["level_steps"].size(), 1u);
  EXPECT_EQ(record_["level_steps"][0], nlohmann::json({{"sample", join},
                                                       {"before", scratch_ / "a.fil"},
                                                       {"after", scratch_ / "b.fil"},
                                                       {"of", "level"}}));
  auto parts = found(weak({"a.fil"}));
  const auto second = found(weak({"b.fil"}), join);
  parts.insert(parts.end(), second.begin(), second.end());
  EXPECT_EQ(found(candidates), parts);
  EXPECT_NE(found(kept), parts);
}

// One sample wide before dispersion, smeared in each channel, at any phase of the samples.
void RecordedFaults::put_pulse(double dm, double sample, double counts) {
  constexpr int kSteps = 24;
  for (std::size_t c = 0; c < kFaultyChannels; ++c) {
    const double mhz = kFaultyTopMhz - kFaultyChannelMhz * static_cast<double>(c),
                 begin = sample + delay_samples(dm, mhz + kFaultyChannelMhz / 2),
                 smear = std::max(1e-9,
                                  sample + delay_samples(dm, mhz - kFaultyChannelMhz / 2) - begin);
    std::vector<double> added(64);
    const double base = std::floor(begin) - 1;
    for (int step = 0; step < kSteps; ++step) {
      const double from = begin + (step + 0.5) / kSteps - 0.5 - base, to = from + smear;
      for (std::size_t k = 0; k < added.size(); ++k) {
        const auto low = static_cast<double>(k);
        added[k] +=
            counts / kSteps * std::max(0.0, std::min(to, low + 1) - std::max(from, low)) / smear;
      }
    }
    for (std::size_t k = 0; k < added.size(); ++k) {
      const std::size_t t = static_cast<std::size_t>(base) + k;
      if (t >= kFaultyTimes || added[k] == 0) continue;
      char& x = samples_[t * kFaultyChannels + c];
      x = static_cast<char>(
          std::min(255, static_cast<int>(std::lround(static_cast<unsigned char>(x) + added[k]))));
    }
  }
}

// DMs half-way between two trials of the default plan.
std::vector<double> RecordedFaults::between_trials(std::size_t pulses) {
  write("x.fil");
  search({"x.fil"}, {"--dms", "20:24"});
  const std::vector<double> dms = record_["dms"];
  EXPECT_GT(dms.size(), 8u);
  std::vector<double> between;
  for (std::size_t k = 0; k < pulses; ++k) {
    const std::size_t trial = random_() % (dms.size() - 1);
    between.push_back((dms[trial] + dms[trial + 1]) / 2);
  }
  return between;
}

// In recorded noise, beside a search at the pulses' own DMs.
TEST_F(RecordedFaults, PulsesBetweenDefaultTrialsLoseLessThanTwoPercent) {
  constexpr std::size_t kPulses = 11, kApart = 325;
  const std::vector<double> dms = between_trials(kPulses);
  std::uniform_real_distribution<double> any(0, 40);
  std::vector<double> samples;
  std::string list;
  for (std::size_t k = 0; k < kPulses; ++k) {
    samples.push_back(60 + static_cast<double>(kApart * k) + any(random_));
    put_pulse(dms[k], samples[k], 40);
  }
  std::vector<double> sorted = dms;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const double dm : sorted) list += nlohmann::json(dm).dump() + "\n";
  write_file(scratch_ / "dms.txt", list);
  write("pulses.fil");
  const auto brightest = [&](const std::vector<nlohmann::json>& candidates, std::size_t k) {
    double snr = 0;
    for (const auto& one : candidates)
      if (std::abs(one["sample"].get<double>() - samples[k]) < 0.4 * kApart)
        snr = std::max(snr, one["snr"].get<double>());
    EXPECT_GT(snr, 0) << "sample " << samples[k];
    return snr;
  };
  const std::vector<std::string> short_ones{"--max-width", "0.02"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), short_ones.begin(), short_ones.end());
    return search({"pulses.fil"}, words);
  };
  const auto own = with({"--dm-list", scratch_ / "dms.txt", "--method", "exact"}),
             found = with({"--dms", "20:24"}), apart = with({"--dms", "20:24:2"});
  double mean = 0, squares = 0, far = 0;
  for (std::size_t k = 0; k < kPulses; ++k) {
    const double lost = 1 - brightest(found, k) / brightest(own, k);
    mean += lost / kPulses;
    squares += lost * lost / kPulses;
    far += (1 - brightest(apart, k) / brightest(own, k)) / kPulses;
  }
  const double error = std::sqrt((squares - mean * mean) / (kPulses - 1));
  std::cout << "lost " << mean << " +- " << error << ", of trials far apart " << far << "\n";
  EXPECT_LE(mean - 4 * error, 0.02);
  EXPECT_LT(error, 0.02);
  EXPECT_GT(mean + 4 * error, -0.01);
  EXPECT_GT(far, 0.1);
}

}  // namespace
}  // namespace tautline::tests

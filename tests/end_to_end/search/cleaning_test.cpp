// Masks, flags, the zero-DM filter and gaps, from files to what is printed and recorded.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kCleanedTimes = 8000;

class Cleaning : public ::testing::Test {
 protected:
  Cleaning() {
    shape_.nchans = 32;
    shape_.fch1 = 1500;
    shape_.foff = -8;
    shape_.tsamp = 1e-3;
  }
  nlohmann::json run(const std::string& command, std::vector<std::string> more, int status = 0) {
    const std::string output = scratch_ / (command == "search" ? "out.csv" : "out.npy");
    more.insert(more.begin(),
                {"--json", command, scratch_ / "in.fil", "-o", output, "--overwrite"});
    if (std::find(more.begin(), more.end(), "--dms") == more.end())
      more.insert(more.end(), {"--dms", "0:100:1"});
    const CommandResult result = run_command(more, scratch_.path().string());
    EXPECT_EQ(result.status, status) << result.err;
    lines_ = json_lines(result.out);
    plan_ = result.err;
    record_ = nlohmann::json::parse(read_file(output + ".json"), nullptr, false);
    return lines_.empty() ? nlohmann::json() : lines_.back();
  }
  // Candidates of the last search within `reach` samples of one.
  std::size_t near(std::size_t sample, double reach = 5, double over_snr = 0) const {
    std::size_t count = 0;
    for (const auto& line : lines_)
      count += line["schema"] == "tautline.candidate" && line["snr"] > over_snr &&
               std::fabs(line["sample"].get<double>() - static_cast<double>(sample)) <= reach;
    return count;
  }
  // The array that dedisperse wrote: sums of a trial.
  std::vector<std::int32_t> row(std::size_t trial) const {
    const std::string file = read_file(scratch_ / "out.npy");
    const auto samples = record_["segments"][0]["samples"].get<std::size_t>();
    const std::size_t trials = record_["dms"].size();
    std::vector<std::int32_t> values(samples);
    std::memcpy(values.data(), file.data() + file.size() - 4 * samples * (trials - trial),
                4 * samples);
    return values;
  }

  SigprocShape shape_;
  ScratchFolder scratch_;
  std::mt19937_64 random_ = generator();
  std::vector<nlohmann::json> lines_;
  std::string plan_;
  nlohmann::json record_;
};

// Two channels of 32 that are loud for two of eight seconds. Noise makes a channel 8 robust standard deviations loud in
// one of 4,000 windows, 30 never; these are some hundreds loud.
TEST_F(Cleaning, IqrmMasksChannelsWhileTheyAreLoudAndCountsThem) {
  auto values = noise_with_pulses(shape_, kCleanedTimes, {{40, 2400, 30}}, random_);
  for (std::size_t t = 4000; t < 6000; ++t)
    for (const std::size_t c : {5u, 17u}) values[t * 32 + c] = (t / 10) % 2 ? 255 : 0;
  write_filterbank(scratch_ / "in.fil", shape_, values);

  const nlohmann::json before = run("search", {});
  EXPECT_TRUE(before["iqrm"].is_null());
  EXPECT_GE(near(5000, 1000, kAboveNoise), 1u)
      << "the interference is no candidate without masks either";
  const nlohmann::json after =
      run("search", {"--iqrm", "--iqrm-threshold", "30", "--plot", scratch_ / "page"});
  EXPECT_GE(near(2400), 1u);
  EXPECT_EQ(near(5000, 1000, kAboveNoise), 0u);
  EXPECT_EQ(after["iqrm"]["windows"], 8);
  EXPECT_EQ(after["iqrm"]["masked_samples"], 4000);
  EXPECT_EQ(after["iqrm"]["channels"],
            nlohmann::json::parse(
                R"([{"channel": 5, "samples": 2000}, {"channel": 17, "samples": 2000}])"));
  EXPECT_EQ(record_["iqrm"]["threshold"], 30);
  EXPECT_NE(plan_.find("IQRM: a mask for each 1000 samples"), std::string::npos) << plan_;
  EXPECT_NE(read_file(scratch_ / "page/candidates.html").find("\"masked\""), std::string::npos);

  const nlohmann::json sums =
      run("dedisperse", {"--iqrm", "--iqrm-every", "2", "--iqrm-threshold", "30"});
  EXPECT_EQ(sums["iqrm"]["windows"], 4);
  EXPECT_EQ(sums["iqrm"]["masked_samples"], 4000);
  run("search", {"--iqrm-radius", "3"}, 2);
  run("search", {"--iqrm", "--iqrm-radius", "31"});
  run("search", {"--iqrm", "--iqrm-radius", "32"}, 2);  // of 32 channels
  run("dedisperse", {"--iqrm", "--iqrm-radius", "32"}, 2);
}

// Three of eight intervals masked: the noise is still that of the others, so that no S/N grows.
TEST_F(Cleaning, AMaskOfWholeIntervalsLeavesTheNoise) {
  write_filterbank(
      scratch_ / "in.fil", shape_,
      noise_with_pulses(shape_, kCleanedTimes, {{40, 2400, 30}, {60, 5500, 30}}, random_));
  write_file(scratch_ / "x_rfifind.mask",
             MaskFile{1500 - 8 * 31, 8, 1e-3, 32, 8, 1000, {}, {1, 4, 5}}.bytes());
  const auto snr_of_the_pulse = [&] {
    double best = 0;
    for (const auto& line : lines_)
      if (line["schema"] == "tautline.candidate" &&
          std::fabs(line["sample"].get<double>() - 2400) <= 5)
        best = std::max(best, line["snr"].get<double>());
    return best;
  };
  run("search", {});
  const double before = snr_of_the_pulse();
  EXPECT_GT(before, 12);  // 21
  run("search", {"--mask", scratch_ / "x_rfifind.mask"});
  EXPECT_EQ(near(5500, 400, kAboveNoise), 0u);
  EXPECT_NEAR(snr_of_the_pulse(), before, 0.1 * before);
  EXPECT_LE(lines_.size(), 5u);  // the plan, the pulse, the summary; noise once in a while
}

// A pulse in interval 2 of 8 and interference in interval 5, both at DM 0 to 100; and one channel
// that is loud throughout.
TEST_F(Cleaning, AMaskTakesOutItsIntervalsAndChannelsAndIsCounted) {
  auto values = noise_with_pulses(shape_, kCleanedTimes, {{40, 2400, 30}, {60, 5500, 60}}, random_);
  for (std::size_t t = 0; t < kCleanedTimes; ++t) values[t * 32 + 3] = t % 2 ? 255 : 0;
  write_filterbank(scratch_ / "in.fil", shape_, values);
  // Upwards in frequency: the file's channel 3 is number 28.
  const MaskFile mask{1500 - 8 * 31, 8, 1e-3, 32, 8, 1000, {28}, {5}};
  write_file(scratch_ / "x_rfifind.mask", mask.bytes());

  const nlohmann::json before = run("search", {"--ignorechan", "3"});
  EXPECT_GE(near(2400), 1u);
  EXPECT_GE(near(5500, 5, kAboveNoise), 1u);
  EXPECT_EQ(before["masked_samples"], 0);
  EXPECT_EQ(record_["mask"], "");

  const nlohmann::json after = run("search", {"--mask", scratch_ / "x_rfifind.mask"});
  EXPECT_GE(near(2400), 1u);
  EXPECT_EQ(near(5500, 400, kAboveNoise), 0u);
  EXPECT_EQ(after["ignored_channels"], 1);
  EXPECT_EQ(record_["ignored_channels"], nlohmann::json({3}));
  EXPECT_EQ(after["masked_samples"], 31 * 1000);
  EXPECT_EQ(record_["masked_samples"], 31 * 1000);
  EXPECT_EQ(record_["mask"], scratch_ / "x_rfifind.mask");

  // dedisperse: at DM 0 the masked interval is constant, and that the mean of what came before.
  const nlohmann::json series =
      run("dedisperse", {"--mask", scratch_ / "x_rfifind.mask", "--max-loss", "0"});
  EXPECT_EQ(series["masked_samples"], 31 * 1000);
  const auto zero_dm = row(0);
  double mean = 0;
  for (std::size_t t = 4000; t < 5000; ++t) mean += zero_dm[t] / 1000.0;
  EXPECT_NEAR(zero_dm[5000], mean, 32);  // 31 means rounded
  for (std::size_t t = 5000; t < 6000; ++t) ASSERT_EQ(zero_dm[t], zero_dm[5000]) << t;
  // Two sums are the same once in 150 times, ten in a row never.
  const auto after_mask = zero_dm.begin() + 6000;
  EXPECT_FALSE(std::all_of(after_mask, after_mask + 10, [&](auto x) { return x == *after_mask; }));

  // Made for other channels.
  MaskFile other = mask;
  other.channels = 16;
  other.zapped_channels = {};
  write_file(scratch_ / "x_rfifind.mask", other.bytes());
  run("search", {"--mask", scratch_ / "x_rfifind.mask"}, 2);
}

TEST_F(Cleaning, FlagsAreOffUnlessAskedForAndNamedInEveryOutput) {
  auto values = noise_with_pulses(shape_, kCleanedTimes, {{40, 2400, 30}}, random_);
  for (std::size_t t = 0; t < kCleanedTimes; ++t) {
    values[t * 32 + 7] = 100;                      // dead
    values[t * 32 + 20] = t / 500 % 2 ? 250 : 10;  // comes and goes
  }
  write_filterbank(scratch_ / "in.fil", shape_, values);
  for (const std::string command : {"search", "dedisperse"}) {
    const nlohmann::json plain = run(command, {"--keep-constant"});
    EXPECT_EQ(plain["flagged_channels"], 0);
    EXPECT_EQ(plain["ignored_channels"], 0);
    EXPECT_EQ(plain["constant_channels"], 0);
    EXPECT_EQ(plain["empty_values"], 0);
    EXPECT_EQ(plain["zero_dm"], false);
    // A channel that never changes is no data, and needs no flags.
    const nlohmann::json by_default = run(command, {});
    EXPECT_EQ(by_default["flagged_channels"], 0);
    EXPECT_EQ(by_default["ignored_channels"], 1);
    EXPECT_EQ(by_default["constant_channels"], 1);
    EXPECT_EQ(record_["constant_channels"], nlohmann::json({7}));
    EXPECT_EQ(record_["empty_channels"].size(), 1);  // 20, which stands still between its steps
    EXPECT_EQ(record_["empty_channels"][0]["channel"], 20);
    const nlohmann::json clean = run(command, {"--flag-channels", "--zero-dm", "--keep-constant"});
    EXPECT_GE(clean["flagged_channels"], 2);
    // The scatter of 30 good channels is itself badly known: one more in 1 % of runs, and each
    // further one ten times rarer.
    EXPECT_LE(clean["flagged_channels"], 10);
    EXPECT_EQ(clean["zero_dm"], true);
    EXPECT_EQ(record_["zero_dm"], true);
    const auto flagged = record_["flagged_channels"].get<std::vector<std::size_t>>();
    for (const std::size_t bad : {7u, 20u})
      EXPECT_TRUE(std::find(flagged.begin(), flagged.end(), bad) != flagged.end()) << bad;
    if (command == "search") {
      EXPECT_GE(near(2400), 1u);
    }
  }
}

TEST_F(Cleaning, ZeroDmIsNamedWhereNothingIsDispersed) {
  std::vector<NoisePulse> pulses{{0, 1000, 60}, {0, 3000, 60}, {0, 5000, 60}};
  const auto named = [&](const std::vector<std::string>& more) {
    write_filterbank(scratch_ / "in.fil", shape_,
                     noise_with_pulses(shape_, kCleanedTimes, pulses, random_));
    std::vector<std::string> words{"--threshold", "10"};  // without noise
    words.insert(words.end(), more.begin(), more.end());
    run("search", words);
    return plan_.find("best candidates show no dispersion. If they are interference, --zero-dm") !=
           std::string::npos;
  };
  EXPECT_TRUE(named({}));
  EXPECT_FALSE(named({"--zero-dm"}));
  pulses.push_back({80, 2400, 60});
  EXPECT_FALSE(named({}));
}

TEST_F(Cleaning, ZeroDmTakesOutWhatHasNoDispersion) {
  write_filterbank(
      scratch_ / "in.fil", shape_,
      noise_with_pulses(shape_, kCleanedTimes, {{80, 2400, 30}, {0, 5000, 60}}, random_));
  run("search", {});
  EXPECT_GE(near(5000, 5, kAboveNoise), 1u);
  const nlohmann::json clean = run("search", {"--zero-dm"});
  EXPECT_GE(near(2400), 1u);
  EXPECT_EQ(near(5000, 5, kAboveNoise), 0u);
  EXPECT_EQ(clean["zero_dm"], true);
}

// Trials without delays are zero: rounded floats are no pulses. Brighter spectra are rounded by more.
TEST_F(Cleaning, ZeroDmLeavesNothingWithoutDispersion) {
  shape_.nbits = 32;
  auto values = noise_with_pulses(shape_, kCleanedTimes, {{80, 2400, 30}}, random_);
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = 1e7 * values[k] * static_cast<double>(1 + k % 32);
  for (std::size_t t = 3000; t < 7500; t += 150 + random_() % 100)
    for (std::size_t c = 0; c < 32; ++c) values[t * 32 + c] *= 30;
  write_filterbank(scratch_ / "in.fil", shape_, values);
  run("search", {"--zero-dm", "--threshold", "5", "--link-dm", "0"});
  EXPECT_GE(near(2400), 1u);
  for (const auto& line : lines_)
    EXPECT_TRUE(line["schema"] != "tautline.candidate" || line["dm"] > 0) << line;
}

// Of every channel, of those left out too, and of what the file says of signed samples.
TEST_F(Cleaning, TheBandpassIsRecordedWhenAskedFor) {
  const auto noise = noise_with_pulses(shape_, kCleanedTimes, {}, random_);
  for (const double level : {0, 128}) {
    auto values = noise;
    std::vector<double> mean(32, 0), squares(32, 0);
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = values[k] * (k % 32 + 1) / 32 - level;
      values[k] = std::round(values[k]);
      mean[k % 32] += values[k] / kCleanedTimes;
      squares[k % 32] += values[k] * values[k] / kCleanedTimes;
    }
    shape_.is_signed = level > 0;
    write_filterbank(scratch_ / "in.fil", shape_, values);
    for (const std::string command : {"search", "dedisperse"}) {
      run(command, {});
      EXPECT_TRUE(record_["bandpass"].is_null());
      for (const std::vector<std::string>& more :
           {std::vector<std::string>{},
            {"--zero-dm", "--ignorechan", "3"},
            {"--memory", "8M", "--downsample-tolerance", "1.15"}}) {
        std::vector<std::string> options = more;
        options.push_back("--bandpass");
        if (command == "dedisperse" && more.size() == 4) continue;  // an array has one sample time
        run(command, options);
        const nlohmann::json& bandpass = record_["bandpass"];
        ASSERT_EQ(bandpass["mean"].size(), 32u);
        for (std::size_t c = 0; c < 32; ++c) {
          EXPECT_NEAR(bandpass["mean"][c].get<double>(), mean[c], 1e-9);
          EXPECT_NEAR(bandpass["standard_deviation"][c].get<double>(),
                      std::sqrt(squares[c] - mean[c] * mean[c]), 1e-8);
        }
      }
    }
  }
}

TEST_F(Cleaning, IfsWhoseMeaningNobodyKnowsAreWarnedOf) {
  shape_.nifs = 4;
  SigprocShape wide = shape_;
  wide.nchans *= 4;
  write_filterbank(scratch_ / "in.fil", shape_,
                   noise_with_pulses(wide, kCleanedTimes, {}, random_));
  for (const std::string command : {"search", "dedisperse"}) {
    run(command, {});
    EXPECT_NE(plan_.find("4 IFs are added up"), std::string::npos) << plan_;
    EXPECT_EQ(record_["summed_ifs"], nlohmann::json({0, 1, 2, 3}));
    run(command, {"--ifs", "0,1"});
    EXPECT_EQ(plan_.find("IFs are added up"), std::string::npos) << plan_;
    EXPECT_EQ(record_["summed_ifs"], nlohmann::json({0, 1}));
    for (const std::string bad : {"0,0", "4", "-1", "x"}) run(command, {"--ifs", bad}, 2);
  }
}

TEST_F(Cleaning, ThePlanTellsMemoryAndTheRateToExpect) {
  write_filterbank(scratch_ / "in.fil", shape_,
                   noise_with_pulses(shape_, kCleanedTimes, {}, random_));
  for (const std::string command : {"search", "dedisperse"}) {
    const nlohmann::json summary = run(command, {});
    EXPECT_NE(plan_.find("MiB"), std::string::npos) << plan_;
    EXPECT_NE(plan_.find("x real time"), std::string::npos) << plan_;
    EXPECT_GT(summary["expected_s"], 0);
    EXPECT_GT(record_["expected_s"], 0);
  }
}

// Two files with 3 s between them. Each segment is searched for itself; a series goes on through
// the gap, which has the channels' means.
class Gap : public Cleaning {
 protected:
  static constexpr std::size_t kGap = 3000, kSecond = 5000;
  void write_both(std::size_t second_pulse = 1000) {
    const auto a = noise_with_pulses(shape_, kCleanedTimes,
                                     {{40, 2400, 30}, {20, kCleanedTimes - 120, 30}}, random_);
    const auto b = noise_with_pulses(shape_, kSecond, {{70, second_pulse, 30}}, random_);
    write_filterbank(scratch_ / "in.fil", shape_, a);
    SigprocShape later = shape_;
    later.tstart += static_cast<double>(kCleanedTimes + kGap) * shape_.tsamp / 86400;
    write_filterbank(scratch_ / "later.fil", later, b);
    first_ = a, second_ = b;
  }
  std::vector<double> first_, second_;
};

TEST_F(Gap, EndsASearchAndBeginsAnother) {
  write_both();
  const nlohmann::json summary = run("search", {scratch_ / "later.fil", "--plot", scratch_ / "p"});
  EXPECT_EQ(summary["data_segments"], 2);
  EXPECT_EQ(summary["gap_samples"], kGap);
  EXPECT_EQ(summary["samples"], kCleanedTimes + kSecond);
  // Noise may cut a wing of a bright pulse off, which is then a faint one.
  EXPECT_EQ(near(2400, 5, 10), 1u);
  EXPECT_EQ(near(kCleanedTimes + kGap + 1000, 5, 10), 1u);
  EXPECT_EQ(record_["data_segments"][1]["first_sample"], kCleanedTimes + kGap);
  EXPECT_EQ(record_["data_segments"][1]["trials"], 101);
  // Times go on through the gap.
  for (const auto& line : lines_)
    if (line["schema"] == "tautline.candidate") {
      EXPECT_NEAR(line["time_s"].get<double>(), line["sample"].get<double>() * 1e-3, 1e-9);
    }
  // The same as of each file alone.
  std::vector<nlohmann::json> both(lines_.begin(), lines_.end() - 1);
  run("search", {});
  std::size_t alone = lines_.size() - 1;
  const std::string output = scratch_ / "out2.csv";
  const CommandResult later =
      run_command({"--json", "search", scratch_ / "later.fil", "-o", output, "--dms", "0:100:1"},
                  scratch_.path().string());
  EXPECT_EQ(later.status, 0) << later.err;
  alone += json_lines(later.out).size() - 1;
  EXPECT_EQ(both.size(), alone);
}

// As an empty stretch of so many samples inside a file is: no pulse that sweeps across it is lost.
TEST_F(Gap, OfFewSamplesIsSearchedThrough) {
  for (const std::size_t gap : {std::size_t{1}, 2 + random_() % 20, 60 + random_() % 40}) {
    SCOPED_TRACE(testing::Message() << "gap " << gap);
    const std::size_t pulse = kCleanedTimes - 20;
    const auto all =
        noise_with_pulses(shape_, kCleanedTimes + kSecond, {{300, pulse, 30}}, random_);
    const auto end = all.begin() + kCleanedTimes * 32;
    write_filterbank(scratch_ / "in.fil", shape_, {all.begin(), end});
    SigprocShape later = shape_;
    later.tstart += static_cast<double>(kCleanedTimes + gap) * shape_.tsamp / 86400;
    write_filterbank(scratch_ / "later.fil", later,
                     {end + static_cast<std::ptrdiff_t>(gap) * 32, all.end()});
    const nlohmann::json summary = run("search", {scratch_ / "later.fil", "--dms", "0:400:5"});
    EXPECT_EQ(summary["data_segments"], 1);
    EXPECT_EQ(summary["gap_samples"], 0);
    EXPECT_EQ(summary["samples"], kCleanedTimes + kSecond);
    EXPECT_EQ(record_["data_segments"].size(), 1u);
    EXPECT_EQ(near(pulse, 5, 8), 1u);
    EXPECT_NE(plan_.find("is searched through"), std::string::npos) << plan_;
    if (gap > 10) {
      EXPECT_EQ(summary["empty_samples"], gap);
    }
    EXPECT_EQ(run("search", {scratch_ / "later.fil", "--keep-constant"})["gap_samples"], gap);
  }
}

// 100 pc cm^-3 are delayed by 0.085 s, 8,000 by 6.8 s: less than the first file, more than the
// second.
TEST_F(Gap, AShortSegmentIsSearchedForTheTrialsThatFit) {
  write_both();
  const nlohmann::json summary =
      run("search", {scratch_ / "later.fil", "--dms", "0:8000:50", "--max-loss", "0"});
  EXPECT_EQ(summary["trials"], 161);
  EXPECT_EQ(record_["data_segments"][0]["trials"], 161);
  const auto fitting = record_["data_segments"][1]["trials"].get<std::size_t>();
  EXPECT_GT(fitting, 80u);
  EXPECT_LT(fitting, 161u);
}

TEST_F(Gap, OfASeriesIsFilledCountedAndToldToPresto) {
  write_both();
  const nlohmann::json summary = run("dedisperse", {scratch_ / "later.fil", "--max-loss", "0"});
  EXPECT_EQ(summary["gap_samples"], kGap);
  EXPECT_EQ(summary["samples"], kCleanedTimes + kGap + kSecond);
  EXPECT_EQ(record_["gap_samples"], kGap);
  EXPECT_EQ(record_["data_segments"][1]["first_sample"], kCleanedTimes + kGap);
  const auto zero_dm = row(0);
  const auto sum_of = [&](const std::vector<double>& values, std::size_t t) {
    double sum = 0;
    for (std::size_t c = 0; c < 32; ++c) sum += values[t * 32 + c];
    return sum;
  };
  double filling = 0;
  for (std::size_t c = 0; c < 32; ++c) {
    // Without the equal values at either end, which might go on beyond.
    const auto at = [&](std::size_t t) { return first_[t * 32 + c]; };
    std::size_t from = kCleanedTimes - 4096, end = kCleanedTimes;
    const double begin = at(from), last = at(end - 1);
    while (at(from) == begin) ++from;
    while (at(end - 1) == last) --end;
    double sum = 0;
    for (std::size_t t = from; t < end; ++t) sum += at(t);
    filling += std::round(sum / static_cast<double>(end - from));
  }
  for (std::size_t t = 0; t < zero_dm.size(); ++t) {
    const double expected = t < kCleanedTimes          ? sum_of(first_, t)
                            : t < kCleanedTimes + kGap ? filling
                                                       : sum_of(second_, t - kCleanedTimes - kGap);
    ASSERT_EQ(zero_dm[t], expected) << t;
  }
  const CommandResult presto =
      run_command({"dedisperse", scratch_ / "in.fil", scratch_ / "later.fil", "-o",
                   scratch_ / "s.dat", "--dms", "40"},
                  scratch_.path().string());
  ASSERT_EQ(presto.status, 0) << presto.err;
  const std::string inf = read_file(scratch_ / "s.inf");
  EXPECT_NE(inf.find("Any breaks in the data? (1 yes, 0 no)  =  1"), std::string::npos) << inf;
  EXPECT_NE(inf.find("11000"), std::string::npos) << inf;
}

TEST_F(Gap, LongerThanTheDataIsNotFilled) {
  write_both();
  SigprocShape later = shape_;
  later.tstart += 1;
  write_filterbank(scratch_ / "later.fil", later, second_);
  const CommandResult refused =
      run_command({"dedisperse", scratch_ / "in.fil", scratch_ / "later.fil", "-o",
                   scratch_ / "s.npy", "--dms", "0:10:1"},
                  scratch_.path().string());
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_NE(refused.err.find("gaps of"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "s.npy"));
  EXPECT_EQ(run("search", {scratch_ / "later.fil"})["data_segments"], 2);
}

// Intervals of another day are of other times, and those of a part of the file end with it.
TEST_F(Cleaning, AMaskOfAnotherDayOrOfAPartIsSaidToBeOne) {
  write_filterbank(scratch_ / "in.fil", shape_,
                   noise_with_pulses(shape_, kCleanedTimes, {}, random_));
  MaskFile mask{1500 - 8 * 31, 8, 1e-3, 32, 8, 1000, {28}, {5}};
  const auto said = [&] {
    write_file(scratch_ / "x_rfifind.mask", mask.bytes());
    return run_command({"search", scratch_ / "in.fil", "-o", scratch_ / "c.csv", "--overwrite",
                        "--dms", "0:10", "--mask", scratch_ / "x_rfifind.mask"},
                       scratch_.path().string());
  };
  EXPECT_EQ(said().err.find("--mask: "), std::string::npos) << said().err;
  mask.mjd += 1;
  EXPECT_NE(said().err.find("--mask: made from data that begin at MJD 58001.25000000, and these "
                            "begin at 58000.25000000, 86400 s earlier"),
            std::string::npos)
      << said().err;
  mask.mjd -= 1;
  mask.intervals = 6;
  EXPECT_NE(said().err.find("--mask: ends after 6 s, and the data have 8 s"), std::string::npos)
      << said().err;
  mask.intervals = 8;
  mask.tsamp_s = 2e-3;
  const CommandResult other = said();
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.err.find("sample time: 0.002 s, expected 0.001 s"), std::string::npos)
      << other.err;
}

}  // namespace
}  // namespace tautline::tests

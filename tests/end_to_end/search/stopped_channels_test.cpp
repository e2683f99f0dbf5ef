// Many channels stop for seconds, or are masked then, or all of them stop for short times again and again: the noise of
// a search stays that of the data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class StoppedChannels : public ::testing::Test {
 protected:
  static constexpr std::size_t kTimes = 24'000;

  StoppedChannels() {
    shape_.fch1 = 1500;
    shape_.tsamp = 1e-3;
  }
  std::size_t channels() const { return static_cast<std::size_t>(shape_.nchans); }
  // In as many bits as the shape has: of two bits, four levels an rms apart.
  std::vector<double> noise(const std::vector<NoisePulse>& pulses) {
    auto values = noise_with_pulses(shape_, kTimes, pulses, random_);
    if (shape_.nbits == 2)
      for (double& x : values) x = std::clamp(std::round(1.5 + (x - 100.25) / 8), 0.0, 3.0);
    return values;
  }
  void search(const std::vector<double>& values, const std::vector<std::string>& more = {}) {
    write_filterbank(scratch_ / "in.fil", shape_, values);
    std::vector<std::string> words{
        "--json",      "search", scratch_ / "in.fil", "-o",          scratch_ / "out.csv",
        "--overwrite", "--dms",  "0:100:1",           "--threshold", "7"};  // noise has none
    words.insert(words.end(), options_.begin(), options_.end());
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch_.path().string());
    ASSERT_EQ(result.status, kDone) << result.err;
    candidates_ = json_lines(result.out);
    summary_ = candidates_.back();
    candidates_.pop_back();
    std::erase_if(candidates_,
                  [](const auto& line) { return line["schema"] != "tautline.candidate"; });
  }
  static bool is_near(const nlohmann::json& candidate, std::size_t sample) {
    return std::fabs(candidate["sample"].get<double>() - static_cast<double>(sample)) <= 100;
  }
  double snr_at(std::size_t sample) const {
    double best = 0;
    for (const auto& one : candidates_)
      if (is_near(one, sample)) best = std::max(best, one["snr"].get<double>());
    return best;
  }
  std::size_t count_beside(const std::vector<std::size_t>& pulses) const {
    return static_cast<std::size_t>(std::ranges::count_if(candidates_, [&](const auto& one) {
      return std::ranges::none_of(pulses, [&](std::size_t at) { return is_near(one, at); });
    }));
  }
  // Three pulses, with and without `stop`: as bright, and nothing else. S/N agree to 5 %: sigma is known to 0.9 %, and
  // the baseline changes.
  template <class Stop>
  void expect_unchanged(const std::vector<std::size_t>& pulses, double amplitude, Stop stop,
                        const std::vector<std::string>& more = {}) {
    std::vector<NoisePulse> bright;
    for (const std::size_t at : pulses) bright.push_back({40, at, amplitude});
    auto values = noise(bright);
    search(values);
    std::vector<double> before;
    for (const std::size_t at : pulses) before.push_back(snr_at(at));
    const std::size_t others = count_beside(pulses);
    stop(values);
    search(values, more);
    for (std::size_t k = 0; k < pulses.size(); ++k) {
      EXPECT_GT(before[k], 8) << pulses[k];
      EXPECT_NEAR(snr_at(pulses[k]), before[k], 0.05 * before[k]) << pulses[k];
    }
    EXPECT_LE(count_beside(pulses), others + 1) << summary_;
  }

  SigprocShape shape_;
  ScratchFolder scratch_;
  std::vector<std::string> options_;  // of every search
  std::mt19937_64 random_ = generator();
  std::vector<nlohmann::json> candidates_;
  nlohmann::json summary_;
};

// 240 or 112 of 256 channels for 9 of 24 s: a pulse far from the stop, one that ends shortly before and one shortly
// behind it.
TEST_F(StoppedChannels, ThatAreManyLeaveTheNoiseAsItIs) {
  shape_.nchans = 256;
  shape_.foff = -1;
  std::vector<std::size_t> order(channels());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (const int bits : {8, 2})
    for (const std::size_t stopped : {240, 112}) {
      SCOPED_TRACE(bits);
      SCOPED_TRACE(stopped);
      shape_.nbits = bits;
      std::shuffle(order.begin(), order.end(), random_);
      const std::size_t first = 6000 + random_() % 5000, end = first + 9000;
      expect_unchanged({3000, first - 60, end + 30}, bits == 8 ? 8 : 10, [&](auto& values) {
        for (std::size_t t = first; t < end; ++t)
          for (std::size_t c = 0; c < stopped; ++c) values[t * channels() + order[c]] = 0;
      });
      EXPECT_NEAR(summary_["empty_values"].get<double>(), static_cast<double>(stopped) * 9000,
                  2000);
    }
}

// A hundred of 256 channels, together, in half of each bit's samples that one channel would need; a quarter of them for a
// few samples.
TEST_F(StoppedChannels, ThatDoSoTogetherForShortTimesLeaveTheNoiseAsItIs) {
  shape_.nchans = 256;
  shape_.foff = -1;
  std::vector<std::size_t> order(channels());
  std::iota(order.begin(), order.end(), std::size_t{0});
  struct Stop {
    int bits;
    std::size_t channels, samples;
  };
  for (const Stop& one :
       {Stop{8, 100, 60}, {2, 100, 100}, {8, 64, 16}, {8, 64, 32}, {8, 32, 10}, {8, 12, 6}}) {
    SCOPED_TRACE(testing::Message() << one.channels << " for " << one.samples);
    shape_.nbits = one.bits;
    std::shuffle(order.begin(), order.end(), random_);
    const std::size_t phase = random_() % 200;
    const auto pulse = [&](std::size_t period) {
      return 300 * period + phase + 100 + random_() % 150;
    };
    expect_unchanged({pulse(9), pulse(33), pulse(71)}, one.bits == 8 ? 8 : 10, [&](auto& values) {
      for (std::size_t t = phase; t < kTimes; ++t)
        for (std::size_t c = 0; c < one.channels && (t - phase) % 300 < one.samples; ++c)
          values[t * channels() + order[c]] = 0;
    });
    const std::size_t values = one.channels * one.samples;
    EXPECT_NEAR(summary_["empty_values"].get<double>(), static_cast<double>(values * kTimes / 300),
                2.0 * static_cast<double>(values));
  }
}

// Packets of 32 of 256 channels that are lost for 5 to 15 samples, again and again, but not beside the pulses.
TEST_F(StoppedChannels, ThatAreFewForAFewSamplesAreNoPulses) {
  shape_.nchans = 256;
  shape_.foff = -1;
  const std::vector<std::size_t> pulses{3000, 12'000, 20'000};
  std::uint64_t lost = 0;
  expect_unchanged(pulses, 8, [&](auto& values) {
    for (std::size_t t = random_() % 50; t + 30 < kTimes; t += 30 + random_() % 30) {
      const std::size_t samples = 5 + random_() % 11, card = 32 * (random_() % 8);
      if (std::ranges::any_of(pulses, [&](std::size_t at) { return t + 80 > at && t < at + 80; }))
        continue;
      for (std::size_t k = t; k < t + samples; ++k)
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(k * 256 + card), 32, 0.0);
      lost += 32 * samples;
    }
  });
  EXPECT_EQ(summary_["empty_values"].get<std::uint64_t>(), lost);
}

// Packets of a card or several that are lost for one spectrum or two, again and again, but not beside the pulses; with
// and without the zero-DM filter.
TEST_F(StoppedChannels, ThatAreZeroForASpectrumOrTwoAreNoPulses) {
  shape_.nchans = 256;
  shape_.foff = -1;
  const std::vector<std::size_t> pulses{3000, 12'000, 20'000};
  for (const bool zero_dm : {false, true}) {
    SCOPED_TRACE(zero_dm);
    if (zero_dm) options_ = {"--zero-dm"};
    std::uint64_t lost = 0;
    expect_unchanged(pulses, 10, [&](auto& values) {
      for (std::size_t t = 20 + random_() % 50; t + 30 < kTimes; t += 30 + random_() % 30) {
        const std::size_t samples = 1 + random_() % 2, cards = 1 + random_() % 4;
        const std::size_t first = 32 * (random_() % (9 - cards));
        if (std::ranges::any_of(pulses, [&](std::size_t at) { return t + 80 > at && t < at + 80; }))
          continue;
        for (std::size_t k = t; k < t + samples; ++k)
          std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(k * 256 + first), 32 * cards,
                      0.0);
        lost += 32 * cards * samples;
      }
    });
    EXPECT_EQ(summary_["empty_values"].get<std::uint64_t>(), lost);
  }
}

// 120 of 256 channels in two of three intervals of 8 s, the first two or the last two; the pulses are in the other one.
TEST_F(StoppedChannels, ThatAreMaskedForAWhileLeaveTheNoiseAsItIs) {
  shape_.nchans = 256;
  shape_.foff = -1;
  std::vector<std::int32_t> order(channels());
  std::iota(order.begin(), order.end(), 0);
  for (const bool first : {true, false}) {
    SCOPED_TRACE(first);
    std::shuffle(order.begin(), order.end(), random_);
    // The counts of channels in each interval, and then the channels, take the place of no channels.
    std::string mask = MaskFile{1500 - 255, 1, 1e-3, 256, 3, 8000, {}, {}}.bytes();
    mask.resize(mask.size() - 3 * sizeof(std::int32_t));
    SigprocBytes lists;
    for (const std::int32_t count : {first ? 120 : 0, 120, first ? 0 : 120}) lists.put(count);
    std::sort(order.begin(), order.begin() + 120);
    for (int interval = 0; interval < 2; ++interval)
      for (std::size_t k = 0; k < 120; ++k) lists.put(order[k]);
    mask.append(lists.bytes().begin(), lists.bytes().end());
    write_file(scratch_ / "x.mask", mask);
    const std::size_t begin = first ? 16'000 : 0;
    expect_unchanged({begin + 500, begin + 3000, begin + 6000}, 8, [](auto&) {},
                     {"--mask", scratch_ / "x.mask"});
    EXPECT_EQ(summary_["masked_samples"].get<double>(), 120 * 16'000);
  }
}

// A hundred samples of three hundred.
TEST_F(StoppedChannels, ThatAreAllOfThemForShortTimesLeaveTheNoiseAsItIs) {
  shape_.nchans = 64;
  shape_.foff = -4;
  for (const int bits : {8, 2}) {
    SCOPED_TRACE(bits);
    shape_.nbits = bits;
    const std::size_t phase = random_() % 200;
    const auto pulse = [&](std::size_t period) {
      return 300 * period + phase + 100 + random_() % 150;
    };
    expect_unchanged({pulse(9), pulse(33), pulse(71)}, bits == 8 ? 16 : 20, [&](auto& values) {
      for (std::size_t t = phase; t + 100 <= kTimes; t += 300)
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(t * 64), 64 * 100, 0.0);
    });
    EXPECT_NEAR(summary_["empty_samples"].get<double>(), kTimes / 3, 100);
  }
}

// Up to sixteen spectra at a time, again and again: no pulses, and one warning at most. A pulse that is clipped in all
// channels for as long is one.
TEST_F(StoppedChannels, ThatAreAllOfThemForAFewSpectraAreNoPulses) {
  shape_.nchans = 256;
  shape_.foff = -1;
  std::uint64_t lost = 0, losses = 0;
  expect_unchanged({3050, 12'050, 21'050}, 8, [&](auto& values) {
    for (std::size_t t = 0; t + 100 < kTimes; t += 100) {
      const std::size_t count = 1 + random_() % 16;
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(t * 256), count * 256, 0.0);
      lost += count;
      ++losses;
    }
  });
  EXPECT_EQ(summary_["empty_samples"].get<std::uint64_t>(), lost);
  EXPECT_EQ(nlohmann::json::parse(read_file(scratch_ / "out.csv.json"))["empty_stretches"].size(),
            losses);
  const CommandResult said = run_command({"search", scratch_ / "in.fil", "-o", scratch_ / "out.csv",
                                          "--overwrite", "--dms", "0:100:1"},
                                         scratch_.path().string());
  ASSERT_EQ(said.status, kDone) << said.err;
  const std::string words = "much of the input holds no data";
  EXPECT_EQ(said.err.find(words), said.err.rfind(words)) << said.err;
  EXPECT_NE(said.out.find("239 stretches in which no channel changes"), std::string::npos)
      << said.out;

  auto values = noise({});
  std::fill_n(values.begin() + 9000 * 256, 6 * 256, 255.0);
  search(values);
  EXPECT_EQ(summary_["empty_samples"], 0);
  EXPECT_GT(snr_at(9000), 50);
  const CommandResult kept = run_command({"search", scratch_ / "in.fil", "-o", scratch_ / "out.csv",
                                          "--overwrite", "--dms", "0:100:1"},
                                         scratch_.path().string());
  EXPECT_NE((kept.out + kept.err)
                .find("1 stretch of equal spectra kept as data, as clipped pulses "
                      "are, the first of 6 samples from 9000"),
            std::string::npos)
      << kept.out << kept.err;
}

// A pulse of 60 samples in each channel, by a file and by a pipe.
TEST_F(StoppedChannels, ThatAreAtTheLargestValueAreAClippedPulse) {
  shape_.nchans = 256;
  shape_.foff = -1;
  for (const int bits : {2, 8}) {
    SCOPED_TRACE(bits);
    shape_.nbits = bits;
    auto values = noise({});
    const std::size_t at = 9000 + random_() % 3000;
    for (std::size_t c = 0; c < channels(); ++c) {
      const double mhz = 1500 - static_cast<double>(c);
      const auto delay = static_cast<std::size_t>(
          std::lround(4148.808 * 90 * (1 / (mhz * mhz) - 1 / (1500.0 * 1500.0)) * 1000));
      for (std::size_t t = at + delay; t < at + delay + 60; ++t)
        values[t * channels() + c] = bits == 2 ? 3 : 255;
    }
    search(values, {"--keep-constant"});
    const double snr = snr_at(at + 30);
    EXPECT_GT(snr, 50);
    search(values);
    EXPECT_NEAR(snr_at(at + 30), snr, 0.01 * snr);
    EXPECT_EQ(summary_["empty_values"], 0);
    const CommandResult piped =
        run_shell(TAUTLINE_COMMAND " search - -o " + (scratch_ / "piped.csv") +
                      " --overwrite --dms 0:100:1 < " + (scratch_ / "in.fil"),
                  scratch_.path().string());
    ASSERT_EQ(piped.status, kDone) << piped.err;
    EXPECT_NE((piped.out + piped.err).find(" clipped, at the largest value for long, kept as data"),
              std::string::npos)
        << piped.out << piped.err;
    const std::string list = read_file(scratch_ / "piped.csv");
    EXPECT_NEAR(std::stod(list.substr(list.find('\n') + 1)), snr, 0.01 * snr);
  }
}

// As of a file that was up-sampled: half of its samples are all that there is.
TEST_F(StoppedChannels, SpectraThatStandTwiceAreTold) {
  const auto said = [&](std::size_t times) {
    auto values = noise({});
    for (std::size_t t = 0; t < kTimes; ++t)
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(t / times * times * channels()),
                  channels(), values.begin() + static_cast<std::ptrdiff_t>(t * channels()));
    write_filterbank(scratch_ / "in.fil", shape_, values);
    return run_command({"search", scratch_ / "in.fil", "-o", scratch_ / "out.csv", "--overwrite",
                        "--dms", "0:100:10"},
                       scratch_.path().string())
        .err;
  };
  shape_.nchans = 32;
  shape_.foff = -8;
  EXPECT_EQ(said(1).find("equal the one before"), std::string::npos);
  for (const auto& [times, factor] : {std::pair{2, "1.4"}, {3, "1.7"}}) {
    const std::string err = said(static_cast<std::size_t>(times));
    std::size_t repeated = 0, compared = 0;
    const std::size_t at = err.find(" of ", err.find(" spectra equal the one before") - 12);
    ASSERT_NE(at, std::string::npos) << err;
    ASSERT_EQ(std::sscanf(err.c_str() + err.rfind(' ', at - 1), "%zu of %zu", &repeated, &compared),
              2)
        << err;
    EXPECT_NEAR(static_cast<double>(compared), kTimes, 300);
    EXPECT_NEAR(static_cast<double>(repeated), kTimes - kTimes / static_cast<double>(times), 300);
    EXPECT_NE(
        err.find("as where each stands " + std::to_string(times) +
                 " times: S/N of pulses wider than that are up to " + factor + " times too high"),
        std::string::npos)
        << err;
  }
}

}  // namespace
}  // namespace tautline::tests

// Candidates that a changing level makes are named by a warning; pulses are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kLevelTimes = 16'000, kLevelChannels = 32;
constexpr double kLevelNoise = 8;  // of a channel
const std::string kLevelSaid = "the level of most channels changes where candidates are, at ";

class ChangingLevel : public ::testing::Test {
 protected:
  ChangingLevel() {
    shape_.nchans = kLevelChannels;
    shape_.fch1 = 1500;
    shape_.foff = -8;
    shape_.tsamp = 1e-3;
  }
  // What a search says of noise to which `added`(time, channel) is added.
  std::string said_of(const std::function<double(double, std::size_t)>& added,
                      const std::vector<std::string>& more = {}) {
    auto values = noise_with_pulses(shape_, kLevelTimes, {}, random_);
    for (std::size_t t = 0; t < kLevelTimes; ++t)
      for (std::size_t c = 0; c < kLevelChannels; ++c) {
        double& x = values[t * kLevelChannels + c];
        x = std::clamp(std::round(x + added(static_cast<double>(t), c)), 0.0, 255.0);
      }
    write_filterbank(scratch_ / "a.fil", shape_, values);
    return search(more);
  }
  std::string search(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{
        "--json",      "search", scratch_ / "a.fil", "-o", scratch_ / "out.csv",
        "--overwrite", "--dms",  "0:100:1"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch_.path().string());
    EXPECT_EQ(result.status, 0) << result.err;
    candidates_ = json_lines(result.out);
    candidates_.pop_back();
    return result.err;
  }
  std::size_t count(double over_snr = kAboveNoise) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        candidates_, [&](const nlohmann::json& one) { return one["snr"] > over_snr; }));
  }
  // Later in lower channels, samples.
  double delay(double dm, std::size_t channel) const {
    const double mhz = 1500 - 8 * static_cast<double>(channel);
    return 4148.808 * dm * (1 / (mhz * mhz) - 1 / (1500.0 * 1500)) / shape_.tsamp;
  }
  SigprocShape shape_;
  ScratchFolder scratch_;
  std::mt19937_64 random_ = generator();
  std::vector<nlohmann::json> candidates_;
};

TEST_F(ChangingLevel, ThatSettlesFromTheBeginIsSaid) {
  for (const double settles : {100.0, 500.0, 2000.0}) {
    const auto settling = [&](double t, std::size_t) { return 40 * std::exp(-t / settles); };
    const std::string said = said_of(settling);
    ASSERT_GE(count(), 1u) << settles;
    EXPECT_NE(said.find(kLevelSaid + "0."), std::string::npos) << settles << said;
    EXPECT_NE(said.find("--zero-dm"), std::string::npos) << said;
    EXPECT_NE(said.find("--start"), std::string::npos) << said;
    EXPECT_EQ(search({"--zero-dm"}).find(kLevelSaid), std::string::npos) << settles;
    EXPECT_EQ(count(), 0u) << settles;
  }
}

TEST_F(ChangingLevel, ThatTakesAWhileToStepIsSaid) {
  std::size_t made = 0;
  for (const double takes : {20.0, 50.0, 100.0})
    for (const double height : {-24.0, 24.0}) {
      const auto at = static_cast<double>(5000 + random_() % 5000);
      const std::string said = said_of([&](double t, std::size_t) {
        return height / 2 * (1 + std::tanh(4 * (t - at) / takes));
      });
      if (count(12) == 0) continue;
      ++made;
      EXPECT_NE(said.find(kLevelSaid), std::string::npos) << takes << ' ' << height << said;
    }
  EXPECT_GE(made, 1u);
}

// Of any strength and width, dispersed or not, one or many.
TEST_F(ChangingLevel, IsNotSaidOfPulses) {
  for (const double width : {2.0, 30.0, 100.0, 500.0})
    for (const double dm : {0.0, 10.0, 60.0})
      for (const double snr : {15.0, 100.0, 1000.0}) {
        const double height =
            snr * kLevelNoise / std::sqrt(width * static_cast<double>(kLevelChannels));
        if (height > 150) continue;  // clipped
        const auto at = static_cast<double>(6000 + random_() % 3000);
        const std::string said = said_of([&](double t, std::size_t c) {
          const double since = t - at - delay(dm, c);
          return since >= 0 && since < width ? height : 0;
        });
        if (snr > 15 || width <= 100) {  // the widest boxcar is of 0.1 s
          EXPECT_GE(count(), 1u) << width << ' ' << dm << ' ' << snr;
        }
        EXPECT_EQ(said.find(kLevelSaid), std::string::npos)
            << width << ' ' << dm << ' ' << snr << said;
      }
  for (const double period : {100.0, 700.0, 2500.0})
    for (const double dm : {0.0, 30.0}) {
      const std::string said = said_of([&](double t, std::size_t c) {
        const double phase = std::fmod(t - delay(dm, c) + 10 * period, period) / period - 0.5;
        return 30 * std::exp(-phase * phase / 2 / (0.03 * 0.03));
      });
      EXPECT_GE(count(), 1u) << period;
      EXPECT_EQ(said.find(kLevelSaid), std::string::npos) << period << ' ' << dm << said;
    }
}

}  // namespace
}  // namespace tautline::tests

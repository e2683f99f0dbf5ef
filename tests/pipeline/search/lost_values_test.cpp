// Values that did not come are replaced by others of their channel, in any pieces alike in mean and noise; long stretches
// without any are left.
#include "tautline/pipeline/search/lost_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using stream::LostRun;

constexpr std::size_t kLostChannels = 8, kLostTimes = 20'000;

TEST(LostValues, HaveTheirChannelsMeanAndNoise) {
  auto random = tests::generator();
  formats::FilterbankDescription description;
  description.channels = kLostChannels;
  LostValues values(description);
  values.leave_stretches(200);
  // Channel c has mean 50 + 20 c; everything that is lost comes as 0.
  std::normal_distribution<double> normal(0, 5);
  std::vector<std::byte> spectra(kLostTimes * kLostChannels);
  for (std::size_t k = 0; k < spectra.size(); ++k)
    spectra[k] = static_cast<std::byte>(
        std::lround(50.0 + 20.0 * static_cast<double>(k % kLostChannels) + normal(random)));
  const std::vector<std::byte> sent = spectra;
  std::vector<std::uint8_t> lost(spectra.size(), 0);
  const std::size_t gap = 3000 + random() % 3000;  // of 500 spectra without any value
  std::size_t replaced = 0;
  for (std::size_t t = 0; t < kLostTimes; t += 50)
    for (std::size_t c = 0; c < kLostChannels; ++c)
      if (random() % 10 == 0)
        for (std::size_t k = t; k < t + 50; ++k) lost[k * kLostChannels + c] = 1;
  std::fill_n(lost.begin() + static_cast<std::ptrdiff_t>(gap * kLostChannels), 500 * kLostChannels,
              std::uint8_t{1});
  for (std::size_t k = 0; k < lost.size(); ++k)
    if (lost[k] != 0) spectra[k] = std::byte{0};
  // In pieces of any length: those that cut the gap leave edges that are too short to be left.
  for (std::size_t first = 0; first < kLostTimes;) {
    const std::size_t more = std::min<std::size_t>(kLostTimes - first, 1000 + random() % 3000);
    const bool cuts = first + more > gap && first + more < gap + 500;
    const std::size_t end = cuts ? gap : first + more;
    std::vector<LostRun> runs;
    for (std::size_t c = 0; c < kLostChannels; ++c)
      for (std::size_t t = first; t < end; ++t)
        if (lost[t * kLostChannels + c] != 0) runs.push_back({c, t, t + 1});
    values.replace(std::span(spectra).subspan(first * kLostChannels, (end - first) * kLostChannels),
                   first, runs);
    first = end;
  }
  std::size_t wrong = 0;
  std::vector<double> sum(kLostChannels), squares(kLostChannels), count(kLostChannels);
  for (std::size_t k = 0; k < spectra.size(); ++k) {
    const std::size_t t = k / kLostChannels, c = k % kLostChannels;
    if (t >= gap && t < gap + 500) {
      wrong += spectra[k] != std::byte{0} ? 1U : 0U;
    } else if (lost[k] == 0) {
      wrong += spectra[k] != sent[k] ? 1U : 0U;
    } else if (t >= 1000) {
      const double value = std::to_integer<int>(spectra[k]) - 50 - 20 * static_cast<double>(c);
      sum[c] += value;
      squares[c] += value * value;
      count[c] += 1;
    }
    if (lost[k] != 0 && !(t >= gap && t < gap + 500)) ++replaced;
  }
  EXPECT_EQ(wrong, 0u);
  for (std::size_t c = 0; c < kLostChannels; ++c) {
    ASSERT_GT(count[c], 500);
    EXPECT_NEAR(sum[c] / count[c], 0, 1.5);
    EXPECT_NEAR(std::sqrt(squares[c] / count[c]), 5, 1);
  }
  std::size_t told = 0;
  for (const FilledRun& run : values.replaced(0, kLostTimes)) told += run.end - run.first;
  EXPECT_EQ(told, replaced);
  values.forget(kLostTimes);
  EXPECT_TRUE(values.replaced(0, kLostTimes).empty());
}

}  // namespace
}  // namespace tautline::pipeline

// Single values that are NaN or infinite have the channel's last value, for any cut into blocks.
#include "tautline/pipeline/search/finite_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

class FloatsInMemory final : public formats::FilterbankReader {
 public:
  FloatsInMemory(std::size_t channels, std::uint64_t times, std::mt19937_64& random)
      : values(channels * times) {
    description_.channels = channels;
    description_.bits = 32;
    description_.delivered = formats::Delivered::f32;
    description_.samples = times;
    segments_ = {{0, times, {}, 0}};
    std::normal_distribution<float> normal(10'000, 10);
    for (float& value : values) value = normal(random);
  }
  std::size_t read(std::uint64_t first, std::size_t count, std::span<std::byte> to) override {
    if (first >= description_.samples) return 0;
    count = static_cast<std::size_t>(std::min<std::uint64_t>(count, description_.samples - first));
    std::memcpy(to.data(), values.data() + first * description_.channels,
                count * description_.sample_bytes());
    return count;
  }

  std::vector<float> values;  ///< [time][channel]
};

TEST(FiniteValues, AreTheLastOfTheChannelForAnyBlocks) {
  auto random = tests::generator();
  constexpr float kBad[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()};
  for (const std::size_t channels : {std::size_t{1}, std::size_t{3}, 2 + random() % 60}) {
    const std::uint64_t times = 1000 + random() % 5000;
    FloatsInMemory noise(channels, times, random);
    std::uint64_t bad = 0;
    for (float& value : noise.values)
      if (random() % 50 == 0) value = kBad[random() % 3], ++bad;
    for (std::size_t t = 0; t < 70; ++t) {  // at the begin the first of the channel
      bad += std::isfinite(noise.values[t * channels]) ? 1 : 0;
      noise.values[t * channels] = kBad[0];
    }
    std::vector<float> wanted = noise.values;
    for (std::size_t c = 0; c < channels; ++c) {
      float last = 0;
      for (std::uint64_t t = times; t-- > 0;)
        if (std::isfinite(wanted[t * channels + c])) last = wanted[t * channels + c];
      for (std::uint64_t t = 0; t < times; ++t) {
        float& value = wanted[t * channels + c];
        value = last = std::isfinite(value) ? value : last;
      }
    }
    for (const std::size_t block : {std::size_t{1}, std::size_t{7}, std::size_t(times),
                                    static_cast<std::size_t>(1 + random() % 500)}) {
      FiniteValues finite(noise, {0, times});
      std::vector<float> given = noise.values;
      std::uint64_t replaced = 0;
      for (std::uint64_t first = 0; first < times; first += block) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(block, times - first));
        replaced += finite.replace(
            std::as_writable_bytes(std::span(given).subspan(first * channels, count * channels)),
            first);
      }
      EXPECT_EQ(replaced, bad);
      EXPECT_TRUE(given == wanted) << block;
    }
  }
}

// Where there is none, it is zero.
TEST(FiniteValues, OfAChannelWithoutAnyAreZero) {
  auto random = tests::generator();
  FloatsInMemory noise(4, 5000, random);
  for (std::size_t t = 0; t < 5000; ++t) noise.values[4 * t + 2] = NAN;
  const std::vector<float> before = noise.values;
  FiniteValues finite(noise, {0, 5000});
  std::vector<float> given = before;
  EXPECT_EQ(finite.replace(std::as_writable_bytes(std::span(given)), 0), 5000u);
  for (std::size_t k = 0; k < given.size(); ++k)
    ASSERT_EQ(given[k], k % 4 == 2 ? 0 : before[k]) << k;
}

}  // namespace
}  // namespace tautline::pipeline

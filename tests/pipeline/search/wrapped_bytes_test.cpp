// Signed bytes that are read as unsigned are named, and other samples are not.
#include "tautline/pipeline/search/wrapped_bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>

#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kWrappedChannels = 32;
constexpr std::uint64_t kWrappedTimes = 5000;

class WrappedNoise final : public NoiseInMemory {
 public:
  WrappedNoise(const std::function<int(std::size_t)>& value, std::mt19937_64& random, int bits = 8)
      : NoiseInMemory(kWrappedChannels, kWrappedTimes, random) {
    description_.bits = bits;
    for (std::size_t k = 0; k < bytes.size(); ++k)
      bytes[k] = static_cast<std::byte>(value(k % kWrappedChannels));
  }
  std::string text(std::span<const std::size_t> left_out = {}) {
    return wrapped_bytes_text(*this, {0, kWrappedTimes}, left_out);
  }
};

TEST(WrappedBytes, AreNamed) {
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  for (const double rms : {3.0, 10.0, 22.0}) {
    WrappedNoise noise(
        [&](std::size_t) { return static_cast<int>(std::lround(rms * normal(random))); }, random);
    EXPECT_NE(noise.text().find("of 32 channels lie near 0 and near 255"), std::string::npos)
        << rms;
  }
  // Channels left out do not count.
  WrappedNoise some(
      [&](std::size_t c) {
        return static_cast<int>(std::lround((c < 16 ? 0 : 100) + 6 * normal(random)));
      },
      random);
  EXPECT_TRUE(some.text().empty());
  const std::array<std::size_t, 2> others{20, 30};
  EXPECT_FALSE(some.text(others).empty());
}

TEST(WrappedBytes, OtherSamplesAreNot) {
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  const auto none = [&](const std::function<int(std::size_t)>& value, int bits = 8) {
    WrappedNoise noise(value, random, bits);
    EXPECT_EQ(noise.text(), "");
  };
  const auto noise = [&](double mean, double rms) {
    return std::clamp(static_cast<int>(std::lround(mean + rms * normal(random))), 0, 255);
  };
  for (const double mean : {0.0, 3.0, 20.0, 128.0, 250.0})
    for (const double rms : {2.0, 20.0, 60.0}) none([&](std::size_t) { return noise(mean, rms); });
  none([&](std::size_t c) { return noise(c % 2 == 0 ? 20 : 230, 8); });
  none([&](std::size_t) { return random() % 2 == 0 ? 0 : 255; });
  none([&](std::size_t) { return static_cast<int>(random() % 256); });
  none([&](std::size_t) { return static_cast<int>(random() % 4); }, 2);
}

}  // namespace
}  // namespace tautline::pipeline

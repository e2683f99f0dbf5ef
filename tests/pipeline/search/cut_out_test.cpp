// Cut-outs against the plain loops: rows rolled sample by sample, and added.
#include "tautline/pipeline/search/cut_out.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <random>
#include <span>
#include <vector>

#include "tautline/pipeline/search/resize_channels.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using formats::candidates::YourCandidate;
using formats::cutout_hdf5::kSide;

constexpr std::uint64_t kCutTimes = 9000;

// The same noise as bytes, or as floats about a level of each channel's own.
class NoiseToCut final : public NoiseInMemory {
 public:
  NoiseToCut(std::size_t channels, bool floats, std::mt19937_64& random)
      : NoiseInMemory(channels, kCutTimes, random) {
    if (floats) description_.delivered = formats::Delivered::f32;
  }
  double at(std::size_t channel, std::uint64_t time) const {
    const double value = std::to_integer<int>(bytes[time * description_.channels + channel]);
    return is_float() ? 3e4 * static_cast<double>(channel) + value / 7 : value;
  }
  std::size_t read(std::uint64_t first, std::size_t count, std::span<std::byte> to) override {
    if (!is_float()) return NoiseInMemory::read(first, count, to);
    count = static_cast<std::size_t>(
        std::min<std::uint64_t>(count, kCutTimes - std::min(kCutTimes, first)));
    auto* const values = reinterpret_cast<float*>(to.data());
    for (std::size_t t = 0; t < count; ++t)
      for (std::size_t c = 0; c < description_.channels; ++c)
        values[t * description_.channels + c] =
            first + t == not_finite_at ? std::nanf("") : static_cast<float>(at(c, first + t));
    return count;
  }

  std::uint64_t not_finite_at = kCutTimes;  ///< of floats, in all channels

 private:
  bool is_float() const { return description_.delivered == formats::Delivered::f32; }
};

double in_single(double value) {
  return static_cast<double>(static_cast<float>(value));
}

double plain_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::vector<double> plainly_normalised(const std::vector<double>& values) {
  const double median = plain_median(values);
  double mean = 0, square = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) square += (v - mean) * (v - mean);
  const double deviation = std::sqrt(square / static_cast<double>(values.size()));
  std::vector<double> made(values.size(), 0);
  for (std::size_t k = 0; deviation > 0 && k < values.size(); ++k)
    made[k] = (values[k] - median) / deviation;
  return made;
}

struct PlainCutout {
  std::vector<double> frequency_time, dm_time;
};

PlainCutout cut_plainly(const NoiseToCut& noise, const YourCandidate& candidate,
                        const std::vector<std::size_t>& left_out) {
  const formats::FilterbankDescription& d = noise.description();
  const std::size_t channels = d.channels;
  const CutoutChunk chunk = chunk_of(candidate, d);
  const auto times = static_cast<std::int64_t>(chunk.samples);
  std::vector<std::vector<double>> rows(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    std::vector<double> there;
    for (std::int64_t t = chunk.first; t < chunk.first + times; ++t)
      if (t >= 0 && t < static_cast<std::int64_t>(kCutTimes))
        there.push_back(in_single(noise.at(c, static_cast<std::uint64_t>(t))));
    const double median = plain_median(there);
    const double fill =
        d.delivered == formats::Delivered::f32 ? in_single(median) : std::trunc(median);
    for (std::int64_t t = chunk.first; t < chunk.first + times; ++t)
      rows[c].push_back(t >= 0 && t < static_cast<std::int64_t>(kCutTimes)
                            ? in_single(noise.at(c, static_cast<std::uint64_t>(t)))
                            : fill);
    if (std::find(left_out.begin(), left_out.end(), c) != left_out.end())
      std::fill(rows[c].begin(), rows[c].end(), 0);
  }
  const auto rolled = [&](std::size_t c, double dm, std::int64_t t) {
    const double mhz = d.channel_mhz[c], first = d.channel_mhz.front();
    auto delay = static_cast<std::int64_t>(std::nearbyint(
        4148808.0 * dm * (1 / (first * first) - 1 / (mhz * mhz)) / 1000 / d.tsamp_s));
    if (std::abs(delay) >= times) delay = 0;
    return rows[c][static_cast<std::size_t>(((t - delay) % times + times) % times)];
  };
  const auto factor = std::max<std::int64_t>(1, (std::int64_t{1} << candidate.width_octaves) / 2);
  const std::int64_t means = (times + factor - 1) / factor;
  const std::int64_t first = (means / 2 - static_cast<std::int64_t>(kSide) / 2) * factor;
  PlainCutout made;
  std::vector<float> frequency_time;
  for (std::size_t k = 0; k < kSide; ++k)
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t i = 0; i < factor; ++i)
        sum += rolled(c, candidate.dm, first + static_cast<std::int64_t>(k) * factor + i);
      frequency_time.push_back(static_cast<float>(sum / static_cast<double>(factor)));
    }
  const auto resized = resize_channels(frequency_time, channels, kSide);
  made.frequency_time = plainly_normalised({resized.begin(), resized.end()});
  const double step = 2 * candidate.dm / static_cast<double>(kSide - 1);
  for (std::size_t row = 0; row < kSide; ++row) {
    const double dm = candidate.dm + (static_cast<double>(row) * step - candidate.dm);
    for (std::size_t k = 0; k < kSide; ++k) {
      double sum = 0;
      for (std::size_t c = 0; c < channels; ++c)
        for (std::int64_t i = 0; i < factor; ++i)
          sum += rolled(c, dm, first + static_cast<std::int64_t>(k) * factor + i);
      made.dm_time.push_back(sum / static_cast<double>(factor));
    }
  }
  made.dm_time = plainly_normalised(made.dm_time);
  return made;
}

void expect_values_near(const std::vector<float>& given, const std::vector<double>& expected) {
  ASSERT_EQ(given.size(), expected.size());
  double worst = 0;
  for (std::size_t k = 0; k < given.size(); ++k)
    worst = std::max(worst, std::fabs(static_cast<double>(given[k]) - expected[k]));
  EXPECT_LT(worst, 1e-4);
}

// Narrow and wide, in the middle and beyond both ends of the data, of fewer and more channels than an array has.
TEST(CutOut, IsThatOfThePlainLoops) {
  auto random = tests::generator();
  std::mutex reading;
  std::uniform_real_distribution<double> dm(8, 90), time(0, 9);
  for (const bool floats : {false, true})
    for (const std::size_t channels : {std::size_t{3}, std::size_t{19}, std::size_t{33}}) {
      NoiseToCut noise(channels, floats, random);
      for (const int octaves : {0, 1, 2, 5}) {
        const YourCandidate candidate{10, time(random), dm(random), octaves};
        const std::vector<std::size_t> left_out =
            octaves == 2 ? std::vector<std::size_t>{1} : std::vector<std::size_t>{};
        const auto sample = static_cast<std::uint64_t>(candidate.time_s * 1000);
        const auto made = cut_out(noise, candidate, sample, 0, left_out, reading);
        const PlainCutout expected = cut_plainly(noise, candidate, left_out);
        SCOPED_TRACE(::testing::Message()
                     << channels << " channels, 2^" << octaves << " samples, DM " << candidate.dm
                     << " at " << candidate.time_s << (floats ? " floats" : ""));
        expect_values_near(made.frequency_time, expected.frequency_time);
        expect_values_near(made.dm_time, expected.dm_time);
      }
    }
}

// Zeros exactly, whatever the value.
TEST(CutOut, OfDataThatDoNotChangeIsZeros) {
  auto random = tests::generator();
  std::mutex reading;
  NoiseToCut noise(5, true, random);
  std::fill(noise.bytes.begin(), noise.bytes.end(), std::byte{91});
  const auto made = cut_out(noise, {10, 4, 30, 4}, 4000, 0, {}, reading);
  EXPECT_EQ(made.dm_time, std::vector<float>(kSide * kSide, 0));
}

// Far from the candidate, in the chunk that is read for its delays.
TEST(CutOut, ATimeThatIsNotFiniteCostsNothingElse) {
  auto random = tests::generator();
  std::mutex reading;
  NoiseToCut noise(19, true, random);
  const YourCandidate candidate{10, 4.5, 80, 2};
  noise.not_finite_at =
      static_cast<std::uint64_t>(chunk_of(candidate, noise.description()).first) + 1;
  const auto made = cut_out(noise, candidate, 4500, 0, {}, reading);
  for (const auto* values : {&made.frequency_time, &made.dm_time}) {
    EXPECT_TRUE(std::ranges::all_of(*values, [](float x) { return std::isfinite(x); }));
    EXPECT_GT(std::ranges::max(*values), 1);
  }
}

}  // namespace
}  // namespace tautline::pipeline

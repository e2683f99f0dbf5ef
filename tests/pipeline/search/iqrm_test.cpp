// Channels that stand out for a while: the algorithm against plain loops, and the node that replaces them.
#include "tautline/pipeline/search/iqrm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "tautline/core/error.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/search/channel_moments.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/iqrm_node.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

// numpy.percentile(values, 100 share).
double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const double below = std::floor(place);
  const auto k = static_cast<std::size_t>(below);
  const double next = k + 1 < values.size() ? values[k + 1] : values[k];
  return values[k] + (next - values[k]) * (place - below);
}

// The definition in iqrm.h, with a table of who votes against whom.
std::vector<std::uint8_t> plain_mask(const std::vector<double>& x, std::size_t radius,
                                     double threshold) {
  const std::size_t n = x.size();
  std::vector<std::vector<bool>> votes(n, std::vector<bool>(n, false));  // [against][by]
  for (std::size_t lag = 1; lag <= radius;) {
    for (const int sign : {1, -1}) {
      std::vector<double> d;
      std::vector<std::size_t> by;
      for (std::size_t i = 0; i < n; ++i) {
        const long other = static_cast<long>(i) - sign * static_cast<long>(lag);
        by.push_back(
            static_cast<std::size_t>(std::min(std::max(other, 0L), static_cast<long>(n) - 1)));
        d.push_back(x[i] - x[by.back()]);
      }
      const double sigma = (percentile(d, 0.75) - percentile(d, 0.25)) / 1.349;
      for (std::size_t i = 0; i < n; ++i)
        if (d[i] - percentile(d, 0.5) > threshold * sigma) votes[i][by[i]] = true;
    }
    lag = std::max(lag + 1, static_cast<std::size_t>(1.5 * static_cast<double>(lag)));
  }
  std::vector<std::uint8_t> mask(n, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      if (!votes[i][j]) continue;
      std::size_t cast = 0, received = 0;
      for (std::size_t k = 0; k < n; ++k) {
        cast += votes[k][j] ? 1 : 0;
        received += votes[i][k] ? 1 : 0;
      }
      if (cast < received) mask[i] = 1;
    }
  return mask;
}

TEST(Iqrm, IsThePaperOnesByPlainLoops) {
  auto random = tests::generator();
  std::normal_distribution<double> normal(0, 1);
  std::size_t masked = 0;
  for (const std::size_t channels : {2u, 3u, 7u, 16u, 65u, 256u})
    for (const std::size_t radius : {1u, 2u, 5u, 25u}) {
      if (radius >= channels) continue;
      for (const double threshold : {1.5, 3.0, 5.0}) {
        std::vector<double> x;
        for (std::size_t c = 0; c < channels; ++c) {
          x.push_back(10 + std::sin(static_cast<double>(c) * 0.05) + 0.1 * normal(random));
          if (random() % 12 == 0) x.back() += 3 * normal(random);
        }
        const auto found = iqrm_mask(x, {threshold, radius});
        EXPECT_EQ(found, plain_mask(x, radius, threshold))
            << channels << " channels, radius " << radius << ", threshold " << threshold;
        masked += static_cast<std::size_t>(std::accumulate(found.begin(), found.end(), 0));
      }
    }
  EXPECT_GT(masked, 0u);
}

TEST(Iqrm, LagsGrowByAHalf) {
  EXPECT_EQ(iqrm_lags(14), (std::vector<std::size_t>{1, 2, 3, 4, 6, 9, 13}));
  EXPECT_EQ(iqrm_radius(0, 1000), 100u);
  EXPECT_EQ(iqrm_radius(0, 4), 1u);
  EXPECT_EQ(iqrm_radius(50, 8), 7u);
}

TEST(Iqrm, AWideStepAndADeadChannelStayWhileSpikesGo) {
  auto random = tests::generator();
  // Differences of such noise are at most 2.3 times what the quartiles take for a standard deviation.
  std::uniform_real_distribution<double> noise(-0.05, 0.05);
  std::vector<double> x(512);
  for (std::size_t c = 0; c < x.size(); ++c) x[c] = (c < 200 ? 10 : 12) + noise(random);
  x[100] = 0;  // dead: votes against all around it
  x[300] = 14;
  x[301] = 13.5;
  const auto mask = iqrm_mask(x, {5, 0});
  EXPECT_EQ(mask[300], 1);
  EXPECT_EQ(mask[301], 1);
  EXPECT_EQ(mask[100], 0);
  for (std::size_t c = 95; c < 106; ++c) EXPECT_EQ(mask[c], 0) << c;
}

TEST(ChannelMoments, AreThoseOfPlainSums) {
  auto random = tests::generator();
  const std::size_t channels = 5, times = 70001;  // more than a strip of sums of 32 bits
  std::vector<std::uint8_t> bytes(channels * times);
  for (auto& value : bytes) value = static_cast<std::uint8_t>(random());
  for (std::size_t t = 0; t < times; ++t) bytes[t * channels] = 255;
  const auto found =
      measure_moments(std::as_bytes(std::span(bytes)), formats::Delivered::u8, channels);
  std::vector<float> floats(bytes.begin(), bytes.end());
  for (float& value : floats) value += 1e6f;
  floats[channels + 2] = std::nanf("");
  const auto shifted =
      measure_moments(std::as_bytes(std::span(floats)), formats::Delivered::f32, channels);
  std::vector<std::uint16_t> words(bytes.begin(), bytes.end());
  const auto wide =
      measure_moments(std::as_bytes(std::span(words)), formats::Delivered::u16, channels);
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (std::size_t t = 0; t < times; ++t) sum += bytes[t * channels + c];
    const double mean = sum / times;
    for (std::size_t t = 0; t < times; ++t)
      squares += (bytes[t * channels + c] - mean) * (bytes[t * channels + c] - mean);
    EXPECT_NEAR(found.mean[c], mean, 1e-9);
    EXPECT_NEAR(found.deviation[c], std::sqrt(squares / times), 1e-7);
    EXPECT_EQ(wide.mean[c], found.mean[c]);
    EXPECT_EQ(wide.deviation[c], found.deviation[c]);
    EXPECT_NEAR(shifted.mean[c] - 1e6, mean, 0.01);
    EXPECT_NEAR(shifted.deviation[c], found.deviation[c], 0.01);
  }
}

class KeepSpectra final : public engine::Node {
 public:
  explicit KeepSpectra(std::vector<std::byte>& kept) : kept_(kept) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    EXPECT_EQ(inputs[0].kind, "filterbank");
    return {};
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    const auto samples = block.view<2>().as<const std::uint8_t>();
    EXPECT_EQ(block.first, next_);
    next_ += block.samples;
    for (std::size_t t = 0; t < block.samples; ++t) {
      const auto* row = reinterpret_cast<const std::byte*>(samples.row(t));
      kept_.insert(kept_.end(), row, row + samples.extent(1));
    }
  }

 private:
  std::vector<std::byte>& kept_;
  std::uint64_t next_ = 0;
};

constexpr std::size_t kBand = 64, kSpan = 10300;  // ten windows of 1 s, and a short end

struct MaskedBytes {
  std::vector<std::byte> bytes;
  IqrmFound found;
};

MaskedBytes mask_all(formats::FilterbankReader& reader, const IqrmConfig& config,
                     std::size_t block_samples) {
  MaskedBytes masked;
  engine::Graph graph;
  FilterbankSourceConfig read{{{{{0, kSpan}, 0}}}, block_samples};
  read.left_out = {{7}};
  const auto source =
      graph.add("filterbank", std::make_unique<FilterbankSourceNode>(reader, std::move(read)));
  auto node = std::make_unique<IqrmNode>(config);
  const IqrmNode& iqrm = *node;
  const auto masking = graph.add("iqrm", std::move(node));
  graph.connect(source, masking);
  graph.connect(masking, graph.add("kept", std::make_unique<KeepSpectra>(masked.bytes)));
  engine::Run run(std::move(graph));
  run.go();
  masked.found = iqrm.found();
  EXPECT_EQ(run.counters()["iqrm.masked"], masked.found.masked);
  return masked;
}

TEST(IqrmNode, ReplacesChannelsWhileTheyStandOutAndNothingElse) {
  auto random = tests::generator();
  NoiseInMemory reader(kBand, kSpan, random);
  const auto at = [&](std::size_t t, std::size_t c) -> std::byte& {
    return reader.bytes[t * kBand + c];
  };
  // Channel 20 is loud in windows 3 and 4, channel 7, left out, always.
  for (std::size_t t = 0; t < kSpan; ++t)
    for (const std::size_t c : {std::size_t{7}, std::size_t{20}})
      if ((c == 7 || (t >= 3000 && t < 5000)) && t % 3 == 0) at(t, c) = std::byte{220};
  // Only what is far out, so that noise is not masked: the deviation of 1,000 samples scatters by 2.2 %.
  const IqrmConfig config{12, 0, 1};
  const MaskedBytes masked = mask_all(reader, config, 512);
  ASSERT_EQ(masked.bytes.size(), reader.bytes.size());
  EXPECT_EQ(masked.found.windows, 11u);  // the end, of 300 samples, has one of its own
  EXPECT_EQ(masked.found.samples, kSpan);
  EXPECT_EQ(masked.found.masked, 2000u);
  EXPECT_EQ(masked.found.channels[20], 2000u);
  ASSERT_EQ(masked.found.list.size(), 2u);
  EXPECT_EQ(masked.found.list[0].first_sample, 3000u);
  EXPECT_EQ(masked.found.list[1].channels, (std::vector<std::uint32_t>{20}));
  double before = 0, instead = 0;
  for (std::size_t t = 0; t < kSpan; ++t)
    for (std::size_t c = 0; c < kBand; ++c) {
      const auto value = std::to_integer<int>(masked.bytes[t * kBand + c]);
      if (c == 20 && t >= 2000 && t < 3000) before += std::to_integer<int>(at(t, c));
      if (c == 20 && t >= 3000 && t < 4000) instead += value;
      if (c == 20 && t >= 3000 && t < 5000) continue;
      ASSERT_EQ(value, std::to_integer<int>(at(t, c))) << t << " " << c;
    }
  EXPECT_NEAR(instead, before, 1);  // the mean is exact to a count over any stretch

  for (const std::size_t block : {1u, 999u, 4096u}) {
    const MaskedBytes other = mask_all(reader, config, block);
    EXPECT_EQ(other.bytes, masked.bytes) << block;
    EXPECT_EQ(other.found.masked, masked.found.masked);
  }
}

// Ten of 63 channels are loud in windows 3 and 4: more than a sixteenth, which get samples of window 2. If they are
// loud from the first window on, they keep their means, as do three more, which are less than a sixteenth.
TEST(IqrmNode, ManyChannelsHaveNoiseWhileTheyAreMasked) {
  auto random = tests::generator();
  const auto loud = [](NoiseInMemory& reader, std::size_t c, std::size_t from, std::size_t end) {
    for (std::size_t t = from; t < end; t += 3) reader.bytes[t * kBand + c] = std::byte{220};
  };
  for (const bool always : {false, true}) {
    NoiseInMemory reader(kBand, kSpan, random);
    for (std::size_t c = 2; c < 57; c += 6)
      if (c != 8) loud(reader, c, always ? 0 : 3000, always ? kSpan : 5000);
    loud(reader, 9, always ? 0 : 3000, always ? kSpan : 5000);
    if (always)
      for (const std::size_t c : {5, 23, 41}) loud(reader, c, 6000, 8000);
    const MaskedBytes masked = mask_all(reader, {12, 0, 1}, 512);
    EXPECT_EQ(masked.found.masked, always ? 10 * kSpan + 3 * 2000 : 10 * 2000u);
    for (std::size_t c = 0; c < kBand; ++c) {
      if (masked.found.channels[c] == 0) continue;
      std::size_t values[256] = {}, before[256] = {};
      double sum = 0, squares = 0, mean_before = 0, squares_before = 0;
      const std::size_t first = always ? 7000 : 4000;
      for (std::size_t t = first; t < first + 1000; ++t) {
        const auto value = std::to_integer<int>(masked.bytes[t * kBand + c]);
        ++values[value];
        sum += value / 1000.0;
        squares += value * value / 1000.0;
      }
      for (std::size_t t = 2000; t < 3000; ++t) {
        const auto value = std::to_integer<int>(reader.bytes[t * kBand + c]);
        ++before[value];
        mean_before += value / 1000.0;
        squares_before += value * value / 1000.0;
      }
      if (always) {
        EXPECT_LE(std::ranges::count_if(values, [](std::size_t n) { return n > 0; }), 2) << c;
        continue;
      }
      const double variance = squares_before - mean_before * mean_before;
      EXPECT_NEAR(sum, mean_before, 6 * std::sqrt(variance / 1000)) << c;
      EXPECT_NEAR((squares - sum * sum) / variance, 1, 6 * std::sqrt(2 / 1000.0)) << c;
      for (std::size_t x = 0; x < 256; ++x) EXPECT_TRUE(values[x] == 0 || before[x] > 0) << x;
    }
    for (const std::size_t block : {std::size_t{64}, 1 + random() % 5000})
      EXPECT_EQ(mask_all(reader, {12, 0, 1}, block).bytes, masked.bytes) << block;
  }
}

TEST(IqrmNode, AShortEndHasTheMaskBeforeIt) {
  auto random = tests::generator();
  NoiseInMemory reader(kBand, kSpan, random);
  for (std::size_t t = 8000; t < kSpan; t += 2) reader.bytes[t * kBand + 31] = std::byte{250};
  const MaskedBytes masked = mask_all(reader, {12, 0, 2}, 1000);
  EXPECT_EQ(masked.found.windows, 5u);
  EXPECT_EQ(masked.found.channels[31], 2300u);
  EXPECT_EQ(masked.found.masked, 2300u);
}

TEST(IqrmNode, RefusesWindowsOfFewSamples) {
  auto random = tests::generator();
  NoiseInMemory reader(kBand, kSpan, random);
  const core::Error error = tests::error_of([&] { mask_all(reader, {3, 0, 0.01}, 1000); });
  EXPECT_EQ(error.field(), "every_s");
}

}  // namespace
}  // namespace tautline::pipeline

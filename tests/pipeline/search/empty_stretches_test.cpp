// Stretches of filterbanks that hold nothing: what a source leaves out and fills in.
#include "tautline/pipeline/search/empty_stretches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "tautline/engine/run.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kBands = 24;
constexpr std::uint64_t kStreamTimes = 30000;

// For tests to write stretches into.
class StoppingReader final : public NoiseInMemory {
 public:
  explicit StoppingReader(std::mt19937_64& random) : NoiseInMemory(kBands, kStreamTimes, random) {}
  void stop(std::uint64_t first, std::uint64_t count, std::uint8_t value) {
    std::memset(bytes.data() + first * kBands, value, count * kBands);
  }
  void stop_channel(std::size_t channel, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t t = first; t < first + count; ++t)
      bytes[t * kBands + channel] = std::byte{7};
  }
};

// The output of a source: the spectra of each piece without a gap, by the piece's first time.
struct Given {
  std::map<std::uint64_t, std::vector<std::byte>> pieces;
  EmptyFound found;
  std::shared_ptr<const FilledValues> filled;
};

class Collector final : public engine::Node {
 public:
  explicit Collector(Given& given) : given_(given) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    given_.filled = inputs.front().detail<FilterbankStream>().filled.front();
    return {};
  }
  void begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) override {
    piece_ = &given_.pieces[first.first];
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    const auto* from = static_cast<const std::byte*>(block.arrays.front().data);
    piece_->insert(piece_->end(), from, from + block.samples * kBands);
  }

 private:
  Given& given_;
  std::vector<std::byte>* piece_ = nullptr;
};

Given give(StoppingReader& reader, Empty empty, std::size_t block_samples) {
  FilterbankSourceConfig config{{{{{0, kStreamTimes}, 0}}}, block_samples};
  config.empty = empty;
  auto source = std::make_unique<FilterbankSourceNode>(reader, std::move(config));
  const FilterbankSourceNode& read_by = *source;
  Given given;
  engine::Graph graph;
  const auto from = graph.add("source", std::move(source));
  graph.connect(from, graph.add("collector", std::make_unique<Collector>(given)));
  engine::Run run(std::move(graph), {});
  run.go({});
  given.found = read_by.empty();
  EXPECT_EQ(read_by.counters().at("samples"), kStreamTimes);
  return given;
}

// Whether what is told of filled values is where the source gave others than the reader's.
void expect_told(const Given& given, const StoppingReader& reader, std::mt19937_64& random) {
  std::vector<std::uint64_t> first(kBands, FilledValues::kLeftOut);
  for (const auto& [begin, bytes] : given.pieces)
    for (std::size_t k = 0; k < bytes.size(); k += 1 + random() % 8) {
      first[k % kBands] = begin + k / kBands;
      EXPECT_EQ(given.filled->fraction(first, 1),
                bytes[k] == reader.bytes[begin * kBands + k] ? 0.0 : 1.0)
          << k << " behind " << begin;
      first[k % kBands] = FilledValues::kLeftOut;
    }
}

}  // namespace

TEST(EmptyStretches, AreTheSameForEveryBlockSize) {
  auto random = tests::generator();
  StoppingReader reader(random);
  struct Stretch {
    std::uint64_t first, samples;
  };
  std::vector<Stretch> long_ones, all;
  // At the start, or not; then long and short ones, some with no data but a few times between them; padding at the end.
  for (std::uint64_t t = random() % 2 * 50; t + 6000 < kStreamTimes; t += 40 + random() % 3000) {
    const std::uint64_t samples = random() % 3 == 0 ? 6 + random() % 110 : 128 + random() % 3000;
    reader.stop(t, samples, static_cast<std::uint8_t>(random() % 3));
    all.push_back({t, samples});
    if (samples >= kLeastGap) long_ones.push_back(all.back());
    t += samples;
  }
  reader.stop(kStreamTimes - 403, 403, 0);
  all.push_back({kStreamTimes - 403, 403});
  long_ones.push_back(all.back());
  const Given whole = give(reader, Empty::split, kStreamTimes);
  // The definition: noise of this width repeats a spectrum of 24 channels never.
  ASSERT_EQ(whole.found.list.size(), all.size());
  std::uint64_t missing = 0, split = 0, given = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    EXPECT_EQ(whole.found.list[k].first_sample, all[k].first);
    EXPECT_EQ(whole.found.list[k].samples, all[k].samples);
    missing += all[k].samples;
  }
  for (const Stretch& stretch : long_ones) split += stretch.samples;
  for (const auto& [first, bytes] : whole.pieces) given += bytes.size() / kBands;
  EXPECT_EQ(whole.found.samples, missing);
  EXPECT_EQ(given, kStreamTimes - split);
  for (const auto& [first, bytes] : whole.pieces)
    for (std::size_t k = 0; k < bytes.size(); ++k) EXPECT_GT(bytes[k], std::byte{40});
  const Given filled = give(reader, Empty::fill, kStreamTimes);
  ASSERT_EQ(filled.pieces.size(), 1u);
  EXPECT_EQ(filled.pieces.begin()->second.size(), kBands * kStreamTimes);
  EXPECT_EQ(filled.found.samples, missing);
  for (const std::byte value : filled.pieces.begin()->second) EXPECT_GT(value, std::byte{40});
  for (const std::size_t block : {std::size_t{11}, std::size_t{100}, 1 + random() % 5000}) {
    reader.most = 1 + random() % 900;
    for (const Empty empty : {Empty::split, Empty::fill}) {
      const Given parts = give(reader, empty, block);
      const Given& expected = empty == Empty::split ? whole : filled;
      EXPECT_EQ(parts.pieces, expected.pieces) << block;
      EXPECT_EQ(parts.found.samples, expected.found.samples) << block;
      EXPECT_EQ(parts.found.stretches, expected.found.stretches) << block;
      expect_told(parts, reader, random);
    }
  }
  EXPECT_EQ(give(reader, Empty::keep, 1000).pieces.begin()->second, reader.bytes);
}

TEST(EmptyStretches, ChannelsThatStopAreReplaced) {
  auto random = tests::generator();
  StoppingReader reader(random);
  const std::vector<std::byte> before = reader.bytes;
  std::uint64_t values = 0;
  std::vector<std::uint64_t> of_channel(kBands, 0);
  for (const std::size_t channel : {0, 5, 6, 23})
    for (std::uint64_t t = channel == 6 ? 0 : random() % 4000; t + 3000 < kStreamTimes; t += 2000) {
      const std::uint64_t samples = 150 + random() % 2000;
      reader.stop_channel(channel, t, samples);
      values += samples;
      of_channel[channel] += samples;
      t += samples;
    }
  const Given whole = give(reader, Empty::split, kStreamTimes);
  ASSERT_EQ(whole.pieces.size(), 1u);
  EXPECT_EQ(whole.found.samples, 0u);
  EXPECT_EQ(whole.found.values, values);
  EXPECT_EQ(whole.found.channels, of_channel);
  const std::vector<std::byte>& given = whole.pieces.begin()->second;
  std::uint64_t changed = 0;
  for (std::size_t k = 0; k < given.size(); ++k) {
    EXPECT_GT(given[k], std::byte{40});
    changed += given[k] != reader.bytes[k] ? 1 : 0;
    if (of_channel[k % kBands] == 0) {
      EXPECT_EQ(given[k], before[k]);
    }
  }
  EXPECT_EQ(changed, values);
  for (const std::size_t block : {std::size_t{64}, 1 + random() % 5000}) {
    reader.most = 1 + random() % 900;
    const Given parts = give(reader, Empty::split, block);
    EXPECT_EQ(parts.pieces, whole.pieces) << block;
    EXPECT_EQ(parts.found.values, values) << block;
    EXPECT_EQ(parts.found.channels, of_channel) << block;
    expect_told(parts, reader, random);
  }
}

// 20 of 24 channels stop one after the other and start again one after the other; then one alone, which is not more
// than a sixteenth, and twelve, which are not more than half.
TEST(EmptyStretches, WhereManyChannelsStopTheirSamplesAreDrawnAgain) {
  auto random = tests::generator();
  StoppingReader reader(random);
  const std::vector<std::byte> before = reader.bytes;
  std::vector<std::uint8_t> stopped(reader.bytes.size(), 0);
  const auto stop = [&](std::size_t channel, std::uint64_t first, std::uint64_t count) {
    reader.stop_channel(channel, first, count);
    for (std::uint64_t t = first; t < first + count; ++t) stopped[t * kBands + channel] = 1;
  };
  for (std::size_t c = 2; c < 22; ++c) stop(c, 6000 + random() % 300, 8000 + random() % 300);
  stop(3, 17'000, 1500);
  for (std::size_t c = 0; c < 12; ++c) stop(c, 21'000, 2000);
  std::vector<bool> mostly(kStreamTimes), drawn(kStreamTimes);
  for (std::size_t t = 0; t < kStreamTimes; ++t) {
    const auto count = static_cast<std::size_t>(
        std::count_if(stopped.begin() + static_cast<std::ptrdiff_t>(t * kBands),
                      stopped.begin() + static_cast<std::ptrdiff_t>((t + 1) * kBands),
                      [](std::uint8_t one) { return one != 0; }));
    mostly[t] = 2 * count > kBands;
    drawn[t] = 16 * count > kBands;
  }
  const Given whole = give(reader, Empty::split, kStreamTimes);
  ASSERT_EQ(whole.pieces.size(), 1u);
  const std::vector<std::byte>& given = whole.pieces.begin()->second;
  EXPECT_EQ(whole.found.values,
            static_cast<std::uint64_t>(std::count(stopped.begin(), stopped.end(), 1)));
  EXPECT_EQ(whole.found.noise_samples,
            static_cast<std::uint64_t>(std::count(drawn.begin(), drawn.end(), true)));
  ASSERT_EQ(whole.found.mostly.size(), 1u);
  const EmptyTimes noise = whole.found.mostly.front();
  for (std::size_t t = 0; t < kStreamTimes; ++t)
    ASSERT_EQ(mostly[t], t >= noise.first_sample && t < noise.first_sample + noise.samples) << t;

  double variances = 0, variance_of_sums = 0;
  std::vector<double> sums(kStreamTimes, 0);
  for (std::size_t c = 0; c < kBands; ++c) {
    const auto at = [&](std::size_t t) { return std::to_integer<int>(given[t * kBands + c]); };
    // The samples before the stop, whose distribution the noise has; six standard errors of 8,000 values.
    std::map<int, int> values, values_later;
    for (std::size_t t = 16'384; t < 20'480; ++t)
      ++values_later[std::to_integer<int>(before[t * kBands + c])];
    double mean = 0, squares = 0;
    for (std::size_t t = 0; t < 4096; ++t) {
      const int x = std::to_integer<int>(before[t * kBands + c]);
      ++values[x];
      mean += x / 4096.0;
      squares += x * x / 4096.0;
    }
    const double variance = squares - mean * mean;
    std::vector<double> x;
    std::set<int> later;  // values in the place of the twelve
    int mean_of_stop = -1;
    for (std::size_t t = 0; t < kStreamTimes; ++t) {
      if (stopped[t * kBands + c] == 0) {
        ASSERT_EQ(given[t * kBands + c], before[t * kBands + c]);
        mean_of_stop = -1;
      } else if (t >= 21'000) {
        ASSERT_EQ(values_later.count(at(t)), 1u) << at(t);
        later.insert(at(t));
      } else if (drawn[t]) {
        ASSERT_EQ(values.count(at(t)), 1u) << at(t);
        x.push_back(at(t) - mean);
        sums[t] += at(t) - mean;
      } else {
        if (mean_of_stop < 0) mean_of_stop = at(t);
        ASSERT_EQ(at(t), mean_of_stop);
        ASSERT_NEAR(at(t), mean, 1.1);
      }
    }
    EXPECT_EQ(later.size() > 10, c < 12) << c;
    if (x.empty()) continue;
    ASSERT_GT(x.size(), 7000u);
    double sum = 0, power = 0, product = 0;
    for (std::size_t t = 0; t < x.size(); ++t) {
      sum += x[t];
      power += x[t] * x[t];
      product += t > 0 ? x[t] * x[t - 1] : 0;
    }
    const auto count = static_cast<double>(x.size());
    EXPECT_NEAR(sum / count, 0, 6 * std::sqrt(variance / count)) << c;
    EXPECT_NEAR(power / count / variance, 1, 6 * std::sqrt(2 / count)) << c;
    EXPECT_NEAR(product / count / variance, 0, 6 / std::sqrt(count)) << c;
    variances += power;
  }
  for (const double x : sums) variance_of_sums += x * x;
  EXPECT_NEAR(variance_of_sums / variances, 1, 6 * std::sqrt(2 / 8000.0));

  EXPECT_EQ(give(reader, Empty::fill, kStreamTimes).pieces, whole.pieces);
  for (const std::size_t block : {std::size_t{64}, 1 + random() % 5000}) {
    reader.most = 1 + random() % 900;
    const Given parts = give(reader, Empty::split, block);
    EXPECT_EQ(parts.pieces, whole.pieces) << block;
    ASSERT_EQ(parts.found.mostly.size(), 1u) << block;
    EXPECT_EQ(parts.found.mostly[0].first_sample, noise.first_sample) << block;
    EXPECT_EQ(parts.found.mostly[0].samples, noise.samples) << block;
  }
}

// Ten of 24 channels stop together for 70 to 100 samples again and again, which are too few to say so of one; three do
// beside them, which are not enough. What is drawn is from samples between the stops.
TEST(EmptyStretches, ChannelsThatStopTogetherAreFoundSooner) {
  auto random = tests::generator();
  StoppingReader reader(random);
  const std::vector<std::byte> before = reader.bytes;
  std::vector<std::uint8_t> stopped(reader.bytes.size(), 0);
  std::uint64_t values = 0;
  for (std::uint64_t t = random() % 200; t + 500 < kStreamTimes; t += 250 + random() % 60) {
    const std::uint64_t samples = 70 + random() % 30;
    for (std::size_t c = 3; c < 13; ++c) {
      reader.stop_channel(c, t, samples);
      for (std::uint64_t k = t; k < t + samples; ++k) stopped[k * kBands + c] = 1;
    }
    values += 10 * samples;
    for (std::size_t c = 20; c < 23; ++c) reader.stop_channel(c, t + 120, 80);
  }
  for (const Empty empty : {Empty::split, Empty::fill}) {
    const Given whole = give(reader, empty, kStreamTimes);
    ASSERT_EQ(whole.pieces.size(), 1u);
    EXPECT_EQ(whole.found.samples, 0u);
    EXPECT_EQ(whole.found.values, values);
    EXPECT_EQ(whole.found.noise_samples, values / 10);
    const std::vector<std::byte>& given = whole.pieces.begin()->second;
    for (std::size_t c = 0; c < kBands; ++c) {
      double sum = 0, squares = 0, count = 0;
      for (std::size_t t = 0; t < kStreamTimes; ++t) {
        const std::size_t k = t * kBands + c;
        if (stopped[k] == 0) {
          ASSERT_EQ(given[k], reader.bytes[k]);
          continue;
        }
        const int value = std::to_integer<int>(given[k]);
        ASSERT_GT(value, 40);
        sum += value;
        squares += value * value;
        ++count;
      }
      if (count == 0) continue;
      const double mean = sum / count, variance = squares / count - mean * mean;
      // Six standard errors: of pieces of 4,096 samples, and of all of them.
      EXPECT_NEAR(mean, 100, 6 * 6 / std::sqrt(1000.0));
      EXPECT_NEAR(variance / 36, 1, 0.2);
    }
    for (const std::size_t block : {std::size_t{11}, std::size_t{64}, 1 + random() % 5000}) {
      reader.most = 1 + random() % 900;
      const Given parts = give(reader, empty, block);
      EXPECT_EQ(parts.pieces, whole.pieces) << block;
      EXPECT_EQ(parts.found.channels, whole.found.channels) << block;
      EXPECT_EQ(parts.found.noise_samples, whole.found.noise_samples) << block;
      expect_told(parts, reader, random);
    }
    reader.most = kStreamTimes;
  }
}

// A channel that stops again soon has the mean of the data before its first stop, since the samples in between are few.
TEST(EmptyStretches, StopsOneAfterTheOtherHaveTheMeanOfWhatWasBefore) {
  auto random = tests::generator();
  StoppingReader reader(random);
  reader.stop_channel(5, 7000, 6000);
  reader.stop_channel(5, 13'020, 6000);
  for (const std::uint64_t first : {std::uint64_t{7000}, std::uint64_t{13'020}}) {
    const Given given = give(reader, Empty::split, 1 + random() % 5000);
    const std::vector<std::byte>& bytes = given.pieces.begin()->second;
    EXPECT_NEAR(std::to_integer<int>(bytes[(first + 3000) * kBands + 5]), 100, 1) << first;
  }
}

// Which a look at times ever further away, the next one behind the end, does not meet.
TEST(EmptyStretches, OfAChannelFromTheStartHaveTheMeanOfWhatComesLate) {
  auto random = tests::generator();
  StoppingReader reader(random);
  reader.stop_channel(5, 0, 17'000 + random() % 12'000);
  const Given given = give(reader, Empty::split, 1 + random() % 5000);
  const std::vector<std::byte>& bytes = given.pieces.begin()->second;
  for (const std::size_t t : {0u, 8000u, 16'900u})
    EXPECT_NEAR(std::to_integer<int>(bytes[t * kBands + 5]), 100, 1) << t;
}

// Noise of a channel that repeats itself shortly before, with too few samples to hold nothing, is not longer for a
// block's end between the two.
TEST(EmptyStretches, OfAllChannelsEndTheRunOfOneInEveryBlockSize) {
  auto random = tests::generator();
  StoppingReader reader(random);
  std::uint64_t stopped = 0;
  for (std::uint64_t t = 300; t + 700 < kStreamTimes; t += 500 + random() % 200) {
    const std::uint64_t before = 1 + random() % 250, samples = 6 + random() % 70;
    reader.stop_channel(random() % kBands, t - before, before);
    reader.stop(t, samples, 7);
    stopped += before;
  }
  const Given whole = give(reader, Empty::fill, kStreamTimes);
  EXPECT_GT(whole.found.values, 0u);
  EXPECT_LT(whole.found.values, stopped);
  for (const std::size_t block : {std::size_t{11}, std::size_t{100}, 1 + random() % 5000}) {
    const Given parts = give(reader, Empty::fill, block);
    EXPECT_EQ(parts.pieces, whole.pieces) << block;
    EXPECT_EQ(parts.found.channels, whole.found.channels) << block;
  }
}

// Near the end of the range, where few samples are behind them: in those of the last piece.
TEST(EmptyStretches, OfAChannelUpToShortlyBeforeTheEndHaveTheMeanOfWhatIsBehind) {
  auto random = tests::generator();
  StoppingReader reader(random);
  reader.stop_channel(5, 0, kStreamTimes - 40);
  const Given given = give(reader, Empty::split, 1 + random() % 5000);
  const std::vector<std::byte>& bytes = given.pieces.begin()->second;
  EXPECT_NEAR(std::to_integer<int>(bytes[8000 * kBands + 5]), 100, 6);
}

// Three of 24 channels never change, beside stretches of all channels: they keep their value at all times, and get no
// noise, since theirs is missing at all times.
TEST(EmptyStretches, ChannelsThatNeverChangeKeepTheirValue) {
  auto random = tests::generator();
  StoppingReader reader(random);
  for (const std::size_t c : {2, 9, 20}) reader.stop_channel(c, 0, kStreamTimes);
  std::uint64_t filled = 0;
  for (std::uint64_t t = random() % 2 * 300; t + 2000 < kStreamTimes; t += 1000 + random() % 3000) {
    const std::uint64_t samples = 30 + random() % 90;
    reader.stop(t, samples, 0);
    filled += samples;
    t += samples;
  }
  for (const Empty empty : {Empty::split, Empty::fill}) {
    const Given whole = give(reader, empty, kStreamTimes);
    EXPECT_EQ(whole.found.samples, filled);
    EXPECT_EQ(whole.found.noise_samples, 0u);
    EXPECT_EQ(whole.found.values, 3 * (kStreamTimes - filled));
    ASSERT_EQ(whole.pieces.size(), 1u);
    const std::vector<std::byte>& given = whole.pieces.begin()->second;
    for (std::size_t t = 0; t < kStreamTimes; ++t)
      for (const std::size_t c : {2, 9, 20}) ASSERT_EQ(given[t * kBands + c], std::byte{7}) << t;
    for (const std::size_t block : {std::size_t{11}, 1 + random() % 5000}) {
      reader.most = 1 + random() % 900;
      EXPECT_EQ(give(reader, empty, block).pieces, whole.pieces) << block;
    }
    reader.most = kStreamTimes;
  }
}

}  // namespace tautline::pipeline

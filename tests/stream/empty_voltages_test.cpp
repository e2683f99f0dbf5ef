// Empty stretches of voltages against a loop over every sample, in blocks of any length, layout and damage.
#include "tautline/stream/empty_voltages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "tautline/core/validity.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

constexpr std::size_t kTimes = 20'000;

/// A stream of codes [time][input][channel] that a sample's bits hold.
struct Voltages {
  core::VoltageDescription description;
  enum class Order { time_input_channel, time_channel_input, input_channel_time };
  Order order = Order::time_input_channel;
  std::vector<std::uint32_t> codes;
  core::ValidityMask lost;  // [input][time]; invalid: lost

  std::size_t bits() const {
    return static_cast<std::size_t>(description.format.bits_per_sample());
  }
  std::size_t at(std::size_t t, std::size_t input, std::size_t channel) const {
    return (t * description.inputs() + input) * description.channels + channel;
  }
  bool equal(std::size_t input, std::size_t a, std::size_t b) const {
    return std::equal(&codes[at(a, input, 0)], &codes[at(a, input, 0)] + description.channels,
                      &codes[at(b, input, 0)]);
  }
  bool finite(std::size_t input, std::size_t t) const {
    const std::uint32_t* code = &codes[at(t, input, 0)];
    return description.format.encoding != core::Encoding::ieee_float ||
           std::none_of(code, code + description.channels,
                        [](std::uint32_t one) { return (one & 0x7f800000) == 0x7f800000; });
  }
  // Times [first, end) of an input get the values of the first of them.
  void hold(std::size_t input, std::size_t first, std::size_t end) {
    for (std::size_t t = first + 1; t < end; ++t)
      std::copy_n(&codes[at(first, input, 0)], description.channels, &codes[at(t, input, 0)]);
  }
  core::RawBlock block(std::size_t first, std::size_t samples, std::size_t most) const;
};

void put_bits(std::byte* bytes, std::size_t at, std::size_t bits, std::uint32_t code) {
  for (std::size_t k = 0; k < bits; ++k)
    if ((code >> k & 1) != 0) bytes[(at + k) / 8] |= std::byte{1} << (at + k) % 8;
}

core::RawBlock Voltages::block(std::size_t first, std::size_t samples, std::size_t most) const {
  core::RawBlock out;
  core::RawLayout& layout = out.layout;
  layout.format = description.format;
  layout.channels = description.channels;
  layout.antennas = description.antennas;
  layout.polarisations = description.polarisations;
  layout.offset_bits = 24;
  const std::size_t inputs = description.inputs();
  const bool times_last = order == Order::input_channel_time;
  const bool inputs_last = order == Order::time_channel_input;
  layout.time_stride_bits = times_last ? bits() : bits() * inputs * description.channels;
  layout.channel_stride_bits = times_last ? bits() * most : inputs_last ? bits() * inputs : bits();
  layout.polarisation_stride_bits =
      inputs_last ? bits() : layout.channel_stride_bits * description.channels;
  layout.antenna_stride_bits = layout.polarisation_stride_bits * description.polarisations;
  out.bytes.resize(3 + (bits() * inputs * description.channels * most + 7) / 8 + 8);
  std::fill(out.bytes.begin(), out.bytes.end(), std::byte{0});
  out.first_sample = first;
  out.samples = samples;
  for (std::size_t t = 0; t < samples; ++t)
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t c = 0; c < description.channels; ++c)
        put_bits(out.bytes.data(),
                 layout.offset_bits + t * layout.time_stride_bits + c * layout.channel_stride_bits +
                     i * layout.polarisation_stride_bits,
                 bits(), codes[at(first + t, i, c)]);
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t t = 0; t < samples; ++t)
      if (!lost.valid(i, first + t)) out.invalid.push_back({i, t, 1});
  return out;
}

Voltages random_voltages(std::minstd_rand& random) {
  static constexpr int kBits[] = {1, 2, 4, 8, 16, 32};
  Voltages v;
  const int bits = kBits[random() % 6];
  v.description.format = {
      bits, bits < 32 && random() % 2 == 0,
      bits == 32 ? core::Encoding::ieee_float : core::Encoding::twos_complement};
  v.description.antennas = 1 + random() % 2;
  v.description.polarisations = 1 + random() % 2;
  v.description.channels = random() % 2 == 0 ? 1 : 1 + random() % 5;
  v.description.rate_hz = {1'000'000, 1};
  v.order = static_cast<Voltages::Order>(random() % 3);
  const std::size_t inputs = v.description.inputs();
  v.codes.resize(kTimes * inputs * v.description.channels);
  const std::uint32_t mask =
      v.bits() >= 32 ? 0x3fffffff : (std::uint32_t{1} << v.bits()) - 1;  // floats: finite ones
  std::mt19937 noise(static_cast<unsigned>(random()));
  for (auto& code : v.codes) code = static_cast<std::uint32_t>(noise()) & mask;
  v.lost = core::ValidityMask(inputs, kTimes);
  // All inputs together, as a recorder writes packets that were lost.
  for (std::size_t t = random() % 2000; t < kTimes; t += random() % 2000) {
    const std::size_t end = std::min(kTimes, t + 1 + random() % 200);
    std::fill(&v.codes[v.at(t, 0, 0)], &v.codes[0] + v.at(end, 0, 0), 0U);
    t = end;
  }
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t t = random() % 3000; t < kTimes; t += 1 + random() % 3000) {
      const std::size_t end = std::min(kTimes, t + 1 + random() % 1500);
      if (random() % 4 == 0) {
        v.lost.set(i, t, end - t, false);
        continue;
      }
      if (bits == 32 && random() % 4 == 0)
        std::fill_n(&v.codes[v.at(t, i, 0)], v.description.channels, 0x7fc00000U);  // NaN
      v.hold(i, t, end);
      t = end;
    }
  return v;
}

std::tuple<std::size_t, std::uint64_t, std::uint64_t> in_order(const EmptyInput& one) {
  return {one.input, one.first_sample, one.samples};
}

/// The definition: what is left of the samples that are not lost, and the stretches in order of inputs.
struct Expected {
  core::ValidityMask valid;
  std::vector<EmptyInput> list;
  std::size_t together = 0;    ///< stretches that are empty only because all inputs repeat together
  std::size_t short_ones = 0;  ///< those of one input that are too short for any noise
};

/// Counts of the repeats of an input, or of all inputs together: docs/design/empty.md.
class Repeats {
 public:
  void look(std::uint64_t time, bool repeat) {
    if (time % 64 != 0) return;
    now_.push_back(repeat);
    if (now_.size() == 4096) before_ = std::exchange(now_, {});
  }
  bool nothing(std::size_t n, double rate_hz) const {
    double c = 0, m = 0, chance = 1;
    for (const auto* window : {&before_, &now_})
      for (const bool repeat : *window) c += repeat ? 1 : 0, m += 1;
    for (std::size_t k = 0; k < (n + 1) / 2; ++k)
      chance *= (c + 1 + static_cast<double>(k)) / (m + 2 + static_cast<double>(k));
    return chance * rate_hz * 3600 < 1e-9;
  }

 private:
  std::vector<bool> before_, now_;
};

// Stretches in which all inputs repeat together; the others' are known.
void add_together(const Voltages& v, std::size_t repeats, Expected& out) {
  const std::size_t inputs = v.description.inputs();
  const auto all = [&](const auto& holds) {
    for (std::size_t i = 0; i < inputs; ++i)
      if (!holds(i)) return false;
    return true;
  };
  const auto there = [&](std::size_t t) {
    return all([&](std::size_t i) { return v.lost.valid(i, t); });
  };
  const auto repeat = [&](std::size_t t) {
    return all([&](std::size_t i) { return v.equal(i, t, t + 1); });
  };
  const auto finite = [&](std::size_t t) {
    return all([&](std::size_t i) { return v.finite(i, t); });
  };
  const std::size_t least = std::min<std::size_t>(64, repeats);
  Repeats so_far;
  const core::ValidityMask of_inputs = out.valid;
  for (std::size_t first = 0; first < kTimes;) {
    std::size_t end = first + 1;
    while (end < kTimes && there(first) && there(end) && repeat(end - 1)) ++end;
    const std::size_t n = end - first - 1;
    const bool empty = finite(first) && (n >= repeats || (n >= least && so_far.nothing(n, 1e6)));
    for (std::size_t i = 0; empty && n < repeats && i < inputs; ++i) {
      if (!of_inputs.valid(i, first)) continue;  // in a longer stretch of its own
      out.valid.set(i, first, end - first, false);
      out.list.push_back({i, first, end - first});
      ++out.together;
    }
    for (std::size_t t = first; t + 1 < end; ++t)
      if (n < least) so_far.look(t, true);
    if (there(first) && end < kTimes && there(end)) so_far.look(end - 1, false);
    first = end;
  }
}

Expected expected_of(const Voltages& v, std::size_t repeats) {
  Expected out{v.lost, {}, 0, 0};
  const std::size_t least = std::min<std::size_t>(48, repeats);
  for (std::size_t i = 0; i < v.description.inputs(); ++i) {
    Repeats so_far;
    for (std::size_t first = 0; first < kTimes;) {
      const bool there = v.lost.valid(i, first);
      std::size_t end = first + 1;
      while (end < kTimes && there && v.lost.valid(i, end) && v.equal(i, first, end)) ++end;
      const std::size_t n = end - first - 1;
      if (there && v.finite(i, first) &&
          (n >= repeats ||
           (n >= least && so_far.nothing(n, 1e6 * static_cast<double>(v.description.inputs()))))) {
        out.valid.set(i, first, end - first, false);
        out.list.push_back({i, first, end - first});
        out.short_ones += n < repeats ? 1 : 0;
      }
      for (std::size_t t = first; t + 1 < end; ++t)
        if (n < least) so_far.look(t, true);
      if (there && end < kTimes && v.lost.valid(i, end)) so_far.look(end - 1, false);
      first = end;
    }
  }
  add_together(v, repeats, out);
  std::ranges::sort(out.list, {}, in_order);
  return out;
}

/// Compares the search in blocks that end at `ends`, the last of them kTimes, with the loop. Returns the number of
/// stretches that continue from one block to the next.
std::size_t compare(const Voltages& v, const Expected& expected,
                    const std::vector<std::size_t>& ends) {
  std::size_t most = 0, across = 0;
  for (std::size_t k = 0; k < ends.size(); ++k)
    most = std::max(most, ends[k] - (k == 0 ? 0 : ends[k - 1]));
  EmptyVoltageFinder finder(v.description);
  std::vector<core::RawBlock> blocks;
  for (const std::size_t end : ends) {
    const std::size_t first = blocks.empty() ? 0 : ends[blocks.size() - 1];
    blocks.push_back(v.block(first, end - first, most));
    finder.look(blocks.back(), blocks.size() > 1 ? &blocks[blocks.size() - 2] : nullptr);
  }
  core::ValidityMask found(v.description.inputs(), kTimes);
  for (const core::RawBlock& block : blocks)
    for (const core::InvalidSpan& span : block.invalid)
      for (std::size_t i = 0; i < v.description.inputs(); ++i)
        if (span.input == i || span.input == core::InvalidSpan::kAllInputs)
          found.set(i, block.first_sample + span.first_sample, span.samples, false);
  for (std::size_t i = 0; i < v.description.inputs(); ++i)
    for (std::size_t t = 0; t < kTimes; ++t)
      if (found.valid(i, t) != expected.valid.valid(i, t)) {
        ADD_FAILURE() << "input " << i << ", time " << t;
        return across;
      }
  EmptyVoltages result = finder.found();
  EXPECT_EQ(result.samples, v.lost.count() - expected.valid.count());
  EXPECT_EQ(result.stretches, result.list.size());
  std::ranges::sort(result.list, {}, in_order);
  EXPECT_EQ(result.list.size(), expected.list.size());
  for (std::size_t k = 0; k < std::min(result.list.size(), expected.list.size()); ++k) {
    const EmptyInput& one = result.list[k];
    EXPECT_EQ(in_order(one), in_order(expected.list[k]));
    across += static_cast<std::size_t>(std::ranges::count_if(ends, [&](std::size_t end) {
      return end > one.first_sample && end < one.first_sample + one.samples;
    }));
  }
  return across;
}

TEST(EmptyVoltages, AreWhatALoopOverEverySampleFindsInAnyBlocks) {
  auto seeds = tests::generator();
  std::size_t stretches = 0, across = 0, together = 0, short_ones = 0;
  for (int turn = 0; turn < 60; ++turn) {
    SCOPED_TRACE(turn);
    std::minstd_rand random(static_cast<unsigned>(seeds()));
    const Voltages v = random_voltages(random);
    const std::size_t repeats = EmptyVoltageFinder(v.description).least_repeats();
    const Expected expected = expected_of(v, repeats);
    stretches += expected.list.size();
    together += expected.together;
    short_ones += expected.short_ones;
    const std::size_t spread = 1 + random() % 6000;
    std::vector<std::size_t> ends;
    while (ends.empty() || ends.back() < kTimes)  // the last block may be short
      ends.push_back(
          std::min(kTimes, (ends.empty() ? 0 : ends.back()) + repeats + 1 + random() % spread));
    across += compare(v, expected, ends);
  }
  EXPECT_GT(stretches, 100u);
  EXPECT_GT(across, 20u);
  EXPECT_GT(together, 0u);  // about 60; none once in 10^7 runs
  EXPECT_GT(short_ones, 100u);
}

// Floats that are not finite for half of the time, in runs too short for a stretch: every block ends in one. The chance
// of a repeat, and with it the shortest stretch, is that of a single block.
TEST(EmptyVoltages, BlocksThatEndInSamplesThatAreNotFiniteChangeNothing) {
  auto random = tests::generator();
  std::size_t short_ones = 0, left = 0;
  for (int turn = 0; turn < 20; ++turn) {
    SCOPED_TRACE(turn);
    Voltages v;
    v.description.format = {32, false, core::Encoding::ieee_float};
    v.description.antennas = 1 + random() % 2;
    v.description.rate_hz = {1'000'000, 1};
    const std::size_t inputs = v.description.inputs();
    v.lost = core::ValidityMask(inputs, kTimes);
    v.codes.resize(kTimes * inputs);
    for (auto& code : v.codes) code = static_cast<std::uint32_t>(random()) & 0x3fffffff;
    const std::size_t repeats = EmptyVoltageFinder(v.description).least_repeats();
    std::vector<std::size_t> ends;
    for (std::size_t t = 50, k = 0; t + 500 < kTimes; ++k) {
      const std::size_t count = 30 + random() % 18;
      for (std::size_t i = 0; i < inputs; ++i) {
        v.codes[v.at(t, i, 0)] = 0x7fc00000U;
        v.hold(i, t, t + count);
      }
      if (t + 1 - (ends.empty() ? 0 : ends.back()) > repeats) ends.push_back(t + count - 1);
      t += count + 20 + random() % 30;
      if (k % 8 < 7) continue;
      const std::size_t samples = 48 + random() % 250;
      for (std::size_t i = 0; i < inputs; ++i) v.hold(i, t, t + samples);
      left += samples < repeats ? inputs : 0;
      t += samples + 1 + random() % 30;
    }
    ends.push_back(kTimes);
    const Expected expected = expected_of(v, repeats);
    short_ones += expected.short_ones + expected.together;
    compare(v, expected, {kTimes});
    compare(v, expected, ends);
  }
  // Some are long enough, some are not.
  EXPECT_GT(short_ones, 50u);
  EXPECT_GT(left, short_ones + 50);
}

TEST(EmptyVoltages, AStretchEndsWhereABlockDoesNotFollowOn) {
  auto random = tests::generator();
  core::VoltageDescription description;
  description.rate_hz = {1'000'000, 1};
  EmptyVoltageFinder finder(description);
  constexpr std::size_t most = 20'000;  // enough to know how seldom its noise repeats itself
  core::RawBlock one;
  one.layout.format = description.format;
  one.layout.time_stride_bits = 16;
  one.samples = most;
  one.bytes.resize(2 * most);
  for (auto& byte : one.bytes) byte = static_cast<std::byte>(random());
  core::RawBlock two = one;
  // Too little for a stretch on either side, between samples that differ.
  constexpr std::size_t share = 40;
  one.bytes[2 * (most - share) - 1] = two.bytes[2 * share] = std::byte{8};
  std::fill(one.bytes.end() - static_cast<std::ptrdiff_t>(2 * share), one.bytes.end(),
            std::byte{7});
  std::fill_n(two.bytes.begin(), 2 * share, std::byte{7});
  core::RawBlock joined = two, first = one;
  finder.look(first, nullptr);
  finder.look(joined, nullptr);
  EXPECT_EQ(finder.found().samples, 0u);
  EmptyVoltageFinder other(description);
  first = one, joined = two;
  other.look(first, nullptr);
  EXPECT_TRUE(first.invalid.empty());
  other.look(joined, &first);
  EXPECT_EQ(other.found().samples, 2 * share);
  ASSERT_EQ(first.invalid.size(), 1u);
  EXPECT_EQ(first.invalid[0].samples, share);
}

TEST(EmptyVoltages, NoiseOfOneAndTwoBitsHasNone) {
  auto random = tests::generator();
  std::mt19937 noise(static_cast<unsigned>(random()));
  core::VoltageDescription description;
  description.format = {8, false, core::Encoding::twos_complement};
  description.rate_hz = {64'000'000, 1};
  EmptyVoltageFinder finder(description);
  // 95 % ones, and 89 % of one value in four.
  std::bernoulli_distribution one(0.95);
  std::discrete_distribution<int> four({0.89, 0.05, 0.03, 0.03});
  for (int turn = 0; turn < 40; ++turn) {
    core::RawBlock block;
    block.layout.format = description.format;
    block.layout.time_stride_bits = 8;
    block.samples = 100'000;
    block.bytes.resize(block.samples);
    for (auto& byte : block.bytes)
      byte = static_cast<std::byte>(turn % 2 == 0 ? (one(noise) ? 1 : -1) : four(noise));
    finder.look(block, nullptr);
  }
  EXPECT_EQ(finder.found().samples, 0u);
}

// Gaussian noise of 8 bits at any level, white and oversampled, of one input in two.
TEST(EmptyVoltages, NoiseOfEightBitsHasNone) {
  auto random = tests::generator();
  std::mt19937 noise(static_cast<unsigned>(random()));
  core::VoltageDescription description;
  description.format = {8, true, core::Encoding::twos_complement};
  description.antennas = 2;
  description.rate_hz = {1'000'000, 1};
  for (const double rms : {0.3, 0.4, 0.6, 1.0, 20.0})
    for (const double memory : {0.0, 0.9}) {
      EmptyVoltageFinder finder(description);
      std::normal_distribution<double> normal(0, rms * std::sqrt(1 - memory * memory));
      std::vector<double> last(4);
      for (int turn = 0; turn < 5; ++turn) {
        core::RawBlock block;
        block.layout.format = description.format;
        block.layout.antennas = 2;
        block.layout.antenna_stride_bits = 16;
        block.layout.time_stride_bits = 32;
        block.samples = 60'000;
        block.bytes.resize(4 * block.samples);
        for (std::size_t k = 0; k < block.bytes.size(); ++k) {
          last[k % 4] = memory * last[k % 4] + normal(noise);
          block.bytes[k] = static_cast<std::byte>(static_cast<int>(std::lround(last[k % 4])));
        }
        finder.look(block, nullptr);
      }
      EXPECT_EQ(finder.found().samples, 0u) << rms << " " << memory;
    }
}

// One input of two is constant a third of the time: at a usual level in stretches of 50 samples or more, of two bits in
// 120 or more.
TEST(EmptyVoltages, ShortStretchesOfOneInputAreFound) {
  auto random = tests::generator();
  std::mt19937 noise(static_cast<unsigned>(random()));
  core::VoltageDescription description;
  description.format = {8, false, core::Encoding::twos_complement};
  description.antennas = 2;
  description.rate_hz = {1'000'000, 1};
  struct Case {
    double rms;
    std::size_t shortest, longest;
  };
  for (const Case& one : {Case{20, 50, 400}, Case{20, 50, 50}, Case{1.0, 120, 400}}) {
    EmptyVoltageFinder finder(description);
    std::normal_distribution<double> normal(0, one.rms);
    core::RawBlock block;
    block.layout.format = description.format;
    block.layout.antennas = 2;
    block.layout.antenna_stride_bits = 8;
    block.layout.time_stride_bits = 16;
    block.samples = 400'000;
    block.bytes.resize(2 * block.samples);
    const double low = one.rms > 1 ? -128 : -2, high = one.rms > 1 ? 127 : 1;
    for (auto& byte : block.bytes)
      byte = static_cast<std::byte>(
          static_cast<int>(std::clamp(std::round(normal(noise)), low, high)));
    std::vector<EmptyInput> put;
    // The first samples tell how often the noise repeats itself.
    for (std::size_t t = (one.rms > 1 ? 10'000 : 100'000) + random() % 1000;
         t + one.longest < block.samples;) {
      const std::size_t length = one.shortest + random() % (one.longest + 1 - one.shortest);
      for (std::size_t k = 0; k < length; ++k) block.bytes[2 * (t + k) + 1] = std::byte{0};
      block.bytes[2 * (t - 1) + 1] = block.bytes[2 * (t + length) + 1] = std::byte{1};
      put.push_back({1, t, length});
      t += length + length + random() % length + 2;
    }
    finder.look(block, nullptr);
    const EmptyVoltages found = finder.found();
    ASSERT_EQ(found.list.size(), put.size()) << one.rms;
    for (std::size_t k = 0; k < put.size(); ++k) {
      EXPECT_EQ(found.list[k].input, 1u);
      EXPECT_EQ(found.list[k].first_sample, put[k].first_sample);
      EXPECT_EQ(found.list[k].samples, put[k].samples);
    }
    EXPECT_EQ(block.invalid.size(), put.size());
  }
}

TEST(EmptyVoltages, SamplesThatAreNotFiniteAreNotCountedAsEmpty) {
  core::VoltageDescription description;
  description.format = core::kCf32;
  description.rate_hz = {1000, 1};
  EmptyVoltageFinder finder(description);
  core::RawBlock block;
  block.layout.format = description.format;
  block.layout.time_stride_bits = 64;
  block.samples = 4000;
  block.bytes.resize(8 * block.samples);
  std::fill(block.bytes.begin(), block.bytes.end(), std::byte{0xff});  // NaN
  finder.look(block, nullptr);
  EXPECT_EQ(finder.found().samples, 0u);
  std::fill(block.bytes.begin(), block.bytes.end(), std::byte{0});
  finder.look(block, nullptr);
  EXPECT_EQ(finder.found().samples, 4000u);
}

}  // namespace
}  // namespace tautline::stream

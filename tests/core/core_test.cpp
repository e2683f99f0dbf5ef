// Small facts of core: formats, codes, rounding, masks, windows, views.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tautline/core/baseline.h"
#include "tautline/core/complex_int.h"
#include "tautline/core/error.h"
#include "tautline/core/half.h"
#include "tautline/core/next_bit.h"
#include "tautline/core/random_bits.h"
#include "tautline/core/requantise.h"
#include "tautline/core/sample_decode.h"
#include "tautline/core/sample_format.h"
#include "tautline/core/validity.h"
#include "tautline/core/view.h"
#include "tautline/core/window.h"
#include "tests/support/seed.h"

namespace tautline::core {
namespace {

TEST(SampleFormat, NamesRoundTrip) {
  for (const char* name : {"ci4", "ci8", "ci16", "cf32", "cu8", "cu16", "i1", "i2", "i4", "i8",
                           "u8", "i16", "u16", "f16", "cf16", "f32"})
    EXPECT_EQ(to_string(parse_sample_format(name)), name);
  EXPECT_THROW(parse_sample_format("ci3"), Error);
  EXPECT_THROW(parse_sample_format("f8"), Error);
  EXPECT_THROW(parse_sample_format("i32"), Error);
}

// As the authors' code gives them (https://prng.di.unimi.it/splitmix64.c).
TEST(RandomBits, AreThoseOfSplitMix64) {
  EXPECT_EQ(random_bits(0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(random_bits(1), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(random_bits(2), 0x06C45D188009454Fu);
  EXPECT_EQ(scatter_bits(5 * kRandomStep), random_bits(4));
}

TEST(Half, EveryValueIsWhatItsBitsSay) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    const float sign = bits & 0x8000 ? -1.0f : 1.0f, value = to_float(half);
    EXPECT_EQ(is_finite(half), exponent != 31);
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(to_float(to_half(value)))) << bits;
      continue;
    }
    const float expected = exponent == 31 ? std::numeric_limits<float>::infinity()
                           : exponent == 0
                               ? std::ldexp(static_cast<float>(fraction), -24)
                               : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
    ASSERT_EQ(value, sign * expected) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(to_half(value), half) << bits;
  }
}

TEST(Half, RoundsToTheNearestTiesToEven) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = to_float({bits}), high = to_float({static_cast<std::uint16_t>(bits + 1)});
    const float middle = (low + high) / 2;  // exact
    const Half even{static_cast<std::uint16_t>(bits + (bits & 1))};
    ASSERT_EQ(to_half(middle), even) << bits;
    ASSERT_EQ(to_half(std::nextafter(middle, low)).bits, bits);
    ASSERT_EQ(to_half(std::nextafter(middle, high)).bits, bits + 1);
    ASSERT_EQ(to_half(-middle).bits, even.bits | 0x8000);
  }
  EXPECT_EQ(to_half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_half(-1e30f).bits, 0xfc00);
  EXPECT_EQ(to_half(1e-30f).bits, 0);
}

TEST(SampleDecode, EveryCodeOfFourBitsAndTheEdges) {
  for (unsigned c = 0; c < 16; ++c) {
    EXPECT_EQ(decode_code(c, 4, Encoding::twos_complement), c < 8 ? int(c) : int(c) - 16);
    EXPECT_EQ(decode_code(c, 4, Encoding::offset_binary), int(c) - 8);
  }
  EXPECT_EQ(decode_code(0x80, 8, Encoding::twos_complement), -128);
  EXPECT_EQ(decode_code(0, 8, Encoding::offset_binary), -128);
  EXPECT_EQ(decode_code(0x8000, 16, Encoding::twos_complement), -32768);
  EXPECT_EQ(decode_code(1, 1, Encoding::twos_complement), -1);
  EXPECT_EQ(decode_code(1, 1, Encoding::offset_binary), 1);
  EXPECT_EQ(decode_code(3, 2, Encoding::offset_binary), 3);
  EXPECT_EQ(decode_code(2, 2, Encoding::twos_complement), -2);
}

TEST(ComplexInt, FourBitsUnpackEveryByte) {
  for (int re = -8; re < 8; ++re)
    for (int im = -8; im < 8; ++im) {
      const ci4 x = ci4::pack(re, im);
      EXPECT_EQ(x.re(), re);
      EXPECT_EQ(x.im(), im);
    }
}

TEST(Requantise, LosesOfGaussiansWhatItSays) {
  // Two signals of correlation 0.3, rounded to 4 bits: four million draws tell the product to
  // 0.17 % and the power to 0.07 %, and seven of those errors and more are allowed.
  auto random = tests::generator();
  std::normal_distribution<float> normal;
  const auto gain = static_cast<float>(kRequantise4Rms);
  const int limit = requantise_limit(4);
  double product = 0, power = 0;
  std::uint64_t clipped = 0;
  constexpr int kDraws = 4'000'000;
  for (int k = 0; k < kDraws; ++k) {
    const float x = normal(random), y = 0.3f * x + std::sqrt(1 - 0.09f) * normal(random);
    const int a = requantise(x, gain, limit, clipped), b = requantise(y, gain, limit, clipped);
    product += a * b;
    power += a * a;
  }
  const double full = kDraws * kRequantise4Rms * kRequantise4Rms;
  EXPECT_NEAR(product / (0.3 * full), requantised_correlation(kRequantise4Rms, limit), 0.02);
  EXPECT_NEAR(power / full, requantised_power(kRequantise4Rms, limit), 0.005);
  EXPECT_NEAR(requantised_correlation(kRequantise4Rms, limit), 0.962, 0.002);
  EXPECT_NEAR(requantised_correlation(kRequantise8Rms, 127), 1, 1e-6);
  EXPECT_NEAR(requantised_power(kRequantise8Rms, 127), 1 + 1 / (12 * 400.0), 1e-6);
}

TEST(Requantise, RoundsHalfToEvenAndClipsSymmetrically) {
  std::uint64_t clipped = 0;
  EXPECT_EQ(requantise(0.5f, 1, 127, clipped), 0);
  EXPECT_EQ(requantise(1.5f, 1, 127, clipped), 2);
  EXPECT_EQ(requantise(-2.5f, 1, 127, clipped), -2);
  EXPECT_EQ(requantise(127.5f, 1, 127, clipped), 127);
  EXPECT_EQ(clipped, 1u);
  EXPECT_EQ(requantise(127.4f, 1, 127, clipped), 127);
  EXPECT_EQ(clipped, 1u);
  EXPECT_EQ(requantise(-1e30f, 1, 127, clipped), -127);
  EXPECT_EQ(requantise(std::numeric_limits<float>::quiet_NaN(), 1, 7, clipped), 0);
  EXPECT_EQ(clipped, 3u);
}

TEST(Validity, CountsAndRangesAgreeWithPlainLoops) {
  auto random = tests::generator();
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t samples = 1 + random() % 300;
    ValidityMask mask(1, samples);
    std::vector<bool> plain(samples, true);
    for (int change = 0; change < 4; ++change) {
      const std::size_t first = random() % samples, count = random() % (samples - first + 1);
      const bool valid = random() % 2;
      mask.set(0, first, count, valid);
      for (std::size_t t = first; t < first + count; ++t) plain[t] = valid;
    }
    std::uint64_t total = 0;
    for (std::size_t t = 0; t < samples; ++t) {
      total += plain[t];
      EXPECT_EQ(mask.valid(0, t), plain[t]);
    }
    EXPECT_EQ(mask.count(), total);
  }
}

TEST(Validity, NextAndLastBitsAgreeWithPlainLoops) {
  auto random = tests::generator();
  for (int trial = 0; trial < 200; ++trial) {
    std::uint64_t row[4];  // runs of a few bits, or of more than a word
    for (std::uint64_t& word : row) word = random() % 3 == 0 ? 0 : random() & random();
    const auto bit = [&](std::size_t k) { return (row[k / 64] >> (k % 64) & 1) != 0; };
    const std::size_t from = random() % 256, end = random() % 257;
    for (const bool wanted : {false, true}) {
      std::size_t next = from;
      while (next < end && bit(next) != wanted) ++next;
      EXPECT_EQ(next_bit(row, from, end, wanted), from < end ? next : end);
    }
    const std::size_t first = random() % (from + 1);
    row[first / 64] |= std::uint64_t{1} << first % 64;
    std::size_t last = from;
    while (!bit(last)) --last;
    EXPECT_EQ(last_set_bit(row, from), last);
  }
}

TEST(Validity, CopiesBitsAtAnyOffset) {
  auto random = tests::generator();
  for (int trial = 0; trial < 200; ++trial) {
    std::uint64_t from[5], to[5], before[5];
    for (int w = 0; w < 5; ++w) {
      from[w] = random();
      before[w] = to[w] = random();
    }
    const std::size_t count = random() % 200, first = random() % (320 - count),
                      to_first = random() % (320 - count);
    copy_bits(from, first, count, to, to_first);
    const auto bit = [](const std::uint64_t* words, std::size_t k) {
      return words[k / 64] >> (k % 64) & 1;
    };
    for (std::size_t k = 0; k < 320; ++k) {
      const bool inside = k >= to_first && k < to_first + count;
      EXPECT_EQ(bit(to, k), inside ? bit(from, first + k - to_first) : bit(before, k));
    }
  }
}

TEST(Window, PrototypesAreSymmetricWithUnitPower) {
  for (const char* name : {"rect", "hann", "hamming", "kaiser:9"})
    for (const std::size_t taps : {1u, 2u, 8u}) {
      const auto h = prototype_filter(16, taps, parse_window(name));
      double power = 0;
      for (std::size_t n = 0; n < h.size(); ++n) {
        power += h[n] * h[n];
        EXPECT_NEAR(h[n], h[h.size() - 1 - n], 1e-15);
      }
      EXPECT_NEAR(power, 1, 1e-12);
    }
  for (const double value : prototype_filter(8, 1, parse_window("rect")))
    EXPECT_DOUBLE_EQ(value, 1 / std::sqrt(8.0));
  EXPECT_THROW(parse_window("kaiser:x"), Error);
  EXPECT_EQ(to_string(parse_window("kaiser:9")), "kaiser:9");
}

TEST(View, StridesSlicesAndZeroStrides) {
  int data[24];
  for (int k = 0; k < 24; ++k) data[k] = k;
  const View<int, 3> view(data, {2, 3, 4});
  EXPECT_TRUE(view.dense());
  EXPECT_EQ(view(1, 2, 3), 23);
  EXPECT_EQ(view.slice(1, 1, 2)(1, 0, 0), 16);
  EXPECT_FALSE(view.slice(2, 0, 2).dense());
  const View<int, 2> shared(data, {5, 4}, {0, 1});
  EXPECT_EQ(shared(4, 3), 3);
}

TEST(Baseline, IndexIsAPackedLowerTriangle) {
  std::size_t expected = 0;
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t j = 0; j <= i; ++j) EXPECT_EQ(baseline_index(i, j), expected++);
  EXPECT_EQ(baseline_count(20), expected);
}

}  // namespace
}  // namespace tautline::core

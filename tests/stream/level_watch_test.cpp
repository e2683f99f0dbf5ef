// What a part of the samples says of inputs that a recorder clipped, and of steps of their power.
#include "tautline/stream/level_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

/// NoiseOfInputs of two antennas and two polarisations, [time][channel][input][part], or [input][channel][time][part].
struct NoiseOfInputs {
  core::VoltageDescription description;
  bool time_last = false;
  std::vector<int> values;  // [time][channel][input][part]

  NoiseOfInputs(const std::string& format, std::size_t channels, double rate_hz) {
    description.format = core::parse_sample_format(format);
    description.antennas = 2;
    description.polarisations = 2;
    description.channels = channels;
    description.rate_hz = {static_cast<std::int64_t>(rate_hz), 1};
  }
  std::size_t parts() const { return description.format.complex ? 2 : 1; }
  std::size_t of_a_time() const { return description.channels * description.inputs() * parts(); }
  std::size_t times() const { return values.size() / of_a_time(); }

  /// Gaussian noise of this rms, cut off at +-end.
  void fill(std::size_t times, int end, std::mt19937_64& random,
            const std::function<double(std::size_t, std::size_t)>& rms_of) {
    std::normal_distribution<double> normal;
    for (std::size_t t = 0; t < times; ++t)
      for (std::size_t c = 0; c < description.channels; ++c)
        for (std::size_t i = 0; i < description.inputs(); ++i)
          for (std::size_t p = 0; p < parts(); ++p)
            values.push_back(static_cast<int>(std::clamp(std::round(rms_of(t, i) * normal(random)),
                                                         double(-end - 1), double(end))));
  }

  core::RawBlock block(std::size_t first, std::size_t samples) const {
    core::RawBlock out;
    const auto bits = static_cast<std::size_t>(description.format.bits);
    const std::size_t sample = bits * parts(), inputs = description.inputs();
    core::RawLayout& layout = out.layout;
    layout.format = description.format;
    layout.channels = description.channels;
    layout.antennas = description.antennas;
    layout.polarisations = description.polarisations;
    layout.offset_bits = 16;
    layout.time_stride_bits = time_last ? sample : sample * inputs * description.channels;
    layout.polarisation_stride_bits = time_last ? sample * samples * description.channels : sample;
    layout.antenna_stride_bits = 2 * layout.polarisation_stride_bits;
    layout.channel_stride_bits = time_last ? sample * samples : sample * inputs;
    out.bytes.resize(2 + (sample * inputs * description.channels * samples + 7) / 8);
    std::fill(out.bytes.begin(), out.bytes.end(), std::byte{0});
    out.samples = samples;
    const int offset = description.format.encoding == core::Encoding::offset_binary
                           ? 1 << (description.format.bits - 1)
                           : 0;
    for (std::size_t t = 0; t < samples; ++t)
      for (std::size_t c = 0; c < description.channels; ++c)
        for (std::size_t i = 0; i < inputs; ++i)
          for (std::size_t p = 0; p < parts(); ++p) {
            const std::size_t at = (first + t) * of_a_time() + (c * inputs + i) * parts() + p;
            const auto code = static_cast<unsigned>(values[at] + offset);
            const std::size_t bit = layout.offset_bits + t * layout.time_stride_bits +
                                    c * layout.channel_stride_bits +
                                    i / 2 * layout.antenna_stride_bits +
                                    i % 2 * layout.polarisation_stride_bits + p * bits;
            for (std::size_t k = 0; k < bits; ++k)
              if ((code >> k & 1) != 0) out.bytes[(bit + k) / 8] |= std::byte{1} << (bit + k) % 8;
          }
    return out;
  }
};

// In blocks of `most` times at most, of random length.
LevelWatch watch_over(const NoiseOfInputs& voltages, std::uint64_t total, std::size_t most,
                      std::mt19937_64& random) {
  LevelWatch watch(voltages.description, total);
  for (std::size_t first = 0; first < voltages.times();) {
    const std::size_t some = std::min<std::size_t>(1 + random() % most, voltages.times() - first);
    watch.look(voltages.block(first, some), 0, {});
    first += some;
  }
  return watch;
}

bool same_levels(const std::vector<RecordedLevel>& a, const std::vector<RecordedLevel>& b) {
  return std::ranges::equal(a, b, [](const RecordedLevel& x, const RecordedLevel& y) {
    return x.components == y.components && x.at_ends == y.at_ends &&
           x.next_to_ends == y.next_to_ends && x.end == y.end && x.rms == y.rms &&
           x.first == y.first && x.differ == y.differ;
  });
}

bool same_steps(const std::vector<VoltageStep>& a, const std::vector<VoltageStep>& b) {
  return std::ranges::equal(a, b, [](const VoltageStep& x, const VoltageStep& y) {
    return x.sample == y.sample && x.within_samples == y.within_samples &&
           x.inputs.size() == y.inputs.size();
  });
}

/// A format, the largest value that the recorder gives, and the usual rms.
struct LevelKind {
  const char* format;
  int end;
  double rms;
};
constexpr LevelKind kLevelKinds[] = {{"ci4", 7, 2.9},  {"i4", 7, 2.9},       {"ci8", 127, 20},
                                     {"i8", 127, 30},  {"cu8", 127, 20},     {"u8", 127, 20},
                                     {"ci8", 15, 4.5}, {"ci16", 32767, 400}, {"i16", 2047, 300}};

TEST(LevelWatch, ClippedInputsOfEveryFormatAreNamedAndNoOthers) {
  auto random = tests::generator();
  for (const LevelKind& kind : kLevelKinds)
    for (const bool time_last : {false, true}) {
      const std::string what = std::string(kind.format) + " to " + std::to_string(kind.end);
      NoiseOfInputs voltages(kind.format, 1 + random() % 2, 1e6);
      voltages.time_last = time_last;
      // Input 1 is far too strong, input 2 is strong one time in 40, as under a radar's pulses.
      voltages.fill(40'000, kind.end, random, [&](std::size_t t, std::size_t input) {
        if (input == 1) return 0.8 * kind.end;
        return input == 2 && t / 100 % 40 == 7 ? 8.0 * kind.end : kind.rms;
      });
      const LevelWatch watch = watch_over(voltages, voltages.times(), 5000, random);
      const RecordedLevels levels = watch.levels();
      EXPECT_EQ(levels.part, 1) << what;
      // Of 4 bits, noise itself has as many at the ends as the pulses.
      EXPECT_EQ(levels.clipped(),
                kind.end > 7 ? (std::vector<std::size_t>{1, 2}) : std::vector<std::size_t>{1})
          << what;
      const double share = std::erfc((kind.end - 0.5) / (0.8 * kind.end * std::sqrt(2.0)));
      EXPECT_NEAR(levels.inputs[1].share(), share, 0.02) << what;
      EXPECT_EQ(levels.inputs[1].end, kind.end) << what;
      EXPECT_NEAR(levels.inputs[0].rms / kind.rms, 1, 0.05) << what;
      EXPECT_NEAR(levels.inputs[2].share(), 0.025 * 0.9, 0.006 + (kind.end < 16 ? 0.05 : 0))
          << what;
    }
}

// Every usual level, and tones of the full range, which reach the ends without being cut off.
TEST(LevelWatch, CleanNoiseAndTonesAreNotClipped) {
  auto random = tests::generator();
  for (const char* format : {"ci2", "u2", "ci4", "i8", "ci8", "cu8", "ci16", "i1"}) {
    const core::SampleFormat sample = core::parse_sample_format(format);
    const int end = (1 << (sample.bits - 1)) - 1;
    for (const double part : {0.02, 0.1, 0.2, 0.33, sample.bits > 4 ? 0.25 : 0.42}) {
      NoiseOfInputs voltages(format, 1, 1e6);
      if (sample.bits < 3) {
        for (std::size_t k = 0; k < 20'000 * voltages.of_a_time(); ++k)
          voltages.values.push_back(
              static_cast<int>(random() % (1u << sample.bits)) -
              (sample.encoding == core::Encoding::offset_binary ? 1 << (sample.bits - 1) : 0));
      } else {
        voltages.fill(20'000, end, random, [&](std::size_t, std::size_t) { return part * end; });
      }
      const RecordedLevels levels = watch_over(voltages, 0, 9000, random).levels();
      EXPECT_EQ(levels.clipped(), std::vector<std::size_t>()) << format << " " << part;
    }
    if (sample.bits < 4) continue;
    NoiseOfInputs tone(format, 1, 1e6);
    // The golden angle: no phase comes again. Others repeat after a few samples, which may all be at the ends.
    const double turn = 2.399963229728653;
    const double begin = 1e-3 * static_cast<double>(random() % 6283);
    for (std::size_t t = 0; t < 20'000; ++t)
      for (std::size_t k = 0; k < tone.of_a_time(); ++k)
        tone.values.push_back(static_cast<int>(std::lround(
            end * std::sin(begin + turn * static_cast<double>(t) + static_cast<double>(k)))));
    EXPECT_EQ(watch_over(tone, 20'000, 9000, random).levels().clipped(), std::vector<std::size_t>())
        << format;
  }
}

TEST(LevelWatch, DependsNeitherOnBlocksNorOnTheOrderOfAxes) {
  auto random = tests::generator();
  for (const char* format : {"ci8", "i16", "ci4"}) {
    NoiseOfInputs voltages(format, 1 + random() % 3, 1e6);
    voltages.fill(
        60'000, format == std::string("ci4") ? 7 : 127, random,
        [&](std::size_t t, std::size_t input) { return input == 3 && t > 30'011 ? 4.8 : 2.4; });
    // Of an unknown length, one run in 64 is looked at; of this one, all are.
    for (const std::uint64_t total : {std::uint64_t{0}, std::uint64_t{60'000}}) {
      voltages.time_last = false;
      const LevelWatch whole = watch_over(voltages, total, 200'000, random);
      for (const std::size_t most : {1ul, 50ul, 64ul, 3000ul}) {
        voltages.time_last = random() % 2 == 0;
        const LevelWatch other = watch_over(voltages, total, most, random);
        EXPECT_TRUE(same_levels(other.levels().inputs, whole.levels().inputs))
            << format << " " << most;
        EXPECT_EQ(other.levels().part, whole.levels().part);
        EXPECT_TRUE(same_steps(other.steps(), whole.steps())) << format << " " << most;
      }
      EXPECT_EQ(whole.steps().size(), total > 0 ? 1u : 0u) << format;
    }
  }
}

TEST(LevelWatch, InvalidSamplesDoNotCount) {
  auto random = tests::generator();
  NoiseOfInputs voltages("ci8", 2, 1e6);
  // An input that is at the ends where it is invalid alone, and all inputs for a while.
  const auto invalid = [](std::size_t t, std::size_t input) {
    return (input == 1 && t / 37 % 5 == 2) || (t >= 20'000 && t < 23'001);
  };
  voltages.fill(40'000, 127, random, [&](std::size_t t, std::size_t input) {
    return invalid(t, input) ? 5000.0 : 12.0;
  });
  LevelWatch watch(voltages.description, voltages.times());
  std::uint64_t lost_of_1 = 0;
  for (std::size_t first = 0; first < voltages.times(); first += 8000) {
    core::RawBlock block = voltages.block(first, 8000);
    for (std::size_t t = 0; t < 8000; ++t) {
      if (!invalid(first + t, 1)) continue;
      ++lost_of_1;
      if (invalid(first + t, 0))
        block.invalid.push_back({core::InvalidSpan::kAllInputs, t, 1});
      else
        block.invalid.push_back({1, t, 1});
    }
    watch.look(block, 0, {});
  }
  const RecordedLevels levels = watch.levels();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(levels.inputs[i].components,
              4 * (40'000 - (i == 1 ? lost_of_1 : std::uint64_t{3001})))
        << i;
    // The largest sample may be the end of a range by chance.
    EXPECT_LT(levels.inputs[i].at_ends, 16u) << i;
    EXPECT_NEAR(levels.inputs[i].rms, 12, 0.3) << i;
  }
  EXPECT_TRUE(watch.steps().empty());
}

TEST(LevelWatch, AStepIsNamedWithItsInputsTimeAndSize) {
  auto random = tests::generator();
  for (const char* format : {"ci8", "i8", "ci4", "ci16"})
    for (const double gain : {1.6, 0.6}) {
      NoiseOfInputs voltages(format, 1, 1e5);
      const bool few = format == std::string("ci4");
      const std::size_t at = 35'000 + random() % 30'000;
      voltages.fill(100'000, few ? 7 : 127, random, [&](std::size_t t, std::size_t input) {
        const double rms = few ? 1.5 : 12;
        return (input == 1 || input == 2) && t >= at ? gain * rms : rms;
      });
      const auto steps = watch_over(voltages, voltages.times(), 30'000, random).steps();
      ASSERT_EQ(steps.size(), 1u) << format << " " << gain << " at " << at;
      EXPECT_NEAR(static_cast<double>(steps[0].sample), static_cast<double>(at),
                  static_cast<double>(3 * steps[0].within_samples));
      EXPECT_LT(steps[0].within_samples, 4000u);
      EXPECT_NEAR(steps[0].time_s, static_cast<double>(at) / 1e5, 0.08);
      EXPECT_TRUE(steps[0].before.empty() && steps[0].after.empty());
      ASSERT_EQ(steps[0].inputs.size(), 2u) << format << " " << gain << " at " << at;
      for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_EQ(steps[0].inputs[k].input, k + 1);
        EXPECT_NEAR(steps[0].inputs[k].power_ratio / (gain * gain), 1, 0.2);
      }
    }
}

// A gap is where a recorder began anew; rises of all inputs that are back soon are pulses, of one input its gain's.
TEST(LevelWatch, GapsAndPulsesAreNoSteps) {
  auto random = tests::generator();
  NoiseOfInputs voltages("ci8", 1, 1e5);
  voltages.fill(120'000, 127, random,
                [&](std::size_t t, std::size_t) { return t < 60'000 ? 10.0 : 20.0; });
  LevelWatch watch(voltages.description, 120'000);
  watch.look(voltages.block(0, 60'000), 0, {});
  watch.look(voltages.block(60'000, 60'000), 1, {3, 0, 1});
  EXPECT_TRUE(watch.steps().empty());

  const auto rises = [&](std::size_t inputs) {
    NoiseOfInputs raised("ci8", 1, 1e5);
    raised.fill(120'000, 127, random, [&](std::size_t t, std::size_t input) {
      return input < inputs && t >= 50'000 && t < 80'000 ? 20.0 : 10.0;
    });
    return watch_over(raised, 120'000, 50'000, random).steps();
  };
  EXPECT_TRUE(rises(4).empty());
  EXPECT_EQ(rises(1).size(), 2u);
}

}  // namespace
}  // namespace tautline::stream

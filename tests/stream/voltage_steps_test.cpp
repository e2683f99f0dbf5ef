// Joins of voltage files: which inputs step, and how often noise seems to.
#include "tautline/stream/voltage_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>

#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

/// Consecutive DADA files of 1 MHz, [time][input].
class JoinedVoltages {
 public:
  /// A sample of normal noise of deviation 1, a component: of `time` in the whole stream.
  using Value = std::function<double(std::uint64_t time, std::size_t input, double noise)>;
  std::size_t inputs = 2;
  std::uint64_t files = 2, times = 4096;
  int bits = 8;
  bool complex = true;
  std::uint64_t gap_times = 0;  ///< before each file but the first

  std::vector<std::string> write(std::mt19937_64& random, const Value& value) {
    std::normal_distribution<double> normal;
    std::vector<std::string> names;
    const std::size_t parts = complex ? 2 : 1,
                      row_bits = inputs * parts * static_cast<std::size_t>(bits);
    for (std::uint64_t k = 0; k < files; ++k) {
      std::string text =
          "HDR_VERSION 1.0\nHDR_SIZE 4096\nUTC_START 2026-03-20-14:00:00\nPICOSECONDS 0\nFREQ "
          "100\nTSAMP 1\nNCHAN "
          "1\nNPOL 1\nORDER TFAP\n";
      const auto add = [&text](const std::string& key, auto number) {
        text += key + " " + std::to_string(number) + "\n";
      };
      add("OBS_OFFSET", k * (times + gap_times) * row_bits / 8);
      add("BW", complex ? 1.0 : 0.5);
      add("NBIT", bits);
      add("NDIM", parts);
      add("NANT", inputs);
      text.resize(4096, '\0');
      std::string bytes(times * row_bits / 8, '\0');
      std::size_t bit = 0;
      for (std::uint64_t t = 0; t < times; ++t)
        for (std::size_t i = 0; i < inputs; ++i)
          for (std::size_t part = 0; part < parts; ++part, bit += static_cast<std::size_t>(bits))
            put(bytes, bit, value(k * times + t, i, normal(random)));
      names.push_back(scratch_ / (std::to_string(k) + ".dada"));
      std::ofstream(names.back(), std::ios::binary) << text << bytes;
    }
    return names;
  }

 private:
  void put(std::string& bytes, std::size_t bit, double x) const {
    if (bits == 32) {
      const auto value = static_cast<float>(x);
      std::memcpy(&bytes[bit / 8], &value, sizeof value);
      return;
    }
    const int most = (1 << (bits - 1)) - 1;
    const double step = bits == 2 ? 1 : most / 5.0;
    const auto code = static_cast<unsigned>(
        static_cast<int>(std::clamp(std::floor(x * step + 0.5), -most - 1.0, double(most))));
    for (int k = 0; k < bits; ++k) {
      const std::size_t at = bit + static_cast<std::size_t>(k);
      bytes[at / 8] =
          static_cast<char>(bytes[at / 8] | static_cast<char>((code >> k & 1u) << at % 8));
    }
  }
  tests::ScratchFolder scratch_;
};

std::vector<std::size_t> inputs_of(const VoltageStep& step) {
  std::vector<std::size_t> inputs;
  for (const InputStep& one : step.inputs) inputs.push_back(one.input);
  return inputs;
}

const auto kNoise = [](std::uint64_t, std::size_t, double noise) { return noise; };

}  // namespace

// As often as Student's t with 29 degrees of freedom says at a low threshold: 1.83 % exceed 2.5. Never at the default.
TEST(VoltageSteps, NoiseSeemsToStepAsOftenAsIsStated) {
  auto random = tests::generator();
  struct Kind {
    int bits;
    bool complex;
  };
  for (const Kind kind : {Kind{8, true}, Kind{2, true}, Kind{32, true}, Kind{16, false}}) {
    if (std::getenv("TAUTLINE_SMALL") != nullptr && kind.bits > 2 && kind.bits < 32) continue;
    JoinedVoltages voltages;
    voltages.inputs = 32;
    voltages.files = 60;
    voltages.times = 1024 + random() % 600;
    voltages.times -= voltages.times % 8;
    voltages.bits = kind.bits;
    voltages.complex = kind.complex;
    const auto files = voltages.write(random, kNoise);
    std::size_t seeming = 0;
    for (const VoltageStep& step : find_voltage_steps(files, {}, {}, 2.5))
      seeming += step.inputs.size();
    // 34.6 of 1,888, within six standard deviations.
    EXPECT_GT(seeming, 4u) << kind.bits << " bits";
    EXPECT_LT(seeming, 71u) << kind.bits << " bits";
    EXPECT_TRUE(find_voltage_steps(files, {}).empty()) << kind.bits << " bits";
  }
}

TEST(VoltageSteps, DriftsBurstsAndTonesAreNone) {
  auto random = tests::generator();
  JoinedVoltages voltages;
  voltages.inputs = 4;
  voltages.files = 4;
  voltages.times = 40'000;
  const std::uint64_t burst = 2 * voltages.times - random() % 3000;
  const auto files = voltages.write(random, [&](std::uint64_t t, std::size_t input, double noise) {
    const auto time = static_cast<double>(t);
    if (input == 0) return noise * (1 + 2e-6 * time);  // a third more power in 80 ms
    if (input == 1) return noise * (t >= burst && t < burst + 5000 ? 3 : 1);
    if (input == 2) return 0.7 * noise + 0.7 * std::sin(time / 7);
    return noise;
  });
  EXPECT_TRUE(find_voltage_steps(files, {}).empty());
}

TEST(VoltageSteps, GainsThatChangeAtAJoinAreFound) {
  auto random = tests::generator();
  for (const int bits : {8, 32}) {
    JoinedVoltages voltages;
    voltages.inputs = 5;
    voltages.files = 4;
    voltages.times = 100'000 + 8 * (random() % 1000);
    voltages.bits = bits;
    const double up = std::pow(10, 1.5 / 20), down = std::pow(10, -1.0 / 20);  // 1.5 dB, -1 dB
    const auto files =
        voltages.write(random, [&](std::uint64_t t, std::size_t input, double noise) {
          if (input == 3 && t >= 2 * voltages.times) return up * noise;
          if (input == 1 && t >= 2 * voltages.times) return down * noise;
          return noise;
        });
    const auto steps = find_voltage_steps(files, {});
    ASSERT_EQ(steps.size(), 1u) << bits;
    EXPECT_EQ(steps[0].sample, 2 * voltages.times);
    EXPECT_EQ(steps[0].before, files[1]);
    EXPECT_EQ(steps[0].after, files[2]);
    ASSERT_EQ(inputs_of(steps[0]), (std::vector<std::size_t>{1, 3}));
    // A block has 6,250 samples or more: 0.9 % of the power, and more than six times that.
    EXPECT_NEAR(steps[0].inputs[0].power_ratio, down * down, 0.06);
    EXPECT_NEAR(steps[0].inputs[1].power_ratio, up * up, 0.1);
    // Samples are counted from where the run begins; joins outside of it are not looked at.
    const double second = static_cast<double>(voltages.times) / 1e6;
    SequenceOptions part;
    part.start_s = 0.9 * second;
    const auto later = find_voltage_steps(files, part);
    ASSERT_EQ(later.size(), 1u);
    EXPECT_NEAR(static_cast<double>(later[0].sample), 1.1 * static_cast<double>(voltages.times), 1);
    part.duration_s = second;
    EXPECT_TRUE(find_voltage_steps(files, part).empty());
  }
}

// Padding of both inputs, of one alone, and with the join inside; the step is where data go on behind the last kind.
TEST(VoltageSteps, StepsBesidePaddingAreFound) {
  auto random = tests::generator();
  JoinedVoltages voltages;
  voltages.inputs = 3;
  voltages.times = 60'000;
  const std::uint64_t join = voltages.times;
  struct Padding {
    std::uint64_t before, after;  // times between the join and the padding's ends
    bool of_one;
  };
  for (const Padding padding :
       {Padding{30'000, 0, false}, Padding{0, 30'000, false}, Padding{20'000, 15'000, false},
        Padding{25'000, 20'000, true}, Padding{1'000, 0, true}})
    for (const bool steps : {true, false}) {
      const std::uint64_t jitter = padding.before > 0 && padding.after > 0 ? random() % 100 : 0;
      const auto files =
          voltages.write(random, [&](std::uint64_t t, std::size_t input, double noise) {
            const bool padded = t + padding.before >= join && t < join + padding.after + jitter;
            if (padded && (input == 1 || !padding.of_one)) return 0.0;
            return noise * (steps && input == 1 && t >= join ? 1.4 : 1);
          });
      const auto found = find_voltage_steps(files, {});
      ASSERT_EQ(found.size(), steps ? 1u : 0u) << padding.before << " " << padding.after;
      if (!steps) continue;
      EXPECT_EQ(inputs_of(found[0]), (std::vector<std::size_t>{1}));
      EXPECT_NEAR(found[0].inputs[0].power_ratio, 1.96, 0.5);  // seven standard deviations or more
      // A sample of noise beside the padding may be zero, too.
      const std::uint64_t expected =
          join + (padding.before > 0 && padding.after > 0 ? padding.after + jitter : 0);
      EXPECT_GE(found[0].sample, expected);
      EXPECT_LE(found[0].sample, expected + 2);
    }
}

// As often as without padding.
TEST(VoltageSteps, NoiseBesidePaddingSeemsToStepAsOften) {
  auto random = tests::generator();
  JoinedVoltages voltages;
  voltages.inputs = 32;
  voltages.files = 40;
  voltages.times = 4096;
  const auto files = voltages.write(random, [&](std::uint64_t t, std::size_t, double noise) {
    const std::uint64_t in_file = t % voltages.times;
    return in_file >= 300 && in_file < 1400 ? 0 : noise;
  });
  std::size_t seeming = 0;
  for (const VoltageStep& step : find_voltage_steps(files, {}, {}, 2.5))
    seeming += step.inputs.size();
  // 1.83 % of 1,248, 22.8: one run in 10^7 is outside.
  EXPECT_GT(seeming, 2u);
  EXPECT_LT(seeming, 55u);
  EXPECT_TRUE(find_voltage_steps(files, {}).empty());
}

TEST(VoltageSteps, GapsShortFilesAndInputsThatStopHaveNone) {
  auto random = tests::generator();
  JoinedVoltages voltages;
  voltages.times = 1024;
  const auto step = [&](std::uint64_t t, std::size_t, double noise) {
    return noise * (t >= voltages.times ? 3 : 1);
  };
  EXPECT_EQ(find_voltage_steps(voltages.write(random, step), {}).size(), 1u);
  voltages.gap_times = 8;
  EXPECT_TRUE(find_voltage_steps(voltages.write(random, step), {}).empty());
  voltages.gap_times = 0;
  voltages.times = 1016;
  EXPECT_TRUE(find_voltage_steps(voltages.write(random, step), {}).empty());
  voltages.times = 4096;
  EXPECT_TRUE(find_voltage_steps(voltages.write(random,
                                                [&](std::uint64_t t, std::size_t, double noise) {
                                                  return t >= voltages.times ? 0 : noise;
                                                }),
                                 {})
                  .empty());
}

}  // namespace tautline::stream

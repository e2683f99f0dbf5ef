// Detected power and gains of spectra [input][spectrum][channel], against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/device/device.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/voltages/gains.h"
#include "tautline/pipeline/voltages/power_sink.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kAntennas = 3, kPolarisations = 2, kInputs = 6, kChannels = 5;
constexpr std::size_t kSpectra = 203;

// Every seventh spectrum or so of an input is invalid; all inputs' from 60 to 79.
class Power : public ::testing::Test {
 protected:
  Power() : samples(kInputs * kSpectra * kChannels), mask(kInputs, kSpectra) {
    auto random = tests::generator();
    std::normal_distribution<float> normal(0, 100);
    for (auto& x : samples) x = {normal(random), normal(random)};
    for (std::size_t i = 0; i < kInputs; ++i) {
      for (std::size_t s = 0; s < kSpectra; ++s)
        if (random() % 7 == 0) mask.set(i, s, 1, false);
      mask.set(i, 60, 20, false);
    }
  }

  std::complex<double> at(std::size_t input, std::size_t spectrum, std::size_t channel) const {
    return samples[(input * kSpectra + spectrum) * kChannels + channel];
  }
  core::View<const std::complex<float>, 3> view(std::size_t first, std::size_t count) const {
    return {samples.data() + first * kChannels,
            {kInputs, count, kChannels},
            {static_cast<std::ptrdiff_t>(kSpectra * kChannels), kChannels, 1}};
  }
  core::ValidityMask part_of_mask(std::size_t first, std::size_t count) const {
    core::ValidityMask part(kInputs, count);
    for (std::size_t i = 0; i < kInputs; ++i)
      core::copy_bits(mask.row(i), first, count, part.row(i), 0);
    return part;
  }

  std::vector<std::complex<float>> samples;
  core::ValidityMask mask;
};

class PowerFiles : public Power {
 protected:
  ChannelizeConfig config(Stokes stokes, std::uint64_t integrate) const {
    ChannelizeConfig config;
    config.inputs = {"in.dada"};
    config.output = folder / "out.fil";
    config.overwrite = true;
    config.stokes = stokes;
    config.integrate = integrate;
    return config;
  }
  static SinkDescription description() {
    SinkDescription description;
    description.input.antennas = kAntennas;
    description.input.polarisations = kPolarisations;
    description.input.rate_hz = {1'000'000, 1};
    description.input.start = core::parse_utc("2026-03-01-00:00:00");
    description.input.centre_hz = 1.4e9;
    description.input.bandwidth_hz = 1e6;
    description.channels = kChannels;
    description.hop_samples = kChannels;
    description.span_samples = 8 * kChannels;
    return description;
  }
  // One product of an output sample: the mean over what is valid, as the header file says.
  double expected(std::size_t product, std::size_t first, std::size_t integrate,
                  std::size_t channel) const {
    double sum = 0, count = 0;
    for (std::size_t s = first; s < first + integrate; ++s)
      for (std::size_t antenna = 0; antenna < kAntennas; ++antenna) {
        if (!mask.valid(2 * antenna, s) || !mask.valid(2 * antenna + 1, s)) continue;
        const auto x = at(2 * antenna, s, channel), y = at(2 * antenna + 1, s, channel);
        const double products[] = {std::norm(x) + std::norm(y), std::norm(x) - std::norm(y),
                                   2 * (x * std::conj(y)).real(), -2 * (x * std::conj(y)).imag()};
        sum += products[product];
        count += 1;
      }
    return count > 0 ? sum / count : 0;
  }
  void write(PowerSink& sink) const {
    auto random = tests::generator();
    for (std::size_t first = 0; first < kSpectra;) {
      const std::size_t count = std::min<std::size_t>(1 + random() % 50, kSpectra - first);
      const core::ValidityMask part = part_of_mask(first, count);
      SpectraChunk chunk;
      chunk.spectra = count;
      chunk.first_spectrum = first;
      chunk.samples = view(first, count);
      chunk.valid = part.view();
      sink.write(chunk);
      first += count;
    }
    sink.finish();
  }
  tests::ScratchFolder folder;
};

TEST_F(PowerFiles, HoldTheMeansOfEveryProductFromTheHighestFrequencyDown) {
  for (const Stokes stokes : {Stokes::i, Stokes::iquv})
    for (const std::size_t integrate : {1, 7, 20, 203}) {
      PowerSink sink(config(stokes, integrate), description());
      write(sink);
      const std::size_t products = stokes == Stokes::iquv ? 4 : 1, times = kSpectra / integrate;
      EXPECT_EQ(sink.written(), times);
      for (std::size_t product = 0; product < products; ++product) {
        formats::FilterbankOptions options;
        options.ifs = {product};
        const auto reader = formats::open_filterbank({folder / "out.fil"}, options);
        const auto& d = reader->description();
        ASSERT_EQ(d.samples, times);
        EXPECT_EQ(d.ifs, products);
        EXPECT_NEAR(d.fch1_mhz, 1400.4, 1e-9);
        EXPECT_NEAR(d.foff_mhz, -0.2, 1e-9);
        EXPECT_DOUBLE_EQ(d.tsamp_s, static_cast<double>(integrate * kChannels) * 1e-6);
        // The middle of the first spectrum's span, less half a hop.
        EXPECT_NEAR(core::seconds_between(description().input.start, d.start), 17.5e-6, 2e-6);
        std::vector<float> values(times * kChannels);
        reader->read(0, times, std::as_writable_bytes(std::span(values)));
        for (std::size_t t = 0; t < times; ++t)
          for (std::size_t c = 0; c < kChannels; ++c) {
            const double wanted = expected(product, t * integrate, integrate, kChannels - 1 - c);
            ASSERT_NEAR(values[t * kChannels + c], wanted, 1e-6 * std::fabs(wanted) + 1e-3)
                << "product " << product << ", time " << t << ", channel " << c;
          }
      }
    }
}

TEST_F(PowerFiles, WhatCannotBeIsRefused) {
  EXPECT_THROW(PowerSink(config(Stokes::i, 0), description()), core::Error);
  SinkDescription one = description();
  one.input.polarisations = 1;
  EXPECT_THROW(PowerSink(config(Stokes::iquv, 1), one), core::Error);
  EXPECT_NO_THROW(PowerSink(config(Stokes::i, 1), one));
}

// Spectra [channel][input][time] with a mask for each channel, or one for all; a channel that has nothing valid has its
// mean so far.
template <class Sample>
class PowerByChannel : public ::testing::Test {};
using SampleTypes = ::testing::Types<std::complex<float>, core::ci8, core::ci16, core::cf16>;
TYPED_TEST_SUITE(PowerByChannel, SampleTypes);

template <class Sample>
Sample sample_of(int re, int im) {
  if constexpr (std::is_same_v<Sample, core::cf16>)
    return {core::to_half(static_cast<float>(re)), core::to_half(static_cast<float>(im))};
  else if constexpr (std::is_same_v<Sample, std::complex<float>>)
    return {static_cast<float>(re), static_cast<float>(im)};
  else
    return {static_cast<decltype(Sample::re)>(re), static_cast<decltype(Sample::im)>(im)};
}

TYPED_TEST(PowerByChannel, IsThatOfAPlainLoop) {
  constexpr std::size_t kManyChannels = 259;  // of several threads
  const auto queue = device::open({})->make_queue();
  auto random = tests::generator();
  std::vector<std::complex<double>> values(kManyChannels * kInputs * kSpectra);
  std::vector<TypeParam> samples(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    const int re = static_cast<int>(random() % 256) - 128,
              im = static_cast<int>(random() % 256) - 128;
    values[k] = {static_cast<double>(re), static_cast<double>(im)};
    samples[k] = sample_of<TypeParam>(re, im);
  }
  for (const bool by_channel : {true, false})
    for (const std::size_t integrate : {1, 3, 20}) {
      core::ValidityMask mask((by_channel ? kManyChannels : 1) * kInputs, kSpectra);
      for (std::size_t row = 0; row < mask.rows(); ++row) {
        for (std::size_t s = 0; s < kSpectra; ++s)
          if (random() % 3 == 0) mask.set(row, s, 1, false);
        // Channel 2, or all, has nothing from 60 on.
        if (!by_channel || row / kInputs == 2) mask.set(row, 60, 80, false);
      }
      PowerSums sums(kAntennas, kPolarisations, kManyChannels, 1, integrate);
      std::vector<float> given;
      std::vector<double> mean(kManyChannels, 0), taken(kManyChannels, 0);
      std::size_t sample = 0, empty_samples = 0;
      for (std::size_t first = 0; first < kSpectra;) {
        const std::size_t count = std::min<std::size_t>(1 + random() % 50, kSpectra - first);
        core::ValidityMask part(mask.rows(), count);
        for (std::size_t row = 0; row < mask.rows(); ++row)
          core::copy_bits(mask.row(row), first, count, part.row(row), 0);
        SpectraChunk chunk;
        chunk.spectra = count;
        // As PowerNode turns it: [input][time][channel].
        chunk.samples =
            core::View<const TypeParam, 3>(samples.data() + first, {kInputs, count, kManyChannels},
                                           {static_cast<std::ptrdiff_t>(kSpectra), 1,
                                            static_cast<std::ptrdiff_t>(kInputs * kSpectra)});
        chunk.valid = part.view();
        const std::size_t complete = sums.samples_of(count);
        given.resize(complete * kManyChannels);
        std::vector<std::pair<std::size_t, std::size_t>> empty, expected_empty;  // sample, channel
        for (const auto& value :
             sums.add(chunk, given, WithoutData::mean, random() % 2 == 0 ? queue.get() : nullptr))
          empty.emplace_back(value.sample, value.channel);
        for (std::size_t k = 0; k < complete; ++k, ++sample) {
          const std::size_t before = expected_empty.size();
          for (std::size_t c = 0; c < kManyChannels; ++c) {
            double sum = 0, valid = 0;
            for (std::size_t t = sample * integrate; t < (sample + 1) * integrate; ++t)
              for (std::size_t i = 0; i < kInputs; i += 2) {
                const std::size_t row = by_channel ? c * kInputs + i : i;
                if (!mask.valid(row, t) || !mask.valid(row + 1, t)) continue;
                sum += std::norm(values[(c * kInputs + i) * kSpectra + t]) +
                       std::norm(values[(c * kInputs + i + 1) * kSpectra + t]);
                ++valid;
              }
            if (valid == 0) expected_empty.emplace_back(k, kManyChannels - 1 - c);
            const double expected =
                valid == 0 ? (taken[c] > 0 ? mean[c] / taken[c] : 0) : sum / valid;
            if (valid > 0) mean[c] += expected, ++taken[c];
            ASSERT_NEAR(given[(k + 1) * kManyChannels - 1 - c], expected, 1e-5 * expected)
                << "sample " << sample << ", channel " << c << ", integrate " << integrate;
          }
          empty_samples += expected_empty.size() > before ? 1 : 0;
        }
        std::sort(expected_empty.begin(), expected_empty.end());
        ASSERT_EQ(empty, expected_empty);
        first += count;
      }
      EXPECT_EQ(sample, kSpectra / integrate);
      EXPECT_GE(empty_samples, 3u);
    }
}

TEST_F(Power, GainsBringTheRmsToTheTargetHoweverSpectraAreCut) {
  const auto device = device::open({});
  const auto queue = device->make_queue();
  auto random = tests::generator();
  // Channel 2 of input 1 is silent.
  for (std::size_t s = 0; s < kSpectra; ++s) samples[(kSpectra + s) * kChannels + 2] = 0;
  std::vector<float> first_gains;
  for (int split = 0; split < 5; ++split) {
    PowerMeter meter(kInputs, kChannels);
    EXPECT_FALSE(meter.every_input());
    for (std::size_t first = 0; first < kSpectra;) {
      const std::size_t most = split == 0 ? kSpectra : 1 + random() % 90;
      const std::size_t count = std::min(most, kSpectra - first);
      const core::ValidityMask part = part_of_mask(first, count);
      meter.add(*queue, view(first, count), part.view(), count);
      first += count;
    }
    EXPECT_TRUE(meter.every_input());
    const std::vector<float> gains = meter.gains(20);
    if (split == 0) first_gains = gains;
    EXPECT_EQ(gains, first_gains);
  }
  for (std::size_t i = 0; i < kInputs; ++i)
    for (std::size_t c = 0; c < kChannels; ++c) {
      double power = 0, count = 0;
      for (std::size_t s = 0; s < kSpectra; ++s)
        if (mask.valid(i, s)) power += std::norm(at(i, s, c)), count += 1;
      const double wanted = i == 1 && c == 2 ? 1 : 20 / std::sqrt(power / count / 2);
      EXPECT_NEAR(first_gains[c * kInputs + i], wanted, 1e-6 * wanted);
    }
}

// As an enormous sample is in the spectra of a filter's taps, on both sides of the edge of two runs of 16.
TEST(PowerMeter, AFewEnormousSpectraDoNotSetAGain) {
  constexpr std::size_t kTimes = 1024, kOne = 64;
  const auto device = device::open({});
  const auto queue = device->make_queue();
  auto random = tests::generator();
  std::normal_distribution<float> normal;
  std::vector<std::complex<float>> noise(kTimes);
  // None so small that a thousand times as much is not enormous.
  for (auto& value : noise) {
    do {
      value = {normal(random), normal(random)};
    } while (std::norm(value) < 0.5F);
  }
  const auto gain = [&](std::size_t first, std::size_t count, float times) {
    std::vector<std::complex<float>> values = noise;
    for (std::size_t s = first; s < first + count; ++s) values[s] *= times;
    PowerMeter meter(1, 1);
    for (std::size_t s = 0; s < kTimes; s += kOne)
      meter.add(*queue, {values.data() + s, {1, kOne, 1}}, {}, kOne);
    return meter.gains(20).front();
  };
  const float usual = gain(0, 0, 1);
  const std::size_t edge = 16 * (1 + random() % 62), first = edge - 1 - random() % 7;
  for (const float times : {1e3F, 1e9F, 1e18F})
    EXPECT_NEAR(gain(first, 8, times) / usual, 1, 0.1) << first << " x " << times;
  EXPECT_NEAR(gain(kTimes - 8, 8, 1e9F) / usual, 1, 0.1);  // in the last run
  // A signal that comes and goes, or is there for longer, counts.
  const auto of_all = [&](std::size_t from, std::size_t count, double times) {
    double before = 0, after = 0;
    for (std::size_t s = 0; s < kTimes; ++s) {
      const double power = std::norm(std::complex<double>(noise[s]));
      before += power;
      after += s >= from && s < from + count ? power * times * times : power;
    }
    return std::sqrt(before / after);
  };
  EXPECT_NEAR(gain(first, 8, 5) / usual, of_all(first, 8, 5), 1e-4);
  EXPECT_NEAR(gain(512, 512, 1e3F) / usual, of_all(512, 512, 1e3), 1e-6);
  // Without anything else, pulses are all there is.
  std::fill(noise.begin(), noise.end(), 0);
  noise[first] = 1e3F;
  EXPECT_NEAR(gain(0, 0, 1), 20 / std::sqrt(1e6 / kTimes / 2), 1e-3);
}

// An input whose first spectra are invalid is waited for, with the median gain of the others, while theirs stand.
TEST_F(Power, InputsThatHaveBeenHeardAreHeld) {
  const auto device = device::open({});
  const auto queue = device->make_queue();
  core::ValidityMask none(kInputs, 50), all(kInputs, 50);
  none.set(4, 0, 50, false);
  PowerMeter meter(kInputs, kChannels);
  meter.add(*queue, view(0, 50), none.view(), 50);
  EXPECT_FALSE(meter.every_input());
  const auto before = meter.gains(20);
  meter.hold();
  meter.add(*queue, view(50, 50), all.view(), 50);
  EXPECT_TRUE(meter.every_input());
  const auto after = meter.gains(20);
  std::size_t changed = 0;
  for (std::size_t c = 0; c < kChannels; ++c) {
    std::vector<float> others;
    for (std::size_t i = 0; i < kInputs; ++i) {
      if (i == 4) continue;
      others.push_back(before[c * kInputs + i]);
      EXPECT_EQ(after[c * kInputs + i], others.back());
    }
    std::sort(others.begin(), others.end());
    EXPECT_EQ(before[c * kInputs + 4], others[(others.size() - 1) / 2]);
    changed += after[c * kInputs + 4] != before[c * kInputs + 4] ? 1 : 0;
  }
  EXPECT_GE(changed, kChannels - 1);  // one may be the same by chance
}

}  // namespace
}  // namespace tautline::pipeline

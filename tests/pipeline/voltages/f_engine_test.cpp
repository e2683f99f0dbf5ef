// The F-engine against a plain double loop: delays whose whole samples change between runs of
// spectra, and streams cut into blocks in any way.
#include "tautline/pipeline/voltages/f_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using Complex = std::complex<double>;

constexpr std::size_t kBankInputs = 2, kBankChannels = 16, kTaps = 4, kSpan = kBankChannels * kTaps;
constexpr std::size_t kRun = 1024;  // spectra that share one straight line of delay
constexpr double kRate_hz = 1e6, kCentre_hz = 100e6;
constexpr double kTurn = 2 * std::numbers::pi;

// Input 1's delay grows by 1.6 samples from one run to the next.
constexpr double kDelay_s[kBankInputs] = {-0.2e-6, 3.3e-6};
constexpr double kDelayRate[kBankInputs] = {0, 1e-4};

double delay_at(std::size_t input, double since_start_s) {
  return kDelay_s[input] + kDelayRate[input] * since_start_s;
}

// In the middle of the run that a spectrum belongs to.
std::int64_t whole_delay(std::size_t input, std::size_t spectrum) {
  const auto run = static_cast<double>(spectrum / kRun);
  const double middle = (run * kRun + (kRun - 1) / 2.0) * kBankChannels + kSpan / 2.0;
  return std::llround(delay_at(input, middle / kRate_hz) * kRate_hz);
}

/// A stream of random samples, [time][input], and the prototype's coefficients.
struct Stream {
  Stream() {
    auto random = tests::generator();
    samples.resize(2 * kBankInputs * times);
    for (std::byte& b : samples) b = static_cast<std::byte>(random());
    std::normal_distribution<float> normal;
    coefficients.resize(kSpan);
    for (float& h : coefficients) h = normal(random);
  }

  Complex at(std::size_t input, std::int64_t t) const {
    const auto* pair = reinterpret_cast<const std::int8_t*>(samples.data()) +
                       2 * (static_cast<std::size_t>(t) * kBankInputs + input);
    return {static_cast<double>(pair[0]), static_cast<double>(pair[1])};
  }

  /// y[s][k] of docs/maths/channelize.md of the shifted samples, times the rest of the delay.
  Complex expected(std::size_t channel, std::size_t input, std::size_t s) const {
    const std::int64_t whole = whole_delay(input, s);
    const double offset = (static_cast<double>(channel) - kBankChannels / 2) / kBankChannels;
    Complex sum = 0;
    for (std::size_t p = 0; p < kBankChannels; ++p)
      for (std::size_t t = 0; t < kTaps; ++t)
        sum += static_cast<double>(coefficients[(kTaps - t) * kBankChannels - 1 - p]) *
               at(input, static_cast<std::int64_t>((s + t) * kBankChannels + p) - whole) *
               std::polar(1.0, -kTurn * offset * static_cast<double>(p));
    const double delay =
        delay_at(input, (static_cast<double>(s * kBankChannels) + kSpan / 2.0) / kRate_hz);
    const double rest = delay * kRate_hz - static_cast<double>(whole);
    return sum * std::polar(1.0, -kTurn * std::remainder(offset * rest + kCentre_hz * delay, 1.0));
  }

  bool valid(std::size_t input, std::size_t s) const {
    return static_cast<std::int64_t>(s * kBankChannels) >= whole_delay(input, s);
  }

  static constexpr std::size_t times = (2 * kRun + 300) * kBankChannels;
  std::vector<std::byte> samples;
  std::vector<float> coefficients;
};

/// The spectra [spectrum][channel][input] of a stream cut into blocks of these sizes, in turn.
std::vector<std::complex<float>> engine_spectra(const Stream& stream,
                                                const std::vector<std::size_t>& block_sizes,
                                                std::vector<char>& valid) {
  core::VoltageDescription description;
  description.format = core::kCi8;
  description.antennas = kBankInputs;
  description.rate_hz = {1'000'000, 1};
  description.centre_hz = kCentre_hz;
  description.bandwidth_hz = kRate_hz;
  description.start = core::parse_utc("2026-03-20T14:00:00");
  core::RawLayout layout;
  layout.format = core::kCi8;
  layout.antennas = kBankInputs;
  layout.time_stride_bits = 16 * kBankInputs;
  layout.antenna_stride_bits = 16;
  FilterConfig filter;
  filter.channels = kBankChannels;
  filter.taps = kTaps;
  filter.coefficients = stream.coefficients;
  filter.output = stages::channelize::Output::corner_turned_float;
  const auto device = device::open({}, {.threads = 2});
  const auto queue = device->make_queue();
  FEngine engine(device, description, layout, filter,
                 *std::max_element(block_sizes.begin(), block_sizes.end()));
  auto table = std::make_shared<formats::delays::Table>();
  table->phase_centre = "test";
  for (std::size_t i = 0; i < kBankInputs; ++i)
    table->inputs.push_back({{description.start, kDelay_s[i], kDelayRate[i]}});
  engine.set_delays(table, core::advance(description.start, Stream::times, description.rate_hz));
  engine.begin_segment(description.start);

  std::vector<std::complex<float>> spectra;
  std::size_t next = 0;
  for (std::size_t k = 0; next < Stream::times; ++k) {
    core::RawBlock block;
    block.layout = layout;
    block.first_sample = next;
    block.samples = std::min(block_sizes[k % block_sizes.size()], Stream::times - next);
    const auto first = stream.samples.begin() + static_cast<std::ptrdiff_t>(2 * kBankInputs * next);
    block.bytes.assign(first, first + static_cast<std::ptrdiff_t>(2 * kBankInputs * block.samples));
    next += block.samples;
    engine.push(*queue, block);
    for (;;) {
      const SpectraChunk chunk = engine.take(*queue, engine.max_spectra());
      if (chunk.spectra == 0) break;
      EXPECT_EQ(chunk.first_spectrum * kBankChannels * kBankInputs, spectra.size());
      const auto values = chunk.samples.as<const std::complex<float>>();
      for (std::size_t s = 0; s < chunk.spectra; ++s)
        for (std::size_t c = 0; c < kBankChannels; ++c)
          for (std::size_t i = 0; i < kBankInputs; ++i) {
            spectra.push_back(values(c, i, s));
            if (c == 0)
              valid.push_back(chunk.valid.empty() ||
                              (chunk.valid.row(i)[s / 64] >> (s % 64) & 1) != 0);
          }
    }
  }
  return spectra;
}

TEST(FEngine, EqualsThePlainLoopWhereAWholeSampleDelayChanges) {
  ASSERT_NE(whole_delay(1, 0), whole_delay(1, kRun));
  ASSERT_NE(whole_delay(1, kRun), whole_delay(1, 2 * kRun));
  const Stream stream;
  std::vector<char> valid;
  const auto found = engine_spectra(stream, {4096}, valid);
  const std::size_t spectra = found.size() / (kBankChannels * kBankInputs);
  // All that the samples complete; the longest delay only asks for older ones.
  ASSERT_GE(spectra, 2 * kRun + 300 - kTaps);
  const double scale = 74 * std::sqrt(2.0 * kSpan);  // rms of uniform bytes through normal taps
  for (std::size_t s = 0; s < spectra; ++s)
    for (std::size_t i = 0; i < kBankInputs; ++i) {
      ASSERT_EQ(valid[s * kBankInputs + i] != 0, stream.valid(i, s)) << s << " " << i;
      // Every spectrum around the changes, and some of the others.
      if (!stream.valid(i, s) || ((s + 8) % kRun > 16 && s % 37 != 0)) continue;
      for (std::size_t c = 0; c < kBankChannels; ++c) {
        const Complex got(found[(s * kBankChannels + c) * kBankInputs + i]);
        ASSERT_LT(std::abs(got - stream.expected(c, i, s)), 1e-5 * scale)
            << "spectrum " << s << " channel " << c << " input " << i;
      }
    }
}

TEST(FEngine, BlocksOfAnySizeGiveTheSameBits) {
  const Stream stream;
  std::vector<char> valid, valid_cut;
  const auto whole = engine_spectra(stream, {Stream::times}, valid);
  const auto cut = engine_spectra(stream, {1000, 17, 4096, 333}, valid_cut);
  ASSERT_EQ(whole.size(), cut.size());
  EXPECT_EQ(valid, valid_cut);
  for (std::size_t k = 0; k < whole.size(); ++k) ASSERT_EQ(whole[k], cut[k]) << k;
}

}  // namespace
}  // namespace tautline::pipeline

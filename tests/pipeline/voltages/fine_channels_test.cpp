// A filter bank inside each coarse channel of a stream that is channelized already, against a plain double loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "tautline/core/error.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/frequencies.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using Sample = std::complex<double>;

constexpr std::size_t kCoarse = 5, kRows = 3, kFineTaps = 3;
constexpr double kWidth_hz = 1.28e6;

/// Random ci8 samples, [time][coarse channel][input].
struct CoarseStream {
  CoarseStream(std::size_t fine, std::size_t length, double sign)
      : fine(fine), times(length), samples(2 * kCoarse * kRows * length) {
    description.format = core::kCi8;
    description.antennas = kRows;
    description.channels = kCoarse;
    description.rate_hz = {static_cast<std::int64_t>(kWidth_hz), 1};
    description.centre_hz = 180e6;
    description.bandwidth_hz = sign * kWidth_hz * kCoarse;
    description.start = core::parse_utc("2026-03-20T14:00:00");
    layout.format = core::kCi8;
    layout.channels = kCoarse;
    layout.antennas = kRows;
    layout.antenna_stride_bits = 16;
    layout.channel_stride_bits = 16 * kRows;
    layout.time_stride_bits = 16 * kRows * kCoarse;
    auto random = tests::generator();
    for (std::byte& b : samples) b = static_cast<std::byte>(random());
    std::normal_distribution<float> normal;
    coefficients.resize(fine * kFineTaps);
    for (float& h : coefficients) h = normal(random);
  }

  std::int8_t* at(std::size_t t, std::size_t coarse, std::size_t input) {
    return reinterpret_cast<std::int8_t*>(samples.data()) +
           2 * ((t * kCoarse + coarse) * kRows + input);
  }

  /// Spectrum `s` of coarse channel `coarse`, as it comes in the stream, at `offset` cycles a sample.
  Sample expected(std::size_t coarse, double offset, std::size_t input, std::size_t s) {
    Sample sum = 0;
    for (std::size_t p = 0; p < fine; ++p)
      for (std::size_t t = 0; t < kFineTaps; ++t) {
        const std::int8_t* x = at((s + t) * fine + p, coarse, input);
        sum += static_cast<double>(coefficients[(kFineTaps - t) * fine - 1 - p]) *
               Sample(x[0], x[1]) *
               std::polar(1.0, -2 * std::numbers::pi * offset * static_cast<double>(p));
      }
    return sum;
  }

  FilterConfig filter(stages::channelize::Output output) const {
    FilterConfig config;
    config.fine = fine;
    config.taps = kFineTaps;
    config.coefficients = coefficients;
    config.output = output;
    return config;
  }

  std::size_t fine, times;
  core::VoltageDescription description;
  core::RawLayout layout;
  std::vector<std::byte> samples;
  std::vector<float> coefficients;
};

/// [spectrum][channel][input], of a stream cut into blocks of these sizes, in turn.
std::vector<std::complex<float>> spectra_of(const std::shared_ptr<const device::Device>& device,
                                            const CoarseStream& stream, const FilterConfig& filter,
                                            const std::vector<std::size_t>& block_sizes,
                                            const ChannelRange& share = {}) {
  const auto queue = device->make_queue();
  FEngine engine(device, stream.description, stream.layout, filter,
                 *std::max_element(block_sizes.begin(), block_sizes.end()), share);
  engine.begin_segment(stream.description.start);
  const std::size_t time_bytes = stream.layout.time_stride_bits / 8;
  const bool channel_last = filter.output == stages::channelize::Output::spectra_float;
  std::vector<std::complex<float>> spectra, host;
  std::size_t next = 0;
  for (std::size_t k = 0; next < stream.times; ++k) {
    core::RawBlock block;
    block.layout = stream.layout;
    block.first_sample = next;
    block.samples = std::min(block_sizes[k % block_sizes.size()], stream.times - next);
    const auto first = stream.samples.begin() + static_cast<std::ptrdiff_t>(time_bytes * next);
    block.bytes.assign(first, first + static_cast<std::ptrdiff_t>(time_bytes * block.samples));
    next += block.samples;
    engine.push(*queue, block);
    for (;;) {
      const SpectraChunk chunk = engine.take(*queue, engine.max_spectra());
      if (chunk.spectra == 0) break;
      host.resize(chunk.samples.extent(0) * chunk.samples.extent(1) * chunk.samples.extent(2));
      queue->copy(host.data(), chunk.samples.data(), host.size() * sizeof(host[0]));
      queue->synchronise();
      const core::View<const std::complex<float>, 3> values(host.data(), chunk.samples.extents());
      for (std::size_t s = 0; s < chunk.spectra; ++s)
        for (std::size_t c = 0; c < engine.channels(); ++c)
          for (std::size_t i = 0; i < kRows; ++i)
            spectra.push_back(channel_last ? values(i, s, c) : values(c, i, s));
    }
  }
  return spectra;
}

class FineChannels : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device_ = device::open(device::parse_selection(GetParam()), {.threads = 2});
  }
  std::shared_ptr<const device::Device> device_;
};

std::vector<std::string> devices() {
  std::vector<std::string> names{"cpu", "reference"};
  for (const std::string& gpu : tests::gpu_names()) names.push_back(gpu);
  return names;
}

// Channel c is at the frequency that frequencies.h gives it: the loop takes the coarse channel and the offset from
// that.
TEST_P(FineChannels, EqualThePlainLoopInOrderOfFrequency) {
  using stages::channelize::Output;
  for (const std::size_t fine : {std::size_t{6}, std::size_t{7}, std::size_t{16}})
    for (const double sign : {1.0, -1.0})
      for (const Output output : {Output::corner_turned_float, Output::spectra_float}) {
        if (output == Output::spectra_float && fine == 16) continue;
        CoarseStream stream(fine, 41 * fine + 3, sign);
        const auto found =
            spectra_of(device_, stream, stream.filter(output), {10 * fine + 1, 17, 5 * fine});
        const std::size_t channels = kCoarse * fine;
        const auto spectra = found.size() / (channels * kRows);
        ASSERT_EQ(spectra, 41 - kFineTaps + 1);
        const auto hz = channel_frequencies_hz(stream.description, channels);
        const auto coarse_hz = channel_frequencies_hz(stream.description, kCoarse);
        ASSERT_EQ(hz.size(), channels);
        const double scale = 74 * std::sqrt(2.0 * static_cast<double>(fine * kFineTaps));
        for (std::size_t c = 0; c < channels; ++c) {
          if (c > 0) {
            ASSERT_NEAR(hz[c] - hz[c - 1], kWidth_hz / static_cast<double>(fine), 1e-6);
          }
          std::size_t coarse = 0;
          while (hz[c] < coarse_hz[coarse] - kWidth_hz / 2 - 1 ||
                 hz[c] > coarse_hz[coarse] + kWidth_hz / 2 - 1)
            ASSERT_LT(++coarse, kCoarse) << hz[c];
          const double offset = (hz[c] - coarse_hz[coarse]) / kWidth_hz;
          for (std::size_t s = 0; s < spectra; ++s)
            for (std::size_t i = 0; i < kRows; ++i)
              ASSERT_LT(std::abs(Sample(found[(s * channels + c) * kRows + i]) -
                                 stream.expected(coarse, offset, i, s)),
                        1e-5 * scale)
                  << "spectrum " << s << " channel " << c << " of " << fine << " input " << i;
        }
      }
}

TEST_P(FineChannels, AToneIsInItsChannelAlone) {
  constexpr std::size_t kFine = 32;
  for (const double sign : {1.0, -1.0}) {
    CoarseStream stream(kFine, 40 * kFine, sign);
    auto random = tests::generator();
    const std::size_t coarse = random() % kCoarse;
    const int step = static_cast<int>(random() % kFine) - static_cast<int>(kFine / 2);
    std::fill(stream.samples.begin(), stream.samples.end(), std::byte{0});
    for (std::size_t t = 0; t < stream.times; ++t)
      for (std::size_t i = 0; i < kRows; ++i) {
        const double turn = 2 * std::numbers::pi * step * static_cast<double>(t % kFine) / kFine;
        stream.at(t, coarse, i)[0] = static_cast<std::int8_t>(std::lround(100 * std::cos(turn)));
        stream.at(t, coarse, i)[1] = static_cast<std::int8_t>(std::lround(100 * std::sin(turn)));
      }
    FilterConfig filter = stream.filter(stages::channelize::Output::corner_turned_float);
    filter.coefficients.clear();
    filter.taps = 4;
    const auto found = spectra_of(device_, stream, filter, {stream.times});
    constexpr std::size_t kAll = kCoarse * kFine;
    const auto hz = channel_frequencies_hz(stream.description, kAll);
    // The sky's: rising with the coarse channel's own frequency, whatever the order of the channels.
    const double tone_hz = 180e6 +
                           (static_cast<double>(coarse) - (kCoarse - 1) / 2.0) * sign * kWidth_hz +
                           step * kWidth_hz / kFine;
    double total = 0, in_tone = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const double power = std::norm(Sample(found[k]));
      total += power;
      if (std::abs(hz[k / kRows % kAll] - tone_hz) < 1) in_tone += power;
    }
    // A prototype of one channel's width lets a quarter into each neighbour.
    EXPECT_GT(in_tone, 0.6 * total) << "coarse channel " << coarse << " step " << step;
  }
}

// The results of each of several devices are those of the whole stream, also requantised: gains are those of its
// channels.
TEST_P(FineChannels, SharesOfTheCoarseChannelsGiveTheSameBits) {
  for (const double sign : {1.0, -1.0}) {
    const CoarseStream stream(8, 400, sign);
    const FilterConfig filter = stream.filter(stages::channelize::Output::corner_turned_float);
    const auto whole = spectra_of(device_, stream, filter, {400});
    const std::size_t channels = kCoarse * 8;
    for (std::size_t d = 0; d < 2; ++d) {
      const ChannelRange share = share_of(kCoarse, d, 2);
      FEngine engine(device_, stream.description, stream.layout, filter, 400, share);
      const ChannelRange range = engine.range();
      ASSERT_EQ(range.count, share.count * 8);
      ASSERT_EQ(range.first, (sign > 0 ? share.first : kCoarse - share.first - share.count) * 8);
      const auto part = spectra_of(device_, stream, filter, {170}, share);
      for (std::size_t s = 0; s < part.size() / (range.count * kRows); ++s)
        for (std::size_t k = 0; k < range.count * kRows; ++k)
          ASSERT_EQ(part[s * range.count * kRows + k],
                    whole[s * channels * kRows + range.first * kRows + k]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, FineChannels, ::testing::ValuesIn(devices()),
                         [](const auto& info) { return tests::test_name(info.param); });

TEST(FineChannelsOf, InputThatHasNoneToFilterIsRefused) {
  const auto device = device::open({});
  const auto refused = [&](const CoarseStream& stream, const FilterConfig& filter) -> std::string {
    try {
      FEngine(device, stream.description, stream.layout, filter, 100);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "";
  };
  CoarseStream stream(8, 100, 1);
  FilterConfig filter = stream.filter(stages::channelize::Output::corner_turned_float);
  EXPECT_EQ(refused(stream, filter), "");
  filter.named = {"channels"};
  EXPECT_NE(refused(stream, filter).find("channels"), std::string::npos);
  filter.named = {};
  filter.fine = 1;
  EXPECT_NE(refused(stream, filter).find("fine"), std::string::npos);
  filter.fine = 8;
  CoarseStream oversampled = stream;
  oversampled.description.rate_hz = core::make_rational(1'280'000 * 32, 27);
  EXPECT_NE(refused(oversampled, filter).find("oversampled"), std::string::npos);
  CoarseStream voltages = stream;
  voltages.description.channels = voltages.layout.channels = 1;
  EXPECT_NE(refused(voltages, filter).find("fine"), std::string::npos);
}

}  // namespace
}  // namespace tautline::pipeline

// Streams in several calls: splits, masks, saved states, gaps; rounding, clipping and its counts.
#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tautline/core/requantise.h"
#include "tests/stages/channelize/support.h"

namespace tautline::stages::channelize {
namespace {

struct StreamShape {
  const char* format;
  std::size_t channels, taps, p, q;
  Output output;
};

const std::vector<StreamShape> kStreamShapes = {
    {"ci8", 64, 8, 1, 1, Output::corner_turned_ci8},
    {"i8", 32, 4, 1, 1, Output::corner_turned_float},
    {"cf32", 30, 3, 1, 1, Output::corner_turned_ci4},
    {"ci16", 64, 5, 4, 3, Output::spectra_float},
    {"f32", 12, 2, 4, 3, Output::corner_turned_ci8},
    {"ci8", 2, 1, 1, 1, Output::corner_turned_ci8},
    {"ci8", 1024, 2, 32, 27, Output::corner_turned_ci8}};

Config config_of(const StreamShape& shape) {
  Config c;
  c.inputs = 3;
  c.channels = shape.channels, c.taps = shape.taps;
  c.input = core::parse_sample_format(shape.format);
  c.oversample_numerator = shape.p, c.oversample_denominator = shape.q;
  c.output = shape.output;
  return c;
}

// Cuts into calls of 0, 1, a few, or many samples.
std::vector<std::size_t> random_cuts(std::size_t samples, std::size_t span,
                                     std::mt19937_64& random) {
  std::vector<std::size_t> cuts{0, 1};
  std::size_t used = 1;
  while (true) {
    const std::size_t sizes[] = {0, 1, random() % 7, random() % span, random() % (5 * span)};
    const std::size_t next = sizes[random() % 5];
    if (used + next > samples) return cuts;
    cuts.push_back(next);
    used += next;
  }
}

core::ValidityMask random_mask(std::size_t inputs, std::size_t samples, std::size_t span,
                               std::mt19937_64& random) {
  core::ValidityMask mask(inputs, samples);
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t hole = 0; hole < samples / (6 * span) + 1; ++hole) {
      const std::size_t first = random() % samples;
      mask.set(i, first, std::min(samples - first, 1 + random() % (span / 2 + 1)), false);
    }
  return mask;
}

class Streams : public ::testing::TestWithParam<StreamShape> {};

TEST_P(Streams, AnySplitGivesTheSameBits) {
  Config c = config_of(GetParam());
  auto random = tests::generator();
  const std::size_t span = c.taps * c.frame_samples();
  Stream stream(c.input, c.inputs, Case{c, 75}.samples() + c.hop_samples() / 2);
  stream.randomise(random);
  c.max_samples = stream.samples;
  const core::ValidityMask mask = random_mask(c.inputs, stream.samples, span, random);
  for (const std::string& device : all_devices())
    for (const std::size_t fused : {std::size_t{0}, std::size_t{65536}})
      for (const bool masked : {false, true}) {
        const auto opened = open_device(device, 3);
        const auto plan =
            make_plan(c, opened, Tunables{.fused_max_channels = fused, .grain_samples = 1});
        const auto run = [&](const std::vector<std::size_t>& cuts) {
          Runner runner(plan, opened);
          runner.mask = masked ? &mask : nullptr;
          runner.gains.assign(c.channels * c.inputs, gain_for(c, 3));
          return runner.run(stream, cuts);
        };
        const Result whole = run({});
        const Result pieces = run(random_cuts(stream.samples, span, random));
        EXPECT_TRUE(whole == pieces) << device;
        for (std::size_t i = 0; i < c.inputs; ++i)
          for (std::size_t s = 0; s < whole.spectra; ++s)
            ASSERT_EQ(whole.valid.valid(i, s), pieces.valid.valid(i, s));
      }
}

TEST_P(Streams, ASpectrumIsInvalidAndZeroWhenAnyOfItsSamplesIs) {
  const Config c = config_of(GetParam());
  auto random = tests::generator();
  const std::size_t span = c.taps * c.frame_samples();
  Stream stream(c.input, c.inputs, Case{c, 100}.samples());
  stream.randomise(random);
  const core::ValidityMask mask = random_mask(c.inputs, stream.samples, span, random);
  // Invalid samples change nothing, not even NaN.
  Stream poisoned = stream;
  for (std::size_t i = 0; i < c.inputs; ++i)
    for (std::size_t n = 0; n < stream.samples; ++n)
      if (!mask.valid(i, n))
        poisoned.set(i, n * (c.input.complex ? 2 : 1),
                     c.input.is_float() ? std::numeric_limits<double>::quiet_NaN() : -128);
  for (const std::string& device : all_devices()) {
    const auto opened = open_device(device);
    const auto plan = make_plan(c, opened);
    Runner clean(plan, opened), masked(plan, opened);
    clean.gains.assign(c.channels * c.inputs, gain_for(c, 10));
    masked.gains = clean.gains;
    masked.mask = &mask;
    const Result all = clean.run(stream), some = masked.run(poisoned);
    std::size_t invalid = 0;
    for (std::size_t i = 0; i < c.inputs; ++i)
      for (std::size_t s = 0; s < some.spectra; ++s) {
        bool valid = true;
        for (std::size_t n = 0; n < span; ++n)
          valid = valid && mask.valid(i, s * c.hop_samples() + n);
        invalid += !valid;
        ASSERT_EQ(some.valid.valid(i, s), valid) << device << ' ' << i << ' ' << s;
        for (std::size_t k = 0; k < c.channels; ++k) {
          const std::size_t at = (k * c.inputs + i) * some.spectra + s;
          const std::complex<float> expected = valid ? all.values[at] : 0;
          ASSERT_EQ(some.values[at], expected) << device;
        }
      }
    EXPECT_GT(invalid, 0u);
  }
}

TEST_P(Streams, AStateCanBeSavedLoadedAndReset) {
  const Config c = config_of(GetParam());
  auto random = tests::generator();
  Stream stream(c.input, c.inputs, Case{c, 40}.samples());
  stream.randomise(random);
  const std::size_t cut = Case{c, 18}.samples() + 1;
  Stream first(c.input, c.inputs, cut), second(c.input, c.inputs, stream.samples - cut);
  for (std::size_t i = 0; i < c.inputs; ++i) {
    const std::byte* row = stream.bytes.data() + i * stream.row_bytes;
    std::memcpy(first.bytes.data() + i * first.row_bytes, row, cut * first.sample_bytes());
    std::memcpy(second.bytes.data() + i * second.row_bytes, row + cut * first.sample_bytes(),
                second.samples * first.sample_bytes());
  }
  for (const std::string& device : all_devices()) {
    const auto opened = open_device(device);
    const auto plan = make_plan(c, opened);
    Runner straight(plan, opened), broken(plan, opened);
    straight.run(first);
    const std::vector<std::byte> saved = straight.state().save();
    const Result expected = straight.run(second);
    broken.run(second);
    broken.state().load(saved);
    EXPECT_TRUE(broken.run(second) == expected) << device;
    EXPECT_GT(expected.spectra, 0u);
    broken.state().reset();
    EXPECT_EQ(broken.state().held_samples(), 0u);
    Runner fresh(plan, opened);
    EXPECT_TRUE(broken.run(first) == fresh.run(first)) << device;

    std::vector<std::byte> cut_short(saved.begin(), saved.end() - 1);
    EXPECT_THROW(broken.state().load(cut_short), core::Error);
    EXPECT_THROW(broken.state().load({}), core::Error);
    Config other = c;
    other.taps += 1;
    Runner stranger(make_plan(other, opened), opened);
    EXPECT_THROW(stranger.state().load(saved), core::Error);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Streams, ::testing::ValuesIn(kStreamShapes), [](const auto& info) {
  return std::string(info.param.format) + "_" + std::to_string(info.param.channels);
});

// Outputs larger than the caches are written past them if rows start on cache lines.
TEST(Output, WrittenPastTheCacheIsTheSame) {
  auto random = tests::generator();
  for (const std::string& name : forced_devices())
    for (const Output output :
         {Output::corner_turned_float, Output::corner_turned_ci8, Output::corner_turned_ci4}) {
      Config c;
      c.inputs = 2, c.channels = 32, c.taps = 4;
      c.output = output;
      const std::size_t spectra = 150, row = 192;
      Stream stream(c.input, 2, Case{c, spectra}.samples());
      stream.randomise(random);
      const auto opened = open_device(name);
      const auto run = [&](std::size_t stream_bytes) {
        const auto plan = make_plan(c, opened, Tunables{.stream_bytes = stream_bytes});
        const auto queue = opened->make_queue();
        const auto state = plan->make_state(*queue);
        const device::Buffer out(32 * 2 * row * 8);
        std::memset(out.data(), 0x5a, out.bytes());
        const std::vector<float> gains(64, 0.25f);
        std::vector<std::uint64_t> clipped(2);
        Input input;
        input.samples = stream.bytes.data();
        input.row_stride_bytes = stream.row_bytes;
        input.count = stream.samples;
        OutputViews views;
        views.samples = plan->config().output_view(out.data(), row);
        views.gains = {gains.data(), {32, 2}};
        views.clipped = {clipped.data(), {2}};
        EXPECT_EQ(plan->execute(*queue, *state, input, views), spectra);
        const auto* bytes = out.as<unsigned char>();
        return std::vector<unsigned char>(bytes, bytes + out.bytes());
      };
      EXPECT_EQ(run(1), run(static_cast<std::size_t>(-1))) << name;
    }
}

// Two channels, one tap of 1: the channels are x0 - x1 and x0 + x1, exactly.
TEST(Requantisation, RoundsHalfToEvenClipsSymmetricallyAndCounts) {
  for (const std::string& device : all_devices())
    for (const Output output : {Output::corner_turned_ci8, Output::corner_turned_ci4})
      for (const std::size_t fused : {std::size_t{0}, std::size_t{65536}}) {
        Config c;
        c.channels = 2, c.taps = 1;
        c.coefficients = {1, 1};
        c.output = output;
        const auto opened = open_device(device);
        const auto plan = make_plan(c, opened, Tunables{.fused_max_channels = fused});
        // Every ci8 code in x0 against -128, 0 and 127 in x1.
        Stream stream(c.input, 1, 2 * 3 * 256);
        std::vector<std::pair<int, int>> sums, differences;
        for (int n = 0; n < 3 * 256; ++n) {
          const int re = n % 256 - 128, im = (n * 7) % 256 - 128;
          const int other = n / 256 == 0 ? -128 : n / 256 == 1 ? 0 : 127;
          const auto at = static_cast<std::size_t>(4 * n);
          stream.set(0, at, re), stream.set(0, at + 1, im);
          stream.set(0, at + 2, other), stream.set(0, at + 3, other);
          sums.push_back({re + other, im + other});
          differences.push_back({re - other, im - other});
        }
        for (const float gain : {0.5f, 1.0f, 0.03125f}) {
          Runner runner(plan, opened);
          runner.gains = {gain, gain};
          const Result result = runner.run(stream);
          std::uint64_t clipped = 0;
          const int limit = core::requantise_limit(output == Output::corner_turned_ci8 ? 8 : 4);
          for (std::size_t s = 0; s < sums.size(); ++s)
            for (const std::size_t k : {0u, 1u}) {
              const auto [re, im] = k == 0 ? differences[s] : sums[s];
              const std::complex<float> expected(
                  static_cast<float>(
                      core::requantise(static_cast<float>(re), gain, limit, clipped)),
                  static_cast<float>(
                      core::requantise(static_cast<float>(im), gain, limit, clipped)));
              ASSERT_EQ(result.values[k * sums.size() + s], expected) << device << ' ' << s;
            }
          EXPECT_EQ(result.clipped[0], clipped) << device;
          EXPECT_GT(clipped + (gain < 0.4f), 0u);
        }
      }
}

TEST(Requantisation, NotANumberBecomesZeroAndCounts) {
  for (const std::string& device : all_devices()) {
    Config c;
    c.channels = 16, c.taps = 1;
    c.input = core::kCf32;
    const auto opened = open_device(device);
    Runner runner(make_plan(c, opened), opened);
    Stream stream(c.input, 1, 32);
    stream.set(0, 3, std::numeric_limits<double>::quiet_NaN());  // imaginary part of sample 1
    const Result result = runner.run(stream);
    for (const auto v : result.values) EXPECT_EQ(v, std::complex<float>(0));
    // At least one component of each channel of the first spectrum.
    EXPECT_GE(result.clipped[0], 16u) << device;
    EXPECT_LE(result.clipped[0], 32u) << device;
  }
}

TEST(Requantisation, GainsAreByChannelAndInput) {
  auto random = tests::generator();
  for (const std::string& device : all_devices()) {
    Config c;
    c.channels = 32, c.taps = 2, c.inputs = 3;
    Stream stream(c.input, 3, Case{c, 20}.samples());
    stream.randomise(random);
    const auto opened = open_device(device);
    Runner quantised(make_plan(c, opened), opened);
    for (std::size_t n = 0; n < 96; ++n)
      quantised.gains.push_back(0.01f * static_cast<float>(n + 1));
    c.output = Output::corner_turned_float;
    Runner exact(make_plan(c, opened), opened);
    const Result q = quantised.run(stream), f = exact.run(stream);
    std::uint64_t clipped = 0;
    for (std::size_t n = 0; n < q.values.size(); ++n) {
      const float gain = quantised.gains[n / 20];
      EXPECT_EQ(q.values[n].real(),
                static_cast<float>(core::requantise(f.values[n].real(), gain, 127, clipped)));
      EXPECT_EQ(q.values[n].imag(),
                static_cast<float>(core::requantise(f.values[n].imag(), gain, 127, clipped)));
    }
    EXPECT_EQ(q.clipped[0] + q.clipped[1] + q.clipped[2], clipped);
  }
}

}  // namespace
}  // namespace tautline::stages::channelize

// The definition of results: the formula, the order of coefficients, frequencies, signs and powers.
#include <gtest/gtest.h>

#include <numbers>

#include "tautline/stages/channelize/reference_transform.h"
#include "tests/stages/channelize/support.h"

namespace tautline::stages::channelize {
namespace {

using std::numbers::pi;
using Complex = std::complex<double>;

/// A plan, with a new stream for every run.
class Prepared {
 public:
  Prepared(const std::string& device, const Config& config)
      : device_(open_device(device)), plan_(make_plan(config, device_)) {}
  Result run(const Stream& stream, const std::vector<PhaseModel>& phases = {}) const {
    Runner runner(plan_, device_);
    runner.phases = phases;
    return runner.run(stream);
  }

 private:
  std::shared_ptr<const device::Device> device_;
  std::shared_ptr<const Plan> plan_;
};

Result run_on(const std::string& device, const Config& config, const Stream& stream,
              const std::vector<PhaseModel>& phases = {}) {
  return Prepared(device, config).run(stream, phases);
}

TEST(ReferenceTransform, EqualsTheDirectSum) {
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  for (const std::size_t n : {1u, 2u, 3u, 4u, 7u, 12u, 30u, 64u, 97u, 100u}) {
    std::vector<Complex> x(n), out(n), scratch(n);
    for (auto& v : x) v = {normal(random), normal(random)};
    ReferenceTransform(n).run(x.data(), out.data(), scratch.data());
    for (std::size_t k = 0; k < n; ++k) {
      Complex sum = 0;
      for (std::size_t t = 0; t < n; ++t)
        sum += x[t] *
               std::polar(1.0, -2 * pi * static_cast<double>(k * t % n) / static_cast<double>(n));
      EXPECT_NEAR(std::abs(sum - out[k]), 0, 1e-12 * static_cast<double>(n)) << n << ' ' << k;
    }
  }
}

// The formula of channelize.h, written independently but for the prototype filter.
Complex formula(const Config& c, const std::vector<Complex>& x, std::size_t s, std::size_t k) {
  const std::size_t m = c.frame_samples(), d = c.hop_samples();
  const auto h = core::prototype_filter(m, c.taps, c.window, c.cutoff);
  const auto half = static_cast<double>(c.channels / 2);
  const double bin = c.input.complex    ? static_cast<double>(k) - half
                     : c.lower_sideband ? static_cast<double>(c.channels - k)
                                        : static_cast<double>(k);
  Complex sum = 0;
  for (std::size_t p = 0; p < m; ++p)
    for (std::size_t t = 0; t < c.taps; ++t) {
      Complex value = x[s * d + t * m + p];
      if (c.input.complex && c.lower_sideband) value = std::conj(value);
      sum +=
          h[(c.taps - t) * m - 1 - p] * value *
          std::polar(1.0, -2 * pi * bin * static_cast<double>(s * d + p) / static_cast<double>(m));
    }
  return !c.input.complex && c.lower_sideband ? std::conj(sum) : sum;
}

TEST(Reference, EqualsTheFormulaWrittenOut) {
  auto random = tests::generator();
  for (const char* format : {"cf32", "f32"})
    for (const std::size_t channels : {2u, 5u, 6u})
      for (const std::size_t taps : {1u, 3u})
        for (const bool lower : {false, true})
          for (const std::size_t p : {1u, 2u}) {
            Config c;
            c.inputs = 2, c.channels = channels, c.taps = taps;
            c.input = core::parse_sample_format(format);
            c.window = core::parse_window("hamming");
            c.cutoff = 0.9;
            c.lower_sideband = lower;
            c.oversample_numerator = c.frame_samples() % p == 0 ? p : 1;
            c.output = Output::corner_turned_float;
            Stream stream(c.input, 2, Case{c, 6}.samples());
            stream.randomise(random);
            const Result result = run_on("reference", c, stream);
            ASSERT_EQ(result.spectra, 6u);
            for (std::size_t i = 0; i < 2; ++i) {
              std::vector<Complex> x(stream.samples);
              const auto* f =
                  reinterpret_cast<const float*>(stream.bytes.data() + i * stream.row_bytes);
              for (std::size_t n = 0; n < x.size(); ++n)
                x[n] = c.input.complex ? Complex(f[2 * n], f[2 * n + 1]) : Complex(f[n]);
              for (std::size_t s = 0; s < 6; ++s)
                for (std::size_t k = 0; k < channels; ++k)
                  EXPECT_NEAR(
                      std::abs(Complex(result.values[(k * 2 + i) * 6 + s]) - formula(c, x, s, k)),
                      0, 2e-6)
                      << format << ' ' << channels << ' ' << taps << ' ' << lower << ' ' << p;
            }
          }
}

// An impulse T - 1 frames and p samples into the stream meets coefficient (s + 1) M - 1 - p in
// spectrum s: from the last p to the first, the coefficients are in their order.
TEST(Definition, AnImpulseComesOutInCoefficientOrder) {
  for (const std::string& device : all_devices())
    for (const char* format : {"ci8", "i16"})
      for (const std::size_t channels : {5u, 64u}) {
        Config c;
        c.channels = channels, c.taps = 3;
        c.input = core::parse_sample_format(format);
        const std::size_t m = c.frame_samples();
        for (std::size_t n = 0; n < 3 * m; ++n) c.coefficients.push_back(static_cast<float>(n + 1));
        c.output = Output::spectra_float;
        c.max_samples = 5 * m;
        std::vector<float> order(3 * m);
        const Prepared bank(device, c);
        for (std::size_t p = 0; p < m; ++p) {
          Stream stream(c.input, 1, 5 * m);
          stream.set(0, (2 * m + p) * (c.input.complex ? 2 : 1), 1);
          const Result result = bank.run(stream);
          ASSERT_EQ(result.spectra, 3u);
          // The channel at baseband zero: its phase factor is 1.
          const std::size_t k = c.input.complex ? channels / 2 : 0;
          for (std::size_t s = 0; s < 3; ++s)
            order[s * m + m - 1 - p] = result.values[k * 3 + s].real();
        }
        for (std::size_t n = 0; n < 3 * m; ++n)
          ASSERT_EQ(order[n], static_cast<float>(n + 1)) << device << ' ' << format << ' ' << n;
      }
}

// The samples that a receiver makes of a wave exp(2 pi i f n + i phase), with f in cycles per
// sample from the sky frequency of baseband zero (for a real lower sideband, the upper edge of the
// band).
void receive(Stream& stream, std::size_t input, double f, double phase, bool lower) {
  for (std::size_t n = 0; n < stream.samples; ++n) {
    const double angle = 2 * pi * f * static_cast<double>(n) + phase;
    if (stream.format.complex) {
      stream.set(input, 2 * n, std::cos(angle));
      stream.set(input, 2 * n + 1, lower ? -std::sin(angle) : std::sin(angle));
    } else {
      stream.set(input, n, 2 * std::cos(angle));
    }
  }
}

// f_k of PhaseModel, from docs/maths/delays.md.
double channel_frequency(const Config& c, std::size_t k) {
  const auto channels = static_cast<double>(c.channels), n = static_cast<double>(k);
  if (c.input.complex) return (n - std::floor(channels / 2)) / channels;
  return (c.lower_sideband ? n - channels : n) / (2 * channels);
}

TEST(Definition, ATonesChannelAscendsWithItsSkyFrequencyAndKeepsItsPhase) {
  for (const std::string& device : all_devices())
    for (const char* format : {"cf32", "f32"})
      for (const std::size_t channels : {5u, 8u, 32u, 128u})
        for (const bool lower : {false, true})
          for (const std::size_t p : {1u, 2u}) {
            if (p == 2 && channels == 5 && format[0] == 'c') continue;
            Config c;
            c.channels = channels, c.taps = 8;
            c.input = core::parse_sample_format(format);
            c.lower_sideband = lower;
            c.output = Output::corner_turned_float;
            c.oversample_numerator = p;
            c.max_samples = Case{c, 5}.samples();
            const Prepared bank(device, c);
            const double phase = 0.7;
            // The gain at the centre of a channel is the sum of the coefficients.
            double gain = 0;
            for (const double h :
                 core::prototype_filter(c.frame_samples(), c.taps, c.window, c.cutoff))
              gain += h;
            for (std::size_t k = 0; k<channels; k += channels> 8 ? 7 : 1) {
              // A real channel at the edge holds its own mirror image.
              const double f = channel_frequency(c, k);
              if (!c.input.complex && (k == 0 || k + 1 == channels || k == 1)) continue;
              Stream stream(c.input, 1, Case{c, 5}.samples());
              receive(stream, 0, f, phase, lower);
              const Result result = bank.run(stream);
              ASSERT_EQ(result.spectra, 5u);
              for (std::size_t other = 0; other < channels; ++other)
                for (std::size_t s = 0; s < 5; ++s) {
                  const Complex v(result.values[other * 5 + s]);
                  const double expected = other == k ? 1 : 0;
                  EXPECT_NEAR(std::abs(v / gain - expected * std::polar(1.0, phase)), 0, 2e-3)
                      << device << ' ' << format << ' ' << channels << " channel " << other
                      << " tone in " << k << (lower ? " lower" : "") << " oversampled " << p;
                }
            }
          }
}

// A wave that reaches an antenna d samples early and is delayed by d equals the wave at the origin.
// The caller delays it by whole samples; slope corrects the residual delay, phase rotates the
// fringe.
TEST(Definition, ADelayedWaveComesBackInPhase) {
  const double delay = 3.37;            // samples
  const double zero_frequency = 812.3;  // sky frequency of baseband zero, cycles per sample
  for (const std::string& device : all_devices())
    for (const char* format : {"cf32", "f32"})
      for (const bool lower : {false, true})
        for (const std::size_t channels : {15u, 64u}) {
          Config c;
          c.inputs = 2, c.channels = channels, c.taps = 8;
          c.input = core::parse_sample_format(format);
          c.lower_sideband = lower;
          c.output = Output::corner_turned_float;
          c.max_samples = Case{c, 20}.samples();
          const Prepared bank(device, c);
          for (const std::size_t k : {channels / 5, channels / 2 + 1, channels - 3}) {
            const double f = channel_frequency(c, k);
            Stream stream(c.input, 2, Case{c, 20}.samples());
            receive(stream, 0, f, 0, lower);
            // Phase of the early wave at sample n, delayed by 3 whole samples.
            receive(stream, 1, f, 2 * pi * ((zero_frequency + f) * delay - f * 3), lower);
            std::vector<PhaseModel> phases(2);
            phases[1].slope_rad = -2 * pi * (delay - 3);
            phases[1].phase_rad = -2 * pi * zero_frequency * delay;
            const Result result = bank.run(stream, phases);
            for (std::size_t s = 0; s < result.spectra; ++s) {
              const Complex a(result.values[(k * 2) * result.spectra + s]);
              const Complex b(result.values[(k * 2 + 1) * result.spectra + s]);
              EXPECT_NEAR(std::abs(b / a - 1.0), 0, 2e-3) << device << ' ' << format << ' ' << k;
            }
          }
        }
}

// Phases of every backend follow the formula of PhaseModel.
TEST(Definition, PhaseModelsMoveLinearlyWithSpectrumAndChannel) {
  auto random = tests::generator();
  for (const char* format : {"ci8", "f32"})
    for (const std::size_t channels : {9u, 32u, 256u})
      for (const Output output : {Output::corner_turned_float, Output::spectra_float}) {
        Config c;
        c.inputs = 2, c.channels = channels, c.taps = 4;
        c.input = core::parse_sample_format(format);
        c.output = output;
        c.lower_sideband = channels == 32;
        Stream stream(c.input, 2, Case{c, 41}.samples());
        stream.randomise(random);
        const std::vector<PhaseModel> phases = {{1e5, -0.3, 40.0, 0.01}, {-2.0, 0.001, -3.0, 0}};
        const Result reference = run_on("reference", c, stream, phases);
        const Result still = run_on("reference", c, stream);
        const double tolerance = 1e-5 * rms(still.values);
        for (std::size_t k = 0; k < channels; k += 3)
          for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t s = 0; s < 41; ++s) {
              const auto t = static_cast<double>(s);
              const double angle =
                  phases[i].phase_rad + t * phases[i].phase_step_rad +
                  channel_frequency(c, k) * (phases[i].slope_rad + t * phases[i].slope_step_rad);
              const std::size_t at = (k * 2 + i) * 41 + s;
              EXPECT_NEAR(std::abs(Complex(reference.values[at]) -
                                   Complex(still.values[at]) * std::polar(1.0, angle)),
                          0, tolerance);
            }
        for (const std::string& device : all_devices())
          EXPECT_LT(worst_difference(run_on(device, c, stream, phases), reference),
                    Case::kFloatTolerance)
              << device << ' ' << format << ' ' << channels;
      }
}

TEST(Definition, WhiteNoiseKeepsUnitPower) {
  auto random = tests::generator();
  for (const std::string& device : all_devices())
    for (const char* format : {"cf32", "f32"})
      for (const char* window : {"rect", "hann", "hamming", "kaiser:9"})
        for (const std::size_t taps : {1u, 8u}) {
          Config c;
          c.channels = 64, c.taps = taps;
          c.input = core::parse_sample_format(format);
          c.window = core::parse_window(window);
          c.output = Output::corner_turned_float;
          Stream stream(c.input, 1, Case{c, 400}.samples());
          std::normal_distribution<double> normal(0, c.input.complex ? std::sqrt(0.5) : 1);
          for (std::size_t n = 0; n < stream.components(); ++n) stream.set(0, n, normal(random));
          const Result result = run_on(device, c, stream);
          // 25,600 values, correlated over neighbouring spectra and channels: 1 % rms, 6 rms.
          EXPECT_NEAR(rms(result.values), 1, 0.06) << device << ' ' << format << ' ' << window;
        }
}

}  // namespace
}  // namespace tautline::stages::channelize

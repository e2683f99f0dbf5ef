#include "tautline/pipeline/simulation/pulses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tautline/core/error.h"

namespace tautline::pipeline::simulation {

namespace {

// Half of the full width at half maximum is sigma sqrt(2 ln 2).
const double kFwhmPerSigma = 2 * std::sqrt(2 * std::numbers::ln2);
// Beyond these limits a pulse is taken as over: 3e-7 and 6e-6 of its energy.
constexpr double kGaussianReach = 5, kTailReach = 12;
// The dispersion inside a channel is simulated by narrower channels, enough to keep each below a
// quarter of sigma.
constexpr double kSmearPerSigma = 0.25;
constexpr double kMostParts = 64;

double normal_distribution(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

// exp(w^2) erfc(w) for w >= 0: the product itself, and from 6 on its continued fraction's head.
double scaled_erfc(double w) {
  if (w < 6) return std::exp(w * w) * std::erfc(w);
  const double v = 1 / (w * w);
  return (1 - v / 2 + 3 * v * v / 4 - 15 * v * v * v / 8) / (w * std::sqrt(std::numbers::pi));
}

// Calls visit(sample, part of the shape in that sample) for the samples of [first, end).
template <class Shape, class Visit>
void each_sample(const Shape& shape, double first, double end, Visit visit) {
  const double begin = std::max(first, std::floor(shape.middle - kGaussianReach * shape.sigma));
  const double stop = std::min(
      end, std::ceil(shape.middle + kGaussianReach * shape.sigma + kTailReach * shape.tau));
  if (!(begin < stop)) return;
  double before = pulse_distribution(begin - shape.middle, shape.sigma, shape.tau);
  for (double sample = begin; sample < stop; ++sample) {
    const double after = pulse_distribution(sample + 1 - shape.middle, shape.sigma, shape.tau);
    visit(sample, shape.weight * (after - before));
    before = after;
  }
}

}  // namespace

double pulse_distribution(double x, double sigma, double tau) {
  const double gaussian = normal_distribution(x / sigma);
  // A tail far shorter than the pulse only moves it.
  if (tau < sigma / 50) return tau > 0 ? normal_distribution((x - tau) / sigma) : gaussian;
  // F(x) = Phi(x / s) - exp(s^2 / 2 t^2 - x / t) Phi(x / s - s / t), the second product written so
  // that neither factor overflows.
  const double w = (sigma / tau - x / sigma) / std::numbers::sqrt2;
  const double tail = w >= 0 ? 0.5 * std::exp(-x * x / (2 * sigma * sigma)) * scaled_erfc(w)
                             : std::exp(sigma * sigma / (2 * tau * tau) - x / tau) *
                                   normal_distribution(x / sigma - sigma / tau);
  return gaussian - tail;
}

double Receiver::summed_rms() const {
  double power = 0;
  for (const double one : rms) power += one * one;
  return std::sqrt(power);
}

double Receiver::delay_s(double dm, double mhz) const {
  return dm_constant * dm * (1 / (mhz * mhz) - 1 / (f_ref_mhz * f_ref_mhz));
}

SimulatedPulse::SimulatedPulse(const formats::scene::DispersedPulse& pulse,
                               const Receiver& receiver)
    : pulse_(pulse) {
  const double lowest = *std::min_element(receiver.channel_mhz.begin(), receiver.channel_mhz.end());
  sweep_s_ = receiver.delay_s(pulse.dm, lowest);
  first_sample_ = 1e300;
  last_sample_ = -1e300;
  for (std::size_t c = 0; c < receiver.channel_mhz.size(); ++c)
    each_shape(receiver, c, [&](const Shape& shape) {
      first_sample_ = std::min(first_sample_, shape.middle - kGaussianReach * shape.sigma);
      last_sample_ = std::max(last_sample_,
                              shape.middle + kGaussianReach * shape.sigma + kTailReach * shape.tau);
    });
  find_amplitude(receiver);
}

// One shape for each channel, or several of neighbouring frequencies where smearing is requested.
template <class Visit>
void SimulatedPulse::each_shape(const Receiver& receiver, std::size_t channel, Visit visit) const {
  const double mhz = receiver.channel_mhz[channel], reference = receiver.f_ref_mhz;
  const double sigma = pulse_.width_s / kFwhmPerSigma / receiver.tsamp_s;
  const double tau = pulse_.scattering_s * std::pow(mhz / reference, -4) / receiver.tsamp_s;
  const double flux =
      amplitude_ * receiver.gain[channel] * std::pow(mhz / reference, pulse_.spectral_index);
  const auto middle = [&](double frequency) {
    return (pulse_.time_s + receiver.delay_s(pulse_.dm, frequency)) / receiver.tsamp_s;
  };
  double parts = 1;
  const double width = std::abs(receiver.foff_mhz);
  if (receiver.smearing && width < mhz) {
    const double smear = std::abs(middle(mhz - width / 2) - middle(mhz + width / 2));
    parts = std::clamp(std::ceil(smear / (sigma * kSmearPerSigma)), 1.0, kMostParts);
  }
  for (double part = 0; part < parts; ++part)
    visit(Shape{middle(mhz + width * ((part + 0.5) / parts - 0.5)), sigma, tau, flux / parts});
}

void SimulatedPulse::find_amplitude(const Receiver& receiver) {
  const double begin = std::floor(first_sample_) - 2;
  // After dedispersion the pulse is within the widest channel's reach of the highest channel's
  // pulse.
  double end = begin;
  const auto aligned = [&](std::size_t c) {
    return std::nearbyint(receiver.delay_s(pulse_.dm, receiver.channel_mhz[c]) / receiver.tsamp_s);
  };
  constexpr double kMostSamples = 1e8;
  for (std::size_t c = 0; c < receiver.channel_mhz.size(); ++c)
    each_shape(receiver, c, [&](const Shape& shape) {
      end = std::max(end, shape.middle + kGaussianReach * shape.sigma + kTailReach * shape.tau -
                              aligned(c) + 2);
    });
  if (!(end - begin < kMostSamples))
    throw core::Error(core::ErrorKind::config, "`pulses`: width",
                      fmt::format("{} s", pulse_.width_s), "a pulse of less than 1e8 samples");
  std::vector<double> series(static_cast<std::size_t>(end - begin) + 1, 0);
  double peak = 0;
  for (std::size_t c = 0; c < receiver.channel_mhz.size(); ++c)
    each_shape(receiver, c, [&](const Shape& shape) {
      each_sample(shape, -1e300, 1e300, [&](double sample, double steps) {
        const double place = sample - aligned(c) - begin;
        if (place >= 0 && place < static_cast<double>(series.size()))
          series[static_cast<std::size_t>(place)] += steps;
        peak = std::max(peak, steps);
      });
    });
  double energy = 0;
  for (const double value : series) energy += value * value;
  if (!(energy > 0))
    throw core::Error(core::ErrorKind::config, "bandpass", "0 in every channel",
                      "a channel that sees the pulse");
  amplitude_ = pulse_.snr * receiver.summed_rms() / std::sqrt(energy);
  peak_steps_ = peak * amplitude_;
}

void SimulatedPulse::add(const Receiver& receiver, std::uint64_t first, std::size_t count,
                         float* values) const {
  const auto begin = static_cast<double>(first), end = static_cast<double>(first + count);
  if (last_sample_ < begin || first_sample_ > end) return;
  const std::size_t channels = receiver.channel_mhz.size();
  for (std::size_t c = 0; c < channels; ++c)
    each_shape(receiver, c, [&](const Shape& shape) {
      each_sample(shape, begin, end, [&](double sample, double steps) {
        values[static_cast<std::size_t>(sample - begin) * channels + c] +=
            static_cast<float>(steps);
      });
    });
}

}  // namespace tautline::pipeline::simulation

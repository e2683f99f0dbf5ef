// Visibilities of a small sky seen by a small array, made by formula: for tests of what comes after
// the correlator.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "tautline/core/baseline.h"
#include "tautline/core/time.h"
#include "tautline/core/units.h"
#include "tautline/formats/visibility_writer.h"

namespace tautline::tests {

struct PointSource {
  double power = 1;            ///< of each feed, in units of an antenna's noise power
  double east = 0, north = 0;  ///< direction cosines at the start
};

/// A dual-polarisation array on a spiral near the equator, looking up; the sky turns about the
/// zenith at `turn_rad_per_s`. Power has a bandpass; noise is that of `samples` per integration.
class SyntheticVisibilities {
 public:
  formats::VisibilityDescription description;
  std::vector<PointSource> sources{{0.4, 0.31, 0.12}, {0.15, -0.12, 0.27}};
  double turn_rad_per_s = 2e-3;
  bool noise = true;

  SyntheticVisibilities(std::size_t antennas, std::size_t channels, double radius_m = 120,
                        double centre_hz = 150e6, double bandwidth_hz = 1.28e6,
                        std::uint64_t seed = 1)
      : generator_(seed) {
    auto& array = description.array;
    array.name = "Spiral";
    constexpr double kEarthRadius_m = 6'378'137;
    for (std::size_t a = 0; a < antennas; ++a) {
      const double turns = 2.4 * static_cast<double>(a);  // near the golden angle
      const double reach_m =
          radius_m * std::sqrt((static_cast<double>(a) + 0.5) / static_cast<double>(antennas));
      formats::Antenna antenna;
      antenna.number = static_cast<int>(a + 1);
      antenna.name = fmt::format("A{:02}", a + 1);
      // At latitude 0 and longitude 0, east is +y and north +z.
      antenna.ecef_m = {kEarthRadius_m, reach_m * std::cos(turns), reach_m * std::sin(turns)};
      array.antennas.push_back(antenna);
      array.inputs.push_back({a, 'x'});
      array.inputs.push_back({a, 'y'});
    }
    for (std::size_t c = 0; c < channels; ++c)
      description.channel_hz.push_back(
          centre_hz + (static_cast<double>(c) - std::floor(static_cast<double>(channels) / 2)) *
                          bandwidth_hz / static_cast<double>(channels));
    description.channel_width_hz = bandwidth_hz / static_cast<double>(channels);
    description.integration_s = 1;
    description.nominal_count = static_cast<std::int64_t>(description.channel_width_hz);
    description.telescope = "Spiral";
    description.instrument = "tautline";
    description.source = "two point sources";
    description.history = "synthetic visibilities";
    visibilities_.resize(channels * core::baseline_count(inputs()));
    counts_.assign(visibilities_.size(), description.nominal_count);
  }

  std::size_t inputs() const { return description.array.inputs.size(); }
  std::size_t channels() const { return description.channel_hz.size(); }

  /// Count of an input and channel in the integration that is made next; all valid otherwise.
  std::int64_t& count(std::size_t channel, std::size_t i, std::size_t j) {
    return counts_[channel * core::baseline_count(inputs()) + core::baseline_index(i, j)];
  }
  std::complex<float>& value(std::size_t channel, std::size_t i, std::size_t j) {
    return visibilities_[channel * core::baseline_count(inputs()) + core::baseline_index(i, j)];
  }

  /// Power of an input in a channel: 20 x 20 steps squared with rounded edges and a ripple.
  double bandpass(std::size_t input, std::size_t channel) const {
    const double x = (static_cast<double>(channel) + 0.5) / static_cast<double>(channels());
    const double edge = 1 / (1 + std::pow(std::abs(2 * x - 1) / 0.94, 40));
    const double gain = 1 + 0.25 * std::sin(1.7 * static_cast<double>(input));
    return 400 * gain * (0.02 + edge) *
           (1 + 0.1 * std::sin(9 * x + 0.3 * static_cast<double>(input)));
  }

  /// V(i, j) = x_i conj(x_j) of the sources alone, as a coefficient: a source in direction s
  /// reaches antenna p early by p.s / c.
  std::complex<double> truth(std::size_t i, std::size_t j, std::size_t channel,
                             double time_s) const {
    const auto& array = description.array;
    if (array.inputs[i].feed != array.inputs[j].feed) return 0;
    const auto& p = array.antennas[array.inputs[i].antenna].ecef_m;
    const auto& q = array.antennas[array.inputs[j].antenna].ecef_m;
    double total = 1;
    for (const PointSource& source : sources) total += source.power;
    std::complex<double> sum = 0;
    const double turn = turn_rad_per_s * time_s;
    for (const PointSource& source : sources) {
      const double east = source.east * std::cos(turn) - source.north * std::sin(turn);
      const double north = source.east * std::sin(turn) + source.north * std::cos(turn);
      const double path_m = (p[1] - q[1]) * east + (p[2] - q[2]) * north;
      sum += source.power * std::polar(1.0, 2 * std::numbers::pi * description.channel_hz[channel] *
                                                path_m / core::kSpeedOfLight_m_per_s);
    }
    return sum / total;
  }

  /// The integration whose middle lies `time_s` after the first one's start.
  formats::Integration make(double time_s) {
    std::normal_distribution<double> gauss;
    const std::size_t baselines = core::baseline_count(inputs());
    for (std::size_t c = 0; c < channels(); ++c)
      for (std::size_t i = 0; i < inputs(); ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          const double power = std::sqrt(bandpass(i, c) * bandpass(j, c));
          const double sigma = 1 / std::sqrt(std::max(1.0, static_cast<double>(count(c, i, j))));
          std::complex<double> rho = i == j ? 1.0 : truth(i, j, c, time_s);
          if (noise && i == j) rho += sigma * gauss(generator_);
          if (noise && i != j)
            rho += sigma / std::numbers::sqrt2 *
                   std::complex<double>(gauss(generator_), gauss(generator_));
          visibilities_[c * baselines + core::baseline_index(i, j)] =
              std::complex<float>(rho * power);
        }
    const core::Rational microseconds = core::make_rational(1'000'000, 1);
    return {core::advance(core::parse_utc("2026-03-20-12:00:00"), std::llround(time_s * 1e6),
                          microseconds),
            description.integration_s,
            {visibilities_.data(), {channels(), baselines}},
            {counts_.data(), {channels(), baselines}}};
  }

 private:
  std::mt19937_64 generator_;
  std::vector<std::complex<float>> visibilities_;
  std::vector<std::int64_t> counts_;
};

}  // namespace tautline::tests

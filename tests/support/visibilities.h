// Random visibilities of a random array, for the tests of every visibility format.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/baseline.h"
#include "tautline/formats/visibility_writer.h"

namespace tautline::tests {

struct VisibilityShape {
  std::size_t antennas = 3;
  std::string feeds = "xy";  ///< of every antenna
  std::size_t channels = 5;
  std::size_t integrations = 2;
  bool feed_slow = false;    ///< data order: all x inputs, then all y
  bool odd_numbers = false;  ///< labels that are neither dense nor ascending
  bool tracked = false;
};

struct RandomVisibilities {
  formats::VisibilityDescription description;
  std::vector<core::Instant> middles;
  std::vector<double> integration_s;
  std::vector<std::complex<float>> values;  ///< [integration][channel][baseline]
  std::vector<std::int64_t> counts;

  std::size_t baselines() const { return core::baseline_count(description.array.inputs.size()); }
  std::size_t channels() const { return description.channel_hz.size(); }

  formats::Integration integration(std::size_t k) const {
    const std::size_t at = k * channels() * baselines();
    formats::Integration one;
    one.middle = middles[k];
    one.integration_s = integration_s[k];
    one.visibilities = {values.data() + at, {channels(), baselines()}};
    one.counts = {counts.data() + at, {channels(), baselines()}};
    return one;
  }
};

inline formats::ArrayLayout random_array(const VisibilityShape& shape, std::mt19937_64& random) {
  using formats::Antenna;
  std::uniform_real_distribution<double> metres(-200, 200), height(-5, 5), turn(-180, 180);
  formats::ArrayLayout array;
  array.name = "RANDOM";
  array.latitude_deg = std::uniform_real_distribution<double>(-80, 80)(random);
  array.longitude_deg = turn(random);
  array.altitude_m = std::uniform_real_distribution<double>(0, 4000)(random);
  const formats::Site site = formats::site_of(array);
  const formats::Vector3 centre = formats::ecef_m(site);
  // One antenna more than the data has inputs for: files list it all the same.
  for (std::size_t a = 0; a < shape.antennas + 1; ++a) {
    Antenna antenna;
    antenna.number = static_cast<int>(a);
    if (shape.odd_numbers) antenna.number = static_cast<int>((a * 37 + 11) % 101) * 3 + 2;
    antenna.name = "tile " + std::to_string(antenna.number);
    const auto offset =
        formats::enu_to_ecef({metres(random), metres(random), height(random)}, site);
    for (std::size_t k = 0; k < 3; ++k) antenna.ecef_m[k] = centre[k] + offset[k];
    antenna.diameter_m = 4.5;
    antenna.feeds.assign(shape.feeds.begin(), shape.feeds.end());
    antenna.feed_angle_deg = a == 0 ? 90 : 0;
    array.antennas.push_back(antenna);
  }
  if (shape.feed_slow) {
    for (const char feed : shape.feeds)
      for (std::size_t a = 0; a < shape.antennas; ++a) array.inputs.push_back({a, feed});
  } else {
    for (std::size_t a = 0; a < shape.antennas; ++a)
      for (const char feed : shape.feeds) array.inputs.push_back({a, feed});
  }
  return array;
}

inline RandomVisibilities random_visibilities(const VisibilityShape& shape,
                                              std::mt19937_64& random) {
  RandomVisibilities v;
  auto& d = v.description;
  d.array = random_array(shape, random);
  for (std::size_t c = 0; c < shape.channels; ++c)
    d.channel_hz.push_back(150.1e6 + static_cast<double>(c) * 1e6 / 7);
  d.channel_width_hz = 1e6 / 7;
  d.integration_s = 0.7;
  d.nominal_count = 1000;
  d.telescope = "RANDOM";
  d.instrument = "tautline test";
  d.history = "written by a test";
  d.extra["device"] = "reference";
  if (shape.tracked) d.phase_centre = {true, "a source", 83.633, 22.0145};

  std::normal_distribution<float> normal;
  std::uniform_int_distribution<std::int64_t> count(0, d.nominal_count);
  const core::Instant start = core::parse_utc("2022-03-04-05:06:07");
  const core::Rational rate{16'368'000, 7};
  const std::size_t inputs = d.array.inputs.size();
  for (std::size_t k = 0; k < shape.integrations; ++k) {
    v.middles.push_back(core::advance(start, static_cast<std::int64_t>(k + 1) * 1'637'311, rate));
    v.integration_s.push_back(k + 1 == shape.integrations ? 0.3 : 0.7);
    for (std::size_t c = 0; c < shape.channels; ++c)
      for (std::size_t i = 0; i < inputs; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          v.values.push_back({normal(random), i == j ? 0 : normal(random)});
          // A fifth of the counts are zero, a fifth are full.
          const auto draw = std::uniform_int_distribution<int>(0, 4)(random);
          v.counts.push_back(draw == 0 ? 0 : draw == 1 ? d.nominal_count : count(random));
        }
  }
  return v;
}

}  // namespace tautline::tests

#include "tautline/pipeline/simulation/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/requantise.h"
#include "tautline/core/units.h"

namespace tautline::pipeline::simulation {

namespace {

using core::kEarthRotation_rad_per_s;
using formats::Vector3;

// Default levels: 8 and 4 bits as everywhere in tautline; 5 bits (the MWA's samples) near the
// optimum of a 31-level quantiser; 16 bits leave 24 dB above the rms.
constexpr double k5BitRms = 5.0, k16BitRms = 2000.0;

double default_rms_steps(int limit) {
  if (limit <= core::requantise_limit(4)) return core::kRequantise4Rms;
  if (limit <= core::requantise_limit(5)) return k5BitRms;
  if (limit <= core::requantise_limit(8)) return core::kRequantise8Rms;
  return k16BitRms;
}

// The apparent place at azimuth (east from north) and elevation, back to the ICRS.
void to_icrs(formats::scene::Source& source, const formats::Site& site,
             const core::Instant& start) {
  const double azimuth = source.azimuth_deg * core::kRadPerDeg;
  const double elevation = source.elevation_deg * core::kRadPerDeg;
  const Vector3 enu{std::sin(azimuth) * std::cos(elevation),
                    std::cos(azimuth) * std::cos(elevation), std::sin(elevation)};
  const Vector3 w = formats::enu_to_ecef(enu, site);
  formats::ApparentPlace place;
  place.sidereal_time_rad = formats::sidereal_time_rad(start, site);
  place.declination_rad = std::asin(std::clamp(w[2], -1.0, 1.0));
  const double greenwich_hour_angle = std::atan2(-w[1], w[0]);
  place.right_ascension_rad = place.sidereal_time_rad - site.longitude_rad - greenwich_hour_angle;
  const formats::SkyDirection icrs = formats::icrs_direction(place, start, site);
  source.ra_deg = icrs.right_ascension_deg;
  source.dec_deg = icrs.declination_deg;
}

// Half a degree below the horizon is allowed, so that a source on the horizon is accepted.
void require_up(const formats::scene::Source& source, const formats::Site& site,
                const Vector3& direction) {
  const double elevation_deg =
      std::asin(formats::ecef_to_enu(direction, site)[2]) / core::kRadPerDeg;
  constexpr double kGrace_deg = 0.5;
  if (elevation_deg < -kGrace_deg)
    throw core::Error(core::ErrorKind::config, "source " + source.name,
                      fmt::format("elevation {:.1f} degrees at the start", elevation_deg),
                      "a place above the horizon",
                      "choose another start, or give azimuth_deg and elevation_deg");
}

template <class Values>
void require_per_input(const char* field, const Values& values, std::size_t inputs) {
  if (values.size() != 1 && values.size() != inputs)
    throw core::Error(core::ErrorKind::config, field, core::counted(values.size(), "value"),
                      "1, or one for each of the array's " + core::counted(inputs, "input"));
}

void check(const formats::scene::Scene& scene, const formats::ArrayLayout& array,
           const Sampling& sampling) {
  const std::size_t inputs = array.inputs.size();
  if (inputs == 0)
    throw core::Error(core::ErrorKind::config, "array", "no inputs", "one input at least");
  if (!(sampling.duration_s > 0 && sampling.duration_s <= 1e7))
    throw core::Error(core::ErrorKind::config, "duration", fmt::format("{}", sampling.duration_s),
                      "more than 0 and at most 1e7 seconds");
  if (sampling.bits != 4 && sampling.bits != 8 && sampling.bits != 16)
    throw core::Error(core::ErrorKind::config, "bits", fmt::format("{}", sampling.bits),
                      "4, 8 or 16");
  if (!array.positions_known && !scene.sources.empty())
    throw core::Error(core::ErrorKind::config, "array", "no positions",
                      "antenna positions for a scene with sources", "give them with `array_path`");
  for (const formats::InputLabel& label : array.inputs)
    if (label.feed != 'x' && label.feed != 'y')
      throw core::Error(core::ErrorKind::config, "array: feed", std::string(1, label.feed),
                        "x or y: sources are simulated in linear feeds");
  require_per_input("scene: noise_rms", scene.noise_rms, inputs);
  for (const formats::scene::Tone& tone : scene.tones)
    require_per_input("scene: [[tone]] amplitude", tone.amplitudes, inputs);
  for (const formats::scene::Missing& missing : scene.missing)
    for (const std::size_t input : missing.inputs)
      if (input >= inputs)
        throw core::Error(core::ErrorKind::config, "scene: [[missing]] inputs",
                          fmt::format("{}", input), fmt::format("0 to {}", inputs - 1));
}

SourcePolarisation polarisation_of(const formats::scene::Source& source) {
  const double angle = source.polarisation_angle_deg * core::kRadPerDeg;
  const double shared = std::sqrt(2 * source.polarised_fraction);
  return {std::sqrt(1 - source.polarised_fraction), shared * std::cos(angle),
          shared * std::sin(angle)};
}

// Amplitudes of the real and imaginary parts of each bin, so that the transform's samples have the
// source's power: N bins of flux / N each (complex), or N / 2 - 1 pairs of bins (real; bin 0 of a
// real signal must be real and is left out). Scaled so that a spectral index keeps the flux at the
// centre of the band.
std::vector<float> bin_amplitudes(const formats::scene::Source& source,
                                  const SimulationPlan& plan) {
  const double used =
      plan.sampling.real ? static_cast<double>(plan.bins - 1) : static_cast<double>(plan.bins);
  const double of_bin = source.flux / used / (plan.sampling.real ? 2 : 1);
  std::vector<float> amplitudes(plan.bins);
  for (std::size_t k = 0; k < plan.bins; ++k) {
    const double f_hz = plan.first_bin_hz + static_cast<double>(k) * plan.bin_step_hz;
    const double weight = std::pow(f_hz / plan.scene.centre_hz, source.spectral_index);
    amplitudes[k] = static_cast<float>(std::sqrt(of_bin * weight / 2));
  }
  if (plan.sampling.real) amplitudes[0] = 0;
  return amplitudes;
}

}  // namespace

// The integral of w(t) w(t - d) for d <= L: both rising or both falling, one of them flat, both
// flat; beyond L a fade never meets a fade.
double coherence(const Blocks& blocks, double samples) {
  const auto block = static_cast<double>(blocks.block), fade = static_cast<double>(blocks.fade);
  const double shift = std::abs(samples), rate = std::numbers::pi / 2 / fade;
  const double flat = block - 2 * fade - shift;
  const double fades =
      shift <= fade ? (fade - shift) * std::cos(rate * shift) + 2 * std::sin(rate * shift) / rate
                    : 2 / rate;
  return std::max(0.0, (flat + fades) / static_cast<double>(blocks.hop));
}

Blocks choose_blocks(double delay_samples, double fringe_turns_per_sample) {
  constexpr std::size_t kShortest = 128, kDefault = 2048, kLongest = std::size_t{1} << 22;
  constexpr double kFringeTurns = 0.02;  // in one block: sinc keeps 0.9993 of the amplitude
  constexpr double kLeastCoherence = 0.99;
  // Fades of an eighth of the block cost an eighth more transforms.
  const auto sizes = [](std::size_t block) { return Blocks{block, block / 8, block - block / 8}; };
  const auto fringe_fits = [&](std::size_t block) {
    return fringe_turns_per_sample * static_cast<double>(block) <= kFringeTurns;
  };
  std::size_t block = kDefault;
  while (block > kShortest && !fringe_fits(block)) block /= 2;
  while (block < kLongest && coherence(sizes(block), delay_samples) < kLeastCoherence) block *= 2;
  if (!fringe_fits(block) || coherence(sizes(block), delay_samples) < kLeastCoherence)
    throw core::Error(
        core::ErrorKind::unsupported, "longest baseline",
        fmt::format("{:.0f} samples of delay with {:.3g} turns of fringe a sample", delay_samples,
                    fringe_turns_per_sample),
        fmt::format("fringes slower than {} turns over some 16 times the delay", kFringeTurns),
        "simulate a smaller array or a lower frequency");
  return sizes(block);
}

bool MissingSpan::touches(std::size_t input) const {
  return inputs.empty() || std::find(inputs.begin(), inputs.end(), input) != inputs.end();
}

double SimulationPlan::tone_amplitude(const formats::scene::Tone& tone, std::size_t input) const {
  return tone.amplitudes[tone.amplitudes.size() == 1 ? 0 : input];
}

double SimulationPlan::source_power(std::size_t s, std::size_t input) const {
  const SourcePolarisation& p = sources[s].polarisation;
  const double shared = array.inputs[input].feed == 'x' ? p.polarised_x : p.polarised_y;
  return sources[s].source.flux * (p.unpolarised * p.unpolarised + shared * shared);
}

double SimulationPlan::input_power(std::size_t input) const {
  double power = noise_rms[input] * noise_rms[input];
  for (std::size_t s = 0; s < sources.size(); ++s) power += source_power(s, input);
  for (const formats::scene::Tone& tone : scene.tones) {
    const double amplitude = tone_amplitude(tone, input);
    power += amplitude * amplitude / (sampling.real ? 2 : 1);
  }
  return power;
}

double SimulationPlan::delay_s(std::size_t source, std::size_t antenna, double seconds) const {
  return -formats::dot(offsets_m[antenna], sources[source].track.at(seconds)) /
         core::kSpeedOfLight_m_per_s;
}

double SimulationPlan::delay_rate(std::size_t source, std::size_t antenna, double seconds) const {
  return -formats::dot(offsets_m[antenna], sources[source].track.rate_at(seconds)) /
         core::kSpeedOfLight_m_per_s;
}

double SimulationPlan::longest_baseline_s() const {
  double longest_m = 0;
  for (const Vector3& a : offsets_m) {
    for (const Vector3& b : offsets_m) {
      const Vector3 baseline = formats::difference(a, b);
      longest_m = std::max(longest_m, std::sqrt(formats::dot(baseline, baseline)));
    }
  }
  return longest_m / core::kSpeedOfLight_m_per_s;
}

SimulationPlan::SimulationPlan(const formats::scene::Scene& given,
                               const formats::ArrayLayout& layout, const Sampling& samples_to_make)
    : scene(given), array(layout), sampling(samples_to_make) {
  check(scene, array, sampling);
  const double bandwidth_hz = scene.bandwidth_hz.value();
  rate_hz = sampling.real ? core::make_rational(2 * scene.bandwidth_hz.numerator,
                                                scene.bandwidth_hz.denominator)
                          : scene.bandwidth_hz;
  samples = static_cast<std::uint64_t>(std::llround(sampling.duration_s * rate_hz.value()));
  if (samples == 0)
    throw core::Error(core::ErrorKind::config, "duration", fmt::format("{}", sampling.duration_s),
                      fmt::format("one sample at least, {} s", 1 / rate_hz.value()));

  const formats::Site site = formats::site_of(array);
  antenna_inputs.resize(array.antennas.size());
  for (std::size_t i = 0; i < array.inputs.size(); ++i)
    antenna_inputs[array.inputs[i].antenna].push_back(i);
  for (std::size_t a = 0; a < array.antennas.size(); ++a)
    offsets_m.push_back(array.positions_known ? formats::antenna_offset_m(array, a) : Vector3{});

  const double highest_hz = scene.centre_hz + bandwidth_hz / 2;
  const double fringe_turns_per_s = highest_hz * longest_baseline_s() * kEarthRotation_rad_per_s;
  if (!scene.sources.empty())
    blocks =
        choose_blocks(longest_baseline_s() * rate_hz.value(), fringe_turns_per_s / rate_hz.value());
  const double sign = scene.lower_sideband ? -1 : 1;
  baseband_zero_hz = sampling.real ? scene.centre_hz - sign * bandwidth_hz / 2 : scene.centre_hz;
  bins = sampling.real ? blocks.block / 2 : blocks.block;
  bin_step_hz = rate_hz.value() / static_cast<double>(blocks.block) * (sampling.real ? sign : 1);
  first_bin_hz = sampling.real ? baseband_zero_hz : scene.centre_hz - bandwidth_hz / 2;
  conjugate_samples = scene.lower_sideband && !sampling.real;

  for (std::size_t i = 0; i < inputs(); ++i)
    noise_rms.push_back(scene.noise_rms[scene.noise_rms.size() == 1 ? 0 : i]);
  for (formats::scene::Source& source : scene.sources) {
    if (source.horizontal) to_icrs(source, site, scene.start);
    formats::delays::DirectionTrack track(site, source.ra_deg, source.dec_deg, scene.start,
                                          sampling.duration_s);
    require_up(source, site, track.at(0));
    sources.push_back(
        {source, std::move(track), polarisation_of(source), bin_amplitudes(source, *this)});
  }

  for (const formats::scene::Missing& span : scene.missing) {
    const auto first = std::llround(span.start_s * rate_hz.value());
    missing.push_back(
        {first, first + std::llround(span.duration_s * rate_hz.value()), span.inputs});
  }

  double mean_power = 0;
  for (std::size_t i = 0; i < inputs(); ++i)
    mean_power += input_power(i) / static_cast<double>(inputs());
  const double rms_steps =
      scene.rms_steps > 0 ? scene.rms_steps : default_rms_steps(sampling.limit);
  const double component_power = mean_power / static_cast<double>(components());
  steps_per_unit = component_power > 0 ? rms_steps / std::sqrt(component_power) : rms_steps;
}

}  // namespace tautline::pipeline::simulation

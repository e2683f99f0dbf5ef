#include "tautline/pipeline/simulation/truth.h"

#include <cmath>
#include <complex>
#include <nlohmann/json.hpp>
#include <numbers>

#include "tautline/formats/delays/delays.h"

namespace tautline::pipeline::simulation {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kDegPerRad = 180 / std::numbers::pi;

double middle_s(const SimulationPlan& plan) {
  return static_cast<double>(plan.samples) / plan.rate_hz.value() / 2;
}

Json sampling_json(const SimulationPlan& plan) {
  const core::Instant middle =
      core::advance_half(plan.scene.start, static_cast<std::int64_t>(plan.samples), plan.rate_hz);
  return {{"complex", !plan.sampling.real},
          {"bits", plan.sampling.bits},
          {"largest_step", plan.sampling.limit},
          {"rate_hz", plan.rate_hz.value()},
          {"rate_numerator", plan.rate_hz.numerator},
          {"rate_denominator", plan.rate_hz.denominator},
          {"centre_hz", plan.scene.centre_hz},
          {"bandwidth_hz", plan.scene.bandwidth_hz.value()},
          {"sideband", plan.scene.lower_sideband ? "lower" : "upper"},
          {"baseband_zero_hz", plan.baseband_zero_hz},
          {"start_utc", core::to_iso(plan.scene.start)},
          {"middle_utc", core::to_iso(middle)},
          {"middle_jd", core::julian_date(middle)},
          {"samples", plan.samples},
          {"duration_s", 2 * middle_s(plan)},
          {"steps_per_unit", plan.steps_per_unit}};
}

Json array_json(const SimulationPlan& plan, const SimulationOutcome& outcome) {
  const formats::ArrayLayout& array = plan.array;
  Json antennas = Json::array(), inputs = Json::array();
  for (const formats::Antenna& antenna : array.antennas)
    antennas.push_back(
        {{"number", antenna.number}, {"name", antenna.name}, {"ecef_m", antenna.ecef_m}});
  for (std::size_t i = 0; i < plan.inputs(); ++i)
    inputs.push_back({{"antenna", array.antennas[array.inputs[i].antenna].number},
                      {"feed", std::string(1, array.inputs[i].feed)},
                      {"noise_rms", plan.noise_rms[i]},
                      {"power", plan.input_power(i)},
                      {"clipped", i < outcome.clipped.size() ? outcome.clipped[i] : 0}});
  return {{"name", array.name},
          {"latitude_deg", array.latitude_deg},
          {"longitude_deg", array.longitude_deg},
          {"altitude_m", array.altitude_m},
          {"antennas", antennas},
          {"inputs", inputs}};
}

// Second derivative of a delay by the difference of its rate over two seconds around `seconds`.
double delay_acceleration(const SimulationPlan& plan, std::size_t s, std::size_t antenna,
                          double seconds) {
  return (plan.delay_rate(s, antenna, seconds + 1) - plan.delay_rate(s, antenna, seconds - 1)) / 2;
}

Json sources_json(const SimulationPlan& plan) {
  const formats::Site site = formats::site_of(plan.array);
  const double middle = middle_s(plan);
  Json sources = Json::array();
  for (std::size_t s = 0; s < plan.sources.size(); ++s) {
    const formats::scene::Source& source = plan.sources[s].source;
    const formats::Vector3 enu = formats::ecef_to_enu(plan.sources[s].track.at(middle), site);
    Json delays = Json::array(), rates = Json::array(), accelerations = Json::array();
    for (std::size_t a = 0; a < plan.array.antennas.size(); ++a) {
      delays.push_back(plan.delay_s(s, a, middle));
      rates.push_back(plan.delay_rate(s, a, middle));
      accelerations.push_back(delay_acceleration(plan, s, a, middle));
    }
    double azimuth = std::atan2(enu[0], enu[1]) * kDegPerRad;
    if (azimuth < 0) azimuth += 360;
    sources.push_back({{"name", source.name},
                       {"ra_deg", source.ra_deg},
                       {"dec_deg", source.dec_deg},
                       {"azimuth_deg", azimuth},
                       {"elevation_deg", std::asin(enu[2]) * kDegPerRad},
                       {"flux", source.flux},
                       {"spectral_index", source.spectral_index},
                       {"polarised_fraction", source.polarised_fraction},
                       {"polarisation_angle_deg", source.polarisation_angle_deg},
                       {"antenna_delay_s", delays},
                       {"antenna_delay_rate", rates},
                       {"antenna_delay_acceleration_per_s", accelerations}});
  }
  return sources;
}

Json tones_json(const SimulationPlan& plan) {
  Json tones = Json::array();
  for (const formats::scene::Tone& tone : plan.scene.tones)
    tones.push_back({{"frequency_hz", tone.frequency_hz},
                     {"amplitudes", tone.amplitudes},
                     {"phase_deg", tone.phase_deg}});
  return tones;
}

Json missing_json(const SimulationPlan& plan) {
  Json missing = Json::array();
  for (const MissingSpan& span : plan.missing)
    missing.push_back({{"first_sample", span.first},
                       {"samples", span.last - span.first},
                       {"inputs", span.inputs}});
  return missing;
}

// The products of one feed of two antennas, conj(x_1) x_2, as UVH5 files them.
Json product_json(const SimulationPlan& plan, std::size_t first, std::size_t second) {
  const double middle = middle_s(plan);
  const std::size_t a1 = plan.array.inputs[first].antenna, a2 = plan.array.inputs[second].antenna;
  std::complex<double> sum = 0;
  for (std::size_t s = 0; s < plan.sources.size(); ++s) {
    const double delay_s = plan.delay_s(s, a2, middle) - plan.delay_s(s, a1, middle);
    const double kept = coherence(plan.blocks, delay_s * plan.rate_hz.value());
    const double turns = -formats::delays::phase_turns(plan.scene.centre_hz, delay_s);
    sum += std::polar(plan.source_power(s, first) * kept, 2 * std::numbers::pi * turns);
  }
  const double noise = std::sqrt(plan.input_power(first) * plan.input_power(second));
  return {{"amplitude", std::abs(sum)},
          {"phase_deg", std::arg(sum) * kDegPerRad},
          {"correlation", noise > 0 ? std::abs(sum) / noise : 0}};
}

Json baseline_json(const SimulationPlan& plan, std::size_t a1, std::size_t a2) {
  const double middle = middle_s(plan);
  Json delays = Json::array(), rates = Json::array();
  for (std::size_t s = 0; s < plan.sources.size(); ++s) {
    delays.push_back(plan.delay_s(s, a2, middle) - plan.delay_s(s, a1, middle));
    rates.push_back(plan.delay_rate(s, a2, middle) - plan.delay_rate(s, a1, middle));
  }
  Json baseline = {{"ant_1", plan.array.antennas[a1].number},
                   {"ant_2", plan.array.antennas[a2].number},
                   {"delay_s", delays},
                   {"delay_rate", rates}};
  for (const std::size_t i : plan.antenna_inputs[a1])
    for (const std::size_t j : plan.antenna_inputs[a2])
      if (plan.array.inputs[i].feed == plan.array.inputs[j].feed)
        baseline[std::string(2, plan.array.inputs[i].feed)] = product_json(plan, i, j);
  return baseline;
}

// Every pair of different antennas in data order.
Json baselines_json(const SimulationPlan& plan) {
  Json baselines = Json::array();
  const std::size_t antennas = plan.array.antennas.size();
  if (antennas > kMostListedAntennas) return baselines;
  for (std::size_t a1 = 0; a1 < antennas; ++a1)
    for (std::size_t a2 = a1 + 1; a2 < antennas; ++a2)
      baselines.push_back(baseline_json(plan, a1, a2));
  return baselines;
}

}  // namespace

std::string truth_json(const SimulationPlan& plan, const SimulationOutcome& outcome) {
  const Json truth = {
      {"schema", "tautline.simulation.truth"},
      {"version", 1},
      {"made_by", outcome.history},
      {"seed", plan.sampling.seed},
      {"scene", plan.scene.name},
      {"files", outcome.files},
      {"model",
       "V(f, t) = mean conj(x_1) x_2 = steps_per_unit^2 sum over sources of flux "
       "(f / centre_hz)^spectral_index exp(-2 pi i f (tau_2(t) - tau_1(t))), with tau(t) = "
       "antenna_delay_s + antenna_delay_rate u + antenna_delay_acceleration_per_s u^2 / 2 and u = "
       "t - middle_utc in seconds; xx and yy of an unpolarised source"},
      {"sampling", sampling_json(plan)},
      {"array", array_json(plan, outcome)},
      {"sources", sources_json(plan)},
      {"tones", tones_json(plan)},
      {"missing", missing_json(plan)},
      {"baselines", baselines_json(plan)}};
  return truth.dump(1) + "\n";
}

}  // namespace tautline::pipeline::simulation

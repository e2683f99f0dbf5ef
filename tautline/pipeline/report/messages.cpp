#include "tautline/pipeline/report/messages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tautline/formats/astronomy.h"
#include "tautline/formats/input_name.h"
#include "tautline/pipeline/report/base64.h"

namespace tautline::pipeline::report {
namespace {

using Json = nlohmann::ordered_json;

/// Names come from files: bytes that are not UTF-8 become the replacement character.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// JSON has no infinities.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/// East and north of the middle of the antennas.
Json antennas_of(const formats::ArrayLayout& array) {
  const formats::Site site = formats::site_of(array);
  formats::Vector3 middle{};
  for (const formats::Antenna& antenna : array.antennas)
    for (std::size_t axis = 0; axis < 3; ++axis)
      middle[axis] += antenna.ecef_m[axis] / static_cast<double>(array.antennas.size());
  Json antennas = Json::array();
  for (const formats::Antenna& antenna : array.antennas) {
    const formats::Vector3 enu_m =
        formats::ecef_to_enu(formats::difference(antenna.ecef_m, middle), site);
    antennas.push_back({{"number", antenna.number},
                        {"name", antenna.name},
                        {"east_m", number(enu_m[0])},
                        {"north_m", number(enu_m[1])}});
  }
  return antennas;
}

Json channels_of(const VisibilityDigest& digest) {
  const std::vector<double>& channel_hz = digest.description().channel_hz;
  const ChannelBins& bins = digest.channel_bins();
  const ChannelBins& spectrum = digest.spectrum_bins();
  return {{"count", channel_hz.size()},
          {"width_hz", digest.description().channel_width_hz},
          {"per_bin", bins.per_bin},
          {"bin_hz", base64(bins.centres_hz(channel_hz))},
          {"spectrum_per_bin", spectrum.per_bin},
          {"spectrum_bin_hz", base64(spectrum.centres_hz(channel_hz))}};
}

Json baselines_of(const VisibilityDigest& digest) {
  Json baselines = Json::array();
  for (const KeptBaseline& kept : digest.choice().baselines)
    baselines.push_back({{"first", kept.first},
                         {"second", kept.second},
                         {"length_m", number(kept.length_m)},
                         {"strength", number(kept.strength)},
                         {"reasons", kept.reasons}});
  return baselines;
}

Json triangles_of(const VisibilityDigest& digest) {
  Json triangles = Json::array();
  for (const Triangle& triangle : digest.choice().triangles)
    triangles.push_back({{"inputs", triangle.inputs}, {"sides", triangle.sides}});
  return triangles;
}

/// The code of a cell without a valid sample.
constexpr std::int16_t kMissing = std::numeric_limits<std::int16_t>::min();
constexpr float kFullScale = 32767;

/// 0 only for nothing valid, 255 only for everything.
std::uint8_t fraction_code(double fraction) {
  if (!(fraction > 0)) return 0;
  if (fraction > 1 - 1e-9) return 255;  // whole but for rounding
  return static_cast<std::uint8_t>(std::clamp(std::floor(fraction * 255), 1.0, 254.0));
}

/// Each row of a baseline's channels at one time has its own scale, so that a burst at one time
/// leaves the other times their precision.
void encode_visibilities(const VisibilityDigest& digest, std::size_t time,
                         std::vector<std::int16_t>& codes, std::vector<float>& scales) {
  const std::size_t bins = digest.channel_bins().bins;
  for (std::size_t b = 0; b < digest.choice().baselines.size(); ++b) {
    float largest = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (!digest.present(time, b, bin)) continue;
      const std::complex<float> value = digest.visibility(time, b, bin);
      largest = std::max({largest, std::abs(value.real()), std::abs(value.imag())});
    }
    const float scale = largest > 0 ? largest / kFullScale : 1;
    scales.push_back(scale);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const bool present = digest.present(time, b, bin);
      const std::complex<float> value = digest.visibility(time, b, bin) / scale;
      const auto code = [](float part) {
        return static_cast<std::int16_t>(std::clamp(std::round(part), -kFullScale, kFullScale));
      };
      codes.push_back(present ? code(value.real()) : kMissing);
      codes.push_back(present ? code(value.imag()) : kMissing);
    }
  }
}

void append_complex(std::vector<float>& values, std::complex<double> value) {
  values.push_back(static_cast<float>(value.real()));
  values.push_back(static_cast<float>(value.imag()));
}

Json summary_of(const VisibilityDigest& digest) {
  const std::size_t inputs = digest.description().array.inputs.size();
  std::vector<float> spectra, closures;
  std::vector<std::uint8_t> valid;
  for (std::size_t input = 0; input < inputs; ++input)
    for (std::size_t bin = 0; bin < digest.spectrum_bins().bins; ++bin) {
      spectra.push_back(static_cast<float>(digest.spectrum(input, bin)));
      valid.push_back(fraction_code(digest.valid_spectrum(input, bin)));
    }
  for (std::size_t t = 0; t < digest.choice().triangles.size(); ++t)
    for (std::size_t bin = 0; bin < digest.channel_bins().bins; ++bin)
      append_complex(closures, digest.closure_spectrum(t, bin));
  return {{"integrations", digest.integrations()},
          {"covered_s", digest.covered_s()},
          {"valid_fraction", digest.valid_fraction()},
          {"values_not_finite", digest.values_not_finite()},
          {"spectra", base64(spectra)},
          {"valid_spectra", base64(valid)},
          {"closure_spectra", base64(closures)}};
}

}  // namespace

std::string description_message(const VisibilityDigest& digest) {
  const formats::VisibilityDescription& description = digest.description();
  const formats::ArrayLayout& array = description.array;
  Json inputs = Json::array();
  for (std::size_t input = 0; input < array.inputs.size(); ++input)
    inputs.push_back({{"antenna", array.inputs[input].antenna},
                      {"feed", std::string(1, array.inputs[input].feed)},
                      {"label", formats::input_name(array, input)}});
  const formats::PhaseCentre& centre = description.phase_centre;
  return text_of({{"type", "description"},
                  {"schema", "tautline.visibilities"},
                  {"version", kMessageVersion},
                  {"telescope", description.telescope},
                  {"instrument", description.instrument},
                  {"source", description.source},
                  {"array", array.name},
                  {"history", description.history},
                  {"start_unix_s", digest.start_unix_s()},
                  {"integration_s", description.integration_s},
                  {"nominal_count", description.nominal_count},
                  {"phase_centre",
                   {{"tracked", centre.tracked},
                    {"name", centre.name},
                    {"ra_deg", number(centre.ra_deg)},
                    {"dec_deg", number(centre.dec_deg)}}},
                  {"positions_known", array.positions_known},
                  {"antennas", antennas_of(array)},
                  {"inputs", std::move(inputs)},
                  {"channels", channels_of(digest)},
                  {"baselines", baselines_of(digest)},
                  {"triangles", triangles_of(digest)}});
}

std::string integrations_message(const VisibilityDigest& digest, std::size_t first,
                                 std::size_t count) {
  const std::size_t inputs = digest.description().array.inputs.size();
  std::vector<double> start_s, end_s;
  std::vector<std::int32_t> integrations;
  std::vector<std::int16_t> visibilities;
  std::vector<float> power, scales, fractions, expected, bispectra;
  std::vector<std::uint8_t> valid;
  for (std::size_t time = first; time < first + count; ++time) {
    const TimeCell& cell = digest.times()[time];
    start_s.push_back(cell.start_s);
    end_s.push_back(cell.end_s);
    expected.push_back(static_cast<float>(cell.expected));
    integrations.push_back(static_cast<std::int32_t>(cell.integrations));
    encode_visibilities(digest, time, visibilities, scales);
    for (std::size_t b = 0; b < digest.choice().baselines.size(); ++b)
      fractions.push_back(static_cast<float>(digest.fraction(time, b)));
    for (std::size_t input = 0; input < inputs; ++input) {
      power.push_back(static_cast<float>(digest.power(time, input)));
      valid.push_back(fraction_code(digest.valid(time, input)));
    }
    for (std::size_t t = 0; t < digest.choice().triangles.size(); ++t)
      append_complex(bispectra, digest.bispectrum(time, t));
  }
  return text_of({{"type", "integrations"},
                  {"first", first},
                  {"count", count},
                  {"start_s", base64(start_s)},
                  {"end_s", base64(end_s)},
                  {"expected", base64(expected)},
                  {"integrations", base64(integrations)},
                  {"scales", base64(scales)},
                  {"fractions", base64(fractions)},
                  {"visibilities", base64(visibilities)},
                  {"power", base64(power)},
                  {"valid", base64(valid)},
                  {"bispectra", base64(bispectra)},
                  {"summary", summary_of(digest)}});
}

std::string status_message(const RunStatus& status) {
  Json facts = Json::array();
  for (const auto& [name, value] : status.facts) facts.push_back(Json::array({name, value}));
  return text_of({{"type", "status"},
                  {"facts", std::move(facts)},
                  {"warnings", status.warnings},
                  {"clipped", status.clipped},
                  {"requantised", status.requantised},
                  {"at_ends", status.at_ends}});
}

}  // namespace tautline::pipeline::report

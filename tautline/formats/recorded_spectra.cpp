#include "tautline/formats/recorded_spectra.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/sample_format.h"
#include "tautline/core/time.h"
#include "tautline/formats/assumed_values.h"

namespace tautline::formats {

namespace {
using Json = nlohmann::json;
}

Json record_beside(const std::string& path) {
  const std::string name = path + ".json";
  std::error_code ignored;
  std::ifstream file(name, std::ios::binary);
  if (!file || std::filesystem::is_directory(name, ignored)) return nullptr;
  std::ostringstream text;  // is parsed in half the time of a stream
  text << file.rdbuf();
  try {
    Json record = Json::parse(text.view());
    return record.is_object() ? record : Json(nullptr);
  } catch (const Json::parse_error& problem) {
    throw core::Error(
        core::ErrorKind::format, name, "no JSON at byte " + std::to_string(problem.byte),
        "the record that was written with the file", "write it anew, or remove it to do without");
  }
}

std::string other_file_text(const Json& record, const std::string& path, std::uint64_t samples,
                            std::uint64_t more) {
  const bool spectra = is_of_channelize(record);
  if (!spectra && !is_of_recording(record)) return {};
  const Json recorded = record.value(spectra ? "spectra" : "samples", Json());
  if (!recorded.is_number_unsigned() || recorded.get<std::uint64_t>() + more >= samples) return {};
  return path + ".json: of a file of " + core::counted(recorded.get<std::uint64_t>(), "sample") +
         ", expected " + std::to_string(samples) + ": not used";
}

bool is_of_channelize(const Json& record) {
  return !record.is_null() && record.value("schema", Json()) == "tautline.channelize.record" &&
         record.contains("rate_hz");
}

bool is_of_recording(const Json& record) {
  if (record.is_null()) return false;
  const Json schema = record.value("schema", Json());
  return schema == "tautline.dump" || schema == "tautline.record";
}

bool of_damaged_input(const Json& record) {
  return record.value("lost_samples", std::uint64_t{0}) > 0 ||
         record.value("not_finite", std::uint64_t{0}) > 0;
}

std::string recorded_stokes(const std::string& path) {
  const Json record = record_beside(path);
  if (!is_of_channelize(record)) return {};
  const Json stokes = record.value("stokes", Json());
  return stokes.is_string() ? stokes.get<std::string>() : std::string();
}

RecordedSpectra recorded_spectra(const Json& record, const std::string& path, std::size_t channels,
                                 std::size_t inputs) {
  RecordedSpectra spectra;
  if (!is_of_channelize(record)) return spectra;
  const auto wrong = [&](const std::string& found) {
    return core::Error(core::ErrorKind::format, path + ".json", found,
                       "the record that channelize wrote beside the file",
                       "remove it, or channelize again");
  };
  try {
    spectra.edge_channels =
        record.value("edge_channels", Json::array()).get<std::vector<std::size_t>>();
    if (record.contains("invalid") && !of_damaged_input(record))
      spectra.unchanging = record.at("invalid_spectra").get<std::uint64_t>();
    spectra.requantised_bits = record.value("requantised_bits", 0);
    spectra.clipped = record.value("clipped", std::uint64_t{0}) +
                      record.value("clipped_before", std::uint64_t{0});
    for (const Json& of_channel : record.value("requantisation_gains", Json::array())) {
      const auto gains = of_channel.get<std::vector<float>>();
      if (gains.size() != inputs)
        throw wrong("requantisation_gains of " + core::counted(gains.size(), "input") + ", not " +
                    std::to_string(inputs));
      spectra.gains.insert(spectra.gains.end(), gains.begin(), gains.end());
    }
  } catch (const Json::exception& problem) {
    throw wrong(problem.what());
  }
  std::sort(spectra.edge_channels.begin(), spectra.edge_channels.end());
  if (!spectra.edge_channels.empty() && spectra.edge_channels.back() >= channels)
    throw wrong("edge channel " + std::to_string(spectra.edge_channels.back()) + " of " +
                core::counted(channels, "channel"));
  if (!spectra.gains.empty() && spectra.gains.size() != channels * inputs)
    throw wrong("requantisation_gains of " +
                core::counted(spectra.gains.size() / inputs, "channel") + ", not " +
                std::to_string(channels));
  for (const float gain : spectra.gains)
    if (!std::isnormal(gain) || gain < 0)
      throw wrong("a gain of " + std::to_string(gain) + " in requantisation_gains");
  return spectra;
}

core::VoltageDescription with_record(const Json& record, const std::string& path,
                                     core::VoltageDescription d) {
  if (!is_of_channelize(record)) return d;
  const auto compare = [&](const std::string& field, double given_hz, double told_hz) {
    const std::string text = override_text(field, given_hz, path + ".json", told_hz);
    if (!text.empty()) d.assumed += (d.assumed.empty() ? "" : "; ") + text;
  };
  try {
    const auto rate_hz =
        core::make_rational(record.at("rate_hz").at(0), record.at("rate_hz").at(1));
    compare("rate_hz", d.rate_hz.value(), rate_hz.value());
    compare("centre_hz", d.centre_hz, record.at("centre_hz"));
    compare("bandwidth_hz", d.bandwidth_hz, record.at("bandwidth_hz"));
    const core::SampleFormat unknown;
    if (d.format == unknown)
      d.format = core::parse_sample_format(record.at("format").get<std::string>());
    if (d.rate_hz.numerator == 0) d.rate_hz = rate_hz;
    if (d.centre_hz == 0) d.centre_hz = record.at("centre_hz");
    if (d.bandwidth_hz == 0) d.bandwidth_hz = record.at("bandwidth_hz");
    if (d.antennas <= 1) d.antennas = record.at("antennas");
    if (d.polarisations <= 1) d.polarisations = record.at("polarisations");
    if (d.telescope.empty()) d.telescope = record.value("telescope", "");
    if (d.source.empty()) d.source = record.value("source", "");
    if (d.start == core::Instant{}) {
      d.start = core::parse_utc(record.at("start_utc").get<std::string>());
      d.start.fraction_numerator = record.at("start_fraction_s").at(0);
      d.start.fraction_denominator = record.at("start_fraction_s").at(1);
    }
  } catch (const std::exception& problem) {
    throw core::Error(core::ErrorKind::format, path + ".json", problem.what(),
                      "the record that channelize wrote of the spectra",
                      "channelize again, or do without the record and give the sample rate");
  }
  return d;
}

}  // namespace tautline::formats

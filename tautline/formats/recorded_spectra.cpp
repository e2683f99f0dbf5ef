#include "tautline/formats/recorded_spectra.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tautline/core/error.h"

namespace tautline::formats {

namespace {
using Json = nlohmann::json;
}

Json record_beside(const std::string& path) {
  std::ifstream file(path + ".json", std::ios::binary);
  if (!file) return nullptr;
  std::ostringstream text;  // is parsed in half the time of a stream
  text << file.rdbuf();
  Json record = Json::parse(text.view(), nullptr, false);
  return record.is_object() ? record : Json(nullptr);
}

bool is_of_channelize(const Json& record) {
  return !record.is_null() && record.value("schema", Json()) == "tautline.channelize.record" &&
         record.contains("rate_hz");
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

RecordedSpectra recorded_spectra(const std::string& path, std::size_t channels,
                                 std::size_t inputs) {
  RecordedSpectra spectra;
  const Json record = record_beside(path);
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
    for (const Json& of_channel : record.value("requantisation_gains", Json::array())) {
      const auto gains = of_channel.get<std::vector<float>>();
      if (gains.size() != inputs)
        throw wrong("requantisation_gains of " + std::to_string(gains.size()) + " inputs, not " +
                    std::to_string(inputs));
      spectra.gains.insert(spectra.gains.end(), gains.begin(), gains.end());
    }
  } catch (const Json::exception& problem) {
    throw wrong(problem.what());
  }
  std::sort(spectra.edge_channels.begin(), spectra.edge_channels.end());
  if (!spectra.edge_channels.empty() && spectra.edge_channels.back() >= channels)
    throw wrong("edge channel " + std::to_string(spectra.edge_channels.back()) + " of " +
                std::to_string(channels) + " channels");
  if (!spectra.gains.empty() && spectra.gains.size() != channels * inputs)
    throw wrong("requantisation_gains of " + std::to_string(spectra.gains.size() / inputs) +
                " channels, not " + std::to_string(channels));
  for (const float gain : spectra.gains)
    if (!std::isnormal(gain) || gain < 0)
      throw wrong("a gain of " + std::to_string(gain) + " in requantisation_gains");
  return spectra;
}

}  // namespace tautline::formats

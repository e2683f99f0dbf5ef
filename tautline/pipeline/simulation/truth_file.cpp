#include "tautline/pipeline/simulation/truth_file.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/seeming_kind.h"

namespace tautline::pipeline::simulation {
namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kHeadBytes = 4096;
constexpr const char* kTruthSchema = "tautline.simulation.truth";

std::vector<double> numbers_of(const nlohmann::json& json, std::size_t count) {
  auto values = json.get<std::vector<double>>();
  if (values.size() != count) throw std::runtime_error("an array of another length");
  return values;
}

TrueSource source_of(const nlohmann::json& json, std::size_t antennas) {
  TrueSource source;
  source.name = json.at("name");
  source.flux = json.at("flux");
  source.spectral_index = json.at("spectral_index");
  // The polarised part is a signal that both feeds share, with amplitudes cos and sin of its angle.
  const double fraction = json.at("polarised_fraction");
  const double angle = json.at("polarisation_angle_deg").get<double>() * core::kRadPerDeg;
  source.power_x = 1 - fraction + 2 * fraction * std::pow(std::cos(angle), 2);
  source.power_y = 1 - fraction + 2 * fraction * std::pow(std::sin(angle), 2);
  source.delay_s = numbers_of(json.at("antenna_delay_s"), antennas);
  source.delay_rate = numbers_of(json.at("antenna_delay_rate"), antennas);
  source.delay_acceleration_per_s =
      numbers_of(json.at("antenna_delay_acceleration_per_s"), antennas);
  return source;
}

void read_baseline(const nlohmann::json& json, Truth& truth) {
  const std::pair<int, int> pair{json.at("ant_1"), json.at("ant_2")};
  for (const char feed : {'x', 'y'}) {
    const auto product = json.find(std::string(2, feed));
    if (product == json.end()) continue;
    truth.listed[{pair, feed}] =
        std::polar(product->at("amplitude").get<double>(),
                   product->at("phase_deg").get<double>() * core::kRadPerDeg);
  }
}

// "[json.exception.out_of_range.403] key 'x' not found": the library's mark has no meaning for a
// user.
std::string without_mark(const std::string& text) {
  const std::size_t end = text.find("] ");
  return text.starts_with("[json.") && end != std::string::npos ? text.substr(end + 2) : text;
}

Truth truth_of(const nlohmann::json& json) {
  const std::string schema = json.is_object() ? json.value("schema", "") : "";
  if (schema != kTruthSchema || json.value("version", 0) != 1)
    throw std::runtime_error("schema is not tautline.simulation.truth version 1");
  Truth truth;
  const nlohmann::json& sampling = json.at("sampling");
  truth.middle = core::parse_utc(sampling.at("middle_utc").get<std::string>());
  truth.centre_hz = sampling.at("centre_hz");
  truth.bandwidth_hz = sampling.at("bandwidth_hz");
  truth.power_scale = std::pow(sampling.at("steps_per_unit").get<double>(), 2);
  truth.complex = sampling.value("complex", true);
  truth.largest_step = sampling.value("largest_step", 0);
  for (const nlohmann::json& antenna : json.at("array").at("antennas")) {
    truth.antenna_numbers.push_back(antenna.at("number"));
    if (antenna.contains("name")) truth.antenna_names.push_back(antenna["name"]);
    if (antenna.contains("ecef_m"))
      truth.antenna_ecef_m.push_back(antenna["ecef_m"].get<formats::Vector3>());
  }
  if (truth.antenna_ecef_m.size() != truth.antenna_numbers.size()) truth.antenna_ecef_m.clear();
  if (truth.antenna_names.size() != truth.antenna_numbers.size()) truth.antenna_names.clear();
  for (const nlohmann::json& input : json.at("array").at("inputs"))
    truth.input_power[{input.at("antenna"), input.at("feed").get<std::string>().at(0)}] =
        input.at("power");
  for (const nlohmann::json& source : json.at("sources"))
    truth.sources.push_back(source_of(source, truth.antenna_numbers.size()));
  for (const nlohmann::json& tone : json.at("tones"))
    truth.tones_hz.push_back(tone.at("frequency_hz"));
  for (const nlohmann::json& baseline : json.at("baselines")) read_baseline(baseline, truth);
  return truth;
}

}  // namespace

void require_truth_file(const std::string& path, const std::string& schema) {
  std::error_code ignored;
  const std::string expected = "the .truth.json that simulate wrote",
                    advice = "give the measured file first, then its truth";
  if (std::filesystem::is_directory(path, ignored))
    throw formats::other_kind(path, expected, advice);
  if (std::filesystem::is_regular_file(path, ignored)) (void)formats::InputFile(path);
  const std::string is = formats::commands_for(path);
  if (is.empty() || !formats::how_to_decompress(path).empty()) return;
  std::ifstream file(path, std::ios::binary);
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head.find('"' + schema + '"') != std::string::npos) return;
  const Error found = formats::other_kind(path, expected, advice);
  throw Error(found.kind(), found.field(), found.value(), found.limit(), is + "; " + advice);
}

Truth read_truth(const std::string& path) {
  require_truth_file(path, kTruthSchema);
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(ErrorKind::io, path, std::string("cannot be opened: ") + std::strerror(errno), "",
                "give the .truth.json that simulate wrote");
  try {
    return truth_of(nlohmann::json::parse(file));
  } catch (const Error&) {
    throw;
  } catch (const nlohmann::json::parse_error&) {
    const std::string kind = formats::seeming_kind(path);
    const std::string advice = formats::how_to_decompress(path);
    throw Error(
        ErrorKind::format, path,
        kind.empty() || kind == "JSON" ? "not whole JSON" : "not JSON, it seems to be " + kind,
        "the truth of a simulation (docs/guide/simulate.md)",
        advice.empty() ? "give the visibilities first and then the .truth.json that simulate wrote"
                       : advice);
  } catch (const std::exception& problem) {
    throw Error(ErrorKind::format, path, without_mark(problem.what()),
                "the truth of a simulation (docs/guide/simulate.md)",
                "give the .truth.json that simulate wrote");
  }
}

}  // namespace tautline::pipeline::simulation

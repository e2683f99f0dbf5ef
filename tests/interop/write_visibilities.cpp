// Writes visibilities that a test made up, through the library's public headers:
//   write_visibilities SPEC.json OUT...
// SPEC.json names an array.toml, the axes, the time of each integration, and a file of raw data:
// for each integration complex64 means [channel][baseline], then int64 counts [channel][baseline].
#include <complex>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/formats/visibility_writer.h"

namespace {

using nlohmann::json;
namespace core = tautline::core;
namespace formats = tautline::formats;

formats::VisibilityDescription description_of(const json& spec) {
  formats::VisibilityDescription d;
  d.array = spec.contains("array")
                ? formats::read_array_layout(spec["array"])
                : formats::unknown_array(spec["antennas"], spec["polarisations"]);
  d.channel_hz = spec["channel_hz"].get<std::vector<double>>();
  d.channel_width_hz = spec["channel_width_hz"];
  d.integration_s = spec["integration_s"];
  d.nominal_count = spec["nominal_count"];
  d.telescope = spec.value("telescope", "");
  d.instrument = spec.value("instrument", "");
  d.source = spec.value("source", "");
  d.history = spec.value("history", "");
  d.extra = spec.value("extra", std::map<std::string, std::string>{});
  d.earth = {spec.value("ut1_minus_utc_s", 0.0), spec.value("pole_x_rad", 0.0),
             spec.value("pole_y_rad", 0.0)};
  if (spec.contains("phase_centre")) {
    const json& centre = spec["phase_centre"];
    d.phase_centre = {true, centre["name"], centre["ra_deg"], centre["dec_deg"]};
  }
  return d;
}

formats::Integration next_integration(const json& one, std::size_t channels, std::size_t baselines,
                                      std::istream& raw, std::vector<std::complex<float>>& values,
                                      std::vector<std::int64_t>& counts) {
  const auto read = [&](auto& into) {
    into.resize(channels * baselines);
    raw.read(reinterpret_cast<char*>(into.data()),
             static_cast<std::streamsize>(into.size() * sizeof(into[0])));
    if (!raw) throw std::runtime_error("the raw file is too short");
  };
  read(values);
  read(counts);
  const core::Rational rate = core::make_rational(one["rate"][0], one["rate"][1]);
  formats::Integration integration;
  integration.middle = core::advance_half(
      core::parse_utc(one["start"].get<std::string>(), one["picoseconds"]), one["samples"], rate);
  integration.integration_s = one["integration_s"];
  integration.visibilities = {values.data(), {channels, baselines}};
  integration.counts = {counts.data(), {channels, baselines}};
  return integration;
}

int run(const std::vector<std::string>& arguments) {
  const json spec = json::parse(std::ifstream(arguments.at(0)));
  const auto description = description_of(spec);
  std::vector<std::unique_ptr<formats::VisibilityWriter>> writers;
  for (std::size_t a = 1; a < arguments.size(); ++a)
    writers.push_back(formats::create_visibilities(arguments[a], description, false));
  std::ifstream raw(spec["raw"].get<std::string>(), std::ios::binary);
  std::vector<std::complex<float>> values;
  std::vector<std::int64_t> counts;
  for (const json& one : spec["integrations"]) {
    const auto integration = next_integration(one, description.channel_hz.size(),
                                              core::baseline_count(description.array.inputs.size()),
                                              raw, values, counts);
    for (const auto& writer : writers) writer->write(integration);
  }
  for (const auto& writer : writers) {
    writer->add_extra("lost", "0");
    writer->finish();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "write_visibilities: " << error.what() << '\n';
    return 1;
  }
}

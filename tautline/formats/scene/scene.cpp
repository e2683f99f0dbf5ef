#include "tautline/formats/scene/scene.h"

#include <fmt/format.h>

#include <cmath>

#include "tautline/formats/toml/toml_kind.h"

namespace tautline::formats::scene {

namespace {

void require_within(const TomlTable& table, std::string_view key, double value, double lowest,
                    double highest) {
  if (value < lowest || value > highest)
    throw table.error(key, fmt::format("{}", value), fmt::format("{} to {}", lowest, highest));
}

// A number within [lowest, highest].
double ranged(const TomlTable& table, std::string_view key, double fallback, double lowest,
              double highest) {
  const double value = table.number_or(key, fallback);
  require_within(table, key, value, lowest, highest);
  return value;
}

void require_not_negative(const TomlTable& table, std::string_view key,
                          const std::vector<double>& values) {
  if (values.empty()) throw table.error(key, "an empty list", "one number, or one an input");
  for (const double value : values)
    if (value < 0) throw table.error(key, fmt::format("{}", value), "0 or more");
}

Source read_source(const TomlTable& table, std::size_t number) {
  table.allow_only({"name", "ra_deg", "dec_deg", "azimuth_deg", "elevation_deg", "flux",
                    "spectral_index", "polarised_fraction", "polarisation_angle_deg"});
  Source source;
  source.name = table.text_or("name", fmt::format("source {}", number));
  const bool equatorial = table.has("ra_deg") || table.has("dec_deg");
  source.horizontal = table.has("azimuth_deg") || table.has("elevation_deg");
  if (equatorial == source.horizontal)
    throw table.error(equatorial ? "ra_deg" : "place", equatorial ? "two places" : "missing",
                      "either ra_deg and dec_deg or azimuth_deg and elevation_deg");
  if (equatorial) {
    source.ra_deg = table.angle_deg("ra_deg", core::AngleUnit::hours);
    source.dec_deg = table.angle_deg("dec_deg", core::AngleUnit::degrees);
    require_within(table, "dec_deg", source.dec_deg, -90, 90);
  } else {
    source.azimuth_deg = table.number("azimuth_deg");
    source.elevation_deg = ranged(table, "elevation_deg", table.number("elevation_deg"), 0, 90);
  }
  source.flux = table.number("flux");
  if (source.flux < 0) throw table.error("flux", fmt::format("{}", source.flux), "0 or more");
  source.spectral_index = ranged(table, "spectral_index", 0, -20, 20);
  source.polarised_fraction = ranged(table, "polarised_fraction", 0, 0, 1);
  source.polarisation_angle_deg = ranged(table, "polarisation_angle_deg", 0, -360, 360);
  return source;
}

Tone read_tone(const TomlTable& table, const Scene& scene) {
  table.allow_only({"frequency_hz", "amplitude", "phase_deg"});
  Tone tone;
  tone.frequency_hz = table.number("frequency_hz");
  const double half = scene.bandwidth_hz.value() / 2;
  if (std::abs(tone.frequency_hz - scene.centre_hz) > half)
    throw table.error("frequency_hz", fmt::format("{}", tone.frequency_hz),
                      fmt::format("a frequency inside the band, {} to {}", scene.centre_hz - half,
                                  scene.centre_hz + half));
  tone.amplitudes = table.numbers("amplitude");
  require_not_negative(table, "amplitude", tone.amplitudes);
  tone.phase_deg = table.number_or("phase_deg", 0);
  return tone;
}

Missing read_missing(const TomlTable& table) {
  table.allow_only({"start_s", "duration_s", "inputs"});
  constexpr double kLongest_s = 1e9;
  Missing missing;
  missing.start_s = ranged(table, "start_s", table.number("start_s"), 0, kLongest_s);
  missing.duration_s = ranged(table, "duration_s", table.number("duration_s"), 0, kLongest_s);
  if (table.has("inputs")) {
    for (const double input : table.numbers("inputs")) {
      if (input < 0 || input != std::floor(input) || input > 1e6)
        throw table.error("inputs", fmt::format("{}", input), "numbers of inputs from 0");
      missing.inputs.push_back(static_cast<std::size_t>(input));
    }
  }
  return missing;
}

Scene scene_from(const TomlTable& table) {
  table.allow_only({"name", "start", "centre_hz", "bandwidth_hz", "sideband", "noise_rms",
                    "rms_steps", "source", "tone", "missing"});
  Scene scene;
  scene.name = table.text_or("name", scene.name);
  scene.start =
      table.has("start") ? table.instant("start") : core::parse_utc("2024-01-01T00:00:00");
  if (table.has("bandwidth_hz")) scene.bandwidth_hz = table.rational("bandwidth_hz");
  scene.centre_hz = table.number_or("centre_hz", scene.centre_hz);
  if (scene.centre_hz < scene.bandwidth_hz.value() / 2)
    throw table.error("centre_hz", fmt::format("{}", scene.centre_hz),
                      "at least half the bandwidth, so that no frequency is negative");
  const std::string sideband = table.text_or("sideband", "upper");
  if (sideband != "upper" && sideband != "lower")
    throw table.error("sideband", sideband, "\"upper\" or \"lower\"");
  scene.lower_sideband = sideband == "lower";
  if (table.has("noise_rms")) scene.noise_rms = table.numbers("noise_rms");
  require_not_negative(table, "noise_rms", scene.noise_rms);
  constexpr double kLargestRms = 32767;
  scene.rms_steps = ranged(table, "rms_steps", 0, 0, kLargestRms);
  for (const TomlTable& source : table.tables("source"))
    scene.sources.push_back(read_source(source, scene.sources.size() + 1));
  for (const TomlTable& tone : table.tables("tone")) scene.tones.push_back(read_tone(tone, scene));
  for (const TomlTable& missing : table.tables("missing"))
    scene.missing.push_back(read_missing(missing));
  return scene;
}

}  // namespace

Scene read_scene(const std::string& path) {
  const TomlTable file = TomlTable::read(path);
  require_kind(file, path, TomlKind::scene);
  return scene_from(file);
}

Scene parse_scene(std::string_view text, const std::string& name) {
  return scene_from(TomlTable::parse(text, name));
}

}  // namespace tautline::formats::scene

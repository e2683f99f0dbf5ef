#include "cli/inspect_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/field_options.h"
#include "tautline/core/angle.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/time.h"
#include "tautline/formats/array_layout.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/scene/filterbank_scene.h"
#include "tautline/formats/scene/scene.h"
#include "tautline/formats/toml/toml_kind.h"

namespace tautline::cli {

namespace {

using JsonObject = nlohmann::ordered_json;

int inspect_layout(const Global& global, const std::string& path) {
  const formats::ArrayLayout array = formats::read_array_layout(path);
  if (global.json) {
    JsonObject antennas = JsonObject::array();
    for (const formats::Antenna& antenna : array.antennas)
      antennas.push_back({{"number", antenna.number},
                          {"name", antenna.name},
                          {"ecef_m", antenna.ecef_m},
                          {"diameter_m", antenna.diameter_m}});
    print_json("tautline.inspect.array", 1,
               {{"file", said_name(path)},
                {"name", array.name},
                {"latitude_deg", array.latitude_deg},
                {"longitude_deg", array.longitude_deg},
                {"altitude_m", array.altitude_m},
                {"antennas", antennas},
                {"inputs", array.inputs.size()}});
    return kDone;
  }
  fmt::print("{}: an array, {}\n", said_name(path), array.name);
  fmt::print("  place       {:+.6f} {:+.6f} degrees (latitude, longitude), {:.1f} m\n",
             array.latitude_deg, array.longitude_deg, array.altitude_m);
  fmt::print("  antennas    {}, {}{}\n", array.antennas.size(),
             core::counted(array.inputs.size(), "input"),
             array.feeds_assumed ? " (x and y of each: no feeds are listed), or one of each" : "");
  return kDone;
}

int inspect_sky(const Global& global, const std::string& path) {
  const formats::scene::Scene scene = formats::scene::read_scene(path);
  if (global.json)
    print_json("tautline.inspect.scene", 1,
               {{"file", said_name(path)},
                {"name", scene.name},
                {"start_utc", core::to_iso(scene.start)},
                {"centre_hz", scene.centre_hz},
                {"bandwidth_hz", scene.bandwidth_hz.value()},
                {"sources", scene.sources.size()},
                {"tones", scene.tones.size()},
                {"missing", scene.missing.size()}});
  else
    fmt::print(
        "{}: a scene of simulate voltages, {}\n  band        {:.6f} MHz wide about {:.6f} MHz\n"
        "  start       {} UTC\n  holds       {}, {}, {}\n",
        said_name(path), scene.name, scene.bandwidth_hz.value() / 1e6, scene.centre_hz / 1e6,
        core::to_iso(scene.start), core::counted(scene.sources.size(), "source"),
        core::counted(scene.tones.size(), "tone"),
        core::counted(scene.missing.size(), "missing piece"));
  return kDone;
}

int inspect_filterbank_scene(const Global& global, const std::string& path) {
  const formats::scene::FilterbankScene scene = formats::scene::read_filterbank_scene(path);
  if (global.json)
    print_json("tautline.inspect.filterbank_scene", 1,
               {{"file", said_name(path)},
                {"name", scene.name},
                {"channels", scene.channels},
                {"fch1_mhz", scene.fch1_mhz},
                {"foff_mhz", scene.foff_mhz},
                {"tsamp_s", scene.tsamp_s},
                {"pulses", scene.pulses.size()},
                {"impulses", scene.impulses.size()},
                {"carriers", scene.carriers.size()}});
  else
    fmt::print(
        "{}: a scene of simulate filterbank, {}\n  band        {} from {:.6f} MHz in steps of "
        "{:.6g} MHz, {:.6g} s a sample\n  holds       {}, {}, {}\n",
        said_name(path), scene.name, core::counted(scene.channels, "channel"), scene.fch1_mhz,
        scene.foff_mhz, scene.tsamp_s, core::counted(scene.pulses.size(), "pulse"),
        core::counted(scene.impulses.size(), "impulse"),
        core::counted(scene.carriers.size(), "carrier"));
  return kDone;
}

// Without the array that they are of: models are counted, not read.
int inspect_delays(const Global& global, const std::string& path, const formats::TomlTable& table) {
  const std::string centre = table.text("phase_centre");
  const std::size_t delays = table.tables("delay").size();
  const bool placed = table.has("ra_deg") && table.has("dec_deg");
  const double ra_deg = placed ? table.angle_deg("ra_deg", core::AngleUnit::hours) : 0;
  const double dec_deg = placed ? table.angle_deg("dec_deg", core::AngleUnit::degrees) : 0;
  const std::string until =
      table.has("valid_until") ? core::to_iso(table.instant("valid_until")) : "";
  if (global.json)
    print_json("tautline.inspect.delays", 1,
               {{"file", said_name(path)},
                {"phase_centre", centre},
                {"ra_deg", placed ? JsonObject(ra_deg) : JsonObject()},
                {"dec_deg", placed ? JsonObject(dec_deg) : JsonObject()},
                {"delays", delays},
                {"valid_until", until}});
  else
    fmt::print("{}: a table of delays, {}\n  points at   {}{}\n  valid until {}\n", said_name(path),
               core::counted(delays, "model"), centre,
               placed ? fmt::format(", {:.6f} {:+.6f} degrees (ICRS)", ra_deg, dec_deg) : "",
               until.empty() ? "any time" : until + " UTC");
  return kDone;
}

int inspect_toml(const Global& global, const std::string& path) {
  const formats::TomlTable table = formats::TomlTable::read(path);
  switch (formats::toml_kind(table)) {
    case formats::TomlKind::array:
      return inspect_layout(global, path);
    case formats::TomlKind::filterbank_scene:
      return inspect_filterbank_scene(global, path);
    case formats::TomlKind::scene:
      return inspect_sky(global, path);
    case formats::TomlKind::delays:
      return inspect_delays(global, path, table);
    default:
      break;
  }
  throw core::Error(
      core::ErrorKind::format, path + ": tables", fmt::format("{}", fmt::join(table.keys(), ", ")),
      "those of an array, of a scene or of delays", "tautline run --check looks at a pipeline");
}

// A truth or a record: lists by their lengths, the rest as it is.
int inspect_record(const Global& global, const std::string& path) {
  const formats::InputFile file(path);
  const auto text = file.head(static_cast<std::size_t>(file.size()));
  const JsonObject record =
      JsonObject::parse(reinterpret_cast<const char*>(text.data()),
                        reinterpret_cast<const char*>(text.data()) + text.size(), nullptr, false);
  const JsonObject schema =
      record.is_object() ? record.value("schema", JsonObject()) : JsonObject();
  if (!schema.is_string() || !schema.get<std::string>().starts_with("tautline."))
    throw core::Error(core::ErrorKind::format, path,
                      record.is_discarded() ? "not whole JSON" : "JSON of no known schema",
                      "a truth of simulate, or a record that a command wrote");
  if (global.json) {
    print_json("tautline.inspect.record", 1, {{"file", said_name(path)}, {"record", record}});
    return kDone;
  }
  fmt::print("{}: {} {}\n", said_name(path), schema.get<std::string>(), record.value("version", 0));
  for (const auto& [key, value] : record.items()) {
    if (key == "schema" || key == "version") continue;
    if (value.is_array() && !value.empty() && (value.size() > 4 || value.front().is_structured()))
      fmt::print("  {:<16} {} of them\n", key, value.size());
    else if (value.is_object())
      fmt::print("  {:<16} {}\n", key, core::counted(value.size(), "field"));
    else
      fmt::print("  {:<16} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return kDone;
}

}  // namespace

std::optional<int> inspect_text(const Global& global, const std::string& path) {
  if (path.ends_with(".toml")) return inspect_toml(global, path);
  if (path.ends_with(".json")) return inspect_record(global, path);
  return std::nullopt;
}

void print_origin(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string line;
  for (const auto& [name, value] : facts)
    if (!value.empty())
      line += line.empty() ? fmt::format("  {:<11} {}", name, value)
                           : fmt::format("  {} {}", name, value);
  if (!line.empty()) fmt::print("{}\n", line);
}

}  // namespace tautline::cli

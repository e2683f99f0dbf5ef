#include "tautline/formats/array_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <set>
#include <string_view>

#include "tautline/core/error.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/toml/toml_kind.h"

namespace tautline::formats {
namespace {

using core::Error;
using core::ErrorKind;

// The values of MOUNT, as pyuvdata and the Measurement Set know it.
constexpr std::array<std::string_view, 9> kMounts = {
    "alt-az", "equatorial",       "orbiting",         "x-y",  "phased",
    "fixed",  "alt-az+nasmyth-r", "alt-az+nasmyth-l", "other"};
// Any telescope that stands on the ground, in a mine or under a balloon.
constexpr double kLeastRadius_m = 6.3e6, kLargestRadius_m = 6.5e6;
constexpr std::int64_t kLargestNumber = 2'147'483'647;

double number_in(const TomlTable& table, std::string_view key, double low, double high) {
  const double value = table.number_or(key, 0);
  if (value < low || value > high)
    throw table.error(key, fmt::format("{}", value),
                      fmt::format("a number from {} to {}", low, high));
  return value;
}

// The same for degrees, which may be sexagesimal.
double angle_in(const TomlTable& table, std::string_view key, double low, double high) {
  const double value = table.angle_deg(key, core::AngleUnit::degrees);
  if (value < low || value > high)
    throw table.error(key, fmt::format("{}", value), fmt::format("{} to {} degrees", low, high));
  return value;
}

std::string name_or(const TomlTable& table, const std::string& otherwise) {
  const std::string name = table.text_or("name", otherwise);
  if (name.empty()) throw table.error("name", "an empty text", "a name");
  return name;
}

std::optional<Vector3> read_vector(const TomlTable& table, std::string_view key) {
  constexpr double kFarthest_m = 1e9;
  if (!table.has(key)) return std::nullopt;
  const std::vector<double> values = table.numbers(key);
  const bool near = std::all_of(values.begin(), values.end(),
                                [](double v) { return std::abs(v) <= kFarthest_m; });
  if (values.size() != 3 || !near)
    throw table.error(key, fmt::format("[{}]", fmt::join(values, ", ")),
                      fmt::format("three numbers in metres, up to {}", kFarthest_m));
  return Vector3{values[0], values[1], values[2]};
}

std::vector<char> read_feeds(const TomlTable& table) {
  if (!table.has("feeds")) return {'x', 'y'};
  const std::vector<std::string> names = table.texts("feeds");
  std::vector<char> feeds;
  for (const std::string& name : names)
    if (name == "x" || name == "y") feeds.push_back(name.front());
  const bool twice = feeds.size() == 2 && feeds[0] == feeds[1];
  if (feeds.size() != names.size() || feeds.empty() || feeds.size() > 2 || twice)
    throw table.error("feeds", fmt::format("[{}]", fmt::join(names, ", ")),
                      R"(["x", "y"], ["x"] or ["y"])");
  return feeds;
}

int read_number(const TomlTable& table, std::size_t place) {
  const auto number =
      table.has("number") ? table.integer("number") : static_cast<std::int64_t>(place);
  if (number < 0 || number > kLargestNumber)
    throw table.error("number", std::to_string(number),
                      fmt::format("a whole number from 0 to {}", kLargestNumber));
  return static_cast<int>(number);
}

// `site` is absent when the file gives no latitude and longitude.
Antenna read_antenna(const TomlTable& section, std::size_t place, const std::optional<Site>& site) {
  section.allow_only(
      {"number", "name", "enu_m", "ecef_m", "diameter_m", "mount_type", "feeds", "feed_angle_deg"});
  Antenna antenna;
  antenna.number = read_number(section, place);
  antenna.name = name_or(section, fmt::format("ant{}", antenna.number));
  antenna.diameter_m = number_in(section, "diameter_m", 0, 1e6);
  antenna.mount_type = section.text_or("mount_type", antenna.mount_type);
  if (std::find(kMounts.begin(), kMounts.end(), antenna.mount_type) == kMounts.end())
    throw section.error("mount_type", antenna.mount_type,
                        fmt::format("one of {}", fmt::join(kMounts, ", ")));
  antenna.feeds = read_feeds(section);
  antenna.feeds_listed = section.has("feeds");
  antenna.feed_angle_deg = number_in(section, "feed_angle_deg", -360, 360);

  const std::optional<Vector3> enu = read_vector(section, "enu_m"),
                               ecef = read_vector(section, "ecef_m");
  if (enu.has_value() == ecef.has_value())
    throw section.error("enu_m", enu ? "given with ecef_m" : "missing",
                        "exactly one of enu_m and ecef_m", "say where the antenna stands once");
  if (ecef) {
    const double radius = std::sqrt(dot(*ecef, *ecef));
    if (antenna.mount_type != "orbiting" && (radius < kLeastRadius_m || radius > kLargestRadius_m))
      throw section.error("ecef_m", fmt::format("{:.0f} m from the earth's centre", radius),
                          fmt::format("{:.0f} to {:.0f} m", kLeastRadius_m, kLargestRadius_m),
                          "ecef_m counts from the earth's centre; use enu_m for local positions");
    antenna.ecef_m = *ecef;
  } else {
    if (!site)
      throw section.error("enu_m", "given", "latitude_deg and longitude_deg of the array with it",
                          "add them at the top of the file");
    const Vector3 centre = ecef_m(*site), offset = enu_to_ecef(*enu, *site);
    for (std::size_t k = 0; k < 3; ++k) antenna.ecef_m[k] = centre[k] + offset[k];
  }
  return antenna;
}

std::optional<Site> read_site(const TomlTable& section, ArrayLayout& array) {
  const bool latitude = section.has("latitude_deg"), longitude = section.has("longitude_deg");
  if (!latitude && !longitude) {
    if (section.has("altitude_m"))
      throw section.error("latitude_deg", "missing", "a number beside altitude_m");
    return std::nullopt;
  }
  if (!latitude || !longitude)
    throw section.error(latitude ? "longitude_deg" : "latitude_deg", "missing",
                        "both latitude_deg and longitude_deg, or neither");
  array.latitude_deg = angle_in(section, "latitude_deg", -90, 90);
  array.longitude_deg = angle_in(section, "longitude_deg", -180, 360);
  array.altitude_m = number_in(section, "altitude_m", -12e3, 1e6);
  return site_of(array);
}

// With no place given, the array's centre is the mean of its antennas.
void centre_on_antennas(ArrayLayout& array) {
  Vector3 mean{};
  for (const Antenna& antenna : array.antennas)
    for (std::size_t k = 0; k < 3; ++k)
      mean[k] += antenna.ecef_m[k] / static_cast<double>(array.antennas.size());
  const Site site = site_at(mean);
  array.latitude_deg = site.latitude_rad * 180 / std::numbers::pi;
  array.longitude_deg = site.longitude_rad * 180 / std::numbers::pi;
  array.altitude_m = site.altitude_m;
}

InputLabel read_input(const TomlTable& section, std::int64_t number, const std::string& feed,
                      const ArrayLayout& array) {
  const auto fail = [&](const std::string& limit) {
    return section.error("inputs", fmt::format(R"([{}, "{}"])", number, feed), limit);
  };
  for (std::size_t a = 0; a < array.antennas.size(); ++a) {
    const Antenna& antenna = array.antennas[a];
    if (antenna.number != number) continue;
    if (feed.size() != 1 ||
        std::find(antenna.feeds.begin(), antenna.feeds.end(), feed.front()) == antenna.feeds.end())
      throw fail(
          fmt::format("a feed of antenna {}, one of {}", number, fmt::join(antenna.feeds, ", ")));
    const bool again = std::any_of(
        array.inputs.begin(), array.inputs.end(),
        [&](const InputLabel& other) { return other.antenna == a && other.feed == feed.front(); });
    if (again) throw fail("every antenna and feed at most once");
    return {a, feed.front()};
  }
  throw fail("the number of an [[antenna]]");
}

void read_inputs(const TomlTable& section, ArrayLayout& array) {
  if (!section.has("inputs")) {
    for (std::size_t a = 0; a < array.antennas.size(); ++a)
      for (const char feed : array.antennas[a].feeds) array.inputs.push_back({a, feed});
    return;
  }
  array.inputs_listed = true;
  for (const auto& [number, feed] : section.pairs("inputs"))
    array.inputs.push_back(read_input(section, number, feed, array));
  if (array.inputs.empty())
    throw section.error("inputs", "[]", R"([[number, "x"], ...] in data order)");
}

void read_antennas(const TomlTable& section, const std::optional<Site>& site, ArrayLayout& array) {
  std::set<int> numbers;
  std::set<std::string> names;
  for (const TomlTable& one : section.tables("antenna")) {
    array.antennas.push_back(read_antenna(one, array.antennas.size(), site));
    const Antenna& antenna = array.antennas.back();
    if (!numbers.insert(antenna.number).second)
      throw one.error("number", std::to_string(antenna.number), "a number no other antenna has");
    if (!names.insert(antenna.name).second)
      throw one.error("name", antenna.name, "a name no other antenna has");
  }
  if (array.antennas.empty()) throw section.error("antenna", "missing", "at least one [[antenna]]");
}

}  // namespace

ArrayLayout read_array_layout(const std::string& path) {
  const TomlTable section = TomlTable::read(path);
  require_kind(section, path, TomlKind::array);
  section.allow_only({"name", "latitude_deg", "longitude_deg", "altitude_m", "antenna", "inputs"});
  ArrayLayout array;
  array.name = name_or(section, array.name);
  const std::optional<Site> site = read_site(section, array);
  read_antennas(section, site, array);
  if (!site) centre_on_antennas(array);
  read_inputs(section, array);
  array.feeds_assumed =
      !section.has("inputs") && std::none_of(array.antennas.begin(), array.antennas.end(),
                                             [](const Antenna& a) { return a.feeds_listed; });
  return array;
}

void assume_polarisations(ArrayLayout& layout, std::size_t polarisations) {
  if (!layout.feeds_assumed || polarisations != 1) return;
  layout.inputs.clear();
  for (std::size_t a = 0; a < layout.antennas.size(); ++a) {
    layout.antennas[a].feeds = {'x'};
    layout.inputs.push_back({a, 'x'});
  }
}

ArrayLayout unknown_array(std::size_t antennas, std::size_t polarisations,
                          const std::vector<std::string>& names) {
  if (antennas == 0) throw Error(ErrorKind::config, "antennas", "0", "at least 1");
  if (polarisations < 1 || polarisations > 2)
    throw Error(ErrorKind::config, "polarisations", std::to_string(polarisations), "1 or 2",
                "name the inputs in an array.toml");
  ArrayLayout array;
  array.positions_known = false;
  const Vector3 centre = ecef_m(site_of(array));
  for (std::size_t a = 0; a < antennas; ++a) {
    Antenna antenna;
    antenna.number = static_cast<int>(a);
    antenna.name = a < names.size() ? names[a] : fmt::format("ant{}", a);
    antenna.ecef_m = centre;
    if (polarisations == 1) antenna.feeds = {'x'};
    for (const char feed : antenna.feeds) array.inputs.push_back({a, feed});
    array.antennas.push_back(std::move(antenna));
  }
  return array;
}

void require_antennas(const ArrayLayout& layout, std::size_t antennas, std::size_t polarisations) {
  if (!layout.positions_known || layout.inputs_listed || polarisations != 2 ||
      layout.antennas.size() == antennas)
    return;
  throw Error(ErrorKind::config, "antennas of array " + layout.name,
              std::to_string(layout.antennas.size()),
              fmt::format("{}, of two polarisations each, as the data have", antennas),
              "give the array of these data, list what each of their inputs is: inputs = [[number, "
              "\"x\"], ...], or, of VDIF, say what the threads are with `threads_are`");
}

void require_inputs(const ArrayLayout& layout, std::size_t inputs) {
  if (layout.inputs.size() != inputs)
    throw Error(ErrorKind::config, "inputs of array " + layout.name,
                std::to_string(layout.inputs.size()),
                fmt::format("{}, one for each input of the data", inputs),
                std::string("list them as inputs = [[number, \"x\"], ...], or give the antennas "
                            "their feeds") +
                    (inputs == 2 * layout.antennas.size()
                         ? "; if each antenna has two polarisations, say so with `antennas` and "
                           "`polarisations` or, of VDIF, `threads_are`"
                         : ""));
}

}  // namespace tautline::formats

#include "tautline/formats/array_layout.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/astronomy.h"

namespace tautline::formats {
namespace {

using core::Error;
using core::ErrorKind;

// What MOUNT may say, as pyuvdata and the Measurement Set know it.
constexpr std::array<std::string_view, 9> kMounts = {
    "alt-az", "equatorial",       "orbiting",         "x-y",  "phased",
    "fixed",  "alt-az+nasmyth-r", "alt-az+nasmyth-l", "other"};
// Anything that stands on the ground, in a mine or under a balloon.
constexpr double kLeastRadius_m = 6.3e6, kLargestRadius_m = 6.5e6;
constexpr std::int64_t kLargestNumber = 2'147'483'647;

// A table with the name under which errors speak of it: "array.toml: antenna[3]".
class Section {
 public:
  Section(const toml::table& table, std::string file, std::string path)
      : table_(table), file_(std::move(file)), path_(std::move(path)) {}

  Error wrong(std::string_view key, std::string value, std::string limit,
              std::string advice = {}) const {
    return Error(ErrorKind::format, fmt::format("{}: {}{}", file_, path_, key), std::move(value),
                 std::move(limit), std::move(advice));
  }

  void allow(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, node] : table_)
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
        throw wrong(key.str(), "unknown key", fmt::format("one of {}", fmt::join(keys, ", ")),
                    "correct or remove it");
  }

  bool has(std::string_view key) const { return table_.contains(key); }
  const toml::node* node(std::string_view key) const { return table_.get(key); }

  std::string text(std::string_view key, std::string otherwise) const {
    const toml::node* n = node(key);
    if (n == nullptr) return otherwise;
    const auto value = n->value_exact<std::string>();
    if (!value || value->empty()) throw wrong(key, shown(*n), "a non-empty string in quotes");
    return *value;
  }

  double number(std::string_view key, double otherwise, double low, double high) const {
    const toml::node* n = node(key);
    return n == nullptr ? otherwise : number_in(*n, key, low, high);
  }

  std::int64_t integer(std::string_view key, std::int64_t otherwise, std::int64_t low,
                       std::int64_t high) const {
    const toml::node* n = node(key);
    if (n == nullptr) return otherwise;
    const auto value = n->value_exact<std::int64_t>();
    if (!value || *value < low || *value > high)
      throw wrong(key, shown(*n), fmt::format("a whole number from {} to {}", low, high));
    return *value;
  }

  std::optional<Vector3> vector(std::string_view key) const {
    const toml::node* n = node(key);
    if (n == nullptr) return std::nullopt;
    const toml::array* list = n->as_array();
    if (list == nullptr || list->size() != 3)
      throw wrong(key, shown(*n), "three numbers in metres");
    Vector3 v{};
    for (std::size_t k = 0; k < 3; ++k) v[k] = number_in(*list->get(k), key, -1e9, 1e9);
    return v;
  }

  std::string shown(const toml::node& n) const {
    std::string value;
    n.visit([&](const auto& x) {
      std::ostringstream out;
      out << x;
      value = out.str();
    });
    return fmt::format("{} (line {})", value, n.source().begin.line);
  }

 private:
  double number_in(const toml::node& n, std::string_view key, double low, double high) const {
    const bool numeric = n.is_integer() || n.is_floating_point();
    const double value = numeric ? *n.value<double>() : 0;
    if (!numeric || !std::isfinite(value) || value < low || value > high)
      throw wrong(key, shown(n), fmt::format("a number from {} to {}", low, high));
    return value;
  }

  const toml::table& table_;
  std::string file_, path_;
};

std::vector<char> read_feeds(const Section& section) {
  const toml::node* n = section.node("feeds");
  if (n == nullptr) return {'x', 'y'};
  std::vector<char> feeds;
  const toml::array* list = n->as_array();
  const auto fail = [&] {
    return section.wrong("feeds", section.shown(*n), R"(["x", "y"], ["x"] or ["y"])");
  };
  if (list == nullptr || list->empty() || list->size() > 2) throw fail();
  for (const toml::node& item : *list) {
    const auto feed = item.value_exact<std::string>();
    if (!feed || (*feed != "x" && *feed != "y")) throw fail();
    feeds.push_back(feed->front());
  }
  if (feeds.size() == 2 && feeds[0] == feeds[1]) throw fail();
  return feeds;
}

// `site` is nothing when the file gives no latitude and longitude.
Antenna read_antenna(const Section& section, std::size_t place, const std::optional<Site>& site) {
  section.allow(
      {"number", "name", "enu_m", "ecef_m", "diameter_m", "mount_type", "feeds", "feed_angle_deg"});
  Antenna antenna;
  antenna.number = static_cast<int>(
      section.integer("number", static_cast<std::int64_t>(place), 0, kLargestNumber));
  antenna.name = section.text("name", fmt::format("ant{}", antenna.number));
  antenna.diameter_m = section.number("diameter_m", 0, 0, 1e6);
  antenna.mount_type = section.text("mount_type", "fixed");
  if (std::find(kMounts.begin(), kMounts.end(), antenna.mount_type) == kMounts.end())
    throw section.wrong("mount_type", antenna.mount_type,
                        fmt::format("one of {}", fmt::join(kMounts, ", ")));
  antenna.feeds = read_feeds(section);
  antenna.feeds_listed = section.node("feeds") != nullptr;
  antenna.feed_angle_deg = section.number("feed_angle_deg", 0, -360, 360);

  const std::optional<Vector3> enu = section.vector("enu_m"), ecef = section.vector("ecef_m");
  if (enu.has_value() == ecef.has_value())
    throw section.wrong("enu_m", enu ? "given with ecef_m" : "missing",
                        "exactly one of enu_m and ecef_m", "say where the antenna stands once");
  if (ecef) {
    const double radius = std::sqrt(dot(*ecef, *ecef));
    if (antenna.mount_type != "orbiting" && (radius < kLeastRadius_m || radius > kLargestRadius_m))
      throw section.wrong("ecef_m", fmt::format("{:.0f} m from the earth's centre", radius),
                          fmt::format("{:.0f} to {:.0f} m", kLeastRadius_m, kLargestRadius_m),
                          "ecef_m counts from the earth's centre; use enu_m for local positions");
    antenna.ecef_m = *ecef;
  } else {
    if (!site)
      throw section.wrong("enu_m", "given", "latitude_deg and longitude_deg of the array with it",
                          "add them at the top of the file");
    const Vector3 centre = ecef_m(*site), offset = enu_to_ecef(*enu, *site);
    for (std::size_t k = 0; k < 3; ++k) antenna.ecef_m[k] = centre[k] + offset[k];
  }
  return antenna;
}

std::optional<Site> read_site(const Section& section, ArrayLayout& array) {
  const bool latitude = section.has("latitude_deg"), longitude = section.has("longitude_deg");
  if (!latitude && !longitude) {
    if (section.has("altitude_m"))
      throw section.wrong("latitude_deg", "missing", "a number beside altitude_m");
    return std::nullopt;
  }
  if (!latitude || !longitude)
    throw section.wrong(latitude ? "longitude_deg" : "latitude_deg", "missing",
                        "both latitude_deg and longitude_deg, or neither");
  array.latitude_deg = section.number("latitude_deg", 0, -90, 90);
  array.longitude_deg = section.number("longitude_deg", 0, -180, 360);
  array.altitude_m = section.number("altitude_m", 0, -12e3, 1e6);
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

InputLabel read_input(const toml::node& item, const ArrayLayout& array, const Section& section,
                      std::size_t place) {
  const std::string key = fmt::format("inputs[{}]", place);
  const toml::array* pair = item.as_array();
  const auto fail = [&](std::string limit) {
    return section.wrong(key, section.shown(item), std::move(limit));
  };
  if (pair == nullptr || pair->size() != 2) throw fail(R"([antenna number, "x" or "y"])");
  const auto number = pair->get(0)->value_exact<std::int64_t>();
  const auto feed = pair->get(1)->value_exact<std::string>();
  if (!number || !feed || feed->size() != 1) throw fail(R"([antenna number, "x" or "y"])");
  for (std::size_t a = 0; a < array.antennas.size(); ++a) {
    const Antenna& antenna = array.antennas[a];
    if (antenna.number != *number) continue;
    if (std::find(antenna.feeds.begin(), antenna.feeds.end(), feed->front()) == antenna.feeds.end())
      throw fail(
          fmt::format("a feed of antenna {}, one of {}", *number, fmt::join(antenna.feeds, ", ")));
    return {a, feed->front()};
  }
  throw fail("the number of an [[antenna]]");
}

void read_inputs(const Section& section, ArrayLayout& array) {
  const toml::node* n = section.node("inputs");
  if (n == nullptr) {
    for (std::size_t a = 0; a < array.antennas.size(); ++a)
      for (const char feed : array.antennas[a].feeds) array.inputs.push_back({a, feed});
    return;
  }
  const toml::array* list = n->as_array();
  if (list == nullptr || list->empty())
    throw section.wrong("inputs", section.shown(*n), R"([[number, "x"], ...] in data order)");
  std::set<std::pair<std::size_t, char>> seen;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const InputLabel input = read_input(*list->get(i), array, section, i);
    if (!seen.insert({input.antenna, input.feed}).second)
      throw section.wrong(fmt::format("inputs[{}]", i), section.shown(*list->get(i)),
                          "every antenna and feed at most once");
    array.inputs.push_back(input);
  }
}

void read_antennas(const Section& section, const std::optional<Site>& site, const std::string& file,
                   ArrayLayout& array) {
  const toml::node* n = section.node("antenna");
  const toml::array* list = n == nullptr ? nullptr : n->as_array();
  if (list == nullptr || list->empty() || !list->is_array_of_tables())
    throw section.wrong("antenna", n == nullptr ? "missing" : section.shown(*n),
                        "at least one [[antenna]]");
  std::set<int> numbers;
  std::set<std::string> names;
  for (std::size_t a = 0; a < list->size(); ++a) {
    const Section one(*list->get(a)->as_table(), file, fmt::format("antenna[{}].", a));
    array.antennas.push_back(read_antenna(one, a, site));
    const Antenna& antenna = array.antennas.back();
    if (!numbers.insert(antenna.number).second)
      throw one.wrong("number", std::to_string(antenna.number), "a number no other antenna has");
    if (!names.insert(antenna.name).second)
      throw one.wrong("name", antenna.name, "a name no other antenna has");
  }
}

}  // namespace

ArrayLayout read_array_layout(const std::string& path) {
  toml::table root;
  try {
    root = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    const auto& where = error.source().begin;
    if (where.line == 0)
      throw Error(ErrorKind::io, path, std::string(error.description()), "a readable file");
    throw Error(ErrorKind::format, fmt::format("{}: line {}", path, where.line),
                std::string(error.description()), "TOML");
  }
  const Section section(root, path, "");
  section.allow({"name", "latitude_deg", "longitude_deg", "altitude_m", "antenna", "inputs"});
  ArrayLayout array;
  array.name = section.text("name", array.name);
  const std::optional<Site> site = read_site(section, array);
  read_antennas(section, site, path, array);
  if (!site) centre_on_antennas(array);
  read_inputs(section, array);
  array.feeds_assumed = section.node("inputs") == nullptr &&
                        std::none_of(array.antennas.begin(), array.antennas.end(),
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

ArrayLayout unknown_array(std::size_t antennas, std::size_t polarisations) {
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
    antenna.name = fmt::format("ant{}", a);
    antenna.ecef_m = centre;
    if (polarisations == 1) antenna.feeds = {'x'};
    for (const char feed : antenna.feeds) array.inputs.push_back({a, feed});
    array.antennas.push_back(std::move(antenna));
  }
  return array;
}

void require_inputs(const ArrayLayout& layout, std::size_t inputs) {
  if (layout.inputs.size() != inputs)
    throw Error(ErrorKind::config, "inputs of array " + layout.name,
                std::to_string(layout.inputs.size()),
                fmt::format("{}, one for each input of the data", inputs),
                "list them as inputs = [[number, \"x\"], ...], or give the antennas their feeds");
}

}  // namespace tautline::formats

#include "tautline/formats/scene/filterbank_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/core/exact_double.h"
#include "tautline/core/field_text.h"
#include "tautline/formats/toml/toml_kind.h"

namespace tautline::formats::scene {

namespace {

using core::Error;
using core::ErrorKind;

constexpr double kDefaultStartMjd = 60000;

template <class One>
void parse_keys(const char* field, std::string_view text, One& one) {
  const auto& keys = keys_of(one);
  // Of a list of texts the field's error has them all, and the limit alone says which is meant.
  const auto fail = [field, all = std::string(text)](const std::string& found,
                                                     const std::string& expected) {
    return Error(ErrorKind::config, field, found, fmt::format("{} in '{}'", expected, all));
  };
  std::string names;
  for (const auto& key : keys) names += (names.empty() ? "" : ", ") + std::string(key.name);
  std::vector<bool> seen(keys.size(), false);
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
    const std::size_t equals = item.find('=');
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& key) {
      return key.name == item.substr(0, equals);
    });
    if (equals == std::string_view::npos || found == keys.end())
      throw fail(std::string(item), fmt::format("key=value with one of {}, not '{}'", names, item));
    const std::string field_of_key(found->field), given(item.substr(equals + 1));
    const std::string text_of_value =
        field_of_key.ends_with("_s") ? core::text::in_seconds(given) : given;
    double& value = one.*found->member;
    const char* end_of_text = text_of_value.data() + text_of_value.size();
    const auto [end, error] = std::from_chars(text_of_value.data(), end_of_text, value);
    if (error != std::errc() || end != end_of_text || !std::isfinite(value))
      throw fail(std::string(item),
                 fmt::format("a number behind {}=, not '{}'", found->name, item));
    seen[static_cast<std::size_t>(found - keys.begin())] = true;
  }
  for (std::size_t k = 0; k < keys.size(); ++k)
    if (keys[k].required && !seen[k])
      throw fail(fmt::format("no {}", keys[k].name),
                 fmt::format("{}= too: it has no default,", keys[k].name));
}

// The tables of [[section]].
template <class One>
std::vector<One> read_tables(const TomlTable& table, const char* section) {
  std::vector<One> all;
  for (const TomlTable& entry : table.tables(section)) {
    One& one = all.emplace_back();
    const auto& keys = keys_of(one);
    std::vector<std::string_view> fields;
    for (const auto& key : keys) fields.push_back(key.field);
    entry.allow_only(fields);
    for (const auto& key : keys)
      one.*key.member =
          key.required ? entry.number(key.field) : entry.number_or(key.field, one.*key.member);
  }
  return all;
}

FilterbankScene filterbank_scene_from(const TomlTable& table) {
  table.allow_only({"name", "start", "nchans", "fch1_mhz", "foff_mhz", "tsamp_s", "nbits",
                    "bandpass", "smearing", "mean_steps", "rms_steps", "pulse", "impulse",
                    "carrier"});
  FilterbankScene scene;
  scene.name = table.text_or("name", scene.name);
  scene.start =
      table.has("start") ? table.instant("start") : core::instant_of_mjd(kDefaultStartMjd);
  const std::int64_t channels = table.has("nchans") ? table.integer("nchans") : 0;
  if (channels < 0) throw table.error("nchans", fmt::format("{}", channels), "1 or more");
  scene.channels = static_cast<std::size_t>(channels);
  scene.fch1_mhz = table.number_or("fch1_mhz", 0);
  scene.foff_mhz = table.number_or("foff_mhz", 0);
  scene.tsamp_s = table.number_or("tsamp_s", 0);
  if (table.has("nbits"))
    scene.bits = static_cast<int>(std::clamp<std::int64_t>(table.integer("nbits"), 0, 99));
  if (table.has("bandpass")) scene.bandpass = table.numbers("bandpass");
  scene.smearing = table.boolean_or("smearing", false);
  scene.mean_steps = table.number_or("mean_steps", -1);
  scene.rms_steps = table.number_or("rms_steps", -1);
  scene.pulses = read_tables<DispersedPulse>(table, "pulse");
  scene.impulses = read_tables<Impulse>(table, "impulse");
  scene.carriers = read_tables<Carrier>(table, "carrier");
  return scene;
}

void require(bool good, const char* field, double value, const std::string& limit) {
  if (!good) throw Error(ErrorKind::config, field, fmt::format("{}", value), limit);
}

void check_pulse(const DispersedPulse& p) {
  constexpr double kLongest_s = 1e9;
  const auto require = [&p](bool good, const char* field, double value, const std::string& limit) {
    if (!good)
      throw Error(ErrorKind::config, field, fmt::format("{} in '{}'", value, text_of(p)), limit);
  };
  require(std::abs(p.time_s) <= kLongest_s, "`pulses`: time", p.time_s, "seconds from the start");
  require(p.dm >= 0 && p.dm <= 1e6, "`pulses`: dm", p.dm, "0 to 1e6 pc cm^-3");
  require(p.width_s > 0 && p.width_s <= kLongest_s, "`pulses`: width", p.width_s, "above 0 s");
  require(p.snr >= 0 && p.snr <= 1e9, "`pulses`: snr", p.snr, "0 or more");
  require(std::abs(p.spectral_index) <= 20, "`pulses`: index", p.spectral_index, "-20 to 20");
  require(p.scattering_s >= 0 && p.scattering_s <= kLongest_s, "`pulses`: scattering",
          p.scattering_s, "0 s or more");
}

void check_interference(const FilterbankScene& scene) {
  for (const Impulse& i : scene.impulses) {
    require(i.duration_s > 0 && i.duration_s < 1e9, "`impulses`: duration", i.duration_s,
            "above 0 s");
    require(std::abs(i.amplitude) < 1e9, "`impulses`: amplitude", i.amplitude, "below 1e9");
  }
  for (const Carrier& c : scene.carriers) {
    require(c.width_mhz >= 0, "`carriers`: width", c.width_mhz, "0 MHz or more");
    require(c.period_s >= 0, "`carriers`: period", c.period_s, "0 s or more");
    require(c.duty >= 0 && c.duty <= 1, "`carriers`: duty", c.duty, "0 to 1");
    require(std::abs(c.amplitude) < 1e9, "`carriers`: amplitude", c.amplitude, "below 1e9");
  }
}

}  // namespace

const std::vector<Key<DispersedPulse>>& keys_of(const DispersedPulse&) {
  using P = DispersedPulse;
  static const std::vector<Key<P>> keys{{"dm", "dm", &P::dm, true},
                                        {"time", "time_s", &P::time_s, true},
                                        {"width", "width_s", &P::width_s, true},
                                        {"snr", "snr", &P::snr, true},
                                        {"index", "spectral_index", &P::spectral_index},
                                        {"scattering", "scattering_s", &P::scattering_s}};
  return keys;
}

const std::vector<Key<Impulse>>& keys_of(const Impulse&) {
  static const std::vector<Key<Impulse>> keys{
      {"time", "time_s", &Impulse::time_s, true},
      {"duration", "duration_s", &Impulse::duration_s, true},
      {"amplitude", "amplitude", &Impulse::amplitude, true}};
  return keys;
}

const std::vector<Key<Carrier>>& keys_of(const Carrier&) {
  using C = Carrier;
  static const std::vector<Key<C>> keys{{"frequency", "frequency_mhz", &C::frequency_mhz, true},
                                        {"amplitude", "amplitude", &C::amplitude, true},
                                        {"width", "width_mhz", &C::width_mhz},
                                        {"start", "start_s", &C::start_s},
                                        {"duration", "duration_s", &C::duration_s},
                                        {"period", "period_s", &C::period_s},
                                        {"duty", "duty", &C::duty}};
  return keys;
}

DispersedPulse parse_pulse(std::string_view text) {
  DispersedPulse pulse;
  parse_keys("pulses", text, pulse);
  return pulse;
}

Impulse parse_impulse(std::string_view text) {
  Impulse impulse;
  parse_keys("impulses", text, impulse);
  return impulse;
}

Carrier parse_carrier(std::string_view text) {
  Carrier carrier;
  parse_keys("carriers", text, carrier);
  return carrier;
}

FilterbankScene read_filterbank_scene(const std::string& path) {
  const TomlTable file = TomlTable::read(path);
  require_kind(file, path, TomlKind::filterbank_scene);
  return filterbank_scene_from(file);
}

FilterbankScene parse_filterbank_scene(std::string_view text, const std::string& name) {
  return filterbank_scene_from(TomlTable::parse(text, name));
}

void check_filterbank_scene(const FilterbankScene& s) {
  constexpr std::size_t kMostChannels = std::size_t{1} << 20;
  require(s.channels >= 1 && s.channels <= kMostChannels, "channels",
          static_cast<double>(s.channels), fmt::format("1 to {}", kMostChannels));
  const double last = s.fch1_mhz + s.foff_mhz * static_cast<double>(s.channels - 1);
  require(s.fch1_mhz > 0 && s.fch1_mhz < 1e9, "fch1_mhz", s.fch1_mhz, "a positive number of MHz");
  require(s.channels == 1 || s.foff_mhz != 0, "foff_mhz", s.foff_mhz,
          "a step in MHz that is not 0");
  require(last > 0 && last < 1e9, "foff_mhz", s.foff_mhz,
          fmt::format("a step that keeps the last channel above 0 (it is at {} MHz)", last));
  require(s.tsamp_s >= 1e-12 && s.tsamp_s <= 1e6, "tsamp_s", s.tsamp_s,
          "a positive number of seconds");
  const bool depth =
      s.bits == 1 || s.bits == 2 || s.bits == 4 || s.bits == 8 || s.bits == 16 || s.bits == 32;
  require(depth, "bits", s.bits, "1, 2, 4, 8, 16 or 32");
  require(!s.bandpass.empty(), "bandpass", 0, "one number or more");
  for (const double gain : s.bandpass)
    require(gain >= 0 && gain <= 1e6, "bandpass", gain, "0 to 1e6");
  for (const DispersedPulse& pulse : s.pulses) check_pulse(pulse);
  check_interference(s);
}

}  // namespace tautline::formats::scene

#include "tautline/formats/scene/filterbank_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/core/exact_double.h"
#include "tautline/formats/toml/toml_table.h"

namespace tautline::formats::scene {

namespace {

using core::Error;
using core::ErrorKind;

constexpr double kDefaultStartMjd = 60000;

// A key of an option's text, and where its value goes.
struct Key {
  std::string_view name;
  double* value;
  bool required;
};

void parse_keys(const char* field, std::string_view text, const std::vector<Key>& keys) {
  const auto fail = [&](const std::string& found, const std::string& expected) {
    return Error(ErrorKind::config, field, found, expected);
  };
  std::string names;
  for (const Key& key : keys) names += (names.empty() ? "" : ", ") + std::string(key.name);
  std::vector<bool> seen(keys.size(), false);
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& key) {
      return key.name == item.substr(0, equals);
    });
    if (equals == std::string_view::npos || found == keys.end())
      throw fail(fmt::format("'{}'", item), "key=value with one of " + names);
    const std::string_view value = item.substr(equals + 1);
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), *found->value);
    if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(*found->value))
      throw fail(fmt::format("'{}'", item), "a number behind the key");
    seen[static_cast<std::size_t>(found - keys.begin())] = true;
  }
  for (std::size_t k = 0; k < keys.size(); ++k)
    if (keys[k].required && !seen[k])
      throw fail(fmt::format("no {}", keys[k].name), "a value for it");
}

DispersedPulse read_pulse(const TomlTable& table) {
  table.allow_only({"dm", "time_s", "width_s", "snr", "spectral_index", "scattering_s"});
  DispersedPulse pulse;
  pulse.dm = table.number("dm");
  pulse.time_s = table.number("time_s");
  pulse.width_s = table.number("width_s");
  pulse.snr = table.number("snr");
  pulse.spectral_index = table.number_or("spectral_index", 0);
  pulse.scattering_s = table.number_or("scattering_s", 0);
  return pulse;
}

Impulse read_impulse(const TomlTable& table) {
  table.allow_only({"time_s", "duration_s", "amplitude"});
  return {table.number("time_s"), table.number("duration_s"), table.number("amplitude")};
}

Carrier read_carrier(const TomlTable& table) {
  table.allow_only(
      {"frequency_mhz", "width_mhz", "amplitude", "start_s", "duration_s", "period_s", "duty"});
  Carrier carrier;
  carrier.frequency_mhz = table.number("frequency_mhz");
  carrier.width_mhz = table.number_or("width_mhz", 0);
  carrier.amplitude = table.number("amplitude");
  carrier.start_s = table.number_or("start_s", 0);
  carrier.duration_s = table.number_or("duration_s", -1);
  carrier.period_s = table.number_or("period_s", 0);
  carrier.duty = table.number_or("duty", 1);
  return carrier;
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
  for (const TomlTable& pulse : table.tables("pulse")) scene.pulses.push_back(read_pulse(pulse));
  for (const TomlTable& impulse : table.tables("impulse"))
    scene.impulses.push_back(read_impulse(impulse));
  for (const TomlTable& carrier : table.tables("carrier"))
    scene.carriers.push_back(read_carrier(carrier));
  return scene;
}

void require(bool good, const char* field, double value, const std::string& limit) {
  if (!good) throw Error(ErrorKind::config, field, fmt::format("{}", value), limit);
}

void check_pulse(const DispersedPulse& p) {
  constexpr double kLongest_s = 1e9;
  require(std::abs(p.time_s) <= kLongest_s, "pulse: time", p.time_s, "seconds from the start");
  require(p.dm >= 0 && p.dm <= 1e6, "pulse: dm", p.dm, "0 to 1e6 pc cm^-3");
  require(p.width_s > 0 && p.width_s <= kLongest_s, "pulse: width", p.width_s, "above 0 s");
  require(p.snr >= 0 && p.snr <= 1e9, "pulse: snr", p.snr, "0 or more");
  require(std::abs(p.spectral_index) <= 20, "pulse: index", p.spectral_index, "-20 to 20");
  require(p.scattering_s >= 0 && p.scattering_s <= kLongest_s, "pulse: scattering", p.scattering_s,
          "0 s or more");
}

void check_interference(const FilterbankScene& scene) {
  for (const Impulse& i : scene.impulses) {
    require(i.duration_s > 0 && i.duration_s < 1e9, "impulse: duration", i.duration_s, "above 0 s");
    require(std::abs(i.amplitude) < 1e9, "impulse: amplitude", i.amplitude, "below 1e9");
  }
  for (const Carrier& c : scene.carriers) {
    require(c.width_mhz >= 0, "carrier: width", c.width_mhz, "0 MHz or more");
    require(c.period_s >= 0, "carrier: period", c.period_s, "0 s or more");
    require(c.duty >= 0 && c.duty <= 1, "carrier: duty", c.duty, "0 to 1");
    require(std::abs(c.amplitude) < 1e9, "carrier: amplitude", c.amplitude, "below 1e9");
  }
}

}  // namespace

DispersedPulse parse_pulse(std::string_view text) {
  DispersedPulse p;
  parse_keys("pulses", text,
             {{"dm", &p.dm, true},
              {"time", &p.time_s, true},
              {"width", &p.width_s, true},
              {"snr", &p.snr, true},
              {"index", &p.spectral_index, false},
              {"scattering", &p.scattering_s, false}});
  return p;
}

Impulse parse_impulse(std::string_view text) {
  Impulse i;
  parse_keys("impulses", text,
             {{"time", &i.time_s, true},
              {"duration", &i.duration_s, true},
              {"amplitude", &i.amplitude, true}});
  return i;
}

Carrier parse_carrier(std::string_view text) {
  Carrier c;
  parse_keys("carriers", text,
             {{"frequency", &c.frequency_mhz, true},
              {"amplitude", &c.amplitude, true},
              {"width", &c.width_mhz, false},
              {"start", &c.start_s, false},
              {"duration", &c.duration_s, false},
              {"period", &c.period_s, false},
              {"duty", &c.duty, false}});
  return c;
}

FilterbankScene read_filterbank_scene(const std::string& path) {
  return filterbank_scene_from(TomlTable::read(path));
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

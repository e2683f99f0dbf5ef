#include "tautline/pipeline/search/injection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/core/random_bits.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kLeastNoiseSamples = 1024;
constexpr double kMatchSlackSamples = 3;  // as compare_candidates.h
constexpr const char* kInjectionForm = "every=S,dm=LOW:HIGH,width=LOW:HIGH,snr=LOW:HIGH,seed=N";

[[noreturn]] void refuse_injection(const std::string& what, const std::string& value,
                                   const std::string& expected) {
  throw core::Error(core::ErrorKind::config, "`inject`: " + what, value, what + ": " + expected);
}

[[noreturn]] void refuse_item(const std::string& item) {
  throw core::Error(core::ErrorKind::config, "inject", item, kInjectionForm);
}

void read_ends(const std::string& key, const std::string& text, double& low, double& high) {
  const auto ends = core::text::split(text, ':');
  try {
    if (ends.size() > 2) core::text::refuse(text, "LOW:HIGH");
    low = core::text::read_number(ends.front());
    high = core::text::read_number(ends.back());
  } catch (const core::Error&) {
    refuse_injection(key, text, "a number or LOW:HIGH");
  }
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high))
    refuse_injection(key, text, "LOW below HIGH");
}

// Names all items that are missing, not the first alone.
void require_items(const std::string& text, const std::vector<std::string>& given) {
  std::string missing;
  for (const std::string& item : {std::string("every=S"), std::string("width=LOW:HIGH")})
    if (std::find(given.begin(), given.end(), item.substr(0, item.find('='))) == given.end())
      missing += (missing.empty() ? "" : " and ") + item;
  if (missing.empty()) return;
  const InjectionConfig defaults;
  throw core::Error(core::ErrorKind::config, "inject", text, missing + " beside it",
                    fmt::format("without dm, snr and seed pulses have dm={}, snr={} and seed={}",
                                defaults.low_dm, defaults.low_snr, defaults.seed));
}

// Numbers that are spread evenly over [0, 1).
double spread_number(std::uint64_t seed, std::uint64_t number, std::uint64_t which) {
  const std::uint64_t state =
      seed * 0xD1342543DE82EF95ull + (4 * number + which + 1) * core::kRandomStep;
  return static_cast<double>(core::scatter_bits(state) >> 11) * 0x1p-53;
}

std::string range_text(double low, double high) {
  return low == high ? core::text::write_number(low)
                     : core::text::write_number(low) + ":" + core::text::write_number(high);
}

}  // namespace

InjectionConfig parse_injection(const std::string& text) {
  InjectionConfig config;
  if (text.empty()) return config;
  std::vector<std::string> keys;
  for (const std::string& item : core::text::split(text, ',')) {
    const std::string key = item.substr(0, item.find('='));
    keys.push_back(key);
    const std::string value = item.substr(std::min(item.size(), key.size() + 1));
    double other = 0;
    if (key == "every") {
      read_ends(key, core::text::in_seconds(value), config.every_s, other);
    } else if (key == "dm") {
      read_ends(key, value, config.low_dm, config.high_dm);
    } else if (key == "width") {
      read_ends(key, core::text::in_seconds(value), config.low_width_s, config.high_width_s);
    } else if (key == "snr") {
      read_ends(key, value, config.low_snr, config.high_snr);
    } else if (key == "seed") {
      try {
        config.seed = core::text::read<std::uint64_t>(value);
      } catch (const core::Error&) {
        refuse_injection(key, value, "a whole number, 0 or more");
      }
    } else {
      refuse_item(item);
    }
  }
  require_items(text, keys);
  if (!(config.every_s > 0))
    refuse_injection("every", fmt::format("{}", config.every_s), "above 0 s");
  if (!(config.low_width_s > 0))
    refuse_injection("width", fmt::format("{}", config.low_width_s), "above 0 s");
  if (!(config.low_dm >= 0)) refuse_injection("dm", fmt::format("{}", config.low_dm), "0 or more");
  if (!(config.low_snr > 0)) refuse_injection("snr", fmt::format("{}", config.low_snr), "above 0");
  return config;
}

std::string to_text(const InjectionConfig& config) {
  if (config.every_s == 0) return "";
  return fmt::format("every={},dm={},width={},snr={},seed={}",
                     core::text::write_number(config.every_s),
                     range_text(config.low_dm, config.high_dm),
                     range_text(config.low_width_s, config.high_width_s),
                     range_text(config.low_snr, config.high_snr), config.seed);
}

InjectedPulse injected_pulse(const InjectionConfig& config, std::uint64_t number) {
  const auto between = [&](double low, double high, std::uint64_t which) {
    return low + (high - low) * spread_number(config.seed, number, which);
  };
  InjectedPulse pulse;
  pulse.time_s = (static_cast<double>(number) + between(0.25, 0.75, 0)) * config.every_s;
  pulse.dm = between(config.low_dm, config.high_dm, 1);
  pulse.width_s = between(config.low_width_s, config.high_width_s, 2);
  pulse.snr = between(config.low_snr, config.high_snr, 3);
  return pulse;
}

InjectionBand injection_band(const formats::FilterbankDescription& description,
                             double dm_constant) {
  return {
      core::dispersion_delay_s(1, description.lowest_mhz(), description.highest_mhz(), dm_constant),
      1 / description.rate_hz.value()};
}

double injected_reach(double width_s, double sample_s) {
  constexpr double kPulseReach = 4;  // standard deviations
  return kPulseReach * width_s * kSigmaPerWidth / sample_s + 2;
}

std::size_t injection_noise_samples(double sample_s) {
  constexpr double kNoiseWindow_s = 1;
  return std::max(kLeastNoiseSamples,
                  static_cast<std::size_t>(std::lround(kNoiseWindow_s / sample_s)));
}

void require_injected_spacing(const InjectionConfig& config, double sample_s) {
  const double least_s = static_cast<double>(kLeastNoiseSamples) * sample_s;
  // Sample times are rounded.
  if (config.every_s < least_s * (1 - 1e-12))
    throw core::Error(core::ErrorKind::config, "`inject`: every",
                      core::text::write_number(config.every_s) + " s",
                      core::text::write_number(least_s) + " s or more");
}

void require_injected_dms(const InjectionConfig& config, double low_dm, double high_dm,
                          const InjectionBand& band) {
  // As is_injected() has it of the narrowest.
  const double reach_s = config.low_width_s + kMatchSlackSamples * band.sample_s;
  if ((config.high_dm - high_dm) * band.sweep_s_per_dm <= reach_s &&
      (low_dm - config.low_dm) * band.sweep_s_per_dm <= reach_s)
    return;
  const double low = std::max(config.low_dm, low_dm), high = std::min(config.high_dm, high_dm);
  throw core::Error(
      core::ErrorKind::config, "`inject`: dm", range_text(config.low_dm, config.high_dm),
      "DMs of the trials, " + range_text(low_dm, high_dm) + ": pulses at other DMs would be missed",
      low <= high ? "give dm=" + range_text(low, high) + ", or more trials"
                  : "give such a dm, or other trials");
}

void require_injected_widths(const InjectionConfig& config, double max_width_s,
                             const InjectionBand& band) {
  const double widest_s = std::max(max_width_s, band.sample_s);
  if (config.high_width_s <= widest_s + kMatchSlackSamples * band.sample_s) return;
  throw core::Error(core::ErrorKind::config, "`inject`: width",
                    range_text(config.low_width_s, config.high_width_s) + " s",
                    fmt::format("widths up to that of the widest boxcar, {:.6g} s", widest_s),
                    "numbers without a unit are seconds: 1ms:20ms are milliseconds; `max_width_s` "
                    "allows for wider pulses");
}

void require_injected_times(const InjectionConfig& config,
                            std::span<const std::pair<double, double>> stretches_s,
                            const InjectionBand& band) {
  require_injected_spacing(config, band.sample_s);
  double longest_s = 0;
  const double noise_s =
      static_cast<double>(injection_noise_samples(band.sample_s)) * band.sample_s;
  for (const auto& [first_s, end_s] : stretches_s) {
    const double begin_s = first_s + noise_s;
    longest_s = std::max(longest_s, end_s - first_s);
    auto number = static_cast<std::uint64_t>(std::max(0.0, begin_s / config.every_s));
    number -= std::min<std::uint64_t>(number, 1);
    for (; static_cast<double>(number) * config.every_s < end_s; ++number) {
      const InjectedPulse pulse = injected_pulse(config, number);
      const double reach_s = injected_reach(pulse.width_s, band.sample_s) * band.sample_s;
      if (pulse.time_s - reach_s >= begin_s &&
          pulse.time_s + pulse.dm * band.sweep_s_per_dm + reach_s <= end_s)
        return;
    }
  }
  throw core::Error(
      core::ErrorKind::config, "`inject`: every", core::text::write_number(config.every_s) + " s",
      fmt::format(
          "a time in which a pulse lies wholly in the data, {:.6g} s without a gap, and not "
          "in their first {:.4g} s, which its noise is measured in",
          longest_s, noise_s),
      "make it shorter, or the pulses' DM and width smaller");
}

std::string injection_truth_path(const std::string& list) {
  const std::string stem = list.ends_with(".csv") ? list.substr(0, list.size() - 4) : list;
  return stem + ".injected.truth.json";
}

std::string injection_truth(const std::vector<InjectedPulse>& pulses,
                            const formats::FilterbankDescription& description, double dm_constant) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const InjectedPulse& pulse : pulses)
    list.push_back({{"dm", pulse.dm},
                    {"time_s", pulse.time_s},
                    {"width_s", pulse.width_s},
                    {"snr", pulse.snr},
                    {"whole", pulse.whole}});
  const Json truth{{"schema", "tautline.simulation.filterbank"},
                   {"version", 1},
                   {"name", "injected"},
                   {"start", core::to_iso(description.start)},
                   {"nchans", description.channels},
                   {"fch1_mhz", description.fch1_mhz},
                   {"foff_mhz", description.foff_mhz},
                   {"tsamp_s", description.tsamp_s},
                   {"dm_constant", dm_constant},
                   {"pulses", list}};
  return truth.dump(1) + "\n";
}

bool is_injected(const core::Candidate& candidate, const InjectedPulse& pulse,
                 const InjectionBand& band) {
  const double width_s = static_cast<double>(candidate.width_samples) * band.sample_s;
  const double reach_s = std::max(width_s, pulse.width_s) + kMatchSlackSamples * band.sample_s;
  if (std::fabs(candidate.dm - pulse.dm) * band.sweep_s_per_dm > reach_s) return false;
  return std::fabs(candidate.time_s - pulse.time_s) <= reach_s + (width_s + pulse.width_s) / 2;
}

InjectionsFound mark_injected(std::vector<core::Candidate>& candidates,
                              const std::vector<InjectedPulse>& pulses, const InjectionBand& band) {
  InjectionsFound found;
  double ratios = 0;
  for (const InjectedPulse& pulse : pulses) {
    const core::Candidate* best = nullptr;
    for (core::Candidate& one : candidates) {
      if (!is_injected(one, pulse, band)) continue;
      one.injected = true;
      if (best == nullptr || one.snr > best->snr) best = &one;
    }
    if (!pulse.whole) continue;
    ++found.injected;
    if (best == nullptr) continue;
    ++found.recalled;
    ratios += best->snr / pulse.snr;
  }
  if (found.recalled > 0) found.snr_ratio = ratios / static_cast<double>(found.recalled);
  return found;
}

}  // namespace tautline::pipeline

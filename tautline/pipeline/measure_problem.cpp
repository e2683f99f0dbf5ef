#include "tautline/pipeline/measure_problem.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "tautline/core/error.h"
#include "tautline/core/sample_format.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kMostSweepValues = 1000;

std::vector<NamedProblem> make_named_problems() {
  const auto antennas = [](std::size_t count, std::size_t channels) {
    return NamedProblem{"correlate",
                        fmt::format("n{}", count),
                        {{"inputs", 2 * count}, {"channels", channels}, {"samples", 3072}},
                        fmt::format("{} dual-polarisation antennas", count)};
  };
  const auto telescope = [](const char* stage, const char* name, std::size_t channels,
                            std::size_t top_khz, std::size_t width_hz, std::size_t rate_hz,
                            std::size_t samples, std::size_t step_millidm,
                            const char* description) {
    return NamedProblem{stage,
                        name,
                        {{"channels", channels},
                         {"top_khz", top_khz},
                         {"width_hz", width_hz},
                         {"rate_hz", rate_hz},
                         {"samples", samples},
                         {"step_millidm", step_millidm}},
                        description};
  };
  // Channels and samples of n64 to n1024 as correlators are compared in the literature.
  return {
      {"correlate",
       "mwa32",
       {{"inputs", 64}, {"channels", 128}, {"samples", 10000}},
       "MWA, 32 tiles: a second of 128 channels of 10 kHz"},
      {"correlate",
       "mwa128",
       {{"inputs", 256}, {"channels", 3072}, {"samples", 1000}},
       "MWA, 128 tiles: a tenth of a second of 3,072 channels of 10 kHz"},
      antennas(64, 480),
      antennas(128, 384),
      antennas(256, 240),
      antennas(576, 120),
      antennas(1024, 48),
      {"channelize",
       "mwa32",
       {{"inputs", 64}, {"channels", 128}, {"taps", 8}, {"spectra", 10000}},
       "MWA, 32 tiles: a second of 1.28 MHz"},
      // The telescopes of the dedispersion paper; zero-dm: no delays, so that all reads can be shared.
      telescope("dedisperse", "apertif", 1024, 1719854, 292969, 20000, 20000, 250,
                "Apertif, a second of 20 kHz"),
      telescope("dedisperse", "lofar", 32, 145000, 187500, 200000, 200000, 250,
                "LOFAR, a second of 200 kHz"),
      telescope("dedisperse", "apertif-zero-dm", 1024, 1719854, 292969, 20000, 20000, 0,
                "Apertif without delays"),
      telescope("dedisperse", "lofar-zero-dm", 32, 145000, 187500, 200000, 200000, 0,
                "LOFAR without delays"),
      telescope("search", "apertif", 1024, 1719854, 292969, 20000, 32768, 250,
                "Apertif, blocks of 1.6 s"),
      telescope("search", "lofar", 32, 145000, 187500, 200000, 65536, 250,
                "LOFAR, blocks of 0.3 s"),
      {"detect",
       "apertif",
       {{"trials", 2000}, {"rate_hz", 20000}, {"samples", 32768}},
       "2,000 trials of Apertif, blocks of 1.6 s"},
      {"autocorrelate", "array1024", {{"sensors", 1024}}, "1,024 sensors, bytes, 10 groups of 32"},
      {"autocorrelate",
       "array1024-u16",
       {{"sensors", 1024}, {"bits", 16}},
       "the same with counts of 16 bits"},
      {"autocorrelate",
       "array100000",
       {{"sensors", 100'000}, {"samples", 16384}},
       "100,000 sensors, bytes"},
      {"autocorrelate",
       "detector",
       {{"sensors", 1}, {"standard", 1}, {"bins", 16}, {"levels", 17}, {"samples", 10'000'000}},
       "one detector, ten million bins, standard ladder"},
      {"host_fed_autocorrelate",
       "array100000",
       {{"sensors", 100'000}, {"samples", 8192}},
       "100,000 sensors, bytes"},
      {"host_fed_correlate",
       "mwa128",
       {{"inputs", 256}, {"channels", 96}, {"samples", 10000}, {"rate_hz", 30'720'000}},
       "MWA, 128 tiles: blocks of 96 of 3,072 channels of 10 kHz, integrations of 1 s"},
      {"host_fed_fx",
       "mwa32",
       {{"inputs", 64}, {"channels", 128}, {"taps", 8}, {"spectra", 10000}, {"rate_hz", 1'280'000}},
       "MWA, 32 tiles: blocks and integrations of 1 s of 1.28 MHz"},
  };
}

// A whole number at the start of `text`, taken off it.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<std::size_t> whole_number(std::string_view text) {
  const auto value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

// "type=u16" and "ladder=standard" of autocorrelate, in sizes.
Problem count_words(std::string_view word) {
  if (word == "type=u8") return {{"bits", 8}, {"float", 0}};
  if (word == "type=u16") return {{"bits", 16}, {"float", 0}};
  if (word == "type=u32") return {{"bits", 32}, {"float", 0}};
  if (word == "type=f32") return {{"bits", 32}, {"float", 1}};
  if (word == "ladder=chain") return {{"standard", 0}};
  if (word == "ladder=standard") return {{"standard", 1}};
  return {};
}

// "c1024t8".
std::optional<Problem> filter_bank_name(std::string_view text) {
  if (!text.starts_with('c')) return std::nullopt;
  text.remove_prefix(1);
  const auto channels = take_number(text);
  if (!channels || !text.starts_with('t')) return std::nullopt;
  const auto taps = whole_number(text.substr(1));
  if (!taps) return std::nullopt;
  return Problem{{"channels", *channels}, {"taps", *taps}};
}

core::SampleFormat complex_format(const std::string& name) {
  const core::SampleFormat format = core::parse_sample_format(name);
  for (const core::SampleFormat& known :
       {core::kCi4, core::kCi8, core::kCi16, core::kCf16, core::kCf32})
    if (format == known) return format;
  throw Error(ErrorKind::config, "`problem`: format", name, "ci4, ci8, ci16, cf16 or cf32");
}

Problem find_named(const std::string& stage, const std::string& name) {
  std::string names;
  for (const NamedProblem& known : named_problems()) {
    if (known.stage != stage) continue;
    if (known.name == name) return known.sizes;
    names += known.name + ", ";
  }
  if (stage == "channelize" || stage == "host_fed_channelize") {
    if (const auto bank = filter_bank_name(name)) return *bank;
    names += "c1024t8 and the like, ";
  }
  throw Error(ErrorKind::config, "`problem` of " + stage, name,
              names + "or sizes as key=value,key=value");
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

const std::vector<NamedProblem>& named_problems() {
  static const std::vector<NamedProblem> problems = make_named_problems();
  return problems;
}

Problem parse_problem(const std::string& stage, const std::string& text) {
  Problem problem;
  bool first = true;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const Problem words = stage.ends_with("autocorrelate") ? count_words(part) : Problem{};
    if (!words.empty()) {
      for (const auto& [key, value] : words) problem[key] = value;
    } else if (equals == std::string::npos && first) {
      problem = find_named(stage, part);
    } else if (part.starts_with("format=")) {
      const core::SampleFormat format = complex_format(part.substr(equals + 1));
      problem["bits"] = static_cast<std::size_t>(format.bits);
      if (format == core::kCf16) problem["half"] = 1;
    } else {
      const bool pair = equals != std::string::npos && equals > 0;
      const auto value = pair ? whole_number(part.substr(equals + 1)) : std::nullopt;
      if (!value || *value == 0)
        throw Error(ErrorKind::config, "problem", part, "sizes as key=value,key=value");
      problem[part.substr(0, equals)] = *value;
    }
    first = false;
  }
  return problem;
}

std::string describe(const Problem& problem) {
  std::string text;
  for (const auto& [key, value] : problem)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return text;
}

Problem complete(const std::string& stage, Problem defaults, const Problem& asked) {
  for (const auto& [key, value] : asked) {
    const auto known = defaults.find(key);
    if (known == defaults.end()) {
      std::string names;
      for (const auto& [name, unused] : defaults) names += (names.empty() ? "" : ", ") + name;
      throw Error(ErrorKind::config, "`problem` of " + stage, key, "one of " + names);
    }
    known->second = value;
  }
  return defaults;
}

core::SampleFormat complex_format(const std::string& stage, std::size_t bits, std::size_t half) {
  if (half != 0 && bits == 16) return core::kCf16;
  if (bits == 4) return core::kCi4;
  if (bits == 8) return core::kCi8;
  if (bits == 16) return core::kCi16;
  if (bits == 32) return core::kCf32;
  throw Error(ErrorKind::config, "`problem` of " + stage + ": bits", std::to_string(bits),
              "4, 8, 16 or 32 (float)");
}

Sweep parse_sweep(const std::string& text) {
  const auto wrong = [&] {
    return Error(ErrorKind::config, "sweep", text,
                 "inputs=16:2048 (doubling), inputs=64:1024:64 (in steps) or taps=4/8/16");
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw wrong();
  const std::string values = text.substr(equals + 1);
  const bool range = values.find(':') != std::string::npos;
  std::vector<std::size_t> numbers;
  for (const std::string& part : split(values, range ? ':' : '/')) {
    const auto number = whole_number(part);
    if (!number || *number == 0) throw wrong();
    numbers.push_back(*number);
  }
  if (numbers.empty() || (range && (numbers.size() > 3 || numbers.size() < 2))) throw wrong();
  Sweep sweep{text.substr(0, equals), {}};
  if (!range) {
    sweep.values = numbers;
    return sweep;
  }
  const std::size_t step = numbers.size() == 3 ? numbers[2] : 0;
  for (std::size_t value = numbers[0]; value <= numbers[1]; value += step == 0 ? value : step) {
    sweep.values.push_back(value);
    if (sweep.values.size() > kMostSweepValues) throw wrong();
  }
  if (sweep.values.empty()) throw wrong();
  return sweep;
}

}  // namespace tautline::pipeline

#include "cli/filter_options.h"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

#include "tautline/core/error.h"
#include "tautline/core/window.h"
#include "tautline/formats/file_formats.h"

namespace tautline::cli {

namespace {

std::vector<float> read_coefficients(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  if (!file)
    throw core::Error(core::ErrorKind::io, path + ": opening it",
                      std::generic_category().message(errno), "a text file of coefficients");
  std::vector<float> values;
  float value;
  while (file >> value) values.push_back(value);
  if (values.empty() || !file.eof())
    throw core::Error(core::ErrorKind::io, path, "no coefficients or not a number among them",
                      "one coefficient after the other, taps x channels of them, in sample order");
  return values;
}

// An option's number. Throws core::Error(config) with the option's name.
core::Rational decimal_option(const std::string& option, const std::string& text) {
  try {
    return core::parse_decimal(text);
  } catch (const core::Error& error) {
    throw core::Error(core::ErrorKind::config, option, text, error.limit());
  }
}

// Of a band: negative for the lower sideband.
double bandwidth_option(const std::string& option, const std::string& text) {
  const bool negative = text.front() == '-';
  try {
    return core::parse_decimal(negative ? text.substr(1) : text).value() * (negative ? -1 : 1);
  } catch (const core::Error& error) {
    throw core::Error(core::ErrorKind::config, option, text,
                      error.limit() + ", after a minus sign for the lower sideband");
  }
}

// "32/27" -> {32, 27}
std::pair<std::size_t, std::size_t> parse_ratio(const std::string& text) {
  std::size_t p = 0, q = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, p);
  if (first.ec == std::errc{} && first.ptr != end && *first.ptr == '/') {
    const auto second = std::from_chars(first.ptr + 1, end, q);
    if (second.ec == std::errc{} && second.ptr == end && p >= q && q > 0) return {p, q};
  }
  throw core::Error(core::ErrorKind::config, "--oversample", text,
                    "a ratio P/Q of at least one, such as 32/27");
}

}  // namespace

std::vector<std::string> named(const CLI::App& command, const std::vector<std::string>& options) {
  std::vector<std::string> found;
  for (const std::string& name : options)
    if (command.count(name) > 0) found.push_back(name);
  return found;
}

void FilterOptions::add_to(CLI::App& to) {
  command = &to;
  to.add_option("--channels", channels, "channels across the band, 2 to 65536")
      ->check(CLI::Range(2, 65536))
      ->capture_default_str();
  to.add_option("--taps", taps, "taps of the polyphase filter, 1 to 4096")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  to.add_option("--window", window, "hann, hamming, kaiser:B or rect")->capture_default_str();
  to.add_option("--cutoff", cutoff, "the prototype's cutoff in channel widths")
      ->capture_default_str();
  to.add_option("--coefficients", coefficients_path,
                "text file with the prototype's coefficients instead of a window");
  to.add_option("--oversample", oversample, "oversampling ratio P/Q, such as 32/27")
      ->capture_default_str();
}

pipeline::FilterConfig FilterOptions::resolve() const {
  if (!coefficients_path.empty())
    for (const std::string& name : named(*command, {"--window", "--cutoff"}))
      throw core::Error(core::ErrorKind::config, name, "given with --coefficients",
                        "one of them: coefficients are the whole filter", "leave one out");
  pipeline::FilterConfig filter;
  filter.channels = channels;
  filter.taps = taps;
  filter.window = core::parse_window(window);
  filter.cutoff = cutoff;
  if (!coefficients_path.empty()) filter.coefficients = read_coefficients(coefficients_path);
  filter.named = named(*command, {"--channels", "--taps", "--window", "--cutoff", "--coefficients",
                                  "--oversample", "--requantize"});
  std::tie(filter.oversample_numerator, filter.oversample_denominator) = parse_ratio(oversample);
  return filter;
}

std::vector<formats::NamedFile> files_read(const InputOptions& input, const FilterOptions& filter) {
  auto files = formats::name_files("input", input.files);
  files.push_back({"--coefficients", filter.coefficients_path});
  return files;
}

pipeline::Requantise parse_requantise(const std::string& text) {
  if (text == "off") return pipeline::Requantise::off;
  return text == "4" ? pipeline::Requantise::bits4 : pipeline::Requantise::bits8;
}

void InputOptions::add_to(CLI::App& to, const std::string& description) {
  command = &to;
  const std::string voltages =
      formats::names_of(formats::formats_with(&formats::FileFormat::voltages));
  to.add_option("input", files,
                description.empty() ? "voltage files (" + voltages + ")" : description)
      ->required();
  to.add_option("--start", start_s, "seconds to skip")->capture_default_str();
  to.add_option("--duration", duration_s, "seconds to process; negative: to the end")
      ->capture_default_str();
  to.add_flag("--receivers", receivers,
              "the files are receivers of one array, not consecutive in time");
  to.add_flag("--strict", strict, "damaged input is a failure (status 1, not 3)");
  to.add_flag("--overwrite", overwrite, "replace an existing output");
  to.add_option("--memory", memory, "cap on the memory used, bytes with K, M or G")
      ->capture_default_str();
  const std::string group = "What a file's header may not say";
  to.add_option("--format", format, "sample format, as ci8")->group(group);
  to.add_option("--rate-hz", rate_hz, "samples per second of each input")->group(group);
  to.add_option("--centre-hz", centre_hz, "sky frequency of the band's middle")->group(group);
  to.add_option("--bandwidth-hz", bandwidth_hz, "of the band; negative: lower sideband")
      ->group(group);
  to.add_option("--utc-start", utc_start, "yyyy-mm-dd-hh:mm:ss of the first sample")->group(group);
  to.add_option("--antennas", antennas, "antennas in the file")->group(group);
  to.add_option("--polarisations", polarisations, "polarisations in the file")->group(group);
}

formats::ReaderOptions InputOptions::reader() const {
  formats::ReaderOptions options;
  options.receivers = receivers;
  options.named = named(*command, {"--format", "--rate-hz", "--centre-hz", "--bandwidth-hz",
                                   "--utc-start", "--antennas", "--polarisations", "--receivers"});
  core::VoltageDescription& assumed = options.assumed;
  if (!format.empty()) assumed.format = core::parse_sample_format(format);
  if (!rate_hz.empty()) assumed.rate_hz = decimal_option("--rate-hz", rate_hz);
  if (!centre_hz.empty()) assumed.centre_hz = decimal_option("--centre-hz", centre_hz).value();
  if (!bandwidth_hz.empty())
    assumed.bandwidth_hz = bandwidth_option("--bandwidth-hz", bandwidth_hz);
  if (!utc_start.empty()) assumed.start = utc_option("--utc-start", utc_start);
  if (antennas > 0) assumed.antennas = antennas;
  if (polarisations > 0) assumed.polarisations = polarisations;
  return options;
}

void InputOptions::warn_of_unknown_frequency(const core::VoltageDescription& input) const {
  if (input.centre_hz != 0 || !centre_hz.empty()) return;
  spdlog::warn(
      "no --centre-hz, and {} does not say the sky frequency: frequencies are written as if the "
      "middle of the band were 0 Hz",
      files.front());
}

}  // namespace tautline::cli

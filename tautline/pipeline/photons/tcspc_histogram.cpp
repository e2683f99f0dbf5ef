#include "tautline/pipeline/photons/tcspc_histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/text.h"

namespace tautline::pipeline {

namespace {

constexpr std::string_view kHeading = "time_s,detector_", kDetector = "detector_";

// What no whole number from 0 to `most` is gives an error of the line.
std::uint64_t whole(std::string_view text, std::uint64_t most, const std::string& path,
                    std::size_t line) {
  const auto value = formats::number(text);
  if (!value || !(*value >= 0) || *value > static_cast<double>(most) ||
      *value != std::floor(*value))
    throw formats::format_error(path, fmt::format("line {}", line), fmt::format("'{}'", text),
                                fmt::format("a whole number, 0 to {}", most));
  return static_cast<std::uint64_t>(*value);
}

}  // namespace

TcspcHistogram tcspc_histogram(formats::PhotonReader& reader, const std::string& path) {
  const formats::PhotonDescription& d = reader.description();
  if (!(d.microtime_unit_s > 0))
    throw core::Error(
        core::ErrorKind::config, "tcspc", path,
        "time tags with microtimes: a T3 recording, or .spc with its .set file",
        d.missing_settings.empty()
            ? ""
            : "put the .set file that was saved with the measurement at " + d.missing_settings);
  constexpr std::size_t kPhotons = std::size_t{1} << 14;
  std::map<std::uint16_t, std::vector<std::uint64_t>> found;
  std::vector<formats::Photon> photons(kPhotons);
  std::size_t length = 0;
  reader.rewind();
  while (const std::size_t count = reader.read(photons))
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<std::uint64_t>& counts = found[photons[n].channel];
      const std::size_t at = photons[n].microtime;
      if (at >= counts.size()) counts.resize(at + 1);
      ++counts[at];
      length = std::max(length, at + 1);
    }
  TcspcHistogram histogram{d.microtime_unit_s, {}, {}};
  for (auto& [detector, counts] : found) {
    counts.resize(length);
    histogram.detectors.push_back(detector);
    histogram.counts.push_back(std::move(counts));
  }
  return histogram;
}

std::string tcspc_csv(const TcspcHistogram& histogram, const std::string& history) {
  std::string text = fmt::format("# {}\n# photons by microtime; bins of {:.9g} s from time_s on\n",
                                 history, histogram.unit_s);
  text += "time_s";
  for (const std::uint16_t detector : histogram.detectors)
    text += fmt::format(",detector_{}", detector);
  text += '\n';
  const std::size_t length = histogram.counts.empty() ? 0 : histogram.counts.front().size();
  for (std::size_t at = 0; at < length; ++at) {
    text += fmt::format("{:.9g}", static_cast<double>(at) * histogram.unit_s);
    for (const auto& counts : histogram.counts) text += fmt::format(",{}", counts[at]);
    text += '\n';
  }
  return text;
}

void write_tcspc(const std::string& path, const TcspcHistogram& histogram,
                 const std::string& history, bool overwrite) {
  formats::PartialFile file(path, overwrite);
  file.write(tcspc_csv(histogram, history));
  file.finish();
}

bool holds_tcspc(const std::string& path) {
  constexpr std::size_t kFirstBytes = 4096;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  const std::vector<std::byte> head = formats::InputFile(path).head(kFirstBytes);
  std::string_view rest(reinterpret_cast<const char*>(head.data()), head.size());
  while (rest.starts_with('#')) {
    const std::size_t end = rest.find('\n');
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return rest.starts_with(kHeading);
}

TcspcHistogram read_tcspc(const std::string& path) {
  constexpr std::uint64_t kMostPhotons = std::uint64_t{1} << 53;  // doubles are exact up to it
  TcspcHistogram histogram;
  double last_s = 0;
  std::size_t number = 0;
  for (const std::string& line : formats::read_lines(path)) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> cells = formats::split(line, ",", true);
    const auto wrong = [&](const std::string& found, const std::string& expected) {
      return formats::format_error(path, fmt::format("line {}", number), found, expected);
    };
    if (histogram.detectors.empty()) {
      if (!line.starts_with(kHeading)) throw wrong("'" + line.substr(0, 40) + "'", "a heading");
      for (std::size_t k = 1; k < cells.size(); ++k)
        histogram.detectors.push_back(static_cast<std::uint16_t>(whole(
            cells[k].substr(std::min(cells[k].size(), kDetector.size())), 65535, path, number)));
      histogram.counts.resize(histogram.detectors.size());
      continue;
    }
    const auto time = formats::finite_number(cells.front());
    if (cells.size() != histogram.detectors.size() + 1 || !time)
      throw wrong(fmt::format("{} columns", cells.size()),
                  fmt::format("a time and {} counts", histogram.detectors.size()));
    last_s = *time;
    for (std::size_t k = 0; k < histogram.counts.size(); ++k)
      histogram.counts[k].push_back(whole(cells[k + 1], kMostPhotons, path, number));
  }
  const std::size_t length = histogram.counts.empty() ? 0 : histogram.counts.front().size();
  histogram.unit_s = length > 1 ? last_s / static_cast<double>(length - 1) : 0;
  if (!(histogram.unit_s > 0))
    throw formats::format_error(path, "time_s", fmt::format("{} lines", length),
                                "two or more, with times that grow from 0");
  return histogram;
}

}  // namespace tautline::pipeline

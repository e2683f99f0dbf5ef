// tautline inspect, for what autocorrelate reads and writes: time tags, TIFF stacks, curves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "cli/command.h"
#include "cli/field_options.h"
#include "cli/inspect_array.h"
#include "cli/inspect_text.h"
#include "tautline/core/counted.h"
#include "tautline/core/curve_label.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/tcspc_histogram.h"

namespace tautline::cli {

namespace {

// To where most photons of all detectors come.
void write_histogram(const Global& global, const TcspcOutput& tcspc, const std::string& path,
                     formats::PhotonReader& reader) {
  const pipeline::TcspcHistogram histogram = pipeline::tcspc_histogram(reader, path);
  pipeline::write_tcspc(tcspc.path, histogram, history_line(global), tcspc.overwrite);
  if (global.json || global.quiet) return;
  for (std::size_t k = 0; k < histogram.detectors.size(); ++k) {
    const auto& counts = histogram.counts[k];
    const auto peak = std::max_element(counts.begin(), counts.end()) - counts.begin();
    fmt::print("  microtimes  detector {}: most photons at {:.4g} ns; {}\n", histogram.detectors[k],
               static_cast<double>(peak) * histogram.unit_s * 1e9, tcspc.path);
  }
}

int inspect_tags(const Global& global, const std::string& path, bool strict,
                 const TcspcOutput& tcspc) {
  if (!tcspc.path.empty()) formats::require_distinct({{"--tcspc", tcspc.path}}, {{"input", path}});
  const auto reader = formats::open_photons(path);
  const formats::PhotonDescription& d = reader->description();
  const auto detectors = formats::count_detectors(*reader);
  // Read to the end once more, so that counts and damage are those of the whole file.
  std::vector<formats::Photon> photons(std::size_t{1} << 14);
  while (reader->read(photons) > 0) continue;
  const formats::TagCounts& c = reader->counts();
  const double last_s = static_cast<double>(c.last_time) * d.time_unit_s;
  const char* mode = d.mode == formats::TagMode::t3 ? "T3" : "T2";
  if (global.json) {
    nlohmann::ordered_json by_detector = nlohmann::ordered_json::array();
    for (const auto& one : detectors)
      by_detector.push_back({{"detector", one.channel}, {"photons", one.photons}});
    print_json("tautline.inspect.photons", 1,
               {{"file", said_name(path)},
                {"format", d.format},
                {"record_type", d.record_type},
                {"mode", mode},
                {"time_unit_s", d.time_unit_s},
                {"microtime_unit_s", d.microtime_unit_s},
                {"sync_rate_hz", d.sync_rate_hz},
                {"stated_rates_hz", d.rates_hz},
                {"records", d.records},
                {"stated_records", d.stated_records},
                {"photons", c.photons},
                {"markers", c.markers},
                {"overflow_records", c.overflow_records},
                {"detectors", by_detector},
                {"acquisition_s", d.acquisition_s},
                {"last_photon_s", last_s},
                {"instrument", d.instrument},
                {"created", d.created},
                {"damage", reader->damage().messages}});
    if (!tcspc.path.empty()) write_histogram(global, tcspc, path, *reader);
    return damage_status(reader->damage(), 0, strict);
  }
  fmt::print("{}: photon time tags\n", said_name(path));
  fmt::print("  records     {} of {}: {}, {}, {}\n", d.records, d.record_type,
             core::counted(c.photons, "photon"), core::counted(c.markers, "marker"),
             core::counted(c.overflow_records, "overflow"));
  if (d.macro_clock)
    fmt::print("  clock       {:.6g} ns{}\n", d.time_unit_s * 1e9,
               d.microtime_unit_s > 0
                   ? fmt::format(", microtimes of {:.4g} ps", d.microtime_unit_s * 1e12)
                   : "; microtimes without a unit");
  else if (d.mode == formats::TagMode::t3)
    fmt::print("  clock       {:.9g} Hz sync rate, microtimes of {:.4g} ps\n", 1 / d.time_unit_s,
               d.microtime_unit_s * 1e12);
  else
    fmt::print("  clock       {:.4g} ps\n", d.time_unit_s * 1e12);
  fmt::print("  length      {:.6f} s to the last photon{}\n", last_s,
             d.acquisition_s > 0 ? fmt::format("; the header says {:.3f} s", d.acquisition_s) : "");
  for (const auto& one : detectors)
    fmt::print("  detector    {}: {}, {:.1f} a second\n", one.channel,
               core::counted(one.photons, "photon"),
               last_s > 0 ? static_cast<double>(one.photons) / last_s : 0.0);
  print_origin({{"instrument", d.instrument}, {"software", d.software}, {"created", d.created}});
  if (!tcspc.path.empty()) write_histogram(global, tcspc, path, *reader);
  return damage_status(reader->damage(), 0, strict);
}

std::size_t undefined_lags(const core::CorrelationCurve& curve) {
  return static_cast<std::size_t>(
      std::count_if(curve.g.begin(), curve.g.end(), [](double g) { return std::isnan(g); }));
}

std::string curve_line(const core::CorrelationCurve& curve) {
  const double rate_hz = curve.first.mean_rate_hz, other_hz = curve.second.mean_rate_hz;
  std::string line = core::label_of(curve) + ": ";
  if (!std::isfinite(rate_hz))
    line += "rate unknown";
  else if (curve.cross && std::isfinite(other_hz))
    line += fmt::format("{:.1f} and {:.1f} counts a second", rate_hz, other_hz);
  else
    line += fmt::format("{:.1f} counts a second", rate_hz);
  const std::size_t undefined = undefined_lags(curve);
  if (undefined == curve.g.size()) return line + ", g undefined at every lag";
  if (undefined > 0) line += fmt::format(", g undefined at {} of the lags", undefined);
  return line;
}

int inspect_curves(const Global& global, const std::string& path) {
  const formats::curves::CurveFile file = formats::curves::read(path);
  if (global.json) {
    nlohmann::ordered_json curves = nlohmann::ordered_json::array();
    for (const core::CorrelationCurve& one : file.curves)
      curves.push_back({{"first", one.first.label},
                        {"second", one.second.label},
                        {"cross", one.cross},
                        {"lags", one.lag_s.size()},
                        {"undefined_lags", undefined_lags(one)},
                        {"standard_errors", !one.standard_error.empty()},
                        {"mean_rate_hz", number_or_null(one.first.mean_rate_hz)}});
    print_json("tautline.inspect.curves", 1,
               {{"file", said_name(path)},
                {"format", file.format},
                {"curves", curves},
                {"facts", file.facts}});
    return kDone;
  }
  const core::CorrelationCurve& first = file.curves.front();
  fmt::print("{}: {} ({})\n", said_name(path),
             core::counted(file.curves.size(), "correlation curve"), file.format);
  fmt::print("  lags        {}, {:.4g} s to {:.4g} s{}\n", first.lag_s.size(), first.lag_s.front(),
             first.lag_s.back(), first.standard_error.empty() ? "" : ", with standard errors");
  if (first.duration_s > 0) fmt::print("  length      {:.6g} s\n", first.duration_s);
  if (const std::string stops = pipeline::noted_stops(file.facts); !stops.empty())
    fmt::print("  stops       counts stop, or never change: {}\n", stops);
  constexpr std::size_t kMostLines = 8;
  for (std::size_t k = 0; k < file.curves.size() && k < kMostLines; ++k)
    fmt::print("  curve       {}\n", curve_line(file.curves[k]));
  if (file.curves.size() > kMostLines)
    fmt::print("  ...         {} more\n", file.curves.size() - kMostLines);
  return kDone;
}

int inspect_tcspc(const Global& global, const std::string& path) {
  const pipeline::TcspcHistogram histogram = pipeline::read_tcspc(path);
  nlohmann::ordered_json detectors = nlohmann::ordered_json::array();
  std::string lines;
  for (std::size_t k = 0; k < histogram.detectors.size(); ++k) {
    const auto& counts = histogram.counts[k];
    const std::uint64_t photons = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    const auto peak = std::max_element(counts.begin(), counts.end()) - counts.begin();
    const double peak_s = static_cast<double>(peak) * histogram.unit_s;
    detectors.push_back(
        {{"detector", histogram.detectors[k]}, {"photons", photons}, {"peak_s", peak_s}});
    lines += fmt::format("  detector    {}: {}, most at {:.4g} ns\n", histogram.detectors[k],
                         core::counted(photons, "photon"), peak_s * 1e9);
  }
  const std::size_t bins = histogram.counts.front().size();
  if (global.json)
    print_json("tautline.inspect.tcspc", 1,
               {{"file", said_name(path)},
                {"bins", bins},
                {"bin_s", histogram.unit_s},
                {"detectors", std::move(detectors)}});
  else
    fmt::print("{}: photons by microtime\n  bins        {} of {:.4g} ps\n{}", said_name(path), bins,
               histogram.unit_s * 1e12, lines);
  return kDone;
}

}  // namespace

std::optional<int> inspect_photons(const Global& global, const std::string& path, bool strict,
                                   const TcspcOutput& tcspc) {
  if (tcspc.path.empty() && pipeline::holds_tcspc(path)) return inspect_tcspc(global, path);
  if (tcspc.path.empty() && formats::curves::holds_curves(path))
    return inspect_curves(global, path);
  constexpr std::size_t kFirstBytes = 64;
  const auto first = formats::InputFile(path).head(kFirstBytes);
  if (formats::recognise_photons(first, path)) return inspect_tags(global, path, strict, tcspc);
  // Files that may hold voltages too are left to inspect_array.
  const auto* counts = formats::find_format(&formats::FileFormat::counts, first, path);
  if (counts != nullptr && counts->voltages == nullptr) return inspect_counts(global, path, strict);
  return std::nullopt;
}

}  // namespace tautline::cli

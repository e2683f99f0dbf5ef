#include "tautline/pipeline/photons/curve_output.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/input_stream.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/tiff/tiff.h"
#include "tautline/pipeline/photons/photon_counts.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

formats::curves::CurvesFacts facts_of(const AutocorrelateConfig& config,
                                      const AutocorrelateSummary& s, const std::string& device) {
  using stages::autocorrelate::Coarsening;
  using stages::autocorrelate::LagScheme;
  formats::curves::CurvesFacts facts{config.history, {}};
  facts.extra = {{"device", device},
                 {"kernels", s.backend},
                 {"input", config.input},
                 {"input_format", s.format},
                 {"lags", config.lag_scheme == LagScheme::chain ? "chain" : "standard"},
                 {"bins", std::to_string(config.bins)},
                 {"levels", std::to_string(config.levels)},
                 {"coarsening", config.coarsening == Coarsening::sum     ? "sum"
                                : config.coarsening == Coarsening::first ? "first"
                                                                         : "second"},
                 {"segments", std::to_string(config.segments)},
                 {"segments_used", std::to_string(s.segments)},
                 {"samples", std::to_string(s.samples)},
                 {"resumed", config.resume.empty() ? "none" : config.resume},
                 {"resumed_samples", std::to_string(s.resumed_samples)},
                 {"live", s.live ? "true" : "false"},
                 {"interrupted", s.interrupted ? "true" : "false"},
                 {"lost_samples", std::to_string(s.damage.lost_samples)},
                 {"dropped_samples", std::to_string(s.damage.dropped_samples)},
                 {"trailing_bytes", std::to_string(s.damage.trailing_bytes)},
                 {"ignored_photons", std::to_string(s.ignored_photons)}};
  return facts;
}

[[noreturn]] void refuse(const AutocorrelateConfig& config, const char* field,
                         const std::string& limit) {
  throw Error(ErrorKind::config, field, "given for " + config.input, limit, "leave it out");
}

// What only a file without a header needs.
void refuse_raw_fields(const AutocorrelateConfig& config, const char* format) {
  const std::string limit = std::string("only for raw files: ") + format + " say it themselves";
  if (config.raw.sensors > 0) refuse(config, "sensors", limit);
  if (config.raw.header_bytes > 0) refuse(config, "header_bytes", limit);
}

void check_tag_options(const AutocorrelateConfig& config) {
  refuse_raw_fields(config, "time tags");
  if (!(config.bin_s > 0))
    throw Error(ErrorKind::config, config.input + ": length of a bin", "unknown",
                "seconds, above 0", "give `bin_s`");
}

void refuse_tag_options(const AutocorrelateConfig& config) {
  if (!config.detectors.empty()) refuse(config, "detectors", "only for time tags");
  if (config.gate_s) refuse(config, "gate_s", "only for time tags");
}

formats::RawCounts raw_of(const AutocorrelateConfig& config) {
  formats::RawCounts raw = config.raw;
  if (raw.sensors == 0) raw.sensors = config.sensors.rows * config.sensors.columns;
  return raw;
}

std::unique_ptr<formats::CountReader> open_file(const AutocorrelateConfig& config) {
  constexpr std::size_t kFirstBytes = 64;
  const auto first = formats::InputFile(config.input).head(kFirstBytes);
  if (formats::recognise_photons(first, config.input)) {
    check_tag_options(config);
    return std::make_unique<PhotonCounts>(config);
  }
  refuse_tag_options(config);
  if (formats::tiff::recognise(first)) {
    refuse_raw_fields(config, "TIFF stacks");
    if (config.raw.type) refuse(config, "type", "only for raw files, NPY and time tags");
    return formats::open_counts(config.input, {});
  }
  if (formats::npy::recognise(first, config.input)) {
    refuse_raw_fields(config, "NPY arrays");
    return formats::open_counts(config.input, config.raw);
  }
  return formats::open_counts(config.input, raw_of(config));
}

// As many as it takes to tell a format. Counts may come once a second: only where the first one could
// be a header's is the rest waited for.
std::vector<std::byte> first_bytes(stream::LiveInput& input) {
  constexpr std::size_t kFirstBytes = 64;
  constexpr std::string_view kFirstOfHeaders = "PIM\x93";  // PTU, PT3; TIFF; NPY
  auto first = input.head(1);
  if (first.empty() || kFirstOfHeaders.find(static_cast<char>(first[0])) == std::string_view::npos)
    return first;
  return input.head(kFirstBytes);
}

}  // namespace

std::size_t live_buffer_bytes(const AutocorrelateConfig& config) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  return std::min(kBytes, config.memory_bytes / 8);
}

const formats::CountDescription& CountSource::description() const {
  if (live_counts != nullptr) return live_counts->description();
  return live_tags != nullptr ? live_tags->description() : file->description();
}

const formats::Damage& CountSource::damage() const {
  if (live_counts != nullptr) return live_counts->damage();
  return live_tags != nullptr ? live_tags->damage() : file->damage();
}

CountSource open_count_source(const AutocorrelateConfig& config, std::stop_token stop) {
  if (!formats::is_stream(config.input)) return {.file = open_file(config)};
  auto input =
      std::make_unique<stream::LiveInput>(config.input, live_buffer_bytes(config), std::move(stop));
  const auto first = first_bytes(*input);
  if (formats::recognise_photons(first, "")) {
    check_tag_options(config);
    return {.live_tags = std::make_unique<LiveTags>(std::move(input), config)};
  }
  if (formats::tiff::recognise(first))
    throw Error(ErrorKind::unsupported, input->name(), "a TIFF stack",
                "raw [time][sensor] counts, NPY, PTU or PT3", "give the file's name");
  refuse_tag_options(config);
  const bool npy = formats::npy::recognise(first, "");
  if (npy) refuse_raw_fields(config, "NPY arrays");
  LiveLayout layout =
      npy ? npy_layout(*input, config.raw.type)
          : LiveLayout{
                formats::describe_raw(raw_of(config), input->name()), config.raw.header_bytes, {}};
  return {.live_counts = std::make_unique<LiveCounts>(std::move(input), std::move(layout))};
}

void check_curve_output(const AutocorrelateConfig& config) {
  const std::string& name = config.output;
  if (!name.ends_with(".csv") && !name.ends_with(".zip") && !name.ends_with(".h5"))
    throw Error(ErrorKind::config, "output", name, "a name that ends in .csv, .zip or .h5");
  const bool only_zero = config.lag_scheme == stages::autocorrelate::LagScheme::chain &&
                         config.bins == 1 && config.levels == 1;
  if (only_zero && !name.ends_with(".h5"))
    throw Error(ErrorKind::config, "output", name + " for lag 0 alone", "lags above 0 in a .csv",
                "take more `bins` or `levels`, or write .h5");
  // Refused now rather than after the work.
  formats::PartialPath(name, config.overwrite);
}

void check_curve_count(const AutocorrelateConfig& config, std::size_t curves) {
  if (curves == 0)
    throw Error(ErrorKind::config, "sensors", "none is good", "at least one", "check the mask");
  if (config.output.ends_with(".csv") && curves > 1)
    throw Error(ErrorKind::config, "output",
                config.output + " for " + std::to_string(curves) + " curves", "one curve in a .csv",
                "name a .zip of CSVs, or a .h5");
}

void write_curves(const AutocorrelateConfig& config, const core::CorrelationCurves& curves,
                  const AutocorrelateSummary& summary, const std::string& device) {
  const formats::curves::CurvesFacts facts = facts_of(config, summary, device);
  if (config.output.ends_with(".h5")) {
    formats::curves::write_hdf5(config.output, curves, facts, config.overwrite);
    return;
  }
  std::vector<core::CorrelationCurve> chosen;
  for (std::size_t p = 0; p < curves.curves; ++p)
    if (curves.mask[p] != 0) chosen.push_back(curves.curve(p));
  if (config.output.ends_with(".zip")) {
    formats::curves::write_zip(config.output, chosen, facts, config.overwrite);
    return;
  }
  formats::curves::write_csv(config.output, chosen.front(), facts, config.overwrite);
}

}  // namespace tautline::pipeline

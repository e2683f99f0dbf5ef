#include "tautline/pipeline/photons/count_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/input_stream.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/tiff/tiff.h"
#include "tautline/pipeline/photons/count_notes.h"
#include "tautline/pipeline/photons/count_stops.h"
#include "tautline/pipeline/photons/packet_counts.h"
#include "tautline/stream/live_photons.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

[[noreturn]] void refuse(const AutocorrelateConfig& config, const char* field,
                         const std::string& limit) {
  throw Error(ErrorKind::config, field, "given for " + config.input, limit, "leave it out");
}

// Options that only a file without a header needs.
void refuse_raw_fields(const AutocorrelateConfig& config, const char* format) {
  const std::string limit = std::string("only for raw files: ") + format + " say it themselves";
  if (config.raw.sensors > 0) refuse(config, "sensors", limit);
  if (config.raw.header_bytes > 0) refuse(config, "header_bytes", limit);
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
  if (config.source) return config.source();
  constexpr std::size_t kFirstBytes = 64;
  using IfEmpty = formats::InputFile::IfEmpty;
  const auto first =
      formats::InputFile(config.input, config.raw.dtype ? IfEmpty::taken : IfEmpty::refused)
          .head(kFirstBytes);
  if (formats::recognise_photons(first, config.input)) {
    refuse_raw_fields(config, "time tags");
    return std::make_unique<PhotonCounts>(config);
  }
  refuse_tag_options(config);
  if (formats::tiff::recognise(first)) {
    refuse_raw_fields(config, "TIFF stacks");
    if (config.raw.dtype) refuse(config, "dtype", "only for raw files, NPY and time tags");
    return formats::open_counts(config.input, {});
  }
  if (formats::npy::recognise(first, config.input)) {
    refuse_raw_fields(config, "NPY arrays");
    return formats::open_counts(config.input, config.raw);
  }
  return formats::open_counts(config.input, raw_of(config));
}

// Reads as many bytes as determine a format. Counts may come once a second: the reader waits for further bytes only
// where the first one could be a header's.
std::vector<std::byte> first_bytes(stream::LiveInput& input) {
  constexpr std::size_t kFirstBytes = 64;
  constexpr std::string_view kFirstOfHeaders = "PIM\x93";  // PTU, PT3; TIFF; NPY
  auto first = input.head(1);
  if (first.empty() || kFirstOfHeaders.find(static_cast<char>(first[0])) == std::string_view::npos)
    return first;
  return input.head(kFirstBytes);
}

// Raw counts have no header: a stream that begins as a file of another kind does is refused. No byte is waited for
// that the bytes before it do not call for.
void refuse_other_kinds(stream::LiveInput& input) {
  using std::string_view_literals::operator""sv;
  constexpr std::array kMarks{"\x0c\0\0\0HEADER_START"sv,
                              "SIMPLE  ="sv,
                              "\x89HDF\r\n\x1a\n"sv,
                              "HDR_SIZE "sv,
                              "HDR_VERSION "sv,
                              "BLOCSIZE="sv,
                              "BACKEND = "sv,
                              "\x89PNG\r\n\x1a\n"sv,
                              "\xff\xd8\xff\xe0\0\x10JFIF"sv,
                              "GIF87a"sv,
                              "GIF89a"sv,
                              "%PDF-"sv,
                              "snr,time_s,sample,"sv,
                              "file,snr,stime,"sv,
                              "# DM      Sigma "sv,
                              "sensor,label,row,column,status"sv,
                              "time_s,detector_"sv,
                              "[[antenna]]"sv,
                              "[[source]]"sv};
  constexpr std::size_t kCardsBytes = 4096;
  for (std::size_t count = 1;; ++count) {
    const auto head = input.head(count);
    const std::string_view bytes(reinterpret_cast<const char*>(head.data()), head.size());
    if (head.size() < count || std::ranges::none_of(kMarks, [&](std::string_view mark) {
          return mark.starts_with(bytes);
        }))
      return;
    if (std::ranges::find(kMarks, bytes) == kMarks.end()) continue;
    // The card that says that it is GUPPI RAW may be another one.
    const auto more = bytes.starts_with('B') ? input.head(kCardsBytes) : head;
    const std::string kind = formats::seeming_kind_of(more),
                      commands = formats::commands_for(more, "");
    throw Error(ErrorKind::format, input.name() + ": first bytes", kind.empty() ? "unknown" : kind,
                "raw [time][sensor] counts, NPY, PTU or PT3",
                (commands.empty() ? "give the command that reads it" : commands) +
                    "; counts behind such a header: skip it with `header_bytes`");
  }
}

// A bin that a file beside the counts says gives way to one that is given.
void take_given_bin(const AutocorrelateConfig& config, formats::CountDescription& description) {
  if (!(config.bin_s > 0) || description.bin_reason.empty()) return;
  if (config.log && std::abs(config.bin_s - description.bin_s) > 1e-6 * description.bin_s)
    config.log(core::LogLevel::warning,
               fmt::format("`bin_s`: {:.9g} s as given, though bins are of {:.9g} s, {}; all lags "
                           "are {:.4g} times as long",
                           config.bin_s, description.bin_s, description.bin_reason,
                           config.bin_s / description.bin_s));
  description.bin_s = 0;
  description.bin_reason.clear();
}

double bin_of(const AutocorrelateConfig& config, const formats::CountDescription& description) {
  const double bin_s = description.bin_s > 0 ? description.bin_s : config.bin_s;
  if (!(bin_s > 0) || !std::isfinite(bin_s))
    throw Error(ErrorKind::config,
                (config.input == "-" ? "standard input" : config.input) + ": length of a bin",
                "unknown", "seconds, above 0", "give `bin_s`");
  return bin_s;
}

// The samples that start_s and duration_s select: the first, and their number.
std::pair<std::uint64_t, std::uint64_t> part_of(const AutocorrelateConfig& config,
                                                std::uint64_t total, double bin_s) {
  const auto whole = [&](double seconds) {
    const double bins = std::round(seconds / bin_s);
    return bins >= static_cast<double>(total) ? total : static_cast<std::uint64_t>(bins);
  };
  // A start at the very end is allowed: a resumed run may have reached it.
  if (std::round(config.start_s / bin_s) > static_cast<double>(total))
    throw Error(ErrorKind::config, "start_s", fmt::format("{:g} s", config.start_s),
                fmt::format("less than the {:g} s of {}", static_cast<double>(total) * bin_s,
                            config.input));
  const std::uint64_t first = whole(config.start_s);
  if (config.duration_s < 0) return {first, total - first};
  if (whole(config.duration_s) < 1)
    throw Error(ErrorKind::config, "duration_s", fmt::format("{:g} s", config.duration_s),
                fmt::format("at least one bin, {:g} s", bin_s));
  return {first, std::min(total - first, whole(config.duration_s))};
}

// A photon costs about as much one by one as this many bins (docs/performance/autocorrelate.md).
constexpr std::uint64_t kBinsForAPhoton = 100;

// The file's photons where they are correlated one by one, or null.
PhotonCounts* tags_to_take(const AutocorrelateConfig& config, formats::CountReader& reader,
                           const SensorMap& map, const device::Device& device) {
  auto* photons = dynamic_cast<PhotonCounts*>(&reader);
  const bool possible = photons != nullptr && !map.adds() &&
                        config.coarsening == stages::autocorrelate::Coarsening::sum;
  if (config.tag_method == TagMethod::direct && !possible)
    throw Error(ErrorKind::config, "tag_method", "direct",
                "time tags, without `bin_sensors`, and `coarsening` sum", "leave it out");
  if (!possible || config.tag_method == TagMethod::bins) return nullptr;
  const bool rare = photons->total_samples() / kBinsForAPhoton >= photons->total_photons();
  const bool chosen = rare && device.api() == device::Api::cpu;
  return config.tag_method == TagMethod::direct || chosen ? photons : nullptr;
}

// A stream's detectors with photons would be known only at its end.
void check_live_tags(const AutocorrelateConfig& config, const std::string& name) {
  refuse_raw_fields(config, "time tags");
  if (!(config.bin_s > 0))
    throw Error(ErrorKind::config, name + ": length of a bin", "unknown",
                "seconds, above 0: a stream's rate is known only when it is over", "give `bin_s`");
  if (config.detectors.empty())
    throw Error(ErrorKind::config, "detectors", "none given for " + name,
                "the detectors of a stream, which cannot be read twice to find them",
                "name them with `detectors`; inspect tells which a recording has");
  const bool adds = config.sensors.bin_rows * config.sensors.bin_columns != 1;
  if (adds || config.coarsening != stages::autocorrelate::Coarsening::sum ||
      config.tag_method == TagMethod::bins)
    throw Error(ErrorKind::config,
                adds                                   ? "bin_sensors"
                : config.tag_method == TagMethod::bins ? "tag_method"
                                                       : "coarsening",
                "given for time tags of " + name,
                "tags that are taken one by one, which those of a stream are", "leave it out");
}

std::unique_ptr<PhotonBinner> bin_live_tags(std::unique_ptr<stream::LiveInput> input,
                                            const AutocorrelateConfig& config) {
  check_live_tags(config, input->name());
  return std::make_unique<PhotonBinner>(std::make_unique<stream::LivePhotons>(std::move(input)),
                                        bins_of(config));
}

// A pipe that is not opened: time tags where detectors are named, else raw counts.
void describe_stream(CountInput& input, const AutocorrelateConfig& config) {
  const formats::RawCounts raw = raw_of(config);
  if (!config.detectors.empty()) {
    check_live_tags(config, config.input);
    input.one_by_one = true;
    input.description = {.format = "time tags",
                         .type = core::SampleType::u8,
                         .sensors = config.detectors.size(),
                         .bin_s = config.bin_s};
    input.description.numbers = config.detectors;
  } else if (!raw.dtype || raw.sensors == 0) {
    throw Error(ErrorKind::config, "path", config.input,
                "a pipe whose `dtype` and `sensors` are given, where nothing may be waited for",
                "give them; a run takes them from the header of an array that comes");
  } else {
    refuse_tag_options(config);
    input.description = formats::describe_raw(raw, config.input);
  }
}

// Nothing is waited for: packets say neither how many sensors there are nor how long a bin is.
void open_packets(CountInput& input, const AutocorrelateConfig& config, std::stop_token stop) {
  refuse_tag_options(config);
  if (config.raw.dtype) refuse(config, "dtype", "only for raw files, NPY and time tags");
  if (config.raw.header_bytes > 0) refuse(config, "header_bytes", "only for raw files");
  const std::size_t sensors = raw_of(config).sensors;
  if (sensors == 0)
    throw Error(ErrorKind::config, "sensors", "not given", "the number of sensors, or `shape`",
                "packets do not say it");
  const stream::PacketRowsConfig packets{.listen = config.input,
                                         .layout = config.layout,
                                         .interface = config.interface,
                                         .channels = sensors,
                                         .rate_hz = rate_of_bins(bin_of(config, {})),
                                         .start = {},
                                         .first_count = config.first_count,
                                         .window_samples = config.window_samples,
                                         .wait_s = config.wait_s,
                                         .silence_s = config.silence_s,
                                         .longest_gap_s = config.longest_gap_s,
                                         .log = config.log};
  input.live_counts = std::make_unique<PacketCounts>(packets, std::move(stop));
  input.description = input.live_counts->description();
}

void open_stream(CountInput& input, const AutocorrelateConfig& config, std::stop_token stop) {
  auto bytes =
      std::make_unique<stream::LiveInput>(config.input, live_buffer_bytes(config), std::move(stop));
  input.pipe = bytes.get();
  const auto first = first_bytes(*bytes);
  if (first.empty() && !config.raw.dtype) {  // what is missing is no option
    if (bytes->stopped()) throw Error(ErrorKind::io, bytes->name(), "interrupted", "");
    const std::string fault = bytes->fault();
    throw Error(ErrorKind::io, bytes->name(),
                fault.empty() ? "empty" : "nothing came (" + fault + ")", "counts or time tags",
                "see what the program before the pipe said");
  }
  if (formats::recognise_photons(first, "")) {
    input.live_tags = bin_live_tags(std::move(bytes), config);
    input.one_by_one = true;
    input.description = input.live_tags->description(core::SampleType::u8);
    return;
  }
  if (formats::tiff::recognise(first))
    throw Error(ErrorKind::unsupported, bytes->name(), "a TIFF stack",
                "raw [time][sensor] counts, NPY, PTU or PT3", "give the file's name");
  refuse_tag_options(config);
  const bool npy = formats::npy::recognise(first, "");
  if (npy) refuse_raw_fields(config, "NPY arrays");
  if (!npy && config.raw.header_bytes == 0) refuse_other_kinds(*bytes);
  LiveLayout layout =
      npy ? npy_layout(*bytes, config.raw.dtype)
          : LiveLayout{
                formats::describe_raw(raw_of(config), bytes->name()), config.raw.header_bytes, {}};
  input.live_counts = std::make_unique<LiveCounts>(std::move(bytes), std::move(layout));
  input.description = input.live_counts->description();
}

// Stops of the part that is read, counted from its first bin.
Stops stops_of(const AutocorrelateConfig& config, const CountInput& input) {
  const auto* photons = dynamic_cast<const PhotonCounts*>(input.file.get());
  if (photons == nullptr)
    return find_stops([&] { return open_file(config); }, input.first, input.samples, input.bin_s,
                      !input.sensors->adds());
  const std::uint64_t first = input.first, end = input.first + input.samples;
  const auto part_of = [&](const std::vector<BinRange>& all) {
    std::vector<BinRange> stops;
    for (const BinRange& stop : all)
      if (stop.first < end && stop.end > first && (stop.first > first || stop.end < end))
        stops.push_back({std::max(stop.first, first) - first, std::min(stop.end, end) - first});
    return stops;
  };
  Stops part{part_of(photons->stops().left_out), part_of(photons->stops().named), {}};
  if (!input.sensors->adds())
    for (const SensorStops& one : photons->stops().single)
      part.single.push_back({one.sensor, part_of(one.stops)});
  return part;
}

// Of good sensors, counted from behind the padding, and what lies in it left out.
std::vector<SensorStops> inside_padding(const CountInput& input, std::vector<SensorStops> single) {
  const std::vector<std::uint8_t> good = input.sensors->good_sensors();
  std::erase_if(single, [&](const SensorStops& one) { return good[one.sensor] == 0; });
  const std::uint64_t first = input.padding.before, end = input.samples - input.padding.after;
  for (SensorStops& one : single) {
    for (BinRange& stop : one.stops)
      stop = {std::max(stop.first, first) - first, std::clamp(stop.end, first, end) - first};
    std::erase_if(one.stops, [](const BinRange& stop) { return stop.first >= stop.end; });
  }
  std::erase_if(single, [](const SensorStops& one) { return one.stops.empty(); });
  return single;
}

std::vector<BinRange> breaks_of(const CountInput& input) {
  const auto* photons = dynamic_cast<const PhotonCounts*>(input.file.get());
  std::vector<BinRange> breaks;
  if (photons == nullptr) return breaks;
  const std::uint64_t first = input.first, end = input.first + input.samples;
  for (const BinRange& one : photons->breaks())
    if (one.first < end && one.end > first)
      breaks.push_back({std::max(one.first, first) - first, std::min(one.end, end) - first});
  return breaks;
}

// For a run that resumes or will be resumed, every bin has its place.
void leave_out_stops(const AutocorrelateConfig& config, CountInput& input) {
  if (config.keep_constant || !config.resume.empty() || !config.save_state.empty()) return;
  auto [stops, named, single] = stops_of(config, input);
  // Rolling curves keep them; the trace shows few of them alone.
  constexpr std::size_t kShownByTrace = 3;
  if (config.window_s > 0 && stops.size() > kShownByTrace) {
    named.insert(named.end(), stops.begin(), stops.end());
    sort_by_time(named);
    stops.clear();
  }
  if (!stops.empty() && stops.back().end == input.samples) {
    input.padding.after = stops.back().bins();
    stops.pop_back();
  }
  if (!stops.empty() && stops.front().first == 0) {
    input.padding.before = stops.front().bins();
    stops.erase(stops.begin());
  }
  for (BinRange& stop : stops)
    stop = {stop.first - input.padding.before, stop.end - input.padding.before};
  for (BinRange& stop : named)
    stop = {stop.first - input.padding.before, stop.end - input.padding.before};
  input.stops = std::move(stops);
  input.named_stops = std::move(named);
  input.single_stops = inside_padding(input, std::move(single));
  input.first += input.padding.before;
  input.samples -= input.padding.before + input.padding.after;
}

}  // namespace

core::Rational rate_of_bins(double bin_s) {
  constexpr double kParts = 1e15, kLong = 1000;
  if (bin_s >= kLong) return core::make_rational(1, std::llround(std::min(bin_s, 1e18)));
  return core::make_rational(std::llround(kParts), std::max(1LL, std::llround(bin_s * kParts)));
}

std::size_t live_buffer_bytes(const AutocorrelateConfig& config) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  return std::min(kBytes, config.memory_bytes / 8);
}

const formats::Damage& CountInput::damage() const {
  static const formats::Damage none;
  if (live_counts != nullptr) return live_counts->damage();
  if (live_tags != nullptr) return live_tags->damage();
  return file != nullptr ? file->damage() : none;
}

std::size_t CountInput::row_bytes() const {
  const std::size_t read = description.sensors * core::bytes_of(description.type);
  if (!sensors->adds()) return read;
  return read + sensors->sensors().size() * core::bytes_of(sensors->type_of_sums(description.type));
}

CountInput open_count_input(const AutocorrelateConfig& config, const device::Device& device,
                            std::stop_token stop, bool only_planned) {
  CountInput input;
  input.name = config.input;
  input.start_s = config.start_s;
  if (!config.source && config.input.starts_with("udp:")) {
    open_packets(input, config, std::move(stop));
  } else if (!config.source && formats::is_stream(config.input)) {
    if (only_planned)
      describe_stream(input, config);
    else
      open_stream(input, config, std::move(stop));
  } else {
    input.file = open_file(config);
    input.description = input.file->description();
  }
  take_given_bin(config, input.description);
  const formats::CountDescription& description = input.description;
  input.bin_s = bin_of(config, description);
  input.sensors = std::make_shared<SensorMap>(config.sensors, description.sensors, description.rows,
                                              description.columns, description.numbers);
  const std::uint64_t total = input.live() ? kAllThatCome : input.file->total_samples();
  note_doubtful_counts(config,
                       {input.name, description, input.bin_s,
                        input.live() ? std::nullopt : std::optional(input.file->total_samples())},
                       [&] { return open_file(config); });
  std::tie(input.first, input.samples) = part_of(config, total, input.bin_s);
  if (input.live_counts != nullptr) input.live_counts->skip(input.first);
  if (input.live_tags != nullptr) input.live_tags->start_at(input.first);
  input.photons = input.live_tags.get();
  input.keep_constant = config.keep_constant;
  if (input.live()) return input;
  leave_out_stops(config, input);
  input.breaks = breaks_of(input);
  PhotonCounts* tags = tags_to_take(config, *input.file, *input.sensors, device);
  if (input.first > 0) input.file->seek(input.first);
  input.one_by_one = tags != nullptr;
  if (tags != nullptr) input.photons = &tags->binner();
  return input;
}

}  // namespace tautline::pipeline

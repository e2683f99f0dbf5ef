// tautline inspect: what a file holds.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <system_error>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/inspect_array.h"
#include "cli/inspect_search.h"
#include "cli/inspect_text.h"
#include "cli/output_names.h"
#include "cli/piped_inputs.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/time.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/input_name.h"
#include "tautline/formats/measurement_set/contents.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/visibility_reader.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::cli {

namespace {

using Json = nlohmann::ordered_json;

struct InspectOptions {
  std::vector<std::string> files;
  bool strict = false;
  TcspcOutput tcspc;
  formats::ReaderOptions reader;
};

int inspect_voltages(const Global& global, const std::string& path, const InspectOptions& options) {
  const auto reader = formats::open_voltages(path, options.reader);
  formats::require_complex_bands(options.reader, reader->description());
  const formats::Damage damage = reader->foreseen_damage();
  const core::VoltageDescription& d = reader->description();
  const double seconds = static_cast<double>(reader->total_samples()) / d.rate_hz.value();
  if (global.json) {
    print_json("tautline.inspect.voltages", 1,
               {{"file", said_name(path)},
                {"format", core::to_string(d.format)},
                {"antennas", d.antennas},
                {"polarisations", d.polarisations},
                {"channels", d.channels},
                {"rate_hz", {d.rate_hz.numerator, d.rate_hz.denominator}},
                {"samples", reader->total_samples()},
                {"duration_s", seconds},
                {"start_utc", core::to_iso(d.start)},
                {"start_mjd", core::modified_julian_date(d.start)},
                {"centre_hz", d.centre_hz},
                {"bandwidth_hz", d.bandwidth_hz},
                {"telescope", d.telescope},
                {"instrument", d.instrument},
                {"source", d.source},
                {"antenna_names", d.antenna_names},
                {"assumed", d.assumed},
                {"damage", damage.messages}});
    return damage_status(damage, 0, options.strict);
  }
  fmt::print("{}: antenna voltages\n", said_name(path));
  fmt::print("  samples     {} {} of {} ({} x {}), {}\n", reader->total_samples(),
             core::to_string(d.format), core::counted(d.inputs(), "input"),
             core::counted(d.antennas, "antenna"), core::counted(d.polarisations, "polarisation"),
             core::counted(d.channels, "channel"));
  fmt::print("  rate        {:.12g} Hz ({}/{}), {:.6f} s in all\n", d.rate_hz.value(),
             d.rate_hz.numerator, d.rate_hz.denominator, seconds);
  if (d.start == core::Instant{})
    fmt::print("  start       not known, taken as {} UTC\n", core::to_iso(d.start));
  else
    fmt::print("  start       {} UTC (MJD {:.9f})\n", core::to_iso(d.start),
               core::modified_julian_date(d.start));
  fmt::print("  band        {:.6f} MHz wide about {:.6f} MHz\n", d.bandwidth_hz / 1e6,
             d.centre_hz / 1e6);
  print_origin({{"telescope", d.telescope}, {"instrument", d.instrument}, {"source", d.source}});
  if (!d.antenna_names.empty()) fmt::print("  antennas    {}\n", fmt::join(d.antenna_names, ", "));
  if (!d.assumed.empty()) fmt::print("  assumed     {}\n", option_words().text(d.assumed));
  return damage_status(damage, 0, options.strict);
}

// "139.523750 -12.095556 degrees (ICRS)"
std::string place_text(double ra_deg, double dec_deg) {
  return fmt::format("{:.6f} {:+.6f} degrees (ICRS)", ra_deg, dec_deg);
}

// As `plot --baseline` takes them: antenna and feed, "3x".
std::vector<std::string> input_names(const formats::ArrayLayout& array) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < array.inputs.size(); ++k)
    names.push_back(formats::input_name(array, k));
  return names;
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 32;
  if (names.size() <= kMost) return fmt::format("{}", fmt::join(names, " "));
  return fmt::format("{} ... {}", fmt::join(names.begin(), names.begin() + kMost - 1, " "),
                     names.back());
}

// "0 (tile 1)": numbers, as `plot --baseline` takes them, and names.
std::vector<std::string> numbered(const std::vector<std::string>& antennas) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < antennas.size(); ++k)
    names.push_back(fmt::format("{} ({})", k, antennas[k]));
  return names;
}

std::vector<std::string> numbered(const std::vector<formats::Antenna>& antennas) {
  std::vector<std::string> names;
  for (const formats::Antenna& antenna : antennas)
    names.push_back(fmt::format("{} ({})", antenna.number, antenna.name));
  return names;
}

int inspect_visibilities(const Global& global, const std::string& path) {
  const auto reader = formats::open_visibilities(path);
  const formats::VisibilityDescription& d = reader->description();
  const auto& middles = reader->middles();
  const std::string first = middles.empty() ? "" : core::to_iso(middles.front());
  const std::string last = middles.empty() ? "" : core::to_iso(middles.back());
  const std::string centre = d.phase_centre.tracked ? d.phase_centre.name : "unprojected";
  const std::vector<std::string> names = input_names(d.array);
  std::vector<std::string> antenna_names;
  for (const formats::Antenna& antenna : d.array.antennas) antenna_names.push_back(antenna.name);
  if (global.json) {
    print_json("tautline.inspect.visibilities", 1,
               {{"file", said_name(path)},
                {"antennas", d.array.antennas.size()},
                {"antenna_names", antenna_names},
                {"inputs", d.array.inputs.size()},
                {"input_names", names},
                {"channels", d.channel_hz.size()},
                {"first_channel_hz", d.channel_hz.front()},
                {"channel_width_hz", d.channel_width_hz},
                {"integrations", middles.size()},
                {"integration_s", d.integration_s},
                {"first_utc", first},
                {"last_utc", last},
                {"phase_centre", centre},
                {"ra_deg", d.phase_centre.tracked ? Json(d.phase_centre.ra_deg) : Json()},
                {"dec_deg", d.phase_centre.tracked ? Json(d.phase_centre.dec_deg) : Json()},
                {"telescope", d.telescope},
                {"history", d.history},
                {"extra", d.extra}});
    return kDone;
  }
  fmt::print("{}: visibilities\n", said_name(path));
  fmt::print("  inputs      {} of {} ({})\n", d.array.inputs.size(),
             core::counted(d.array.antennas.size(), "antenna"), d.array.name);
  fmt::print("  names       {}\n", names_text(names));
  fmt::print("  antennas    {}\n", names_text(numbered(d.array.antennas)));
  fmt::print("  channels    {} of {:.6g} kHz from {:.6f} MHz\n", d.channel_hz.size(),
             d.channel_width_hz / 1e3, d.channel_hz.front() / 1e6);
  fmt::print("  times       {} of {:.6g} s, {} to {} UTC\n",
             core::counted(middles.size(), "integration"), d.integration_s, first, last);
  fmt::print("  points at   {}{}\n", centre,
             d.phase_centre.tracked
                 ? ", " + place_text(d.phase_centre.ra_deg, d.phase_centre.dec_deg)
                 : "");
  // Numbers of channels, which "flagged_edge_channels 0" would not tell.
  for (const auto& [key, value] : d.extra)
    if (key == "flagged_edge_channels")
      fmt::print("  flagged     edge channel {}\n", value);
    else
      fmt::print("  {:<11} {}\n", key, value);
  fmt::print("  history     {}\n", d.history);
  return kDone;
}

int inspect_measurement_set(const Global& global, const std::string& path) {
  const formats::measurement_set::Contents c = formats::measurement_set::contents_of(path);
  if (global.json) {
    nlohmann::ordered_json windows = nlohmann::ordered_json::array();
    for (const auto& window : c.windows)
      windows.push_back({{"channels", window.channels},
                         {"lowest_hz", window.lowest_hz},
                         {"highest_hz", window.highest_hz},
                         {"channel_width_hz", window.channel_width_hz}});
    print_json("tautline.inspect.measurement_set", 1,
               {{"file", said_name(path)},
                {"telescope", c.telescope},
                {"antennas", c.antennas},
                {"fields", c.fields},
                {"field_positions_deg", c.field_positions_deg},
                {"polarisations", c.polarisations},
                {"windows", windows},
                {"rows", c.rows},
                {"flagged_rows", c.flagged_rows},
                {"integrations", c.integrations},
                {"integration_s", c.integration_s},
                {"first_mjd", c.first_mjd_s / core::kSecondsPerDay},
                {"last_mjd", c.last_mjd_s / core::kSecondsPerDay},
                {"lowest_weight", c.lowest_weight},
                {"mean_weight", c.mean_weight},
                {"highest_weight", c.highest_weight}});
    return kDone;
  }
  fmt::print("{}: a Measurement Set\n", said_name(path));
  fmt::print("  antennas    {} ({}): {}\n", c.antennas.size(), c.telescope,
             names_text(numbered(c.antennas)));
  for (const auto& window : c.windows)
    fmt::print("  channels    {} of {:.6g} kHz from {:.6f} to {:.6f} MHz\n", window.channels,
               window.channel_width_hz / 1e3, window.lowest_hz / 1e6, window.highest_hz / 1e6);
  fmt::print("  products    {}\n", fmt::join(c.polarisations, ", "));
  fmt::print("  times       {} of {:.6g} s, MJD {:.8f} to {:.8f}\n",
             core::counted(c.integrations, "integration"), c.integration_s,
             c.first_mjd_s / core::kSecondsPerDay, c.last_mjd_s / core::kSecondsPerDay);
  fmt::print("  rows        {}, of them {} flagged\n", c.rows, c.flagged_rows);
  fmt::print("  weights     {:.4g} to {:.4g}, mean {:.4g}\n", c.lowest_weight, c.highest_weight,
             c.mean_weight);
  for (std::size_t k = 0; k < c.fields.size(); ++k)
    fmt::print("  points at   {}, {}\n", c.fields[k],
               place_text(c.field_positions_deg[k][0], c.field_positions_deg[k][1]));
  return kDone;
}

// A Measurement Set is a folder of tables.
bool is_measurement_set(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) &&
         std::filesystem::exists(path + "/table.dat", ignored);
}

void refuse_folder(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return;
  throw core::Error(core::ErrorKind::unsupported, path, formats::seeming_kind(path), "a file",
                    "give the files in it");
}

// Only these have microtimes.
void refuse_unless_tags(const std::string& path) {
  constexpr std::size_t kFirstBytes = 64;
  const auto first = formats::InputFile(path).head(kFirstBytes);
  if (!formats::recognise_photons(first, path))
    throw core::Error(core::ErrorKind::config, "tcspc", "given for " + path, "only for time tags",
                      "leave it out");
}

// Options for facts that headers of voltages may lack, given for a file that is known not to be voltages.
void refuse_unless_voltages(const std::string& path, const InspectOptions& options) {
  constexpr std::size_t kHeadBytes = 4096;
  if (options.reader.named.empty() || formats::commands_for(path).empty()) return;
  const auto first = formats::InputFile(path).head(kHeadBytes);
  if (formats::find_format(&formats::FileFormat::voltages, first, path) == nullptr)
    throw core::Error(core::ErrorKind::config, options.reader.named.front(), "given for " + path,
                      "only for voltages", "leave it out");
}

// A file of no known format, by its bytes and by the options for voltages.
void refuse_unknown_kind(const std::string& path, const InspectOptions& options) {
  constexpr std::size_t kHeadBytes = 4096;
  if (!options.reader.named.empty()) return;
  const auto first = formats::InputFile(path).head(kHeadBytes);
  if (formats::may_be_raw_counts(path))
    throw core::Error(core::ErrorKind::format, path, "no header of GUPPI RAW",
                      "a file that says what it holds",
                      "raw counts do not: autocorrelate reads them with --dtype and --sensors");
  if (formats::find_format(&formats::FileFormat::voltages, first, path) != nullptr) return;
  throw formats::other_kind(path, "a file of the kinds that tautline inspect --help lists",
                            "give the file the ending of its format");
}

int inspect_file(const Global& global, const std::string& path, const InspectOptions& options) {
  if (is_measurement_set(path)) return inspect_measurement_set(global, path);
  if (formats::is_folder_of_series(path))
    return inspect_series_folder(global, path, options.strict);
  refuse_folder(path);
  if (!formats::curves::recognise(path))  // one is a ZIP archive
    formats::refuse_compressed(path, "a file of the kinds that tautline inspect --help lists");
  require_own_ending("--tcspc", options.tcspc.path, {".csv", ".txt"});
  if (!options.tcspc.path.empty()) refuse_unless_tags(path);
  refuse_unless_voltages(path, options);
  if (const auto status = inspect_text(global, path)) return *status;
  if (formats::find_format(&formats::FileFormat::visibilities, {}, path) != nullptr)
    return inspect_visibilities(global, path);
  if (is_search_file(path)) return inspect_search(global, path, options.strict);
  if (const auto status = inspect_photons(global, path, options.strict, options.tcspc))
    return *status;
  // An array of unsigned numbers may be counts or voltages, which alone have a rate.
  if (options.reader.assumed.rate_hz.numerator == 0)
    if (const auto status = inspect_array(global, path, options.strict)) return *status;
  refuse_unknown_kind(path, options);
  return inspect_voltages(global, path, options);
}

// From done over damaged input and wrong usage to failed.
int worse_of(int a, int b) {
  const auto rank = [](int status) {
    return status == kDone ? 0 : status == kDamagedInput ? 1 : status == kWrongUsage ? 2 : 3;
  };
  return rank(a) >= rank(b) ? a : b;
}

// Of a file or a pipe.
int inspect_input(const Global& global, const std::string& input, const InspectOptions& options) {
  std::vector<std::string> path{input};
  const PipedInputs piped(global, path, formats::Contents::any);
  return inspect_file(global, path.front(), options);
}

// Its writer may never come, and the others would wait for it. What a shell puts in the place of <(...) has a writer,
// and its name is a link.
void refuse_named_pipe(const std::string& input) {
  std::error_code ignored;
  if (std::filesystem::symlink_status(input, ignored).type() == std::filesystem::file_type::fifo)
    throw core::Error(core::ErrorKind::unsupported, input, "a named pipe among several inputs",
                      "files, or - for standard input", "give the pipe alone");
}

int run_inspect(const Global& global, InspectOptions& options) {
  if (options.files.size() == 1) return inspect_input(global, options.files.front(), options);
  if (std::count(options.files.begin(), options.files.end(), "-") > 1)
    throw core::Error(core::ErrorKind::config, "input", "- given twice",
                      "standard input once at most");
  // One that cannot be read keeps nobody from the others.
  int worst = kDone;
  for (const std::string& path : options.files) {
    const auto say = [&](const std::string& message, int status) {
      spdlog::error("{}", message);
      if (global.json)
        print_json("tautline.inspect.error", 1,
                   {{"file", said_name(path)}, {"message", message}, {"status", status}});
      worst = worse_of(worst, status);
    };
    try {
      refuse_named_pipe(path);
      worst = worse_of(worst, inspect_input(global, path, options));
    } catch (const core::Error& error) {
      if (error.value() == "interrupted") throw;
      say(option_words().message(error),
          error.kind() == core::ErrorKind::config ? kWrongUsage : kFailed);
    } catch (const std::exception& error) {
      if (std::ferror(stdout) != 0) throw;  // not what the file is to blame for
      say(path + ": " + error.what(), kFailed);
    }
  }
  return worst;
}

}  // namespace

void add_inspect(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("inspect", "what a file holds");
  auto options = std::make_shared<InspectOptions>();
  const auto of = [](auto opener) { return formats::names_of(formats::formats_with(opener)); };
  using formats::FileFormat;
  add_input(
      *command, options->files,
      fmt::format("voltages ({}), visibilities ({}), filterbanks ({}), dedispersed series ({}), "
                  "masks, candidates, cut-outs, photon time tags ({}), counts ({}), "
                  "correlation curves "
                  "({}), array.toml, scenes, delays, truths and records (.json)",
                  of(&FileFormat::voltages), of(&FileFormat::visibilities),
                  of(&FileFormat::filterbank), of(&FileFormat::series), of(&FileFormat::photons),
                  of(&FileFormat::counts), of(&FileFormat::read_curves)));
  add_strict(*command, options->strict);
  command->add_option(
      "--tcspc", options->tcspc.path,
      "H.csv: photons by microtime and detector, to choose time gates on (T3, SPC)");
  add_overwrite(*command, options->tcspc.overwrite);
  add_reader_options(*command, options->reader, "");
  command->footer(
      "Examples: tautline inspect night.dada\n"
      "          zstdcat night.fil.zst | tautline inspect -\n"
      "          tautline inspect cell.ptu --tcspc histogram.csv");
  command->callback([&global, &action, options, command] {
    action = [&global, options, command] {
      options->reader.named = given_members(*command, "");
      return run_inspect(global, *options);
    };
  });
}

}  // namespace tautline::cli

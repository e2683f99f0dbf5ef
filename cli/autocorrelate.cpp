// tautline autocorrelate: counts to correlation curves.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <cstdio>

#include "cli/run_output.h"
#include "cli/words.h"
#include "tautline/core/error.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/autocorrelate_counts.h"

namespace tautline::cli {

namespace {

using stages::autocorrelate::Coarsening;
using stages::autocorrelate::LagScheme;

struct Options {
  pipeline::AutocorrelateConfig config;
  std::string lags = "chain", normalize = "symmetric", coarsen = "sum";
  std::string shape, bin_sensors = "1x1", dtype, gate, memory = "2G", tags = "auto";
  std::vector<std::uint16_t> detectors;
  bool strict = false;
};

// "32x16" -> rows 32, columns 16
std::pair<std::size_t, std::size_t> parse_size(const std::string& text, const std::string& option) {
  std::size_t rows = 0, columns = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, rows);
  if (first.ec == std::errc{} && first.ptr != end && *first.ptr == 'x') {
    const auto second = std::from_chars(first.ptr + 1, end, columns);
    if (second.ec == std::errc{} && second.ptr == end && rows > 0 && columns > 0)
      return {rows, columns};
  }
  throw core::Error(core::ErrorKind::config, option, text, "ROWSxCOLUMNS, such as 32x32");
}

// "LO:HI" in seconds
std::pair<double, double> parse_range(const std::string& text, const std::string& option) {
  double low = 0, high = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%lf:%lf%c", &low, &high, &rest) != 2 || !(low < high))
    throw core::Error(core::ErrorKind::config, option, text, "LO:HI in seconds, LO below HI");
  return {low, high};
}

core::CountType parse_type(const std::string& text) {
  if (text == "u8") return core::CountType::u8;
  if (text == "u16") return core::CountType::u16;
  return text == "u32" ? core::CountType::u32 : core::CountType::f32;
}

void resolve(const Global& global, Options& options) {
  pipeline::AutocorrelateConfig& config = options.config;
  config.lag_scheme = options.lags == "chain" ? LagScheme::chain : LagScheme::standard;
  config.normalization = core::parse_normalization(options.normalize).value();
  config.coarsening = options.coarsen == "sum"     ? Coarsening::sum
                      : options.coarsen == "first" ? Coarsening::first
                                                   : Coarsening::second;
  if (!options.shape.empty())
    std::tie(config.sensors.rows, config.sensors.columns) = parse_size(options.shape, "--shape");
  std::tie(config.sensors.bin_rows, config.sensors.bin_columns) =
      parse_size(options.bin_sensors, "--bin-sensors");
  if (!options.dtype.empty()) config.raw.type = parse_type(options.dtype);
  if (!options.gate.empty()) config.gate_s = parse_range(options.gate, "--gate");
  config.detectors = options.detectors;
  config.tag_method = options.tags == "auto"   ? pipeline::TagMethod::automatic
                      : options.tags == "bins" ? pipeline::TagMethod::bins
                                               : pipeline::TagMethod::direct;
  config.memory_bytes = parse_bytes(options.memory);
  config.history = history_line(global);
}

void summarise(const Global& global, const std::string& output,
               const pipeline::AutocorrelateSummary& s) {
  // The curves and the rate are of both parts.
  const std::string resumed =
      s.resumed_samples > 0 ? fmt::format("  with the {:.3f} s of the state taken up: {:.3f} s\n",
                                          static_cast<double>(s.resumed_samples) * s.bin_s,
                                          static_cast<double>(s.samples) * s.bin_s)
                            : "";
  print_summary(
      global, "tautline.autocorrelate",
      {{"output", output},
       {"format", s.format},
       {"sensors", s.sensors},
       {"curves", s.curves},
       {"lags", s.lags},
       {"samples", s.samples},
       {"resumed_samples", s.resumed_samples},
       {"segments", s.segments},
       {"live", s.live},
       {"interrupted", s.interrupted},
       {"writes", s.writes},
       {"bin_s", s.bin_s},
       {"mean_rate_hz", s.mean_rate_hz},
       {"masked", s.masked},
       {"undefined_curves", s.undefined},
       {"lags_too_long", s.lags_too_long},
       {"lost_samples", s.damage.lost_samples},
       {"dropped_samples", s.damage.dropped_samples},
       {"trailing_bytes", s.damage.trailing_bytes},
       {"ignored_photons", s.ignored_photons},
       {"kernels", s.backend},
       {"elapsed_s", s.elapsed_s},
       {"real_time_factor", real_time_factor(s.stream_s, s.elapsed_s)}},
      fmt::format("{}: {} of {}, {}, {:.6g} s bins\n{}, {:.4g} samples/s\n{}"
                  "  mean rate: {:.6g} counts/s a sensor\n  kernels: {}\n"
                  "  counted: {} lost, {} dropped, {} bytes left over, {} masked, {} without "
                  "counts\n",
                  output, counted(s.curves, "curve"), counted(s.lags, "lag"),
                  counted(s.sensors, "sensor"), s.bin_s, speed_line(s.stream_s, s.elapsed_s),
                  static_cast<double>(s.samples - s.resumed_samples) *
                      static_cast<double>(s.sensors) / s.elapsed_s,
                  resumed, s.mean_rate_hz, s.backend, s.damage.lost_samples,
                  s.damage.dropped_samples, s.damage.trailing_bytes, s.masked, s.undefined));
}

// News of a run that goes on. What came by a Ctrl-C is kept: the input is then called cut short.
int run_status(const pipeline::AutocorrelateSummary& summary, const Options& options) {
  const int status = damage_status(summary.damage, 0, options.strict);
  if (!summary.interrupted) return status;
  spdlog::warn("{}: stopped before its input ended; {} of {} are in the output",
               options.config.input == "-" ? "standard input" : options.config.input,
               counted(summary.samples, "sample"), counted(summary.sensors, "sensor"));
  return options.strict ? kFailed : kDamagedInput;
}

int run(const Global& global, Options& options) {
  pipeline::AutocorrelateConfig& config = options.config;
  std::vector<formats::NamedFile> inputs{{"--sensor-mask", config.sensors.mask_path},
                                         {"--pairs", config.sensors.pairs},
                                         {"--resume", config.resume}};
  if (config.input != "-") inputs.push_back({"input", config.input});
  formats::require_distinct({{"-o", config.output}, {"--save-state", config.save_state}}, inputs);
  resolve(global, options);
  config.log = [](core::LogLevel level, const std::string& text) {
    spdlog::log(level == core::LogLevel::warning ? spdlog::level::warn : spdlog::level::info, "{}",
                text);
  };
  ProgressLine line(global);
  const auto summary =
      pipeline::autocorrelate_counts(config, open_device(global), drawn_on(line), global.stop);
  for (const std::string& warning : summary.warnings) spdlog::warn("{}", warning);
  summarise(global, config.output, summary);
  return run_status(summary, options);
}

void add_lags(CLI::App& command, Options& options) {
  pipeline::AutocorrelateConfig& config = options.config;
  command
      .add_option("--bin,--bin-time", config.bin_s,
                  "seconds a bin; of time tags, rounded to whole ticks")
      ->check(above_zero());
  command
      .add_option("--lags", options.lags,
                  "chain: groups of --bins lags; standard: the lags of multipletau, --bins even")
      ->check(CLI::IsMember({"chain", "standard"}))
      ->capture_default_str();
  command.add_option("--bins", config.bins, "lags a group, or m of the standard lags, 1 to 1024")
      ->capture_default_str();
  command.add_option("--levels", config.levels, "groups, each with twice the step, 1 to 40")
      ->capture_default_str();
  command
      .add_option("--coarsen", options.coarsen,
                  "sum, first or second of two samples becomes one of the next level")
      ->check(CLI::IsMember({"sum", "first", "second"}))
      ->capture_default_str();
  command.add_option("--normalize", options.normalize, "none (sums), global or symmetric")
      ->check(CLI::IsMember({"none", "global", "symmetric"}))
      ->capture_default_str();
  command
      .add_option("--segments", config.segments,
                  "equal parts whose scatter is the standard error; 1: none")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command.add_flag("--detrend", config.detrend,
                   "take the means segment by segment, against bleaching; the sums stay (symmetric "
                   "normalisation)");
}

void add_sensors(CLI::App& command, Options& options) {
  pipeline::AutocorrelateConfig& config = options.config;
  const std::string group = "Sensors";
  command
      .add_option("--pairs", config.sensors.pairs,
                  "auto, all, DX:DY (pixel offset of the later one), or a file of pairs")
      ->capture_default_str()
      ->group(group);
  command.add_option("--shape", options.shape, "ROWSxCOLUMNS of the array")->group(group);
  command
      .add_option("--sensor-mask", config.sensors.mask_path,
                  "NPY or text, 0 = bad sensor: marked, and left out of sums and pairs")
      ->group(group);
  command.add_option("--bin-sensors", options.bin_sensors, "ROWSxCOLUMNS added together")
      ->capture_default_str()
      ->group(group);
}

void add_input(CLI::App& command, Options& options) {
  pipeline::AutocorrelateConfig& config = options.config;
  command
      .add_option(
          "input", config.input,
          "counts [time][sensor] (NPY or raw), TIFF stacks, or photon time tags (PTU, PT3); "
          "- or a named pipe: live")
      ->required();
  command.add_option("-o,--output", config.output, "G.csv, G.zip or G.h5")->required();
  command.add_option("--start", config.start_s, "seconds to skip")->capture_default_str();
  command.add_option("--duration", config.duration_s, "seconds to take; -1: all")
      ->capture_default_str();
  command.add_flag("--overwrite", config.overwrite, "replace an existing output");
  command.add_flag("--strict", options.strict, "damaged input is a failure (status 1, not 3)");
  command.add_option("--memory", options.memory, "most memory to take: bytes, with K, M or G")
      ->capture_default_str();
  const std::string again = "Runs that go on";
  command
      .add_option("--every", config.every_s,
                  "seconds between two writings of what came so far; 0: at the end alone")
      ->check(zero_or_more())
      ->capture_default_str()
      ->group(again);
  command
      .add_option("--save-state", config.save_state,
                  "a file to take the run up from later; written as often as the output")
      ->group(again);
  command
      .add_option("--resume", config.resume,
                  "the file of --save-state: go on from there, with what follows it as input")
      ->group(again);
  const std::string raw = "Raw files";
  command
      .add_option("--dtype", options.dtype,
                  "u8, u16, u32 or f32; of NPY and time tags: the type to count in")
      ->check(CLI::IsMember({"u8", "u16", "u32", "f32"}))
      ->group(raw);
  command.add_option("--sensors", config.raw.sensors, "sensors in a row; else --shape says it")
      ->group(raw);
  command.add_option("--header", config.raw.header_bytes, "bytes to skip")
      ->capture_default_str()
      ->group(raw);
  const std::string tags = "Time tags";
  command.add_option("--detectors", options.detectors, "channels, each a sensor; default: all")
      ->delimiter(',')
      ->group(tags);
  command
      .add_option("--tags", options.tags,
                  "bins; direct: photon by photon; auto: direct where photons are rare")
      ->check(CLI::IsMember({"auto", "bins", "direct"}))
      ->capture_default_str()
      ->group(tags);
  command.add_option("--gate", options.gate, "LO:HI, microtimes in seconds to keep")->group(tags);
}

}  // namespace

void add_autocorrelate(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("autocorrelate", "counts of photons to correlation curves");
  auto options = std::make_shared<Options>();
  add_input(*command, *options);
  add_lags(*command, *options);
  add_sensors(*command, *options);
  command->footer(
      "Examples: tautline autocorrelate counts.npy -o curves.h5 --bin 1.6e-6 --shape 32x32\n"
      "          camera | tautline autocorrelate - -o curves.h5 --bin 1.6e-6 --shape 32x32 "
      "--dtype u8 --every 10");
  command->callback([&global, &action, options] {
    action = [&global, options] { return run(global, *options); };
  });
}

}  // namespace tautline::cli

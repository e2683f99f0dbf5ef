// tautline delays: the delay models that keep an array pointed at a place.
#include "tautline/formats/delays/delays.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/output_names.h"
#include "tautline/core/angle.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/time.h"
#include "tautline/formats/delays/track.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/formats/partial_file.h"

namespace tautline::cli {

namespace {

struct DelaysOptions {
  std::string array, name, start, output;
  double ra_deg = 0, dec_deg = 0, duration_s = 0;
  bool overwrite = false;
  formats::EarthOrientation earth;
};

void add_angle(CLI::App& command, const std::string& name, double& degrees, core::AngleUnit unit,
               const std::string& help) {
  const auto take = [name, &degrees, unit](const CLI::results_t& texts) {
    try {
      degrees = core::read_angle_deg(texts.front(), unit);
    } catch (const core::Error& error) {
      throw CLI::ValidationError(name, error.value() + ", expected " + error.limit());
    }
    return true;
  };
  command.add_option(name, take, help)->required()->type_name("ANGLE");
}

int run_delays(const Global& global, const DelaysOptions& options) {
  formats::require_distinct({{"-o", options.output}}, {{"--array", options.array}});
  require_own_ending("--output", options.output, {".toml"});
  const auto array = formats::read_array_layout(options.array);
  const auto table = formats::delays::track(array, options.name, {options.ra_deg, options.dec_deg},
                                            utc_option("--utc-start", options.start),
                                            options.duration_s, {.earth = options.earth});
  const std::string below = formats::delays::below_horizon(
      array, options.name, {options.ra_deg, options.dec_deg},
      utc_option("--utc-start", options.start), options.duration_s, options.earth);
  if (!below.empty()) spdlog::warn("{}", below);
  formats::PartialFile file(options.output, options.overwrite);
  file.write("# " + history_line(global) + "\n" + formats::delays::to_toml(table, array));
  file.finish();
  if (global.json)
    print_json("tautline.delays", 1, {{"output", options.output}, {"inputs", table.inputs.size()}});
  else if (!global.quiet)
    fmt::print("{}: {} track {} for {} s\n", options.output,
               core::counted(table.inputs.size(), "input"), options.name, options.duration_s);
  return kDone;
}

}  // namespace

void add_delays(CLI::App& app, const Global& global, Action& action) {
  auto* command =
      app.add_subcommand("delays", "delay models that keep an array pointed at a place");
  auto options = std::make_shared<DelaysOptions>();
  command->add_option("--array", options->array, "array.toml: antenna positions")->required();
  command->add_option("--name", options->name, "name of the phase centre")->required();
  add_angle(*command, "--ra-deg", options->ra_deg, core::AngleUnit::hours,
            "right ascension, ICRS: degrees, or hh:mm:ss");
  add_angle(*command, "--dec-deg", options->dec_deg, core::AngleUnit::degrees,
            "declination, ICRS: degrees, or dd:mm:ss");
  command->add_option("--utc-start", options->start, "yyyy-mm-dd-hh:mm:ss[.fraction]")->required();
  add_own(*command, options->duration_s,
          {.name = "duration_s", .unit = "s", .help = "how long to track"},
          core::plain_text<double>(core::above(0)))
      ->required()
      ->default_str("");
  add_required_output(*command, options->output, "D.toml");
  add_fields(*command, options->earth, {"ut1_minus_utc_s", "pole"}, kEarthGroup);
  add_overwrite(*command, options->overwrite);
  command->footer(
      "Example: tautline delays --array array.toml --name HydA --ra-deg 09:18:05.7 --dec-deg "
      "-12:05:44 "
      "--utc-start 2026-03-20-14:00:00 --duration 3600 -o hyda.toml");
  when_chosen(*command, global, action, options, run_delays);
}

}  // namespace tautline::cli

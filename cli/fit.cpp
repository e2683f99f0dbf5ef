// tautline fit: numbers of particles and diffusion times from correlation curves.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/output_names.h"
#include "cli/piped_inputs.h"
#include "tautline/core/counted.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/photons/fit_curves.h"

namespace tautline::cli {

namespace {

struct FitOptions {
  const CLI::App* command = nullptr;
  pipeline::FitConfig config;
  std::vector<std::string> inputs;
  double kappa = pipeline::kDefaultKappa;
  bool strict = false;
};

void refuse_useless_kappa(const FitOptions& options) {
  if (options.command->count("--kappa") == 0) return;
  const pipeline::fit::Model& model = options.config.model;
  if (!pipeline::fit::has_kappa(model))
    throw core::Error(core::ErrorKind::config, "--kappa", fmt::format("{:g}", options.kappa),
                      fmt::format("none with the model {}: it is for models of a focus, as 3d",
                                  pipeline::fit::name_of(model)),
                      "leave it out");
  const bool is_usual = options.kappa >= 1 && options.kappa <= 100;  // as its bounds
  if (!is_usual && !options.config.bounds.contains("kappa"))
    throw core::Error(core::ErrorKind::config, "--kappa", fmt::format("{:g}", options.kappa),
                      "1 to 100", "a focus without an end is held by --fix kappa=1e6");
  for (const auto& [option, values] :
       {std::pair{"--fix", &options.config.fixed}, {"--start-at", &options.config.starts}})
    if (values->contains("kappa"))
      throw core::Error(core::ErrorKind::config, "--kappa", fmt::format("{:g}", options.kappa),
                        fmt::format("none beside {} kappa=", option), "leave one of them out");
}

void resolve(const Global& global, FitOptions& options) {
  pipeline::FitConfig& config = options.config;
  config.threads = global.threads;
  config.history = history_line(global);
  config.words = words_of_options();
  pipeline::assume_kappa(config, options.kappa);
  config.input = options.inputs.front();
  config.more_inputs.assign(options.inputs.begin() + 1, options.inputs.end());
}

// How far the points lie from the curve: in units of their errors, or of g where all weigh the same.
std::string spread_of(const pipeline::FitResult& result, const pipeline::CurveFit& one) {
  const pipeline::fit::Solution& solution = one.solution;
  const int freedom = solution.degrees_of_freedom;
  if (result.weighted)
    return fmt::format("  {:<10} {:>12.4g}  of {} degrees of freedom, reduced {:.3g}{}", "chi2",
                       solution.chi_squared, freedom, solution.chi_squared / freedom,
                       std::isfinite(one.highest_reduced_chi2)
                           ? fmt::format(" (ok up to {:.2g})", one.highest_reduced_chi2)
                           : "");
  return fmt::format("  {:<10} {:>12.4g}  of g about the curve, {} degrees of freedom", "rms",
                     std::sqrt(solution.chi_squared / freedom), freedom);
}

void print_result_fit(const FitOptions& options, const pipeline::FitResult& result) {
  fmt::print(
      "{}\n  {}, model {}: {} fitted well, {} not judged, {} hot, {} masked, {} doubtful, in "
      "{:.2f} s\n",
      options.config.output, core::counted(result.fits.size(), "curve"),
      pipeline::fit::name_of(result.model), result.good, result.unjudged, result.hot, result.masked,
      result.failed, result.elapsed_s);
  if (result.fits.size() == 1) {
    const auto& one = result.fits.front();
    if (!std::isfinite(one.solution.values.front())) {
      fmt::print("  {}\n", one.status);
      return;
    }
    for (std::size_t k = 0; k < result.parameters.size(); ++k) {
      const std::string& name = result.parameters[k].name;
      const double error = one.solution.standard_errors[k];
      fmt::print("  {:<10} {:>12.6g}  {}\n", name, one.solution.values[k],
                 error > 0 ? fmt::format("+- {:.3g}", error)
                           : pipeline::fit::without_error(name, error, one.solution.trouble));
    }
    if (std::isfinite(one.d_um2_per_s))
      fmt::print("  {:<10} {:>12.6g}  +- {:.3g}  um^2/s\n", "D", one.d_um2_per_s, one.d_error);
    fmt::print("  {:<10} {:>12.6g}\n{}; {}\n", "G(0)", one.g0, spread_of(result, one), one.status);
  } else {
    for (const char* name : {"n", "tau_d_s", "g0", "d_um2_per_s", "reduced_chi2"})
      if (const auto median = result.medians.find(name);
          median != result.medians.end() && std::isfinite(median->second))
        fmt::print("  median {:<13} {:.6g}\n", name, median->second);
  }
  if (!options.config.report.empty()) fmt::print("  the page: {}\n", options.config.report);
}

std::vector<formats::NamedFile> named_inputs(const std::vector<std::string>& paths) {
  std::vector<formats::NamedFile> named;
  for (const std::string& path : paths) named.push_back({"input", path});
  return named;
}

int run_fit(const Global& global, FitOptions& options) {
  refuse_useless_kappa(options);
  formats::require_distinct({{"-o", options.config.output}, {"--report", options.config.report}},
                            named_inputs(options.inputs));
  require_own_ending("--output", options.config.output, {".csv", ".txt"});
  require_own_ending("--report", options.config.report, {".html", ".htm"});
  const PipedInputs piped(global, options.inputs, formats::Contents::curves, options.config.output,
                          options.config.overwrite);
  resolve(global, options);
  pipeline::FitResult result;
  {
    ProgressLine line(global);
    result = pipeline::fit_file(
        options.config, [&](double done) { line.show(done, "fitting"); }, global.stop);
  }
  for (const std::string& warning : result.warnings) spdlog::warn("{}", warning);
  if (global.json) {
    nlohmann::ordered_json medians = nlohmann::ordered_json::object();
    for (const auto& [name, value] : result.medians) medians[name] = number_or_null(value);
    print_json("tautline.fit", 1,
               {{"output", options.config.output},
                {"report", options.config.report},
                {"model", pipeline::fit::name_of(result.model)},
                {"curves", result.fits.size()},
                {"good", result.good},
                {"unjudged", result.unjudged},
                {"hot", result.hot},
                {"masked", result.masked},
                {"failed", result.failed},
                {"weighted", result.weighted},
                {"from_segments", result.from_segments},
                {"suggested_lowest_lag_s", number_or_null(result.suggested_lowest_lag_s)},
                {"medians", medians},
                {"elapsed_s", result.elapsed_s}});
  } else if (!global.quiet) {
    print_result_fit(options, result);
  }
  // Who asks for a fit without errors asks for one that nothing judges.
  if (result.good > 0 || (!options.config.weighted && result.unjudged > 0)) return kDone;
  const auto doubtful = std::find_if(result.fits.begin(), result.fits.end(),
                                     [](const auto& one) { return !one.masked && !one.hot; });
  const auto& told = doubtful != result.fits.end() ? *doubtful : result.fits.front();
  spdlog::warn("no curve was found ok{}: {}; see the status column of {}",
               result.fits.size() > 1 ? ", the first of them" : "", told.status,
               options.config.output);
  return options.strict ? kFailed : kDamagedInput;
}

}  // namespace

void add_fit(CLI::App& app, const Global& global, Action& action) {
  auto* command =
      app.add_subcommand("fit", "diffusion fits of correlation curves, maps and a page");
  auto options = std::make_shared<FitOptions>();
  options->command = command;
  pipeline::FitConfig& config = options->config;
  add_input(*command, options->inputs,
            "G.h5, G.zip or G.csv of autocorrelate; .csv, .SIN, .ASC of others; more than one: as "
            "one set",
            "curves");
  add_required_output(*command, config.output, "F.csv: one line for each curve");
  add_required_field(*command, config, "model");
  add_own(*command, options->kappa,
          {.name = "kappa", .help = "length of the focus over its waist, held unless freed"},
          core::plain_text<double>(core::above(0)));
  add_fields(*command, config,
             {"waist_um", "pixel_um", "q_per_um", "range_s", "fixed", "freed", "starts", "bounds",
              "shared", "weighted", "highest_reduced_chi2"});
  add_fields(*command, config, {"dead_time_s", "afterpulsing"}, "Detectors");
  add_report_output(*command, config.report, "F.html: curves, residuals and maps");
  add_overwrite(*command, config.overwrite);
  add_strict(*command, options->strict, "a run without a good fit");
  command->footer(
      "Example: tautline fit G.h5 -o fit.csv --model 3d+triplet --waist 0.25 --report fit.html");
  when_chosen(*command, global, action, options, run_fit);
}

}  // namespace tautline::cli

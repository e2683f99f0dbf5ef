// tautline fit: numbers of particles and diffusion times from correlation curves.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <tuple>

#include "cli/command.h"
#include "tautline/core/error.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/fit_curves.h"

namespace tautline::cli {

namespace {

struct Options {
  pipeline::FitConfig config;
  std::string model, range;
  double kappa = 5;
  std::vector<std::string> fixed, starts, bounds;
  bool unweighted = false, strict = false;
};

double parse_number(const std::string& text, const std::string& option, const std::string& whole) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0')
    throw core::Error(core::ErrorKind::config, option, whole, "numbers, as in its help");
  return value;
}

// "LO:HI"; either may be left out.
std::pair<double, double> parse_range(const std::string& text, const std::string& option,
                                      double lowest, double highest) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw core::Error(core::ErrorKind::config, option, text, "LO:HI");
  const std::string low = text.substr(0, colon), high = text.substr(colon + 1);
  return {low.empty() ? lowest : parse_number(low, option, text),
          high.empty() ? highest : parse_number(high, option, text)};
}

std::pair<std::string, std::string> parse_pair(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw core::Error(core::ErrorKind::config, option, text, "NAME=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void resolve(const Global& global, Options& options) {
  pipeline::FitConfig& config = options.config;
  config.model = pipeline::fit::parse_model(options.model);
  config.weighted = !options.unweighted;
  config.threads = global.threads;
  config.history = history_line(global);
  if (!options.range.empty())
    std::tie(config.lowest_lag_s, config.highest_lag_s) =
        parse_range(options.range, "--range", 0, std::numeric_limits<double>::infinity());
  if (config.model != pipeline::fit::Model::pixel_2d) config.starts["kappa"] = options.kappa;
  for (const std::string& text : options.fixed) {
    const auto [name, value] = parse_pair(text, "--fix");
    config.fixed[name] = parse_number(value, "--fix", text);
  }
  for (const std::string& text : options.starts) {
    const auto [name, value] = parse_pair(text, "--start-at");
    config.starts[name] = parse_number(value, "--start-at", text);
  }
  for (const std::string& text : options.bounds) {
    const auto [name, value] = parse_pair(text, "--bounds");
    config.bounds[name] = parse_range(value, "--bounds", 0, std::numeric_limits<double>::max());
  }
}

// How far the points lie from the curve: in units of their errors, or of g where all weigh the same.
std::string spread_of(const pipeline::FitResult& result, const pipeline::fit::Solution& solution) {
  const int freedom = solution.degrees_of_freedom;
  if (result.weighted)
    return fmt::format("  {:<10} {:>12.4g}  of {} degrees of freedom, reduced {:.3g}", "chi2",
                       solution.chi_squared, freedom, solution.chi_squared / freedom);
  return fmt::format("  {:<10} {:>12.4g}  of g about the curve, {} degrees of freedom", "rms",
                     std::sqrt(solution.chi_squared / freedom), freedom);
}

void print_result(const Options& options, const pipeline::FitResult& result) {
  fmt::print("{}\n  {} curve{}, model {}: {} fitted, {} hot, {} masked, {} doubtful, in {:.2f} s\n",
             options.config.output, result.fits.size(), result.fits.size() == 1 ? "" : "s",
             pipeline::fit::name_of(result.model), result.good, result.hot, result.masked,
             result.failed, result.elapsed_s);
  if (result.fits.size() == 1) {
    const auto& one = result.fits.front();
    for (std::size_t k = 0; k < result.parameters.size(); ++k)
      fmt::print("  {:<10} {:>12.6g}{}\n", result.parameters[k].name, one.solution.values[k],
                 result.parameters[k].fixed
                     ? "  held"
                     : fmt::format("  +- {:.3g}", one.solution.standard_errors[k]));
    if (std::isfinite(one.d_um2_per_s))
      fmt::print("  {:<10} {:>12.6g}  +- {:.3g}  um^2/s\n", "D", one.d_um2_per_s, one.d_error);
    fmt::print("  {:<10} {:>12.6g}\n{}; {}\n", "G(0)", one.g0, spread_of(result, one.solution),
               one.status);
  } else {
    for (const char* name : {"n", "tau_d_s", "g0", "d_um2_per_s", "reduced_chi2"})
      if (const auto median = result.medians.find(name);
          median != result.medians.end() && std::isfinite(median->second))
        fmt::print("  median {:<13} {:.6g}\n", name, median->second);
  }
  if (!options.config.report.empty()) fmt::print("  the page: {}\n", options.config.report);
}

int run(const Global& global, Options& options) {
  formats::require_distinct({{"-o", options.config.output}, {"--report", options.config.report}},
                            {{"input", options.config.input}});
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
    for (const auto& [name, value] : result.medians)
      medians[name] =
          std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
    print_json("tautline.fit", 1,
               {{"output", options.config.output},
                {"report", options.config.report},
                {"model", pipeline::fit::name_of(result.model)},
                {"curves", result.fits.size()},
                {"good", result.good},
                {"hot", result.hot},
                {"masked", result.masked},
                {"failed", result.failed},
                {"weighted", result.weighted},
                {"from_segments", result.from_segments},
                {"medians", medians},
                {"elapsed_s", result.elapsed_s}});
  } else if (!global.quiet) {
    print_result(options, result);
  }
  if (result.good > 0) return kDone;
  spdlog::warn("no curve was fitted without doubt: see the status column of {}",
               options.config.output);
  return options.strict ? kFailed : kDamagedInput;
}

}  // namespace

void add_fit(CLI::App& app, const Global& global, Action& action) {
  auto* command =
      app.add_subcommand("fit", "diffusion fits of correlation curves, maps and a page");
  auto options = std::make_shared<Options>();
  pipeline::FitConfig& config = options->config;
  command
      ->add_option("curves", config.input, "G.h5 of autocorrelate; or one curve: .csv, .SIN, .ASC")
      ->required();
  command->add_option("-o,--output", config.output, "F.csv: one line for each curve")->required();
  command->add_option("--model", options->model, "3d, 3d+triplet, 2x3d+triplet or 2d-pixel")
      ->check(CLI::IsMember({"3d", "3d+triplet", "2x3d+triplet", "2d-pixel"}))
      ->required();
  command
      ->add_option("--kappa", options->kappa,
                   "length of the focus over its waist; held unless freed")
      ->capture_default_str();
  command->add_option("--waist", config.waist_um,
                      "waist of the focus in um, for D; 2d-pixel: of the point spread function");
  command->add_option("--pixel", config.pixel_um, "side of a pixel in um, for D of 2d-pixel");
  command->add_option("--range", options->range,
                      "LO:HI: lags to fit, in seconds; default: all but 0");
  command->add_option("--fix", options->fixed,
                      "NAME=VALUE: holds a parameter; more than once for more");
  command->add_option("--free", config.freed, "kappa, offset or blur, which are held by default")
      ->delimiter(',');
  command->add_option("--start-at", options->starts,
                      "NAME=VALUE: where the search starts, else read off the curve");
  command->add_option("--bounds", options->bounds, "NAME=LO:HI");
  command->add_flag("--unweighted", options->unweighted,
                    "all lags weigh the same, whatever their standard errors");
  command->add_option("--report", config.report, "F.html: curves, residuals and maps");
  command->add_flag("--overwrite", config.overwrite, "replace existing files");
  command->add_flag("--strict", options->strict, "exit status 1 instead of 3 when no fit is ok");
  command->footer(
      "Example: tautline fit G.h5 -o fit.csv --model 3d+triplet --waist 0.25 --report fit.html");
  command->callback([&global, &action, options] {
    action = [&global, options] { return run(global, *options); };
  });
}

}  // namespace tautline::cli

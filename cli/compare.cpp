// tautline compare: measured visibilities beside the simulator's truth, and one correlation curve
// beside another.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/piped_inputs.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/file_formats.h"
#include "tautline/pipeline/photons/compare_curves.h"
#include "tautline/pipeline/simulation/compare_candidates.h"
#include "tautline/pipeline/simulation/compare_truth.h"

namespace tautline::cli {

namespace {

struct CompareOptions {
  const CLI::App* command = nullptr;
  std::string visibilities, truth;
  std::size_t rows = 12;
  std::size_t curve = 0, other_curve = 0;
  double recall = 0.9;
};

void print_tables(const pipeline::TruthComparison& c, std::size_t rows) {
  fmt::print("Visibilities ({} of {} products, from the shortest baseline to the longest)\n",
             std::min(rows, c.visibilities.size()), c.visibilities.size());
  fmt::print("{:>5} {:>5} {:>4} {:>9} | {:>10} {:>10} {:>9} | {:>10} {:>10} {:>9}\n", "ant_1",
             "ant_2", "feed", "length m", "measured", "true", "error", "phase deg", "true",
             "error");
  for (const std::size_t k : pipeline::spread_rows(c.visibilities.size(), rows)) {
    const auto& v = c.visibilities[k];
    fmt::print(
        "{:>5} {:>5} {:>4} {:>9.1f} | {:>10.5f} {:>10.5f} {:>9.5f} | {:>10.3f} {:>10.3f} "
        "{:>9.3f}\n",
        v.ant_1, v.ant_2, v.feed, v.length_m, v.measured_amplitude, v.true_amplitude,
        v.amplitude_error, v.measured_phase_deg, v.true_phase_deg, v.phase_error_deg);
  }
  fmt::print("\nClosure phases ({} of {})\n", std::min(rows, c.closures.size()), c.closures.size());
  fmt::print("{:>5} {:>5} {:>5} {:>4} | {:>12} {:>10} {:>9}\n", "ant", "ant", "ant", "feed",
             "measured deg", "true", "error");
  for (const std::size_t k : pipeline::spread_rows(c.closures.size(), rows)) {
    const auto& t = c.closures[k];
    fmt::print("{:>5} {:>5} {:>5} {:>4} | {:>12.3f} {:>10.3f} {:>9.3f}\n", t.antennas[0],
               t.antennas[1], t.antennas[2], t.feed, t.measured_deg, t.true_deg, t.error_deg);
  }
  fmt::print(
      "\nDifferences over their errors, root mean square (of noise alone: 1): amplitude {:.2f}, "
      "phase {:.2f}, closure phase {:.2f}\n{}\n",
      c.amplitude_rms_sigmas, c.phase_rms_sigmas, c.closure_rms_sigmas, c.verdict);
}

void print_curves(const pipeline::CurveComparison& c, std::size_t rows) {
  fmt::print("{} and {}: {} of {} lags\n", c.first, c.second, std::min(rows, c.lags.size()),
             c.lags.size());
  fmt::print("{:>12} | {:>12} {:>12} | {:>12} {:>10}\n", "lag s", "first", "second", "difference",
             "sigmas");
  for (const std::size_t k : pipeline::spread_rows(c.lags.size(), rows)) {
    const pipeline::ComparedLag& one = c.lags[k];
    fmt::print("{:>12.5g} | {:>12.6g} {:>12.6g} | {:>12.4g} {:>10.2f}\n", one.lag_s, one.first,
               one.second, one.first - one.second, (one.first - one.second) / one.error);
  }
  fmt::print(
      "\nRoot mean square difference {:.4g}, over its errors {:.2f}; with the second times {:.5g} "
      "{:.2f}\n{}\n",
      c.rms_difference, c.rms_sigmas, c.height_ratio, c.scaled_rms_sigmas, c.verdict);
}

// Of files with several curves one of each is compared, the first unless others are chosen.
void note_other_curves(const CompareOptions& options) {
  if (options.command->count("--curve") > 0 || options.command->count("--other-curve") > 0) return;
  std::string others;
  for (const std::string& path : {options.visibilities, options.truth}) {
    const std::size_t curves = formats::curves::read_set(path).curves;
    if (curves > 1)
      others += fmt::format("{}{} of {}", others.empty() ? "" : " and ", curves - 1, path);
  }
  if (!others.empty())
    spdlog::warn(
        "only the first curve of either file is compared, and {} not: --curve K and "
        "--other-curve K choose others",
        others);
}

int run_curves(const Global& global, const CompareOptions& options) {
  const auto c = pipeline::compare_curve_files(options.visibilities, options.curve, options.truth,
                                               options.other_curve);
  note_other_curves(options);
  if (global.json)
    print_json("tautline.compare.curves", 1,
               {{"first", c.first},
                {"second", c.second},
                {"lags", c.lags.size()},
                {"shortest_s", c.lags.front().lag_s},
                {"longest_s", c.lags.back().lag_s},
                {"rms_difference", c.rms_difference},
                {"height_ratio", number_or_null(c.height_ratio)},
                {"rms_sigmas", number_or_null(c.rms_sigmas)},
                {"scaled_rms_sigmas", number_or_null(c.scaled_rms_sigmas)},
                {"agrees", c.agrees},
                {"verdict", c.verdict}});
  else
    print_curves(c, options.rows);
  return c.agrees ? kDone : kFailed;
}

void print_candidates(const pipeline::CandidateComparison& c, std::size_t rows) {
  fmt::print("Pulses ({} of {}, brightest first)\n", std::min(rows, c.pulses.size()),
             c.pulses.size());
  fmt::print("{:>10} {:>12} {:>10} {:>8} | {:>10} {:>12} {:>8} {:>6}\n", "DM", "time s", "width s",
             "S/N", "found DM", "time s", "S/N", "ratio");
  for (std::size_t k = 0; k < std::min(rows, c.pulses.size()); ++k) {
    const pipeline::ComparedPulse& p = c.pulses[k];
    fmt::print("{:>10.3f} {:>12.6f} {:>10.6f} {:>8.2f} | ", p.dm, p.time_s, p.width_s, p.snr);
    if (p.found)
      fmt::print("{:>10.3f} {:>12.6f} {:>8.2f} {:>6.3f}\n", p.found->dm, p.found->time_s,
                 p.found->snr, p.found->snr / p.snr);
    else
      fmt::print("{:>10}\n", "missed");
  }
  fmt::print(
      "\nFound {} of {} pulses{}; {} of {} candidates are of no pulse, {} are of a pulse that was "
      "found already{}\n",
      c.found, c.pulses.size(),
      std::isfinite(c.recall) ? fmt::format(" (recall {:.4g})", c.recall)
                              : ": none lies wholly in the data",
      c.false_alarms, c.candidates, c.duplicates,
      c.injected > 0 ? fmt::format(", {} of pulses that the search injected", c.injected) : "");
  if (std::isfinite(c.mean_snr_ratio))
    fmt::print("S/N over the true S/N: {:.4g}{} (0.943 is the best boxcar's on a Gaussian)\n",
               c.mean_snr_ratio,
               std::isfinite(c.snr_ratio_scatter)
                   ? fmt::format(", scatter {:.3g}", c.snr_ratio_scatter)
                   : "");
  fmt::print("{}\n", c.verdict);
}

int run_candidates(const Global& global, const CompareOptions& options) {
  const auto c = pipeline::compare_candidates(options.visibilities, options.truth, options.recall);
  if (global.json)
    print_json("tautline.compare.candidates", 1,
               {{"candidates", c.candidates},
                {"pulses", c.pulses.size()},
                {"found", c.found},
                {"recall", number_or_null(c.recall)},
                {"false_alarms", c.false_alarms},
                {"duplicates", c.duplicates},
                {"cut", c.cut},
                {"injected", c.injected},
                {"mean_snr_ratio", number_or_null(c.mean_snr_ratio)},
                {"snr_ratio_scatter", number_or_null(c.snr_ratio_scatter)},
                {"agrees", c.agrees},
                {"verdict", c.verdict}});
  else
    print_candidates(c, options.rows);
  return c.agrees ? kDone : kFailed;
}

// Options that only one kind of file has.
void refuse_options(const CLI::App& command, const std::string& file,
                    const std::vector<std::string>& options, const std::string& limit) {
  for (const std::string& option : options)
    if (command.count(option) > 0)
      throw core::Error(core::ErrorKind::config, option, "given for " + file, limit,
                        "leave it out");
}

// By its heading: a table of a curve is called .csv, too.
bool is_list_of_candidates(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  if (!formats::candidates::recognise(path)) return false;
  if (!path.ends_with(".csv")) return true;
  std::ifstream file(path);
  std::string heading;
  return std::getline(file, heading) && heading.find("snr") != std::string::npos;
}

int run_compare(const Global& global, CompareOptions& options) {
  std::vector<std::string> inputs{options.visibilities, options.truth};
  const PipedInputs piped(global, inputs, formats::Contents::compared);
  options.visibilities = inputs.front();
  options.truth = inputs.back();
  if (!options.truth.ends_with(".json") && is_list_of_candidates(options.visibilities))
    throw core::Error(core::ErrorKind::config, options.truth,
                      is_list_of_candidates(options.truth) ? "a list of candidates" : "no truth",
                      "the X.truth.json of the pulses that were simulated beside the candidates " +
                          options.visibilities,
                      is_list_of_candidates(options.truth)
                          ? "two lists are not compared: each is, with the truth"
                          : "give what simulate wrote");
  // A list beside a truth; a curve may be called .csv too, beside another.
  const bool candidates =
      options.truth.ends_with(".json") && formats::candidates::recognise(options.visibilities);
  const bool curves = !candidates && formats::curves::recognise(options.visibilities);
  if (!curves)
    refuse_options(*options.command, options.visibilities, {"--curve", "--other-curve"},
                   "only for correlation curves");
  if (!candidates)
    refuse_options(*options.command, options.visibilities, {"--recall"}, "only for candidates");
  if (candidates) return run_candidates(global, options);
  if (options.visibilities.ends_with(".json") && !options.truth.ends_with(".json"))
    throw core::Error(core::ErrorKind::config, options.visibilities, "a truth",
                      "visibilities or candidates first, then their truth",
                      "swap them: tautline compare " + options.truth + " " + options.visibilities);
  if (curves) {
    if (options.truth.ends_with(".json"))
      throw core::Error(core::ErrorKind::config, options.truth, "a truth",
                        "another curve beside " + options.visibilities,
                        "fit the curve, and hold its n and time beside the truth's");
    return run_curves(global, options);
  }
  const auto c = pipeline::compare_truth(options.visibilities, options.truth);
  if (global.json)
    print_json("tautline.compare", 1,
               {{"visibilities", c.visibilities.size()},
                {"closures", c.closures.size()},
                {"strong", c.strong},
                {"without_data", c.without_data},
                {"beyond_noise", c.beyond_noise},
                {"outside", c.outside},
                {"mean_amplitude_ratio", c.mean_amplitude_ratio},
                {"power_ratio", number_or_null(c.power_ratio)},
                {"amplitude_rms_sigmas", c.amplitude_rms_sigmas},
                {"phase_rms_sigmas", c.phase_rms_sigmas},
                {"closure_rms_sigmas", c.closure_rms_sigmas},
                {"agrees", c.agrees},
                {"verdict", c.verdict}});
  else
    print_tables(c, options.rows);
  return c.agrees ? kDone : kFailed;
}

}  // namespace

void add_compare(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand(
      "compare",
      "visibilities or candidates beside the simulator's truth; curves beside each other");
  auto options = std::make_shared<CompareOptions>();
  options->command = command;
  using formats::FileFormat;
  add_input(*command, options->visibilities,
            formats::endings_of(formats::formats_with(&FileFormat::visibilities), "V") +
                "; candidates of a search: C.csv, C.cand, C.singlepulse or C.your.csv; or a "
                "correlation curve: " +
                formats::endings_of(formats::formats_with(&FileFormat::read_curves)),
            "visibilities");
  add_input(*command, options->truth, "X.truth.json, as simulate wrote it; or another curve",
            "truth");
  add_own(*command, options->rows, {.name = "rows", .help = "lines of each table"});
  add_own(*command, options->curve,
          {.name = "curve", .help = "which of the first file's curves, from 0"});
  add_own(*command, options->other_curve,
          {.name = "other_curve", .help = "which of the second file's curves, from 0"});
  add_own(*command, options->recall,
          {.name = "recall",
           .help = "of candidates: the least fraction of the pulses that must be found; where "
                   "fewer are, the status is 1"},
          core::plain_text<double>(core::between(0, 1)));
  command->footer(
      "Examples: tautline compare sky.uvh5 sky.truth.json\n"
      "          tautline compare candidates.csv obs.truth.json\n"
      "          tautline compare g.csv correlator.SIN");
  when_chosen(*command, global, action, options, run_compare);
}

}  // namespace tautline::cli

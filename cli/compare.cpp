// tautline compare: measured visibilities beside the simulator's truth.
#include <fmt/format.h>

#include "cli/command.h"
#include "tautline/pipeline/compare_truth.h"

namespace tautline::cli {

namespace {

struct Options {
  std::string visibilities, truth;
  std::size_t rows = 12;
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
      "\nDifferences over their errors, root mean square: amplitude {:.2f}, phase {:.2f}, "
      "closure phase {:.2f}\n{}\n",
      c.amplitude_rms_sigmas, c.phase_rms_sigmas, c.closure_rms_sigmas, c.verdict);
}

int run(const Global& global, const Options& options) {
  const auto c = pipeline::compare_truth(options.visibilities, options.truth);
  if (global.json)
    print_json("tautline.compare", 1,
               {{"visibilities", c.visibilities.size()},
                {"closures", c.closures.size()},
                {"strong", c.strong},
                {"outside", c.outside},
                {"mean_amplitude_ratio", c.mean_amplitude_ratio},
                {"power_ratio", c.power_ratio},
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
  auto* command =
      app.add_subcommand("compare", "measured visibilities beside the simulator's truth");
  auto options = std::make_shared<Options>();
  command->add_option("visibilities", options->visibilities, "V.uvh5")->required();
  command->add_option("truth", options->truth, "X.truth.json, as simulate wrote it")->required();
  command->add_option("--rows", options->rows, "lines of each table")->capture_default_str();
  command->footer("Example: tautline compare sky.uvh5 sky.truth.json");
  command->callback([&global, &action, options] {
    action = [&global, options] { return run(global, *options); };
  });
}

}  // namespace tautline::cli

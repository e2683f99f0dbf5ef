// Files made by the command, drawn by it, and their figures as data.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "tautline/pipeline/plot/plot.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {

namespace figure = formats::figure;
using nlohmann::json;

class Plot : public ::testing::Test {
 protected:
  CommandResult run(std::vector<std::string> arguments) {
    return run_command(arguments, scratch.path().string());
  }
  void must(const std::vector<std::string>& arguments) {
    const CommandResult result = run(arguments);
    ASSERT_EQ(result.status, kDone) << result.err;
  }
  /// A page and, where this build draws, a picture; returns the description.
  json drawn(const std::string& file, const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments{"--json", "plot", scratch / file};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const CommandResult page = run(arguments);
    EXPECT_EQ(page.status, kDone) << page.err;
    const json described = json::parse(page.out, nullptr, false);
    if (!described.is_object()) return {};
    const std::string text = read_file(scratch / (file + ".html"));
    EXPECT_NE(text.find("tautline.figure"), std::string::npos) << file;
    EXPECT_NE(text.find("receiveFigure"), std::string::npos) << file;
#ifdef TAUTLINE_CAIRO
    arguments.insert(arguments.end(), {"-o", scratch / "picture.png", "--overwrite"});
    const CommandResult picture = run(arguments);
    EXPECT_EQ(picture.status, kDone) << picture.err;
    EXPECT_TRUE(read_file(scratch / "picture.png").starts_with("\x89PNG")) << file;
#endif
    for (const json& panel : described["panels"])
      for (const char* axis : {"x", "y"})
        EXPECT_LT(panel[axis]["low"], panel[axis]["high"]) << panel;
    return described;
  }
  figure::Figure figure_of(const std::string& file, pipeline::PlotConfig config = {}) {
    config.input = scratch / file;
    pipeline::PlotRun on_host;
    on_host.device = [] { return device::open({}); };
    return pipeline::plot_file(config, on_host);
  }
  static const figure::Panel& panel(const figure::Figure& made, const std::string& title) {
    for (const figure::Panel& one : made.panels)
      if (one.title.starts_with(title)) return one;
    throw std::runtime_error("no panel " + title);
  }
  // Only existing values count: flagged channels have none.
  static double peak_of(const figure::Line& line) {
    const auto less = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; };
    return line.x[static_cast<std::size_t>(std::max_element(line.y.begin(), line.y.end(), less) -
                                           line.y.begin())];
  }
  // A pulse at time_s in 5 s of 128 channels of 1.2 to 1.45 GHz.
  void simulate_pulse(double time_s, double dm, double width_s = 0.02) {
    must({"simulate",
          "filterbank",
          "--nchans",
          "128",
          "--fch1",
          "1450",
          "--foff",
          "-2",
          "--tsamp",
          "5e-4",
          "--nbits",
          "8",
          "--duration",
          "5",
          "--seed",
          std::to_string(generator()() % 100000),
          "--pulse",
          "dm=" + std::to_string(dm) + ",time=" + std::to_string(time_s) +
              ",width=" + std::to_string(width_s) + ",snr=150",
          "-o",
          scratch / "a.fil"});
  }
  // Two antennas that share a tone at 154.88 MHz + 0.3 x 1.28 MHz, in the order of DADA's TFAP.
  void write_tone() {
    DadaFile file;
    file.npol = "1";
    file.payload_bytes = 0;
    std::string bytes = file.bytes();
    auto random = generator();
    for (int t = 0; t < 200000; ++t)
      for (int antenna = 0; antenna < 2; ++antenna) {
        const double angle = 2 * std::numbers::pi * 0.3 * t;
        for (const double part : {std::cos(angle), std::sin(angle)})
          bytes +=
              static_cast<char>(std::lround(40 * part + static_cast<double>(random() % 21) - 10));
      }
    write_file(scratch / "tone.dada", bytes);
  }
  static constexpr double kToneMhz = 154.88 + 0.3 * 1.28;

  ScratchFolder scratch;
};

}  // namespace tautline::tests

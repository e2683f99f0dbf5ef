// Figures of what the command itself wrote: Measurement Sets, fits, masks' flags and timings.
#include <filesystem>
#include <sstream>

#include "tautline/core/error.h"
#include "tests/pipeline/plot/plot_fixture.h"
#include "tests/support/environment.h"
#include "tests/support/gpus.h"

namespace tautline::tests {
namespace {

namespace fs = std::filesystem;

// The panels of a Measurement Set are those of the UVH5 file that the same samples give, but for their times, which a
// UVH5 file keeps to 40 microseconds.
#ifdef TAUTLINE_HDF5
TEST_F(Plot, AMeasurementSetAndAUvh5FileGiveTheSamePanels) {
  write_tone();
  for (const char* name : {"v.uvh5", "v.ms"}) {
    const CommandResult written = run({"correlate", scratch / "tone.dada", "-o", scratch / name,
                                       "--channels", "64", "--integration", "0.01"});
    if (written.err.find("a build with casacore") != std::string::npos)
      GTEST_SKIP() << "a build without casacore";
    ASSERT_EQ(written.status, kDone) << written.err;
  }
  drawn("v.ms");
  pipeline::PlotConfig cross, own;
  cross.baseline = "0-1";
  own.baseline = "1-1";
  for (const pipeline::PlotConfig& config : {pipeline::PlotConfig{}, cross, own}) {
    const figure::Figure expected = figure_of("v.uvh5", config), found = figure_of("v.ms", config);
    ASSERT_EQ(found.panels.size(), expected.panels.size());
    for (std::size_t p = 0; p < found.panels.size(); ++p) {
      const figure::Panel &one = found.panels[p], &other = expected.panels[p];
      EXPECT_EQ(one.title, other.title);
      // Milliseconds of time, or megahertz.
      EXPECT_NEAR(one.x.high, other.x.high, one.x.unit == "ms" ? 0.08 : 1e-9) << one.title;
      EXPECT_NEAR(one.y.high, other.y.high, 1e-9 * std::fabs(other.y.high)) << one.title;
      ASSERT_EQ(one.image.values.size(), other.image.values.size()) << one.title;
      for (std::size_t k = 0; k < one.image.values.size(); ++k)
        ASSERT_TRUE(one.image.values[k] == other.image.values[k] ||
                    (std::isnan(one.image.values[k]) && std::isnan(other.image.values[k])))
            << one.title << ", cell " << k;
      ASSERT_EQ(one.lines.size(), other.lines.size()) << one.title;
      for (std::size_t k = 0; k < one.lines.size(); ++k)
        for (std::size_t point = 0; point < other.lines[k].y.size(); ++point)
          ASSERT_TRUE(one.lines[k].y.at(point) == other.lines[k].y[point] ||
                      std::isnan(other.lines[k].y[point]))
              << one.title << ", point " << point;
    }
  }
  // A report and a comparison read sets, too; a table that lost its data says so.
  must({"report", scratch / "v.ms", "-o", scratch / "report.html"});
  must({"plot", scratch / "v.ms/", "-o", scratch / "slash.html"});
  for (const auto& entry : fs::directory_iterator(scratch / "v.ms"))
    if (entry.path().filename().string().starts_with("table.f")) fs::remove(entry.path());
  const CommandResult broken = run({"plot", scratch / "v.ms", "-o", scratch / "broken.html"});
  EXPECT_EQ(broken.status, kFailed);
  EXPECT_NE(broken.err.find("casacore says"), std::string::npos) << broken.err;
  EXPECT_EQ(std::count(broken.err.begin(), broken.err.end(), '\n'), 1) << broken.err;
  EXPECT_FALSE(fs::exists(scratch / "broken.html"));
}
#endif

#ifdef TAUTLINE_HDF5
// The rate of each curve with its stops, and its status.
TEST_F(Plot, SeveralCurvesWithTheirFits) {
  must({"simulate", "photons", "--sensors", "2", "--duration", "4", "--bin", "2e-5", "--model",
        "diffusion:n=5,tau=2e-4,rate=1e5", "--seed", std::to_string(generator()() % 100000), "-o",
        scratch / "x.npy"});
  std::string counts = read_file(scratch / "x.npy");
  constexpr std::size_t kTimes = 200000, kSensors = 2, kFirst = 80000, kEnd = 140000;
  for (std::size_t t = kFirst; t < kEnd; ++t)
    counts[counts.size() - kSensors * (kTimes - t) + 1] = 0;
  write_file(scratch / "x.npy", counts);
  must({"autocorrelate", scratch / "x.npy", "-o", scratch / "g.h5", "--bin", "2e-5", "--levels",
        "8"});
  const CommandResult made_fit = run(
      {"fit", scratch / "g.h5", "-o", scratch / "f.csv", "--model", "3d", "--range", "5e-5:0.5"});
  if (made_fit.err.find("cminpack") != std::string::npos)
    GTEST_SKIP() << "a build without cminpack";
  pipeline::PlotConfig config;
  config.fit = scratch / "f.csv";
  const figure::Figure made = figure_of("g.h5", config);
  const figure::Panel& rate = panel(made, "Count rate");
  ASSERT_EQ(rate.lines.size(), kSensors);
  ASSERT_EQ(rate.empty.size(), 1u);
  EXPECT_NEAR(rate.empty[0].first, kFirst * 2e-5, 0.02);
  EXPECT_NEAR(rate.empty[0].second, kEnd * 2e-5, 0.02);
  EXPECT_EQ(made.notes.at(0), "Grey: the counts of sensor 1 stop.");
  const auto status = [&](const std::string& name) {
    for (const auto& [fact, text] : made.facts)
      if (fact == "status of " + name) return text;
    return std::string();
  };
  EXPECT_FALSE(status("sensor 0").empty());
  EXPECT_TRUE(status("sensor 1").starts_with("counts stop, which bends the curve"))
      << status("sensor 1");
}
#endif

// The model's line and the residuals are those of the table's parameters, and chi2 of what is drawn is the fit's.
TEST_F(Plot, ACurveWithItsFit) {
  must({"simulate", "photons", "--sensors", "1", "--duration", "4", "--bin", "2e-5", "--model",
        "diffusion:n=2,tau=1e-3,rate=1e5", "--seed", std::to_string(generator()() % 100000), "-o",
        scratch / "x.npy"});
  must({"autocorrelate", scratch / "x.npy", "-o", scratch / "g.csv", "--bin", "2e-5", "--levels",
        "8"});
  const CommandResult made_fit = run({"--json", "fit", scratch / "g.csv", "-o", scratch / "f.csv",
                                      "--model", "3d", "--range", "5e-5:0.5", "--max-chi2", "100"});
  if (made_fit.err.find("cminpack") != std::string::npos)
    GTEST_SKIP() << "a build without cminpack";
  ASSERT_TRUE(made_fit.status == kDone || made_fit.status == 3) << made_fit.err;
  drawn("g.csv", {"--fit", scratch / "f.csv"});
  pipeline::PlotConfig config;
  config.fit = scratch / "f.csv";
  const figure::Figure made = figure_of("g.csv", config);
  ASSERT_EQ(made.panels.size(), 3u);
  EXPECT_EQ(panel(made, "Count rate").lines.size(), 1u);
  const json medians = json::parse(made_fit.out)["medians"];
  const figure::Panel& curve = panel(made, "Correlation and model");
  const figure::Line &measured = curve.lines.at(0), &model = curve.lines.at(1);
  EXPECT_FALSE(measured.error.empty());
  EXPECT_LT(measured.x.front(), 5e-5) << "lags that were not fitted are drawn";
  const auto height = [&](double lag_s) {  // docs/maths/fit.md, kappa = 5
    const double x = lag_s / medians["tau_d_s"].get<double>();
    return 1 / medians["n"].get<double>() / ((1 + x) * std::sqrt(1 + x / 25));
  };
  const bool good = json::parse(made_fit.out)["good"] == 1;  // others have no medians
  for (std::size_t k = 0; k < model.x.size(); ++k) {
    const bool within = model.x[k] > 5e-5 && model.x[k] < 0.5;
    EXPECT_TRUE(within || std::isnan(model.y[k]))
        << "drawn where it was not fitted: " << model.x[k];
    if (within && good) {
      EXPECT_NEAR(model.y[k], height(model.x[k]), 1e-6 * height(0)) << model.x[k];
    }
  }
  const figure::Line& residual = panel(made, "Residuals").lines.at(0);
  std::size_t fitted = 0;
  for (std::size_t k = 0; k < measured.x.size(); ++k) {
    if (std::isnan(model.y[k])) continue;
    ASSERT_LT(fitted, residual.y.size());
    EXPECT_NEAR(residual.y[fitted++], (measured.y[k] - model.y[k]) / measured.error[k], 1e-9);
  }
  EXPECT_EQ(fitted, residual.y.size());
  EXPECT_GT(fitted, 20u);
  for (const std::string& note : made.notes)
    EXPECT_EQ(note.find("chi2 of these points"), std::string::npos) << note;
  // Held by the user, and at a bound that is far from the true time.
  const CommandResult at_bound =
      run({"fit", scratch / "g.csv", "-o", scratch / "bound.csv", "--model", "3d", "--bounds",
           "tau_d_s=1e-5:1e-4", "--range", "5e-5:0.5"});
  EXPECT_NE(at_bound.out.find("  at its bound"), std::string::npos) << at_bound.out;
  EXPECT_NE(at_bound.out.find("5  held"), std::string::npos) << at_bound.out;
  config.fit = scratch / "bound.csv";
  const figure::Figure bound = figure_of("g.csv", config);
  for (const auto& [name, end] : {std::pair{"tau_d_s", ", at its bound"}, {"kappa", ", held"}}) {
    const auto fact = std::find_if(bound.facts.begin(), bound.facts.end(),
                                   [&](const auto& one) { return one.first == name; });
    ASSERT_NE(fact, bound.facts.end()) << name;
    EXPECT_TRUE(fact->second.ends_with(end)) << name << ": " << fact->second;
  }
  // A table says what it is for, one that is of other curves is refused, and so is one that was changed.
  EXPECT_NE(run({"plot", scratch / "f.csv"}).err.find("--fit"), std::string::npos);
  EXPECT_NE(run({"plot", scratch / "x.npy", "--fit", scratch / "f.csv"})
                .err.find("for which alone it is"),
            std::string::npos);
  const std::string table = read_file(scratch / "f.csv");
  const std::size_t last = table.find("\n0,") + 1;
  write_file(scratch / "other.csv", table.substr(0, last) + "7" + table.substr(last + 1));
  config.fit = scratch / "other.csv";
  EXPECT_THROW(figure_of("g.csv", config), core::Error);
  write_file(scratch / "other.csv", table.substr(0, table.size() - 30));
  EXPECT_THROW(figure_of("g.csv", config), core::Error);
  // Another height: the points lie elsewhere than where the fit found them, which the notes say.
  std::string line = table.substr(last);
  const double n = medians["n"].is_null() ? 1 : medians["n"].get<double>();
  std::vector<std::string> columns(1);
  for (const char c : line)
    if (c == ',')
      columns.emplace_back();
    else
      columns.back() += c;
  columns[5] = std::to_string(2 * n);
  line = columns[0];
  for (std::size_t k = 1; k < columns.size(); ++k) line += "," + columns[k];
  write_file(scratch / "other.csv", table.substr(0, last) + line);
  bool said = false;
  for (const std::string& note : figure_of("g.csv", config).notes)
    said = said || note.find("chi2 of these points") != std::string::npos;
  EXPECT_TRUE(said);
}

// Intervals of 2,500 samples: of 1,450 - 2 x 9 MHz downwards a channel is zapped, of the third interval all.
TEST_F(Plot, AFilterbankBeforeAndAfterFlags) {
  simulate_pulse(2.1, 50);
  constexpr std::int32_t kInterval = 2500, kZapped = 118;  // PRESTO counts upwards in frequency
  std::string mask;
  const auto add = [&](auto value) {
    mask.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const double value : {4.0, 10.0, 58543.0, kInterval * 5e-4, 1450.0 - 2 * 127, 2.0})
    add(value);
  for (const std::int32_t value : {128, 4, kInterval, 1, kZapped, 1, 2}) add(value);
  for (const std::int32_t count : {1, 1, 128, 1}) add(count);
  for (std::int32_t interval = 0; interval < 4; ++interval)
    for (std::int32_t c = 0; c < 128; ++c)
      if (c == kZapped && interval != 2) add(c);
  write_file(scratch / "a.mask", mask);
  drawn("a.fil", {"--mask", scratch / "a.mask", "--flag-channels"});
  pipeline::PlotConfig config;
  config.mask = scratch / "a.mask";
  const figure::Figure made = figure_of("a.fil", config);
  const figure::Image &before = panel(made, "Dynamic spectrum, before flags").image,
                      &after = panel(made, "Dynamic spectrum, after flags").image;
  ASSERT_EQ(after.rows, 128u);
  ASSERT_EQ(after.columns, 1000u);
  for (std::size_t row = 0; row < after.rows; ++row)
    for (std::size_t column = 0; column < after.columns; ++column) {
      const std::size_t cell = row * after.columns + column;
      // A column has ten samples.
      const bool flagged = row == kZapped || (column >= 500 && column < 750);
      ASSERT_TRUE(std::isfinite(before.values[cell]));
      ASSERT_EQ(std::isnan(after.values[cell]), flagged) << "row " << row << ", column " << column;
    }
  const figure::Line& marked = panel(made, "Bandpass").lines.at(1);
  ASSERT_EQ(marked.x.size(), 1u);
  EXPECT_NEAR(marked.x[0], 1450 - 2 * 127 + 2 * kZapped, 1e-9);
  // One interval of four, and of the others one channel of 128.
  const double share = 100 * (0.25 + 0.75 / 128);
  bool found = false;
  for (const auto& [name, text] : made.facts)
    if (name == "flagged") {
      found = true;
      EXPECT_NEAR(std::stod(text.substr(text.find(", ") + 2)), share, 0.06) << text;
    }
  EXPECT_TRUE(found);
  write_file(scratch / "g.csv", "# a curve\n1e-5,1\n2e-5,0.5\n");
  EXPECT_NE(run({"plot", scratch / "g.csv", "--mask", scratch / "a.mask"}).status, kDone);
}

// Files that the commands write themselves.
TEST_F(Plot, WhatBenchWrites) {
  const CommandResult measured =
      run({"--json", "--device", "cpu", "bench", "correlate", "--problem",
           "mwa32,channels=2,samples=64", "--sweep", "inputs=4:8", "--budget", "0"});
  ASSERT_EQ(measured.status, kDone) << measured.err;
  write_file(scratch / "bench.jsonl", measured.out);
  EXPECT_EQ(drawn("bench.jsonl")["panels"][0]["x"]["unit"], "per cent");
  std::vector<double> expected;
  std::istringstream lines(measured.out);
  for (std::string line; std::getline(lines, line);)
    expected.push_back(100 * json::parse(line)["fraction_of_limit"].get<double>());
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(expected.size(), 2u);
  const figure::Figure rates = figure_of("bench.jsonl");
  EXPECT_EQ(rates.panels[0].lines[0].x, expected);
  for (const std::string& name : rates.panels[0].y.names)
    EXPECT_TRUE(name.starts_with("correlate bits=8,channels=2,inputs=")) << name;
}

TEST_F(Plot, WhatTuneWritesOnAGpu) {
  const std::string device = gpu_names().front();
  if (device == "none") GTEST_SKIP() << "nothing to tune: no GPU or OpenCL device";
  const Environment cache("TAUTLINE_CACHE", scratch / "cache");
  const CommandResult tuned =
      run({"--json", "--device", device, "tune", "correlate", "--problem",
           "inputs=9,channels=2,samples=70", "--strategy", "random", "--budget", "2"});
  ASSERT_EQ(tuned.status, kDone) << tuned.err;
  fs::copy_file(scratch / "cache/wisdom.jsonl", scratch / "wisdom.jsonl");
  drawn("wisdom.jsonl");
  const json line = json::parse(read_file(scratch / "wisdom.jsonl"));
  const std::vector<double> gains = figure_of("wisdom.jsonl").panels[0].lines[0].x;
  ASSERT_EQ(gains.size(), 1u);
  EXPECT_NEAR(gains[0], line["default_seconds"].get<double>() / line["seconds"].get<double>(),
              1e-6);
}

}  // namespace
}  // namespace tautline::tests

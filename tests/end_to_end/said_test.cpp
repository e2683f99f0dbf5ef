// What a user should be told and was not: numbers without units, ends before --duration, names that other commands
// take, files given in the wrong order.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tautline/formats/npy/header.h"
#include "tests/end_to_end/command_test.h"

namespace tautline::tests {
namespace {

class Said : public CommandTest {
 protected:
  void SetUp() override {
    auto random = generator();
    std::poisson_distribution<int> counts(3);
    std::string bytes;
    for (int k = 0; k < 20'000; ++k) bytes += static_cast<char>(counts(random));
    write_file(scratch / "counts.npy", formats::npy::format_header("|u1", {20'000, 1}) + bytes);
    DadaFile voltages;
    std::string file = voltages.bytes();
    for (std::size_t k = 4096; k < file.size(); ++k) file[k] = static_cast<char>(random());
    write_file(scratch / "x.dada", file);
    write_file(
        scratch / "array.toml",
        "latitude_deg = 52.9\nlongitude_deg = 6.6\n[[antenna]]\nenu_m = [0, 0, 0]\nnumber = 3\n"
        "[[antenna]]\nenu_m = [9, 0, 0]\nnumber = 7\n");
  }
  std::string warned(std::vector<std::string> arguments) {
    const CommandResult result = run(std::move(arguments));
    EXPECT_EQ(result.status, kDone) << result.err;
    return result.err;
  }
  static bool says(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  }
};

TEST_F(Said, BinsOfSecondsThatMayBeMicroseconds) {
  const auto autocorrelate = [&](const std::string& bin) {
    return warned({"autocorrelate", scratch / "counts.npy", "-o", scratch / "g.csv", "--overwrite",
                   "--levels", "3", "--bin", bin});
  };
  const std::string said = autocorrelate("5");
  EXPECT_TRUE(says(said,
                   "counts.npy: bins of 5 s make its 20000 bins a run of 27.7778 hours; a number "
                   "without a unit is "
                   "seconds, and --bin takes \"5us\""))
      << said;
  EXPECT_FALSE(says(autocorrelate("5us"), "bins of"));
}

TEST_F(Said, DataThatEndBeforeTheDurationDoes) {
  const auto with = [&](std::vector<std::string> command, const std::string& duration) {
    command.insert(command.end(), {"--overwrite", "--duration", duration});
    return warned(command);
  };
  const std::vector<std::vector<std::string>> commands{
      {"correlate", scratch / "x.dada", "-o", scratch / "v.uvh5", "--channels", "16"},
      {"channelize", scratch / "x.dada", "-o", scratch / "x.npy", "--channels", "16"},
      {"channelize", scratch / "x.dada", "-o", scratch / "x.fil", "--channels", "16"},
      {"search", scratch / "x.fil", "-o", scratch / "c.csv", "--dms", "0"},
      {"dedisperse", scratch / "x.fil", "-o", scratch / "d.npy", "--dms", "0"},
      {"autocorrelate", scratch / "counts.npy", "-o", scratch / "g.csv", "--levels", "3", "--bin",
       "1us"}};
  for (const auto& command : commands) {
    EXPECT_FALSE(says(with(command, "0.01"), "--duration")) << command[0];
    const std::string said = with(command, "10");  // last: later commands read what is written
    EXPECT_TRUE(says(said, "--duration: 10 s were asked for, and the input has 0.0"))
        << command[0] << said;
  }
}

TEST_F(Said, NamesThatPlotTakesAreListed) {
  warned({"correlate", scratch / "x.dada", "-o", scratch / "v.uvh5", "--channels", "16", "--array",
          scratch / "array.toml"});
  const CommandResult text = run({"inspect", scratch / "v.uvh5"});
  EXPECT_TRUE(says(text.out, "names       3x 3y 7x 7y")) << text.out;
  const auto json = nlohmann::json::parse(run({"--json", "inspect", scratch / "v.uvh5"}).out);
  EXPECT_EQ(json["input_names"], nlohmann::json({"3x", "3y", "7x", "7y"}));
  warned({"plot", scratch / "v.uvh5", "-o", scratch / "p.html", "--baseline", "3y-7y"});
  const CommandResult wrong =
      run({"plot", scratch / "v.uvh5", "-o", scratch / "q.html", "--baseline", "0-1"});
  EXPECT_EQ(wrong.status, kWrongUsage);
  EXPECT_TRUE(says(
      wrong.err,
      "--baseline: 0-1, expected two of the file's antennas, as 3-7 or 3x-7x; inspect lists them"))
      << wrong.err;
}

TEST_F(Said, FilesInTheWrongPlace) {
  write_file(scratch / "v.truth.json", "{}");
  const CommandResult swapped = run({"compare", scratch / "v.truth.json", scratch / "v.uvh5"});
  EXPECT_EQ(swapped.status, kWrongUsage);
  EXPECT_TRUE(says(
      swapped.err,
      "v.truth.json: a truth, expected visibilities or candidates first, then their truth; swap "
      "them: tautline compare "))
      << swapped.err;
  const CommandResult array =
      run({"search", scratch / "array.toml", "-o", scratch / "c.csv", "--dms", "0"});
  EXPECT_FALSE(says(array.err, "array_path")) << array.err;
  EXPECT_TRUE(says(array.err,
                   "this is an array of antennas: correlate, delays and simulate voltages take it"))
      << array.err;
}

TEST_F(Said, CurvesAndFitsForEachOther) {
  warned({"autocorrelate", scratch / "counts.npy", "-o", scratch / "g.csv", "--bin", "1us"});
  const CommandResult curve =
      run({"plot", scratch / "g.csv", "--fit", scratch / "g.csv", "-o", scratch / "p.html"});
  EXPECT_TRUE(
      says(curve.err,
           "g.csv: no table of fits, expected the table that tautline fit writes; the curves "
           "are given first, then their fits"))
      << curve.err;
  warned({"correlate", scratch / "x.dada", "-o", scratch / "v.uvh5", "--channels", "16"});
  const CommandResult visibilities =
      run({"plot", scratch / "v.uvh5", "--fit", scratch / "g.csv", "-o", scratch / "p.html"});
  EXPECT_TRUE(says(visibilities.err, "for which alone it is")) << visibilities.err;
}

TEST_F(Said, FitsOfOtherCurvesAreNotDrawn) {
  warned({"autocorrelate", scratch / "counts.npy", "-o", scratch / "g.csv", "--bin", "1us"});
  const CommandResult fitted =
      run({"fit", scratch / "g.csv", "-o", scratch / "f.csv", "--model", "3d"});
  if (fitted.err.find("cminpack") != std::string::npos) GTEST_SKIP() << "a build without cminpack";
  const auto plotted = [&](const std::string& curves) {
    return run({"plot", scratch / curves, "--fit", scratch / "f.csv", "-o", scratch / "p.html",
                "--overwrite"});
  };
  EXPECT_EQ(plotted("g.csv").status, kDone) << plotted("g.csv").err;
  write_file(scratch / "another.csv", read_file(scratch / "g.csv"));
  const CommandResult other = plotted("another.csv");
  EXPECT_EQ(other.status, kWrongUsage) << other.err;
  EXPECT_TRUE(says(other.err, "f.csv: made by `")) << other.err;
  EXPECT_TRUE(says(other.err, "expected a fit of the curves in ")) << other.err;
  // Of the same name, with other lags.
  warned({"autocorrelate", scratch / "counts.npy", "-o", scratch / "g.csv", "--bin", "1.7us",
          "--overwrite"});
  const CommandResult lags = plotted("g.csv");
  EXPECT_EQ(lags.status, kWrongUsage) << lags.err;
  EXPECT_TRUE(says(lags.err, "which the curves do not have")) << lags.err;
}

TEST_F(Said, CountsOfTheOtherByteOrderAndArrivalTimes) {
  auto random = generator();
  std::poisson_distribution<int> counts(3), steps(500);
  std::string swapped, large, times, long_times;
  std::uint64_t time = 1;
  for (int k = 0; k < 5000; ++k) {
    const int count = counts(random);
    swapped += {'\0', static_cast<char>(count)};
    large += {static_cast<char>(random()), static_cast<char>(count)};
    time += static_cast<std::uint64_t>(1 + steps(random));
    for (int b = 0; b < 8; ++b) {
      times += static_cast<char>(time >> (8 * b));
      long_times += static_cast<char>((time << 24) >> (8 * b));
    }
  }
  const auto said = [&](const std::string& name) {
    return run({"autocorrelate", scratch / name, "-o", scratch / "g.csv", "--bin", "1us",
                "--levels", "3", "--overwrite"})
        .err;
  };
  const std::string order = ": every count is a multiple of 256 (of the first 5000)",
                    ascends = ": each count is larger than the one before (of the first 5000)";
  write_file(scratch / "swapped.npy", formats::npy::format_header("<u2", {5000}) + swapped);
  EXPECT_TRUE(says(said("swapped.npy"), "swapped.npy" + order)) << said("swapped.npy");
  write_file(scratch / "swapped.raw", swapped);
  const std::string raw =
      warned({"autocorrelate", scratch / "swapped.raw", "-o", scratch / "g.csv", "--bin", "1us",
              "--dtype", "u16", "--sensors", "1", "--overwrite"});
  EXPECT_TRUE(says(raw, "swapped.raw" + order)) << raw;
  write_file(scratch / "right.npy", formats::npy::format_header(">u2", {5000}) + swapped);
  write_file(scratch / "large.npy", formats::npy::format_header("<u2", {5000}) + large);
  for (const char* name : {"right.npy", "large.npy", "counts.npy"}) {
    EXPECT_FALSE(says(said(name), order)) << said(name);
    EXPECT_FALSE(says(said(name), ascends)) << said(name);
  }
  write_file(scratch / "times.npy", formats::npy::format_header("<i8", {5000}) + times);
  EXPECT_TRUE(says(said("times.npy"), "times.npy" + ascends)) << said("times.npy");
  write_file(scratch / "long.npy", formats::npy::format_header("<i8", {5000}) + long_times);
  EXPECT_TRUE(says(said("long.npy"), "these ascend as arrival times do")) << said("long.npy");
}

TEST_F(Said, RatesThatStepOfTheirCurvesToo) {
  auto random = generator();
  std::poisson_distribution<int> bright(3), dark(0.05);
  std::string bytes;
  for (int k = 0; k < 20'000; ++k)
    bytes += static_cast<char>(k < 7000 ? bright(random) : dark(random));
  write_file(scratch / "counts.npy", formats::npy::format_header("|u1", {20'000, 1}) + bytes);
  for (const char* output : {"g.csv", "g.h5"}) {
    const std::string said =
        warned({"autocorrelate", scratch / "counts.npy", "-o", scratch / output, "--bin", "1us"});
    EXPECT_TRUE(says(said, "the rate of counts steps at 0.00")) << said;
    EXPECT_TRUE(says(said, "--start and --duration keep a part at one level")) << said;
    EXPECT_FALSE(says(said, "as where a dye bleaches")) << said;
    const CommandResult fitted =
        run({"fit", scratch / output, "-o", scratch / "f.csv", "--model", "3d", "--overwrite"});
    if (fitted.err.find("cminpack") != std::string::npos)
      GTEST_SKIP() << "a build without cminpack";
    EXPECT_TRUE(says(fitted.err, "the rate of counts steps at 0.00")) << fitted.err;
    EXPECT_TRUE(
        says(read_file(scratch / "f.csv"), "the rate of counts steps, which bends the curve"))
        << read_file(scratch / "f.csv");
  }
}

TEST_F(Said, InputsThatStopByRunToo) {
  std::string file = read_file(scratch / "x.dada");
  for (std::size_t t = 5000; t < 12'000; ++t) file.replace(4096 + 8 * t + 2, 2, 2, '\0');
  write_file(scratch / "x.dada", file);
  write_file(scratch / "p.toml",
             "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "x.dada") +
                 "\"]\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 16\n[x]\n"
                 "type = \"correlator\"\ninputs = \"f\"\n[v]\ntype = \"visibility_file\"\ninputs = "
                 "\"x\"\npath = \"" +
                 (scratch / "v.uvh5") + "\"\n");
  const std::string said = warned({"run", scratch / "p.toml"});
  EXPECT_TRUE(
      says(said, "samples that never change, taken for lost: input 1 for 7000 samples from 5000"))
      << said;
}

TEST_F(Said, OutputsThatExistInOneWording) {
  write_file(scratch / "page.html", "x");
  write_file(scratch / "v.uvh5", "x");
  const std::string words =
      "page.html: output: it exists, expected a new name; give --overwrite or another name";
  const std::string x = scratch / "x.dada";
  const CommandResult report = run({"correlate", x, "-o", scratch / "new.uvh5", "--channels", "16",
                                    "--report", scratch / "page.html"});
  EXPECT_EQ(report.status, kFailed);
  EXPECT_TRUE(says(report.err, words)) << report.err;
  const CommandResult plot = run({"plot", x, "-o", scratch / "page.html"});
  EXPECT_TRUE(says(plot.err, words)) << plot.err;
  const CommandResult file = run({"correlate", x, "-o", scratch / "v.uvh5", "--channels", "16"});
  EXPECT_TRUE(says(
      file.err, "v.uvh5: output: it exists, expected a new name; give --overwrite or another name"))
      << file.err;
}

}  // namespace
}  // namespace tautline::tests

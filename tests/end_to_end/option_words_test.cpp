// Errors, warnings and help speak of the command's options where the library names its fields.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/end_to_end/command_test.h"

namespace tautline::tests {
namespace {

constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

class OptionWords : public CommandTest {
 protected:
  void expect_said(const std::vector<std::string>& arguments, int status,
                   const std::string& words) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << words << " in " << result.err;
    EXPECT_EQ(result.err.find('`'), std::string::npos) << result.err;
  }
  std::string voltages() {
    const std::string demo = TAUTLINE_SOURCE_DIR "/examples/demo/", path = scratch / "v.dada";
    const CommandResult made =
        run({"simulate", "voltages", "--array", demo + "array.toml", "--scene", demo + "scene.toml",
             "--duration", "0.01", "-o", path});
    EXPECT_EQ(made.status, kDone) << made.err;
    return path;
  }
};

TEST_F(OptionWords, ValuesThatAreRefusedOnTheLine) {
  const auto correlate = [&](const std::string& option, const std::string& value) {
    return std::vector<std::string>{"correlate", "x.dada", "-o", "v.uvh5", option, value};
  };
  expect_said(correlate("--channels", "1"), kWrongUsage,
              "tautline: --channels: 1, expected 2 to 65536; tautline correlate --help");
  expect_said(correlate("--integration", "1S"), kWrongUsage,
              "--integration: 1S, expected a time (20ms, 1.5s, 5min");
  expect_said(correlate("--requantize", "2"), kWrongUsage, "--requantize: 2, expected 8, 4 or off");
  expect_said(correlate("--memory", "lots"), kWrongUsage, "--memory: lots, expected bytes");
  // Options in another unit than the field's.
  const auto search = [&](const std::string& option, const std::string& value) {
    return std::vector<std::string>{"search", "x.fil", "-o",   "c.csv",
                                    "--dms",  "0:9",   option, value};
  };
  expect_said(search("--max-loss", "51"), kWrongUsage, "--max-loss: 51, expected 0 to 50");
  expect_said(search("--pulse-width", "-1"), kWrongUsage,
              "--pulse-width: -1, expected microseconds, or with a unit (4ms), 0 or more");
  expect_said(search("--pulse-width", "4mm"), kWrongUsage, "--pulse-width: 4mm, expected");
}

TEST_F(OptionWords, ErrorsAndAdviceOfRuns) {
  const std::string input = voltages();
  const std::vector<std::string> correlate{"correlate", input, "-o", scratch / "v.uvh5"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), correlate.begin(), correlate.end());
    return more;
  };
  expect_said(with({"--start", "99"}), kWrongUsage, "--start: 99 s");
  expect_said(with({"--integration", "1e-12"}), kWrongUsage,
              "--integration: 1e-12 s, expected at least one spectrum");
  expect_said(with({"--integration", "1e30"}), kWrongUsage,
              "--integration: 1e+30 s, expected at most ");
  expect_said(with({"--memory", "1Gb"}), kWrongUsage,
              "--memory: 1Gb, expected bytes, as 512, 512M or 2GiB (powers of 2), or 500MB");
  for (const char* option : {"--ut1-utc", "--pole", "--integration"})
    expect_said(with({option, "nan"}), kWrongUsage, std::string(option) + ": nan, expected");
  expect_said(with({"--memory", "1K"}), kWrongUsage, "raise --memory or lower --channels");
  expect_said(with({"--phase-center", "nowhere"}), kWrongUsage, "--phase-center");
  write_file(scratch / "v.uvh5", "kept");
  expect_said(with({"--integration", "0.001"}), kFailed, "give --overwrite or another name");
  EXPECT_EQ(read_file(scratch / "v.uvh5"), "kept");
  expect_said({"--device", "cpu:quantum", "correlate", input, "-o", scratch / "w.uvh5"},
              kWrongUsage, "--device: cpu:quantum");
}

TEST_F(OptionWords, AnArraysNameThatEndsAsAnOption) {
  const std::string input = voltages(), array = scratch / "other.toml";
  for (const std::string name : {"four antennas", "my array", "duration", "TART-1"}) {
    write_file(array, "name = \"" + name +
                          "\"\nlatitude_deg = 0\nlongitude_deg = 0\naltitude_m = 0\n"
                          "[[antenna]]\nname = \"a\"\nenu_m = [0, 0, 0]\ndiameter_m = 4\n");
    expect_said({"correlate", input, "-o", scratch / "w.uvh5", "--array", array}, kWrongUsage,
                "inputs of array " + name + ": ");
  }
}

TEST_F(OptionWords, AFilesNameThatIsAnOptionsToo) {
  for (const std::string folder : {"pictures", "plot"}) {
    std::filesystem::create_directory(scratch / folder);
    const CommandResult said = run_shell("cd '" + scratch.path().string() + "' && " +
                                             command_line({"search", folder, "-o", "c.csv"}),
                                         scratch.path().string());
    EXPECT_EQ(said.status, kFailed) << said.err;
    EXPECT_NE(said.err.find("tautline: " + folder + ": a folder without dedispersed series"),
              std::string::npos)
        << said.err;
  }
}

TEST_F(OptionWords, ATimeInMicrosecondsMayHaveAUnit) {
  ASSERT_EQ(run({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10",
                 "--tsamp", "1ms", "--duration", "1", "-o", scratch / "x.fil"})
                .status,
            kDone);
  const auto plan = [&](const std::string& width) {
    const CommandResult said =
        run({"search", scratch / "x.fil", "--dms", "0:200", "--plan", "--pulse-width", width});
    EXPECT_EQ(said.status, kDone) << said.err;
    return said.out.substr(0, said.out.find("expected:"));
  };
  EXPECT_EQ(plan("20ms"), plan("20000"));
  EXPECT_EQ(plan("0.02s"), plan("20000us"));
  EXPECT_NE(plan("20ms"), plan("0"));
}

TEST_F(OptionWords, AFrequencyMayHaveAUnit) {
  ASSERT_EQ(run({"simulate", "filterbank", "--nchans", "16", "--fch1", "1.5GHz", "--foff",
                 "-500kHz", "--tsamp", "1ms", "--duration", "1", "-o", scratch / "x.fil"})
                .status,
            kDone);
  const CommandResult said = run({"inspect", scratch / "x.fil"});
  EXPECT_NE(said.out.find("first channel at 1500.000000, steps of -0.5 MHz"), std::string::npos)
      << said.out;
  expect_said({"channelize", "x.npy", "-o", scratch / "c.npy", "--rate-hz", "1.28mHz"}, kWrongUsage,
              "--rate-hz: 1.28mHz, expected a positive decimal number of at most 18 "
              "digits, in hertz or with a unit (1.28MHz)");
}

TEST_F(OptionWords, TheHelpHasTheAxesOfNumpysVoltages) {
  for (const char* command : {"correlate", "channelize"}) {
    std::string help = run({command, "-h"}).out;
    // As one line.
    for (std::size_t at = 0; (at = help.find('\n', at)) != std::string::npos;)
      help.replace(at, help.find_first_not_of(" \n", at) - at, " ");
    EXPECT_NE(help.find("NPY: [time], [input][time] or [channel][input][time]"), std::string::npos)
        << help;
  }
}

TEST_F(OptionWords, AUnitBehindABlankIsTakenForAFile) {
  expect_said({"correlate", voltages(), "-o", scratch / "v.uvh5", "--integration", "0.25", "ms"},
              kFailed, "check the name; a number and its unit are one word: 1ms");
  const CommandResult other = run({"correlate", "no.dada", "-o", scratch / "v.uvh5"});
  EXPECT_EQ(other.err.find("one word"), std::string::npos) << other.err;
}

TEST_F(OptionWords, Warnings) {
  write_file(scratch / "one.u8", "\1\2\3\4");
  expect_said({"autocorrelate", scratch / "one.u8", "-o", scratch / "g.csv", "--dtype", "u8",
               "--sensors", "1", "--bin", "1e-6", "--levels", "1", "--detrend"},
              kDone, "--detrend has taken nothing off");
}

TEST_F(OptionWords, HelpHasUnitRangeAndDefault) {
  const CommandResult help = run({"correlate", "--help"});
  EXPECT_EQ(help.status, kDone);
  for (const char* words : {"--integration s=1", "--memory bytes=half of the machine's",
                            "--channels INTEGER=128", "2 to 65536", "the NAME of --delays"})
    EXPECT_NE(help.out.find(words), std::string::npos) << words << " in " << help.out;
  const CommandResult search = run({"search", "--help"});
  for (const char* words :
       {"--memory bytes=half of the machine's", "--max-loss %=0", "--pulse-width us=0"})
    EXPECT_NE(search.out.find(words), std::string::npos) << words << " in " << search.out;
  EXPECT_EQ((help.out + search.out).find('`'), std::string::npos);
}

}  // namespace
}  // namespace tautline::tests

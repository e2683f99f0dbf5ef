// No command writes over what it reads, nor one output over another, --overwrite or not.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

namespace fs = std::filesystem;

struct Clash {
  const char* name;
  std::vector<std::string> arguments;  ///< "@" begins names of files in the test's folder
  std::vector<std::string> kept;       ///< files that are there and must stay as they are
  std::vector<std::string> named;      ///< what the message must say
};

void PrintTo(const Clash& clash, std::ostream* out) {
  *out << clash.name;
}

class FilesOfACommand : public ::testing::Test {
 protected:
  // Voltages where a name says so: without the check they are read, and then lost.
  void make(const std::string& name) {
    fs::create_directories(fs::path(scratch / name).parent_path());
    write_file(scratch / name, name.find(".dada") == std::string::npos && name != "x.uvh5"
                                   ? "precious " + name
                                   : DadaFile{}.bytes());
  }
  CommandResult run(std::vector<std::string> arguments) {
    for (std::string& word : arguments)
      if (word.starts_with("@")) word = scratch / word.substr(1);
    return run_command(arguments, outside.path().string());
  }
  std::map<std::string, std::string> contents() {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(scratch.path()))
      if (entry.is_regular_file()) found[entry.path().string()] = read_file(entry.path().string());
    return found;
  }
  ScratchFolder scratch, outside;
};

class DistinctFiles : public FilesOfACommand, public ::testing::WithParamInterface<Clash> {};

TEST_P(DistinctFiles, AreWrongUsageAndNothingIsTouched) {
  for (const std::string& name : GetParam().kept) make(name);
  const auto before = contents();
  for (const bool overwrite : {true, false}) {
    auto arguments = GetParam().arguments;
    if (overwrite) arguments.push_back("--overwrite");
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    for (const std::string& word : GetParam().named)
      EXPECT_NE(result.err.find(word), std::string::npos) << word << ": " << result.err;
    EXPECT_NE(result.err.find("another name"), std::string::npos) << result.err;
    EXPECT_EQ(contents(), before);
  }
}

const std::vector<std::string> kSmall{"--channels", "16", "--taps", "4"};

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> delays(const std::string& array, const std::string& output) {
  return {"delays",
          "--array",
          array,
          "--name",
          "x",
          "--ra-deg",
          "1",
          "--dec-deg",
          "2",
          "--utc-start",
          "2026-03-20-14:00:00",
          "--duration",
          "1",
          "-o",
          output};
}

INSTANTIATE_TEST_SUITE_P(
    Commands, DistinctFiles,
    ::testing::Values(
        Clash{"channelize_dada",
              with({"channelize", "@in.dada", "-o", "@in.dada"}, kSmall),
              {"in.dada"},
              {"-o", "input", "in.dada"}},
        Clash{"channelize_npy",
              with({"channelize", "@in.npy", "-o", "@in.npy", "--format", "ci8"}, kSmall),
              {"in.npy"},
              {"-o", "input", "in.npy"}},
        Clash{"channelize_second_input",
              with({"channelize", "@a.dada", "@in.dada", "-o", "@in.dada"}, kSmall),
              {"a.dada", "in.dada"},
              {"-o", "input", "in.dada"}},
        Clash{"channelize_coefficients",
              with({"channelize", "@in.dada", "-o", "@c.fil", "--coefficients", "@c.fil"}, kSmall),
              {"in.dada", "c.fil"},
              {"-o", "--coefficients", "c.fil"}},
        Clash{"channelize_record",
              with({"channelize", "@in.dada", "-o", "@c.fil", "--coefficients", "@c.fil.json"},
                   kSmall),
              {"in.dada", "c.fil.json"},
              {"record", "--coefficients", "c.fil.json"}},
        Clash{"channelize_partial_name",
              with({"channelize", "@in.dada.partial", "-o", "@in.dada"}, kSmall),
              {"in.dada.partial"},
              {"-o", "input", "in.dada.partial"}},
        Clash{"correlate_output",
              with({"correlate", "@x.uvh5", "-o", "@x.uvh5"}, kSmall),
              {"x.uvh5"},
              {"-o", "input", "x.uvh5"}},
        Clash{"correlate_report",
              with({"correlate", "@in.dada", "-o", "@o.uvh5", "--report", "@in.dada"}, kSmall),
              {"in.dada"},
              {"--report", "input", "in.dada"}},
        Clash{"correlate_array",
              with({"correlate", "@in.dada", "-o", "@o.uvh5", "--array", "@a.toml", "--report",
                    "@a.toml"},
                   kSmall),
              {"in.dada", "a.toml"},
              {"--report", "--array", "a.toml"}},
        Clash{"correlate_delays",
              with({"correlate", "@in.dada", "-o", "@o.uvh5", "--delays", "@q.toml", "--report",
                    "@q.toml"},
                   kSmall),
              {"in.dada", "q.toml"},
              {"--report", "--delays", "q.toml"}},
        Clash{"correlate_two_outputs",
              with({"correlate", "@in.dada", "-o", "@o.uvh5", "--report", "@o.uvh5"}, kSmall),
              {"in.dada", "o.uvh5"},
              {"-o", "--report", "o.uvh5"}},
        Clash{"correlate_two_new_outputs",
              with({"correlate", "@in.dada", "-o", "@o.uvh5", "--report", "@./new/../o.uvh5"},
                   kSmall),
              {"in.dada"},
              {"-o", "--report", "o.uvh5"}},
        Clash{"correlate_inside_the_output",
              with({"correlate", "@in.dada", "-o", "@o.ms", "--array", "@o.ms/a.toml"}, kSmall),
              {"in.dada", "o.ms/a.toml", "o.ms/table.dat"},
              {"-o", "--array", "a.toml"}},
        Clash{"report",
              {"report", "@s.uvh5", "-o", "@s.uvh5"},
              {"s.uvh5"},
              {"-o", "input", "s.uvh5"}},
        Clash{"delays", delays("@a.toml", "@a.toml"), {"a.toml"}, {"-o", "--array", "a.toml"}},
        Clash{"voltages_array",
              {"simulate", "voltages", "--array", "@a.toml", "--scene", "@s.toml", "--duration",
               "1", "-o", "@a.toml"},
              {"a.toml", "s.toml"},
              {"-o", "--array", "a.toml"}},
        Clash{"voltages_truth",
              {"simulate", "voltages", "--array", "@a.toml", "--scene", "@x.truth.json",
               "--duration", "1", "-o", "@x.dada"},
              {"a.toml", "x.truth.json"},
              {"truth", "--scene", "x.truth.json"}},
        Clash{"voltages_receivers",
              {"simulate", "voltages", "--array", "@a.toml", "--scene", "@x.2", "--duration", "1",
               "--format", "mwa32t", "-o", "@x"},
              {"a.toml", "x.2"},
              {"-o", "--scene", "x.2"}},
        Clash{"filterbank",
              {"simulate", "filterbank", "--scene", "@s.fil", "--duration", "1", "-o", "@s.fil"},
              {"s.fil"},
              {"-o", "--scene", "s.fil"}},
        Clash{"filterbank_truth",
              {"simulate", "filterbank", "--scene", "@s.truth.json", "--duration", "1", "-o",
               "@s.fil"},
              {"s.truth.json"},
              {"truth", "--scene", "s.truth.json"}},
        Clash{"dedisperse",
              {"dedisperse", "@x.tim", "-o", "@x.tim", "--dms", "0"},
              {"x.tim"},
              {"-o", "input", "x.tim"}},
        Clash{"dedisperse_list",
              {"dedisperse", "@x.fil", "-o", "@x.npy", "--dm-list", "@x.npy.json"},
              {"x.fil", "x.npy.json"},
              {"record", "--dm-list", "x.npy.json"}},
        Clash{"dedisperse_mask",
              {"dedisperse", "@x.fil", "-o", "@m.dat", "--dms", "0", "--mask", "@m.inf"},
              {"x.fil", "m.inf"},
              {"header", "--mask", "m.inf"}},
        Clash{"dedisperse_folder",
              {"dedisperse", "@x.fil", "-o", "@series", "--dms", "0", "--mask",
               "@series/x_DM0.00.dat"},
              {"x.fil", "series/x_DM0.00.dat"},
              {"-o", "--mask", "x_DM0.00.dat"}},
        Clash{"search",
              {"search", "@x.csv", "-o", "@x.csv", "--dms", "0"},
              {"x.csv"},
              {"-o", "input", "x.csv"}},
        Clash{"search_list",
              {"search", "@x.fil", "-o", "@c.csv", "--dm-list", "@c.csv"},
              {"x.fil", "c.csv"},
              {"-o", "--dm-list", "c.csv"}},
        Clash{
            "search_plot",
            {"search", "@x.fil", "-o", "@c.csv", "--plot", "@p", "--dm-list", "@p/candidates.html"},
            {"x.fil", "p/candidates.html"},
            {"--plot", "--dm-list", "candidates.html"}},
        Clash{"autocorrelate",
              {"autocorrelate", "@x.csv", "-o", "@x.csv", "--bin", "1e-6"},
              {"x.csv"},
              {"-o", "input", "x.csv"}},
        Clash{"autocorrelate_mask",
              {"autocorrelate", "@x.npy", "-o", "@m.h5", "--bin", "1e-6", "--sensor-mask", "@m.h5"},
              {"x.npy", "m.h5"},
              {"-o", "--sensor-mask", "m.h5"}},
        Clash{"autocorrelate_pairs",
              {"autocorrelate", "@x.npy", "-o", "@p.csv", "--bin", "1e-6", "--pairs", "@p.csv"},
              {"x.npy", "p.csv"},
              {"-o", "--pairs", "p.csv"}},
        Clash{"fit",
              {"fit", "@g.csv", "-o", "@g.csv", "--model", "3d"},
              {"g.csv"},
              {"-o", "input", "g.csv"}},
        Clash{"fit_report",
              {"fit", "@g.csv", "-o", "@f.csv", "--model", "3d", "--report", "@g.csv"},
              {"g.csv"},
              {"--report", "input", "g.csv"}},
        Clash{"fit_two_outputs",
              {"fit", "@g.csv", "-o", "@f.csv", "--model", "3d", "--report", "@f.csv"},
              {"g.csv"},
              {"-o", "--report", "f.csv"}}),
    [](const auto& clash) { return std::string(clash.param.name); });

// Another name of the input is the input.
TEST_F(FilesOfACommand, AreTheSameByAnyName) {
  make("in.dada");
  fs::create_hard_link(scratch / "in.dada", scratch / "hard.dada");
  fs::create_symlink("in.dada", scratch / "soft.dada");
  fs::create_directory_symlink(".", scratch / "here");
  const auto before = contents();
  for (const char* name : {"@hard.dada", "@soft.dada", "@here/in.dada", "@./in.dada"}) {
    const CommandResult result =
        run(with({"channelize", "@in.dada", "-o", name, "--overwrite"}, kSmall));
    EXPECT_EQ(result.status, kWrongUsage) << name << ": " << result.err;
    EXPECT_EQ(contents(), before);
  }
  // Neither is there yet.
  const CommandResult result =
      run(with({"correlate", "@in.dada", "-o", "@new.uvh5", "--report", "@here/new.uvh5"}, kSmall));
  EXPECT_EQ(result.status, kWrongUsage) << result.err;
}

TEST_F(FilesOfACommand, AreNotTheSameWhenTheyBeginAlike) {
  make("in.dada");
  const CommandResult result =
      run(with({"channelize", "@in.dada", "-o", "@in.dada.npy", "--overwrite", "--quiet"}, kSmall));
  EXPECT_EQ(result.status, 0) << result.err;
}

}  // namespace
}  // namespace tautline::tests

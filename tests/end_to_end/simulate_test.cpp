// The simulators: the same files on any number of threads, what they say of themselves, and runs that are broken off.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"
#include "tests/support/small_disk.h"

namespace tautline::tests {
namespace {

struct Simulator {
  const char *name, *command;
  const char* written;  // the name of the first file that is written
  std::vector<std::string> options;
  const char* long_s;  // takes many seconds to make, and leaves room on the disk
};

void PrintTo(const Simulator& simulator, std::ostream* out) {
  *out << simulator.name;
}

class Simulators : public ::testing::TestWithParam<Simulator> {
 protected:
  std::vector<std::string> arguments(const std::string& duration, const std::string& folder = "") {
    const Simulator& simulator = GetParam();
    std::string output = folder + simulator.written;
    const bool receivers = output.ends_with(".0");
    if (receivers) output.resize(output.size() - 2);
    std::vector<std::string> words{"simulate", simulator.command, "--duration", duration,
                                   "-o",       scratch / output};
    if (std::string_view(simulator.command) == "voltages") {
      const std::string demo = source_folder() + "/examples/demo/";
      words.insert(words.end(), {"--array", demo + "array.toml", "--scene", demo + "scene.toml"});
    }
    words.insert(words.end(), simulator.options.begin(), simulator.options.end());
    return words;
  }
  CommandResult run(std::vector<std::string> words, const std::vector<std::string>& global = {}) {
    words.insert(words.begin(), global.begin(), global.end());
    return run_command(words, scratch.path().string());
  }
  // Files whose names begin as the outputs' do.
  std::vector<std::string> left(const std::string& folder = "") {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch / folder))
      if (entry.path().filename().string().starts_with("out."))
        names.push_back(entry.path().filename().string());
    return names;
  }
  ScratchFolder scratch;
};

TEST_P(Simulators, GiveTheSameFileOnAnyNumberOfThreads) {
  const std::string seed = std::to_string(generator()() >> 1);
  std::cout << "seed " << seed << "\n";
  std::vector<std::string> files;
  for (const char* threads : {"1", "2", "0"}) {
    std::vector<std::string> words = arguments("0.05");
    words.insert(words.end(), {"--seed", seed, "--overwrite"});
    const CommandResult result = run(words, {"--threads", threads});
    ASSERT_EQ(result.status, kDone) << result.err;
    files.push_back(read_file(scratch / GetParam().written));
  }
  ASSERT_GT(files[0].size(), 1000u);
  EXPECT_TRUE(files[0] == files[1]);
  EXPECT_TRUE(files[0] == files[2]);
}

TEST_P(Simulators, SayWhatTheGuideSaysAndWhereTheTimeWent) {
  const CommandResult result = run(arguments("0.05"), {"--json", "--profile"});
  ASSERT_EQ(result.status, kDone) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  const std::string schema = "tautline.simulate." + std::string(GetParam().command);
  EXPECT_EQ(summary["schema"], schema);
  EXPECT_EQ(keys_of(summary), documented_object("`" + schema + "` 1"));
  ASSERT_EQ(summary["profile"].size(), 2u);
  for (const auto& node : summary["profile"]) EXPECT_GT(node["blocks"], 0) << node;
  EXPECT_GT(summary["efficiency"].get<double>(), 0);
  EXPECT_LE(summary["efficiency"].get<double>(), 1);
  EXPECT_NE(result.err.find("bound by " + summary["bound_by"].get<std::string>()),
            std::string::npos)
      << result.err;
}

TEST_P(Simulators, LeaveNothingOnAFullDisk) {
  std::filesystem::create_directory(scratch / "disk");
  const int status = on_small_disk(scratch / "disk", 64 * 1024, [&] {
    const CommandResult result = run(arguments("2", "disk/"));
    return left("disk").empty() ? result.status : 50;
  });
  if (status == kNoSmallDisk) GTEST_SKIP() << "this machine lets nobody mount a small disk";
  EXPECT_EQ(status, kFailed) << read_file(scratch / "err");
  EXPECT_NE(read_file(scratch / "err").find("disk/out."), std::string::npos)
      << read_file(scratch / "err");
  EXPECT_NE(read_file(scratch / "err").find("which the disk has left"), std::string::npos);
}

TEST_P(Simulators, LeaveNothingWhenTheyAreInterrupted) {
  const std::string partial = scratch / (std::string(GetParam().written) + ".partial");
  const pid_t pid = start_command(arguments(GetParam().long_s), scratch.path().string());
  for (int wait = 0; wait < 60'000 && !std::filesystem::exists(partial); ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(std::filesystem::exists(partial));
  kill(pid, SIGINT);
  const CommandResult result = finish_command(pid, scratch.path().string());
  EXPECT_EQ(result.status, kInterrupted) << result.err;
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_EQ(left(), std::vector<std::string>{});
}

const std::vector<std::string> kBand{
    "--nchans", "64",      "--fch1", "1500",    "--foff",
    "-1",       "--tsamp", "64us",   "--pulse", "dm=20,time=0.01,width=0.001,snr=30"};
const std::vector<std::string> kMolecules{"--model", "diffusion:n=1,tau=2e-4,rate=2e5", "--sensors",
                                          "4"};

INSTANTIATE_TEST_SUITE_P(
    Each, Simulators,
    ::testing::Values(
        Simulator{"voltages", "voltages", "out.dada", {}, "20"},
        Simulator{
            "receivers", "voltages", "out.mwa.0", {"--format", "mwa32t", "--bits", "4"}, "40"},
        Simulator{"filterbank", "filterbank", "out.fil", kBand, "1000"},
        Simulator{"counts", "photons", "out.npy", kMolecules, "1000"},
        Simulator{"tags", "photons", "out.ptu", kMolecules, "300"}),
    [](const auto& simulator) { return std::string(simulator.param.name); });

// A pipeline that simulates its own input gives what the commands give by way of a file.
class SimulatedInput : public ::testing::Test {
 protected:
  void done(const std::vector<std::string>& arguments) {
    const CommandResult result = run_command(arguments, scratch.path().string());
    ASSERT_EQ(result.status, kDone) << result.err;
  }
  std::string example(const std::string& name) {
    return source_folder() + "/examples/pipelines/" + name;
  }
  std::string seed = std::to_string(generator()() >> 1);
  ScratchFolder scratch;
};

TEST_F(SimulatedInput, IsChannelizedAsTheFileIs) {
  std::cout << "seed " << seed << "\n";
  const std::string array = source_folder() + "/examples/demo/array.toml";
  const std::string scene = source_folder() + "/examples/demo/scene.toml";
  done({"simulate", "voltages", "--array", array, "--scene", scene, "--duration", "0.1", "--seed",
        seed, "-o", scratch / "sky.dada"});
  done({"--device", "cpu", "channelize", scratch / "sky.dada", "-o", scratch / "command.npy",
        "--channels", "32", "--taps", "4", "--requantize", "8"});
  write_file(scratch / "run.toml",
             "[v]\ntype = \"simulated_voltages\"\narray_path = \"" + array + "\"\nscene_path = \"" +
                 scene + "\"\nduration_s = 0.1\nseed = " + seed +
                 "\n[f]\ntype = \"filter_bank\"\ninputs = \"v\"\nchannels = 32\ntaps = 4\n"
                 "requantise = \"8\"\n"
                 "[s]\ntype = \"spectra_file\"\ninputs = \"f\"\npath = \"" +
                 (scratch / "run.npy") + "\"\n");
  done({"--device", "cpu", "run", scratch / "run.toml"});
  EXPECT_TRUE(read_file(scratch / "run.npy") == read_file(scratch / "command.npy"));
  EXPECT_GT(read_file(scratch / "run.npy").size(), 1000u);
}

TEST_F(SimulatedInput, IsCorrelatedByTheExample) {
  const std::string demo = source_folder() + "/examples/demo/";
  done({"--device", "cpu", "run", example("simulated-sky.toml"), "--set",
        "voltages.array_path=" + demo + "array.toml", "--set",
        "voltages.scene_path=" + demo + "scene.toml", "--set",
        "x.array_path=" + demo + "array.toml", "--set", "voltages.duration_s=0.1", "--set",
        "x.integration_s=0.05", "--set", "visibilities.path=" + (scratch / "sky.uvh5"), "--set",
        "page.path=" + (scratch / "sky.html")});
  EXPECT_GT(std::filesystem::file_size(scratch / "sky.uvh5"), 1000u);
  EXPECT_NE(read_file(scratch / "sky.html").find("<html"), std::string::npos);
}

TEST_F(SimulatedInput, IsSearchedByTheExampleAsTheFileIs) {
  std::cout << "seed " << seed << "\n";
  done({"--device", "cpu", "run", example("simulated-pulses.toml"), "--set",
        "filterbank.seed=" + seed, "--set", "filterbank.duration_s=10", "--set",
        "candidates.path=" + (scratch / "run.csv")});
  done({"simulate",   "filterbank",
        "--nchans",   "256",
        "--fch1",     "1500",
        "--foff",     "-1",
        "--tsamp",    "256us",
        "--duration", "10",
        "--seed",     seed,
        "--pulse",    "dm=180,time=8.3,width=0.004,snr=40",
        "--pulse",    "dm=62,time=3.1,width=0.002,snr=20",
        "-o",         scratch / "sky.fil"});
  done({"--device", "cpu", "search", scratch / "sky.fil", "--dms", "0:300", "-o",
        scratch / "command.csv"});
  const auto lines = [&](const std::string& name) {
    std::istringstream text(read_file(scratch / name));
    std::vector<std::string> all;
    for (std::string line; std::getline(text, line);) all.push_back(without_file(line));
    return all;
  };
  EXPECT_GT(lines("run.csv").size(), 2u);
  EXPECT_EQ(lines("run.csv"), lines("command.csv"));
}

}  // namespace
}  // namespace tautline::tests

// run: pipelines from files give what the commands give; what cannot run is refused with its place.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/command_test.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/file_visibilities.h"

namespace tautline::tests {
namespace {

class RunPipeline : public CommandTest {
 protected:
  void SetUp() override { write_file(scratch / "in.dada", DadaFile{}.bytes()); }
  std::string example(const std::string& name) {
    return source_folder() + "/examples/pipelines/" + name;
  }
  std::vector<std::string> of_example(const std::string& name, const std::string& output) {
    return {"run",   example(name),
            "--set", "voltages.files=" + (scratch / "in.dada"),
            "--set", "visibilities.path=" + (scratch / output),
            "--set", "f.channels=16",
            "--set", "f.taps=4",
            "--set", "x.integration_s=0.004"};
  }
  FileVisibilities of_command(const std::string& device = "cpu") {
    const CommandResult result =
        run({"--device", device, "correlate", scratch / "in.dada", "-o", scratch / "command.uvh5",
             "--channels", "16", "--taps", "4", "--integration", "0.004"});
    EXPECT_EQ(result.status, 0) << result.err;
    return visibilities_in(scratch / "command.uvh5");
  }
  void expect_same(const FileVisibilities& a, const FileVisibilities& b) {
    ASSERT_FALSE(a.values.empty());
    EXPECT_TRUE(a == b);
  }
};

TEST_F(RunPipeline, CorrelatesAsTheCommandDoes) {
  for (const char* device : {"cpu", "reference"}) {
    std::vector<std::string> arguments = of_example("correlate.toml", "run.uvh5");
    arguments.insert(arguments.begin(), {"--device", device, "--json", "--profile"});
    arguments.push_back("--overwrite");
    const CommandResult result = run(arguments);
    ASSERT_EQ(result.status, 0) << result.err;
    expect_same(visibilities_in(scratch / "run.uvh5"), of_command(device));
    std::filesystem::remove(scratch / "command.uvh5");
    const auto summary = nlohmann::json::parse(result.out);
    EXPECT_EQ(keys_of(summary), documented_object("`tautline.run` 1"));
    EXPECT_EQ(summary["counters"]["voltages.samples"], 20000);
    EXPECT_EQ(summary["files"]["visibilities"], nlohmann::json::array({scratch / "run.uvh5"}));
    EXPECT_GT(summary["efficiency"].get<double>(), 0);
    for (const auto& node : summary["profile"])
      EXPECT_EQ(keys_of(node), documented_part("`tautline.run` 1", "profile"));
    EXPECT_NE(result.err.find("bound by " + summary["bound_by"].get<std::string>()),
              std::string::npos)
        << result.err;
  }
}

// More voltages than one short block has: blocks of the source and of the spectra are as many as the command's.
TEST_F(RunPipeline, CutsBlocksAsTheCommandsDo) {
  DadaFile file;
  file.payload_bytes = 8 * 600'000;
  write_file(scratch / "in.dada", file.bytes());
  const auto blocks = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"--device", "cpu", "--json"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.emplace_back("--overwrite");
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, 0) << result.err;
    std::map<std::string, std::uint64_t> of_nodes;
    const auto summary = nlohmann::json::parse(result.out);
    for (const auto& node : summary.at("profile"))
      of_nodes[node.at("node").get<std::string>()] = node.at("blocks").get<std::uint64_t>();
    return of_nodes;
  };
  for (const char* bits : {"8", "off"}) {
    auto command =
        blocks({"correlate", scratch / "in.dada", "-o", scratch / "command.uvh5", "--channels",
                "16", "--taps", "4", "--integration", "0.004", "--requantize", bits});
    std::vector<std::string> words = of_example("correlate.toml", "run.uvh5");
    words.insert(words.end(), {"--set", std::string("f.requantise=") + bits});
    auto pipeline = blocks(words);
    EXPECT_GE(command.at("voltages"), 4u) << "the file is too short to tell";
    EXPECT_EQ(pipeline.at("voltages"), command.at("voltages"));
    EXPECT_EQ(pipeline.at("x.sums"), command.at("x"));
    expect_same(visibilities_in(scratch / "run.uvh5"), visibilities_in(scratch / "command.uvh5"));
    words.insert(words.end(), {"--set", "voltages.block_samples=30000"});
    pipeline = blocks(words);
    EXPECT_EQ(pipeline.at("voltages"), 20u);  // as it was asked for
    EXPECT_EQ(pipeline.at("x.sums"), 20u);
    expect_same(visibilities_in(scratch / "run.uvh5"), visibilities_in(scratch / "command.uvh5"));
  }
  const auto command = blocks({"channelize", scratch / "in.dada", "-o", scratch / "command.npy",
                               "--channels", "16", "--taps", "4", "--requantize", "8"});
  write_file(scratch / "bank.toml",
             "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "in.dada") +
                 "\"]\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 16\n"
                 "taps = 4\n[spectra]\ntype = \"spectra_file\"\ninputs = \"f\"\npath = \"" +
                 (scratch / "run.npy") + "\"\n");
  const auto pipeline = blocks({"run", scratch / "bank.toml"});
  EXPECT_GE(command.at("spectra"), 4u);
  for (const char* node : {"voltages", "spectra"})
    EXPECT_EQ(pipeline.at(node), command.at(node)) << node;
  EXPECT_TRUE(read_file(scratch / "run.npy") == read_file(scratch / "command.npy"));
}

TEST_F(RunPipeline, AForkGivesBothFilesWhatTheCommandsGive) {
  std::vector<std::string> arguments = of_example("correlate-and-record.toml", "run.uvh5");
  arguments.insert(arguments.end(), {"--set", "spectra.path=" + (scratch / "run.npy")});
  const CommandResult result = run(arguments);
  ASSERT_EQ(result.status, 0) << result.err;
  expect_same(visibilities_in(scratch / "run.uvh5"), of_command());
  const CommandResult bank = run({"channelize", scratch / "in.dada", "-o", scratch / "command.npy",
                                  "--channels", "16", "--taps", "4", "--requantize", "8"});
  ASSERT_EQ(bank.status, 0) << bank.err;
  EXPECT_TRUE(read_file(scratch / "run.npy") == read_file(scratch / "command.npy"));
  const auto record = nlohmann::json::parse(read_file(scratch / "run.npy.json"));
  const auto command = nlohmann::json::parse(read_file(scratch / "command.npy.json"));
  for (const char* key : {"channel_hz", "requantisation_gains", "inputs", "kernels", "spectra"})
    EXPECT_EQ(record[key], command[key]) << key;
  EXPECT_EQ(record["requantisation_gains"].size(), 16u);
}

TEST_F(RunPipeline, OneSourceFeedsARecordACorrelatorAndASpectrum) {
  std::vector<std::string> arguments = of_example("correlate-record-and-watch.toml", "run.uvh5");
  for (const std::string& field :
       {"record.path=" + (scratch / "record.dada"), "power.path=" + (scratch / "run.fil"),
        std::string("watched.channels=8"), std::string("power.integrate=100")})
    arguments.insert(arguments.end(), {"--set", field});
  const CommandResult result = run(arguments);
  ASSERT_EQ(result.status, 0) << result.err;
  expect_same(visibilities_in(scratch / "run.uvh5"), of_command());
  // Headers name their files, and the record has more to say.
  const auto behind = [&](const std::string& name, std::size_t header_bytes) {
    return read_file(scratch / name).substr(header_bytes);
  };
  EXPECT_EQ(behind("record.dada", 4096).size(), 8u * 20'000);
  EXPECT_TRUE(behind("record.dada", 4096) == behind("in.dada", 4096));
  const CommandResult power = run({"channelize", scratch / "in.dada", "-o", scratch / "command.fil",
                                   "--channels", "8", "--integrate", "100"});
  ASSERT_EQ(power.status, 0) << power.err;
  const std::string end = "HEADER_END", of_run = read_file(scratch / "run.fil"),
                    of_command = read_file(scratch / "command.fil");
  const std::string samples = of_run.substr(of_run.find(end));
  EXPECT_GT(samples.size(), end.size() + 20 * 8 * sizeof(float));
  EXPECT_TRUE(samples == of_command.substr(of_command.find(end)));
}

TEST_F(RunPipeline, DelaysAreThoseOfTheCommand) {
  std::string delays = "phase_centre = \"a place\"\nra_deg = 10.0\ndec_deg = -20.0\n";
  for (const int antenna : {0, 1})
    delays += "[[delay]]\nantenna = " + std::to_string(antenna) +
              "\npiece = [{ start = \"2026-03-20T13:59:00\", delay_s = " +
              std::to_string(antenna * 3.3e-6) + ", delay_rate = 1e-9 }]\n";
  write_file(scratch / "delays.toml", delays);
  std::vector<std::string> arguments = of_example("correlate.toml", "run.uvh5");
  arguments.insert(arguments.end(), {"--set", "f.delays_path=" + (scratch / "delays.toml")});
  CommandResult result = run(arguments);
  ASSERT_EQ(result.status, 0) << result.err;
  result =
      run({"correlate", scratch / "in.dada", "-o", scratch / "delayed.uvh5", "--channels", "16",
           "--taps", "4", "--integration", "0.004", "--delays", scratch / "delays.toml"});
  ASSERT_EQ(result.status, 0) << result.err;
  expect_same(visibilities_in(scratch / "run.uvh5"), visibilities_in(scratch / "delayed.uvh5"));
  const auto centre = formats::open_visibilities(scratch / "run.uvh5")->description().phase_centre;
  EXPECT_TRUE(centre.tracked);
  EXPECT_EQ(centre.name, "a place");
  EXPECT_EQ(centre.dec_deg, -20.0);
  EXPECT_FALSE(visibilities_in(scratch / "run.uvh5").values == of_command().values);
}

// Counts of one sensor and photons of a simulation, to files whose bytes tell everything but how they came about.
class RunAutocorrelation : public RunPipeline {
 protected:
  void SetUp() override {
    const CommandResult counts = run({"simulate", "photons", "--duration", "0.2", "--bin", "1e-5",
                                      "--seed", "3", "--shape", "2x2", "--sensors", "4", "--model",
                                      "diffusion:n=1,tau=2e-4,rate=2e5", "-o", scratch / "x.npy"});
    ASSERT_EQ(counts.status, 0) << counts.err;
    const CommandResult tags =
        run({"simulate", "photons", "--duration", "0.2", "--tags", "t2", "--seed", "3", "--model",
             "diffusion:n=1,tau=2e-4,rate=1e5", "-o", scratch / "tags.ptu"});
    ASSERT_EQ(tags.status, 0) << tags.err;
  }
  std::vector<std::string> of_run(const std::string& input, const std::string& output,
                                  const std::vector<std::string>& fields = {}) {
    std::vector<std::string> arguments{"--device", "cpu",
                                       "run",      example("autocorrelate.toml"),
                                       "--set",    "counts.path=" + (scratch / input),
                                       "--set",    "counts.bin_s=1e-5",
                                       "--set",    "curves.levels=6",
                                       "--set",    "file.path=" + (scratch / output)};
    for (const std::string& field : fields) arguments.insert(arguments.end(), {"--set", field});
    return arguments;
  }
  // A .csv without its first lines' history, which names the command.
  std::string without_history(const std::string& name) {
    std::istringstream file(read_file(scratch / name));
    std::string text, line;
    while (std::getline(file, line))
      if (line.find("tautline ") == std::string::npos && !line.starts_with("# resumed\t"))
        text += line + "\n";
    return text;
  }
};

TEST_F(RunAutocorrelation, GivesTheBytesOfTheCommand) {
  for (const char* input : {"x.npy", "tags.ptu"})
    for (const char* method : {"bins", "auto"}) {
      const bool tags = std::string(input) == "tags.ptu";
      if (!tags && std::string(method) == "bins") continue;
      SCOPED_TRACE(std::string(input) + " " + method);
      std::vector<std::string> fields{"counts.bin_sensors=2x2"};
      std::vector<std::string> command{"--device",
                                       "cpu",
                                       "autocorrelate",
                                       scratch / input,
                                       "-o",
                                       scratch / "command.csv",
                                       "--bin",
                                       "1e-5",
                                       "--levels",
                                       "6"};
      if (tags) {
        fields = {std::string("counts.tag_method=") + method};
        command.insert(command.end(), {"--tags", method});
      } else {
        command.insert(command.end(), {"--bin-sensors", "2x2"});
      }
      const CommandResult piped = run(of_run(input, "run.csv", fields)), alone = run(command);
      ASSERT_EQ(piped.status, 0) << piped.err;
      ASSERT_EQ(alone.status, 0) << alone.err;
      const std::string text = without_history("run.csv");
      EXPECT_GT(text.size(), 1000u);
      EXPECT_EQ(text, without_history("command.csv"));
      const std::string trace = read_file(scratch / "run.trace.txt");
      EXPECT_GT(trace.size(), 100u);
      EXPECT_EQ(trace, read_file(scratch / "command.trace.txt"));
      for (const char* name : {"run.csv", "run.trace.txt", "command.csv", "command.trace.txt"})
        std::filesystem::remove(scratch / name);
    }
}

// In two parts, each as the command does it; what one saves the other takes up.
TEST_F(RunAutocorrelation, SavesItsStateAndGoesOn) {
  const std::string state = scratch / "run.state", alone = scratch / "command.state";
  const auto part = [&](const std::string& output, const std::vector<std::string>& fields) {
    std::vector<std::string> all{"counts.bin_sensors=2x2"};
    all.insert(all.end(), fields.begin(), fields.end());
    const CommandResult result = run(of_run("x.npy", output, all));
    EXPECT_EQ(result.status, 0) << result.err;
  };
  const auto command = [&](const std::string& output, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "--device",       "cpu",   "autocorrelate", scratch / "x.npy", "-o",
        scratch / output, "--bin", "1e-5",          "--levels",        "6",
        "--bin-sensors",  "2x2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
  };
  part("run1.csv", {"counts.duration_s=0.1", "curves.save_state=" + state});
  command("command1.csv", {"--duration", "0.1", "--save-state", alone});
  EXPECT_GT(read_file(state).size(), 1000u);
  EXPECT_TRUE(read_file(state) == read_file(alone));
  EXPECT_EQ(without_history("run1.csv"), without_history("command1.csv"));
  part("run2.csv", {"counts.start_s=0.1", "curves.resume=" + alone});
  command("command2.csv", {"--start", "0.1", "--resume", state});
  EXPECT_GT(without_history("run2.csv").size(), 1000u);
  EXPECT_EQ(without_history("run2.csv"), without_history("command2.csv"));
  EXPECT_NE(without_history("run2.csv"), without_history("run1.csv"));
  // With the blocks of the state, whatever they were; and not over what is there.
  part("run3.csv", {"counts.duration_s=0.1", "counts.block_samples=777",
                    "curves.save_state=" + (scratch / "short.state")});
  part("run4.csv", {"counts.start_s=0.1", "curves.resume=" + (scratch / "short.state")});
  EXPECT_EQ(without_history("run4.csv"), without_history("run2.csv"));
  const CommandResult there = run(of_run("x.npy", "run5.csv", {"curves.save_state=" + state}));
  EXPECT_NE(there.status, 0);
  EXPECT_NE(there.err.find("run.state"), std::string::npos) << there.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "run5.csv"));
  const CommandResult other =
      run(of_run("x.npy", "run5.csv", {"curves.resume=" + state, "curves.levels=7"}));
  EXPECT_EQ(other.status, 2) << other.err;
  EXPECT_NE(other.err.find("levels"), std::string::npos) << other.err;
}

TEST_F(RunAutocorrelation, SaysWhatItCountedAndWhereItIsWrong) {
  std::vector<std::string> arguments = of_run("x.npy", "run.h5");
  arguments.insert(arguments.begin(), "--json");
  const CommandResult result = run(arguments);
  ASSERT_EQ(result.status, 0) << result.err;
  const auto counters = nlohmann::json::parse(result.out)["counters"];
  EXPECT_EQ(counters["counts.samples"], 20000);
  EXPECT_EQ(counters["curves.curves"], 4);
  struct Wrong {
    std::vector<std::string> fields;
    std::string said;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {{"curves.levels=0"}, "set curves.levels: 0, expected 1 to 40"},
           {{"curves.lag_scheme=log"}, "set curves.lag_scheme: log, expected chain or standard"},
           {{"counts.path=-"},
            "set counts.path: -, expected a pipe whose dtype and sensors are given"},
           {{"counts.detectors=1"}, "set counts.detectors"},
           {{"counts.gain=1"}, "expected of a count_file: path, layout"},
           {{"file.path=x.txt"},
            "set file.path: x.txt, expected a name that ends in .csv, .zip or .h5"},
           {{"file.path=x.csv"}, "set file.path: x.csv for 4 curves"},
           {{"curves.detrend=true", "curves.segments=1"}, "set curves.detrend: 1 segment, "}}) {
    std::vector<std::string> checked = of_run("x.npy", "other.h5", wrong.fields);
    checked.push_back("--check");
    const CommandResult refused = run(checked);
    EXPECT_EQ(refused.status, 2) << wrong.said;
    EXPECT_NE(refused.err.find(wrong.said), std::string::npos) << refused.err;
  }
  // Photons that come one by one cannot be thinned out; their bins can.
  const CommandResult first =
      run(of_run("tags.ptu", "t.csv", {"curves.coarsening=first", "counts.tag_method=direct"}));
  EXPECT_EQ(first.status, 2);
  EXPECT_NE(first.err.find("tag_method"), std::string::npos) << first.err;
  EXPECT_EQ(run(of_run("tags.ptu", "t.csv", {"curves.coarsening=first", "counts.tag_method=bins"}))
                .status,
            0);
  // In a file, with the line.
  write_file(scratch / "bad.toml", "[counts]\ntype = \"count_file\"\npath = \"" +
                                       (scratch / "x.npy") + "\"\nbin_s = 0\n");
  const CommandResult bad = run({"run", scratch / "bad.toml", "--check"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_NE(bad.err.find("bad.toml: [counts]: bin_s (line 4): 0, expected above 0"),
            std::string::npos)
      << bad.err;
}

TEST_F(RunPipeline, PlansAndChecksWithoutWriting) {
  std::vector<std::string> arguments = of_example("correlate.toml", "run.uvh5");
  arguments.push_back("--plan");
  const CommandResult plan = run(arguments);
  ASSERT_EQ(plan.status, 0) << plan.err;
  for (const char* said : {"voltages", "f on", "x on", "visibilities", "channel 16", "memory: "})
    EXPECT_NE(plan.out.find(said), std::string::npos) << said << "\n" << plan.out;
  arguments.back() = "--check";
  const CommandResult checked = run(arguments);
  EXPECT_EQ(checked.status, 0);
  EXPECT_EQ(checked.out, example("correlate.toml") + ": could run\n");
  arguments.insert(arguments.begin(), "--json");
  const auto object = nlohmann::json::parse(run(arguments).out);
  EXPECT_EQ(keys_of(object), documented_object("`tautline.check` 1"));
  EXPECT_EQ(object["could_run"], true);
  EXPECT_FALSE(std::filesystem::exists(scratch / "run.uvh5"));
  EXPECT_NE(run({"run", "--types"}).out.find("filter_bank"), std::string::npos);
}

TEST_F(RunPipeline, WarnsOfOutputsThatNothingTakes) {
  write_file(scratch / "open.toml",
             "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "in.dada") +
                 "\"]\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 16\n");
  const CommandResult open = run({"run", scratch / "open.toml"});
  EXPECT_EQ(open.status, 0) << open.err;
  EXPECT_NE(open.err.find("[f]: no node takes what it gives: add one with inputs = \"f\""),
            std::string::npos)
      << open.err;
  EXPECT_EQ(open.err.find("[voltages]"), std::string::npos) << open.err;
  const CommandResult closed = run(of_example("correlate.toml", "run.uvh5"));
  EXPECT_EQ(closed.err.find("no node takes"), std::string::npos) << closed.err;
}

TEST_F(RunPipeline, SaysWhereAPipelineIsWrong) {
  write_file(scratch / "bad.toml",
             "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "in.dada") +
                 "\"]\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 1\n");
  CommandResult result = run({"run", scratch / "bad.toml", "--check"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("bad.toml: [f]: channels (line 7): 1, expected 2 to 65536"),
            std::string::npos)
      << result.err;
  result = run({"run", scratch / "none.toml"});
  EXPECT_EQ(result.status, 1);
  result =
      run({"run", example("correlate.toml"), "--set", "voltages.files=" + (scratch / "none.dada")});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("none.dada"), std::string::npos) << result.err;
}

// Filterbanks: the same files through commands and pipelines.
class RunFilterbank : public RunPipeline {
 protected:
  void SetUp() override {
    const CommandResult made =
        run({"simulate", "filterbank", "--nchans", "32", "--fch1", "1500", "--foff", "-8",
             "--tsamp", "512e-6", "--duration", "6", "--pulse", "dm=40,time=4,width=0.004,snr=40",
             "-o", scratch / "obs.fil"});
    ASSERT_EQ(made.status, 0) << made.err;
  }
  std::vector<std::string> of_file(const std::string& name, const std::string& sink) {
    return {"run",   example(name), "--set", "filterbank.files=" + (scratch / "obs.fil"),
            "--set", sink};
  }
  // The common fields of both records are equal.
  void expect_same_facts(const std::string& run_file, const std::string& command_file,
                         std::size_t at_least) {
    const auto one = nlohmann::json::parse(read_file(scratch / run_file));
    const auto other = nlohmann::json::parse(read_file(scratch / command_file));
    std::size_t same = 0;
    for (const auto& [key, value] : one.items()) {
      if (key == "history" || key == "expected_s" || key == "elapsed_s" || !other.contains(key))
        continue;
      EXPECT_EQ(value, other[key]) << key;
      ++same;
    }
    EXPECT_GE(same, at_least);
  }
};

TEST_F(RunFilterbank, SearchesAsTheCommandDoes) {
  for (const bool cleaned : {false, true}) {
    auto arguments = of_file("search.toml", "candidates.path=" + (scratch / "run.csv"));
    arguments.insert(arguments.end(), {"--overwrite", "--set", "pulses.dms.range=0:100:2"});
    std::vector<std::string> command{
        "search", scratch / "obs.fil", "-o",         scratch / "command.csv",
        "--dms",  "0:100:2",           "--overwrite"};
    if (cleaned) {
      arguments.insert(arguments.end(),
                       {"--set", "filterbank.ignored_channels=0:2", "--set", "pulses.zero_dm=true",
                        "--set", "filterbank.start_s=0.5", "--set", "filterbank.duration_s=5"});
      command.insert(command.end(),
                     {"--ignorechan", "0:2", "--zero-dm", "--start", "0.5", "--duration", "5"});
    }
    const CommandResult of_run = run(arguments);
    ASSERT_EQ(of_run.status, 0) << of_run.err;
    const CommandResult of_command = run(command);
    ASSERT_EQ(of_command.status, 0) << of_command.err;
    const std::string list = read_file(scratch / "command.csv");
    EXPECT_GT(std::count(list.begin(), list.end(), '\n'), 1);
    EXPECT_EQ(read_file(scratch / "run.csv"), list);
    expect_same_facts("run.csv.json", "command.csv.json", 10);
  }
}

TEST_F(RunFilterbank, DedispersesAsTheCommandDoes) {
  auto arguments = of_file("dedisperse.toml", "series.path=" + (scratch / "run.npy"));
  arguments.insert(arguments.end(), {"--set", "trials.dms.range=0:100:2"});
  CommandResult result = run(arguments);
  ASSERT_EQ(result.status, 0) << result.err;
  result =
      run({"dedisperse", scratch / "obs.fil", "-o", scratch / "command.npy", "--dms", "0:100:2"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(read_file(scratch / "run.npy") == read_file(scratch / "command.npy"));
  expect_same_facts("run.npy.json", "command.npy.json", 9);
}

TEST_F(RunFilterbank, SaysWhereAPipelineIsWrong) {
  const auto refusal = [&](const std::string& stage) {
    write_file(scratch / "bad.toml",
               "[filterbank]\ntype = \"filterbank_files\"\nfiles = [\"" + (scratch / "obs.fil") +
                   "\"]\n\n" + stage + "\n[candidates]\ntype = \"candidate_file\"\n" +
                   "inputs = \"pulses\"\npath = \"" + (scratch / "bad.csv") + "\"\n");
    const CommandResult result = run({"run", scratch / "bad.toml", "--check"});
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_FALSE(std::filesystem::exists(scratch / "bad.csv"));
    return result.err;
  };
  const std::string search = "[pulses]\ntype = \"search\"\ninputs = \"filterbank\"\n";
  std::string said = refusal(search + "dms.range = \"0:100:0\"\n");
  EXPECT_NE(said.find("bad.toml: [pulses]: [dms]: range (line 8)"), std::string::npos) << said;
  EXPECT_NE(said.find("LO:HI:STEP"), std::string::npos) << said;
  said = refusal(search + "dms.range = \"0:100\"\nthreshold = 0\n");
  EXPECT_NE(said.find("threshold (line 9): 0, expected above 0"), std::string::npos) << said;
  said = refusal(search + "dms.rang = 1\n");
  EXPECT_NE(said.find("unknown field"), std::string::npos) << said;
  EXPECT_NE(said.find("dms.range"), std::string::npos) << said;
  said = refusal(search);
  EXPECT_NE(said.find("dms.range: not given"), std::string::npos) << said;
  said = refusal(search + "dms.range = \"0:100000:1000\"\n");
  EXPECT_NE(said.find("dms"), std::string::npos) << said;
  said =
      refusal("[pulses]\ntype = \"dedisperse\"\ninputs = \"filterbank\"\ndms.range = \"0:9:1\"\n");
  EXPECT_NE(said.find("a stream of trials, expected a stream of pulses"), std::string::npos)
      << said;
}

}  // namespace
}  // namespace tautline::tests

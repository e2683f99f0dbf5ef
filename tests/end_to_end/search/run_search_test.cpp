// run: pipelines of searches give the lists, records and pages of the command.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

class RunSearch : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string beam : {"a", "b", "c"})
      done({"simulate", "filterbank", "--nchans", "32", "--fch1", "1500", "--foff", "-8", "--tsamp",
            "512e-6", "--duration", "6", "--seed",
            std::to_string(seed() % 1000000 + static_cast<unsigned>(beam[0])), "--pulse",
            "dm=40,time=" + std::string(beam == "c" ? "2" : "4") + ",width=0.004,snr=40", "-o",
            scratch / (beam + ".fil")});
  }
  CommandResult done(const std::vector<std::string>& arguments) {
    CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return result;
  }
  CommandResult refused(const std::vector<std::string>& arguments, const std::string& said) {
    CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
    return result;
  }
  std::vector<std::string> pipeline(const std::vector<std::string>& fields,
                                    const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments{"--device", "cpu", "run",
                                       source_folder() + "/examples/pipelines/search.toml"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    for (const std::string& field : fields) arguments.insert(arguments.end(), {"--set", field});
    arguments.insert(arguments.end(), {"--set", "candidates.path=" + (scratch / "run.csv")});
    return arguments;
  }
  std::vector<std::string> command(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--device", "cpu", "search", "-o", scratch / "command.csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // All that a record says but how it came about and how long that took.
  nlohmann::json record(const std::string& name) {
    auto all = nlohmann::json::parse(read_file(scratch / name));
    for (const char* key : {"history", "elapsed_s", "expected_s"})
      EXPECT_EQ(all.erase(key), 1u) << key;
    if (all["cutout_files"].is_object()) all["cutout_files"].erase("folder");
    return all;
  }
  nlohmann::json expect_same_search() {
    const std::string list = read_file(scratch / "command.csv");
    EXPECT_GT(std::count(list.begin(), list.end(), '\n'), 1);
    EXPECT_EQ(read_file(scratch / "run.csv"), list);
    nlohmann::json said = record("run.csv.json");
    EXPECT_EQ(said, record("command.csv.json"));
    return said;
  }
  // Without its line of the history, and its identity, which is made of that.
  std::string page(const std::string& folder) {
    std::string text = read_file(scratch / folder + "/candidates.html");
    for (const auto& [first, end] : {std::pair{"[\"run\",", ']'}, {"\"id\":", ','}}) {
      const std::size_t at = text.find(first);
      EXPECT_NE(at, std::string::npos) << first;
      if (at != std::string::npos) text.erase(at, text.find(end, at) - at);
    }
    return text;
  }

  ScratchFolder scratch;
};

TEST_F(RunSearch, SearchesBeamsTogetherAndDrawsTheirPage) {
  const std::string a = scratch / "a.fil", b = scratch / "b.fil", c = scratch / "c.fil";
  done(pipeline({"filterbank.files=" + a + "," + b + "," + c, "filterbank.beams=true",
                 "pulses.dms.range=0:100:2", "pulses.bandpass=true", "candidates.max_beams=1",
                 "candidates.plot_folder=" + (scratch / "run"), "candidates.most_plots=3"}));
  done(command({a, b, c, "--beams", "--dms", "0:100:2", "--bandpass", "--max-beams", "1", "--plot",
                scratch / "command", "--most-plots", "3"}));
  const nlohmann::json said = expect_same_search();
  ASSERT_EQ(said["beams"].size(), 3u);
  EXPECT_EQ(said["beams"][2]["bandpass"]["mean"].size(), 32u);
  EXPECT_GT(said["in_many_beams"], 0);
  EXPECT_GT(page("run").size(), 10000u);
  EXPECT_TRUE(page("run") == page("command"));
}

// As many candidates, the same ones, and the same names of files as the command's.
TEST_F(RunSearch, SaysWhatItFound) {
  const std::string a = scratch / "a.fil";
  const CommandResult of_run =
      done(pipeline({"filterbank.files=" + a, "pulses.dms.range=0:100:2"}));
  const CommandResult of_command =
      done(command({a, "--dms", "0:100:2", "--threshold", "6", "--max-width", "0.1"}));
  const std::size_t first = of_command.out.find("       S/N"),
                    end = of_command.out.find("  6.000 s");
  ASSERT_LT(first, end) << of_command.out;
  EXPECT_TRUE(of_run.out.ends_with(of_command.out.substr(first, end - first))) << of_run.out;
  const std::string count = nlohmann::json(record("run.csv.json")["candidates"]).dump();
  for (const std::string& said : {"candidates.candidates: " + count + "\n",
                                  "candidates wrote " + (scratch / "run.csv") + "\n",
                                  "candidates wrote " + (scratch / "run.csv.json") + "\n"})
    EXPECT_NE(of_run.out.find(said), std::string::npos) << said << of_run.out;
}

#ifdef TAUTLINE_HDF5
TEST_F(RunSearch, CutsCandidatesOut) {
  const std::string a = scratch / "a.fil", b = scratch / "b.fil";
  done(pipeline({"filterbank.files=" + a + "," + b, "filterbank.beams=true",
                 "pulses.dms.range=0:100:2", "candidates.cutout_folder=" + (scratch / "run"),
                 "candidates.most_cutouts=3"}));
  done(command({a, b, "--beams", "--dms", "0:100:2", "--cutouts", scratch / "command",
                "--max-cutouts", "3"}));
  const nlohmann::json said = expect_same_search();
  std::size_t written = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "command")) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(read_file(scratch / "run" + "/" + name) == read_file(entry.path().string()))
        << name;
    ++written;
  }
  EXPECT_GE(written, 2u);
  EXPECT_EQ(said["cutouts"], written);
}

TEST_F(RunSearch, RefusesCutoutsThatTakeTooMuchMemory) {
  const CommandResult result = run_command(
      pipeline({"filterbank.files=" + (scratch / "a.fil"), "pulses.dms.range=0:3000:100",
                "pulses.max_width_s=2", "candidates.cutout_folder=" + (scratch / "run")},
               {"--memory", "30M"}),
      scratch.path().string());
  EXPECT_EQ(result.status, kWrongUsage) << result.err;
  EXPECT_NE(result.err.find("candidates.cutout_folder: "), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "run"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "run.csv"));
}
#endif

TEST_F(RunSearch, ReadsItsFilesAsOftenAsMemoryAsks) {
  const std::string a = scratch / "a.fil";
  const std::string memory = "24M";
  done(pipeline({"filterbank.files=" + a, "pulses.dms.range=0:400:1"}, {"--memory", memory}));
  done(command({a, "--dms", "0:400:1", "--memory", memory}));
  EXPECT_GT(expect_same_search()["passes"], 1);
  // Somebody else who reads the files would be given them several times.
  write_file(scratch / "fork.toml",
             "[filterbank]\ntype = \"filterbank_files\"\nfiles = [\"" + a +
                 "\"]\n[pulses]\ntype = \"search\"\ninputs = \"filterbank\"\n"
                 "dms.range = \"0:400:1\"\n[candidates]\ntype = \"candidate_file\"\n"
                 "inputs = \"pulses\"\npath = \"" +
                 (scratch / "fork.csv") +
                 "\"\n[trials]\ntype = \"dedisperse\"\ninputs = \"filterbank\"\n"
                 "dms.range = \"0:4:1\"\n[series]\ntype = \"trial_files\"\ninputs = \"trials\"\n"
                 "path = \"" +
                 (scratch / "fork.npy") + "\"\n");
  refused({"--device", "cpu", "run", scratch / "fork.toml", "--memory", memory},
          "[trials]: inputs (line 14): a filterbank that a search reads several times");
  EXPECT_FALSE(std::filesystem::exists(scratch / "fork.csv"));
  done({"--device", "cpu", "run", scratch / "fork.toml"});
  EXPECT_EQ(read_file(scratch / "fork.csv"), read_file(scratch / "command.csv"));
}

TEST_F(RunSearch, RecordsTheBandpassOfSeries) {
  const std::string a = scratch / "a.fil";
  done({"--device", "cpu", "run", source_folder() + "/examples/pipelines/dedisperse.toml", "--set",
        "filterbank.files=" + a, "--set", "trials.dms.range=0:20:2", "--set",
        "trials.bandpass=true", "--set", "series.path=" + (scratch / "run.npy")});
  done({"--device", "cpu", "dedisperse", a, "-o", scratch / "command.npy", "--dms", "0:20:2",
        "--bandpass"});
  EXPECT_TRUE(read_file(scratch / "run.npy") == read_file(scratch / "command.npy"));
  const auto one = nlohmann::json::parse(read_file(scratch / "run.npy.json"));
  EXPECT_EQ(one["bandpass"]["mean"].size(), 32u);
  EXPECT_EQ(one["bandpass"],
            nlohmann::json::parse(read_file(scratch / "command.npy.json"))["bandpass"]);
}

TEST_F(RunSearch, RefusesWhatBeamsCannotBe) {
  const std::string files = "filterbank.files=" + (scratch / "a.fil") + "," + (scratch / "b.fil");
  refused(pipeline({files, "filterbank.beams=true", "filterbank.fill_gaps=true"}), "fill_gaps");
  std::vector<std::string> arguments = pipeline({files, "filterbank.beams=true"});
  arguments.back() = "candidates.path=" + (scratch / "run.cand");
  refused(arguments, "a name that ends with .csv");
  EXPECT_FALSE(std::filesystem::exists(scratch / "run.cand"));
}

}  // namespace
}  // namespace tautline::tests

// tautline tune, as a user runs it, on every device here that compiles kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/end_to_end/run_command.h"
#include "tests/support/environment.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"

namespace {

using namespace tautline;
using nlohmann::json;
using tests::CommandResult;

constexpr const char* kProblem = "inputs=9,channels=2,samples=70";

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

class Tune : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(GetParam()); }

  CommandResult run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--device", GetParam()});
    return tests::run_command(arguments, folder_.path());
  }

  tests::ScratchFolder folder_;
  tests::Environment cache_{"TAUTLINE_CACHE", folder_ / "cache"};
};

TEST_P(Tune, FindsKeepsAndUsesAConfigurationAndGoesOnWhereItStopped) {
  const std::vector<std::string> command{"--json", "tune",       "correlate",       "--problem",
                                         kProblem, "--strategy", "random",          "--budget",
                                         "2",      "--report",   folder_ / "report"};
  const CommandResult first = run(command);
  ASSERT_EQ(first.status, 0) << first.err;
  const auto lines = lines_of(first.out);
  ASSERT_GE(lines.size(), 2u);
  for (std::size_t k = 0; k + 1 < lines.size(); ++k) {
    EXPECT_EQ(lines[k]["schema"], "tautline.tuning_result");
    EXPECT_EQ(lines[k]["version"], 1);
    EXPECT_EQ(lines[k].contains("seconds"), lines[k]["outcome"] == "measured");
  }
  const json& winner = lines.back();
  EXPECT_EQ(winner["schema"], "tautline.tuned");
  EXPECT_EQ(winner["tried"], lines.size() - 1);
  EXPECT_GT(winner["rate"], 0);
  // The default is among those that may win, so tuning cannot lose.
  EXPECT_GE(winner["gain_over_default"], 1);

  const json report = json::parse(tests::read_file(folder_ / "report/tuning-correlate.json"));
  EXPECT_EQ(report["problems"][0]["best"]["configuration"], winner["configuration"]);
  EXPECT_NE(tests::read_file(folder_ / "report/tuning-correlate.html").find("<svg"),
            std::string::npos);
  const auto wisdom = lines_of(tests::read_file(folder_ / "cache/wisdom.jsonl"));
  ASSERT_EQ(wisdom.size(), 1u);
  EXPECT_EQ(wisdom[0]["configuration"], winner["configuration"]);

  const CommandResult again = run(command);
  ASSERT_EQ(again.status, 0) << again.err;
  const json more = lines_of(again.out).back();
  EXPECT_EQ(more["tried"], winner["tried"].get<std::size_t>() + lines_of(again.out).size() - 1);

  const CommandResult exact =
      run({"--json", "bench", "correlate", "--problem", kProblem, "--budget", "0.01"});
  ASSERT_EQ(exact.status, 0) << exact.err;
  EXPECT_NE(lines_of(exact.out)[0]["instruction_set"].get<std::string>().find("(tuned)"),
            std::string::npos)
      << exact.out;
  const CommandResult near =
      run({"--json", "--log-level", "debug", "bench", "correlate", "--problem",
           "inputs=10,channels=2,samples=70", "--budget", "0.01"});
  EXPECT_NE(near.out.find("(tuned for channels=2 inputs=9 samples=70)"), std::string::npos)
      << near.out;
  EXPECT_NE(near.err.find("inputs=10"), std::string::npos) << near.err;
  const CommandResult far =
      run({"--json", "--log-level", "debug", "bench", "correlate", "--problem",
           "inputs=19,channels=2,samples=70", "--budget", "0.01"});
  EXPECT_NE(far.out.find("(default)"), std::string::npos) << far.out;
  EXPECT_NE(far.err.find("inputs=9 samples=70 is too far"), std::string::npos) << far.err;
}

// Where the wisdom says that tuning gains something, and once, behind everything else.
TEST_P(Tune, IsAdvisedAtTheEndOfARun) {
  const CommandResult tuned =
      run({"tune", "correlate", "--problem", kProblem, "--candidates", "1", "--budget", "1"});
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  const std::string path = folder_ / "cache/wisdom.jsonl";
  json line = lines_of(tests::read_file(path)).back();
  for (const double gain : {1.5, 1.04}) {
    line["default_seconds"] = gain * line["seconds"].get<double>();
    tests::write_file(path, line.dump() + "\n");
    const CommandResult far =
        run({"bench", "correlate", "--problem", "inputs=19,channels=2,samples=70", "--problem",
             "inputs=30,channels=2,samples=70", "--budget", "0.01"});
    ASSERT_EQ(far.status, 0) << far.err;
    const std::size_t first = far.err.find("is not tuned");
    EXPECT_EQ(first != std::string::npos, gain == 1.5) << far.err;
    if (gain != 1.5) continue;
    EXPECT_EQ(far.err.find("is not tuned", first + 1), std::string::npos) << far.err;
    EXPECT_EQ(std::count(far.err.begin() + static_cast<std::ptrdiff_t>(first), far.err.end(), '\n'),
              1)
        << far.err;
  }
}

// Kernels of few lags, which PoCL compiles in no time; then the command takes what was found.
TEST_P(Tune, AutocorrelateIsTunedReportedAndGoesOn) {
  const std::string problem = "sensors=1,samples=100000,bins=4,levels=2";
  const std::vector<std::string> command{"--json",    "tune",     "autocorrelate",
                                         "--problem", problem,    "--strategy",
                                         "random",    "--seed",   "3",
                                         "--budget",  "600",      "--candidates",
                                         "3",         "--report", folder_ / "report"};
  const CommandResult first = run(command);
  ASSERT_EQ(first.status, 0) << first.err;
  const json winner = lines_of(first.out).back();
  EXPECT_EQ(winner["schema"], "tautline.tuned");
  EXPECT_EQ(winner["stage"], "autocorrelate");
  EXPECT_EQ(winner["unit"], "samples/s");
  EXPECT_GE(winner["tried"], 3);
  EXPECT_GE(winner["gain_over_default"], 1);
  const json report = json::parse(tests::read_file(folder_ / "report/tuning-autocorrelate.json"));
  EXPECT_EQ(report["problems"][0]["best"]["configuration"], winner["configuration"]);
  EXPECT_NE(tests::read_file(folder_ / "report/tuning-autocorrelate.html").find("<svg"),
            std::string::npos);
  const auto wisdom = lines_of(tests::read_file(folder_ / "cache/wisdom.jsonl"));
  ASSERT_EQ(wisdom.size(), 1u);
  EXPECT_EQ(wisdom[0]["variant"], "u8");
  EXPECT_EQ(wisdom[0]["configuration"], winner["configuration"]);

  std::vector<std::string> more = command;
  *std::find(more.begin(), more.end(), "3") = "4";  // another seed
  *std::find(more.rbegin(), more.rend(), "3") = "5";
  const CommandResult again = run(more);
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(lines_of(again.out).back()["tried"],
            winner["tried"].get<std::size_t>() + lines_of(again.out).size() - 1);

  const CommandResult bench =
      run({"--json", "bench", "autocorrelate", "--problem", problem, "--budget", "0"});
  ASSERT_EQ(bench.status, 0) << bench.err;
  EXPECT_NE(bench.out.find("(tuned)"), std::string::npos) << bench.out;

  // Of other sizes: the nearest problem's configuration where its blocks are near those of a file,
  // which the memory limits to 131,072 samples, and the reference's curve.
  std::string counts(5000, '\0');
  for (char& count : counts) count = static_cast<char>(tests::generator()() % 5);
  tests::write_file(folder_ / "counts.u8", counts);
  const auto curve = [&](const std::string& device, const std::string& output,
                         const std::string& memory = "1M") {
    const CommandResult result =
        tests::run_command({"--device", device, "--json", "autocorrelate", folder_ / "counts.u8",
                            "-o", folder_ / output, "--dtype", "u8", "--sensors", "1", "--bin",
                            "1e-5", "--bins", "4", "--levels", "2", "--memory", memory},
                           folder_.path());
    EXPECT_EQ(result.status, 0) << result.err;
    return lines_of(result.out).at(0);
  };
  const json there = curve(GetParam(), "there.csv");
  EXPECT_NE(there["kernels"].get<std::string>().find("(tuned for"), std::string::npos) << there;
  const json far = curve(GetParam(), "far.csv", "64M");
  EXPECT_NE(far["kernels"].get<std::string>().find("(default)"), std::string::npos) << far;
  curve("reference", "here.csv");
  const auto rows = [&](const std::string& name) {
    std::vector<std::string> kept;
    std::istringstream text(tests::read_file(folder_ / name));
    for (std::string line; std::getline(text, line);)
      if (!line.starts_with("#")) kept.push_back(line);
    return kept;
  };
  EXPECT_EQ(rows("there.csv").size(), 7u);  // names and six lags
  EXPECT_EQ(rows("there.csv"), rows("here.csv"));
}

// The dedispersion paper's experiment, small: kernels that PoCL compiles in no time.
TEST_P(Tune, SweepsASizeWithTheSameCandidatesAndReportsWhatTuningIsWorth) {
  const std::vector<std::string> command{"--json",
                                         "tune",
                                         "dedisperse",
                                         "--problem",
                                         "apertif,channels=16,samples=256",
                                         "--problem",
                                         "apertif-no-delays,channels=16,samples=256",
                                         "--sweep",
                                         "trials=2:4",
                                         "--strategy",
                                         "random",
                                         "--candidates",
                                         "3",
                                         "--budget",
                                         "600",
                                         "--fix",
                                         "items_time=16,items_dm=2,elements_time=1,elements_dm=2",
                                         "--report",
                                         folder_ / "report"};
  const CommandResult result = run(command);
  ASSERT_EQ(result.status, 0) << result.err;
  const json report = json::parse(tests::read_file(folder_ / "report/tuning-dedisperse.json"));
  ASSERT_EQ(report["problems"].size(), 4u);
  ASSERT_EQ(report["sweeps"].size(), 2u);
  for (const json& sweep : report["sweeps"]) {
    EXPECT_EQ(sweep["key"], "trials");
    EXPECT_TRUE(sweep["best_fixed"].is_object());
    ASSERT_EQ(sweep["points"].size(), 2u);
    for (const json& point : sweep["points"]) {
      EXPECT_GT(point["tuned_rate"], 0);
      EXPECT_GE(point["gain_over_fixed"], 1 - 1e-12);
      EXPECT_GE(point["tuned_rate"].get<double>(),
                (1 - 1e-12) * point["default_rate"].get<double>());
    }
  }
  EXPECT_NE(tests::read_file(folder_ / "report/tuning-dedisperse.html").find("against trials"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "report/programs"));
}

// Processes whose command line holds all of `words`.
int processes_with(const std::vector<std::string>& words) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string line = tests::read_file(entry.path() / "cmdline");
    count += std::all_of(words.begin(), words.end(), [&](const std::string& word) {
      return line.find(word) != std::string::npos;
    });
  }
  return count;
}

TEST_P(Tune, AnInterruptLeavesNoWorkerAndTheNextRunGoesOn) {
  // Sizes that no test beside this one has, but for one in 100,000.
  auto random = tests::generator();
  const std::string problem = "inputs=" + std::to_string(5 + random() % 5) +
                              ",channels=" + std::to_string(1 + random() % 3) +
                              ",samples=" + std::to_string(1000 + random() % 9000);
  const std::vector<std::string> arguments{"--device",  GetParam(),        "tune",     "correlate",
                                           "--problem", problem,           "--budget", "3600",
                                           "--report",  folder_ / "report"};
  const std::vector<std::string> worker{"tune-worker", problem};
  const pid_t pid = tests::start_command(arguments, folder_.path());
  const auto results = [&] {
    std::size_t lines = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "report")) {
      const std::string text = tests::read_file(entry.path());
      lines += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }
    return lines;
  };
  for (int wait = 0; wait < 3000 && (!std::filesystem::exists(folder_ / "report") || results() < 3);
       ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(processes_with(worker), 1);
  kill(pid, SIGINT);
  const CommandResult stopped = tests::finish_command(pid, folder_.path());
  EXPECT_EQ(stopped.status, tests::kInterrupted);
  EXPECT_NE(stopped.err.find("goes on from here"), std::string::npos) << stopped.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cache/wisdom.jsonl"));
  EXPECT_EQ(processes_with(worker), 0);
  const CommandResult next = run({"tune", "correlate", "--problem", problem, "--budget", "0.001",
                                  "--report", folder_ / "report"});
  ASSERT_EQ(next.status, 0) << next.err;
  EXPECT_NE(next.out.find("known from before"), std::string::npos) << next.out;
}

TEST_P(Tune, SaysWhatCannotBeRemembered) {
  tests::write_file(folder_ / "file", "");
  const tests::Environment nowhere("TAUTLINE_CACHE", folder_ / "file");
  const CommandResult result = run({"tune", "correlate", "--problem", kProblem, "--budget", "0.5"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("not remembered"), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("best"), std::string::npos) << result.out;
}

INSTANTIATE_TEST_SUITE_P(Devices, Tune, testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

TEST(TuneUsage, NamesWhatIsWrong) {
  const tests::ScratchFolder folder;
  const auto expect = [&](std::vector<std::string> arguments, int status,
                          const std::string& words) {
    arguments.insert(arguments.begin(), {"--device", "cpu", "tune"});
    const CommandResult result = tests::run_command(arguments, folder.path());
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  };
  expect({"unpack"}, 2, "correlate");
  expect({"correlate", "--strategy", "luck"}, 2, "exhaustive, random or guided");
  expect({"correlate", "--problem", "sizes=3"}, 2, "inputs");
  expect({"correlate", "--problem", "n257"}, 2, "n256");
  expect({"correlate", "--problem", "n256,inputs=0"}, 2, "inputs=0");
  expect({"correlate", "--problem", "n256,bits=9"}, 2, "bits");
  expect({"correlate", "--budget", "-1"}, 2, "budget");
  expect({"correlate", "--problem", "inputs=4"}, 1, "cuda:N or opencl:N");
}

}  // namespace

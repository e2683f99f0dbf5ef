// The JSON of devices and bench, as the guide's table of schemas says, on every device here.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/interrupted.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class DevicesAndBench : public ::testing::Test {
 protected:
  std::vector<nlohmann::json> json_lines(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--json");
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, 0) << result.err;
    std::vector<nlohmann::json> lines;
    std::istringstream text(result.out);
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  ScratchFolder scratch;
};

class DevicesAndBenchOn : public DevicesAndBench,
                          public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Devices, DevicesAndBenchOn, ::testing::ValuesIn(gpu_names_and_cpu()),
                         [](const auto& info) { return test_name(info.param); });

TEST_F(DevicesAndBench, DevicesListsEverythingHere) {
  const auto lines = json_lines({"devices"});
  std::size_t gpus = 0, chosen = 0;
  for (const auto& line : lines) {
    EXPECT_EQ(line["schema"], "tautline.device");
    EXPECT_EQ(line["version"], 1);
    chosen += line["chosen"].get<bool>() ? 1 : 0;
    if (line["device"].get<std::string>().starts_with("cpu:")) {
      EXPECT_EQ(keys_of(line), documented_object("`tautline.device` 1, CPU"));
      continue;
    }
    ++gpus;
    EXPECT_EQ(keys_of(line), documented_object("`tautline.device` 1, GPU"));
    EXPECT_GT(line["memory_bytes"].get<double>(), 0);
    EXPECT_FALSE(line["product"].get<std::string>().empty());
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_EQ(lines.size() - gpus, 5u);
  const auto names = gpu_names();
  EXPECT_EQ(gpus, names[0] == "none" ? 0u : names.size());
}

TEST_F(DevicesAndBench, DevicesMeasures) {
  std::size_t measured = 0;
  for (const auto& line : json_lines({"devices", "--measure"})) {
    if (!line.contains("limits")) continue;
    ++measured;
    EXPECT_EQ(keys_of(line["limits"]), documented("`limits` of these two"));
    EXPECT_GT(line["limits"]["copy_bytes_per_s"].get<double>(), 0);
    EXPECT_GT(line["limits"]["float_operations_per_s"].get<double>(), 0);
  }
  const auto names = gpu_names();
  EXPECT_EQ(measured, 1 + (names[0] == "none" ? 0u : names.size()));  // and the CPU
}

TEST_P(DevicesAndBenchOn, BenchGivesOneObjectForEachProblem) {
  const std::string& device = GetParam();
  const auto lines =
      json_lines({"--device", device, "bench", "correlate", "--problem",
                  "mwa32,channels=2,samples=64", "--sweep", "inputs=4:8", "--budget", "0"});
  ASSERT_EQ(lines.size(), 2u) << device;
  for (const auto& line : lines) {
    EXPECT_EQ(line["schema"], "tautline.bench");
    EXPECT_EQ(line["version"], 1);
    EXPECT_EQ(keys_of(line), documented_object("`tautline.bench` 1"));
    EXPECT_EQ(keys_of(line["limits"]), documented("`limits` of these two"));
    EXPECT_EQ(line["stage"], "correlate");
    EXPECT_GT(line["seconds"].get<double>(), 0);
    EXPECT_GT(line["rate"].get<double>(), 0);
    EXPECT_GT(line["fraction_of_limit"].get<double>(), 0);
  }
  EXPECT_EQ(lines[1]["problem"], "bits=8,channels=2,inputs=8,samples=64");
}

// From the device's memory and, on GPUs, the host's.
TEST_P(DevicesAndBenchOn, BenchOfTheAutocorrelator) {
  const std::string& device = GetParam();
  std::vector<std::string> command{"--device", device, "bench", "autocorrelate"};
  if (device != "cpu") command.emplace_back("host_fed_autocorrelate");
  const std::string problem = "sensors=8,samples=300,bins=4,levels=2,type=u16,scheme=chain";
  command.insert(command.end(), {"--problem", problem, "--budget", "0"});
  const auto lines = json_lines(command);
  ASSERT_EQ(lines.size(), device == "cpu" ? 1u : 2u) << device;
  for (const auto& line : lines) {
    EXPECT_EQ(keys_of(line), documented_object("`tautline.bench` 1"));
    EXPECT_EQ(line["unit"], "samples/s");
    EXPECT_EQ(line["bytes"], 2 * 8 * 300);
    EXPECT_EQ(line["problem"],
              "bins=4,bits=16,levels=2,most=255,rate_hz=625000,samples=300,sensors=8");
    EXPECT_GT(line["rate"].get<double>(), 0);
    EXPECT_GT(line["fraction_of_limit"].get<double>(), 0);
  }
  command.erase(command.begin() + 4, command.end());
  command.insert(command.end(), {"--problem", problem, "--budget", "0"});
  const CommandResult table = run_command(command, scratch.path().string());
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find(" G samples/s"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("x real time"), std::string::npos) << table.out;
}

// The search for pulses: its last stage, and all of it for two beams.
TEST_P(DevicesAndBenchOn, BenchOfTheSearch) {
  const std::string& device = GetParam();
  const auto detect = json_lines({"--device", device, "bench", "detect", "--problem",
                                  "apertif,trials=3,samples=4096,width_ms=5", "--budget", "0"});
  ASSERT_EQ(detect.size(), 1u) << device;
  EXPECT_EQ(detect[0]["problem"], "rate_hz=20000,samples=4096,trials=3,width_ms=5");
  EXPECT_EQ(detect[0]["bytes"], 4 * 3 * 4096);
  const auto search = json_lines(
      {"--device", device, "bench", "search", "--problem",
       "apertif,channels=8,trials=3,rate_hz=1000,samples=1024,beams=2,width_ms=5,zero_dm=1",
       "--budget", "0"});
  ASSERT_EQ(search.size(), 1u) << device;
  EXPECT_EQ(search[0]["bytes"], 2 * 1024 * (8 + 4 * 3 + 4 * 3));
  for (const auto& line : {detect[0], search[0]}) {
    EXPECT_EQ(keys_of(line), documented_object("`tautline.bench` 1"));
    EXPECT_EQ(line["unit"], "samples/s");
    EXPECT_GT(line["rate"].get<double>(), 0);
    EXPECT_GT(line["real_time_factor"].get<double>(), 0);
    EXPECT_TRUE(line["bandwidth_hz"].is_null());
    EXPECT_GT(line["fraction_of_limit"].get<double>(), 0);
  }
}

// A column begins where its heading does, however long problems and names of code are.
TEST_F(DevicesAndBench, TheTableOfBenchLinesUp) {
  const CommandResult table = run_command({"--device", "cpu", "bench", "search", "correlate",
                                           "--budget", "0", "--problem", "channels=8,samples=1024"},
                                          scratch.path().string());
  ASSERT_EQ(table.status, 0) << table.err;
  std::istringstream text(table.out);
  std::size_t limit = std::string::npos, rows = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("stage ")) limit = line.find(" limit ") + 1;
    if (!line.starts_with("search ") && !line.starts_with("correlate ")) continue;
    ++rows;
    const std::size_t memory = line.find(" memory "), arithmetic = line.find(" arithmetic ");
    EXPECT_EQ(std::min(memory, arithmetic) + 1, limit) << table.out;
  }
  EXPECT_EQ(rows, 2u) << table.out;
  const std::size_t input = table.out.find("bandwidth of an input");
  EXPECT_GT(input, table.out.find("correlate ")) << table.out;  // a search has none
}

TEST_F(DevicesAndBench, AutocorrelateSaysWhatTheGuideLists) {
  std::string counts(4000, '\1');
  counts[7] = '\3';
  write_file(scratch / "x.u8", counts);
  const auto lines =
      json_lines({"--device", "cpu", "autocorrelate", scratch / "x.u8", "-o", scratch / "g.csv",
                  "--dtype", "u8", "--sensors", "1", "--bin", "1e-5", "--levels", "2"});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["schema"], "tautline.autocorrelate");
  EXPECT_EQ(keys_of(lines[0]), documented_object("`tautline.autocorrelate` 1"));
}

TEST_F(DevicesAndBench, BenchRefusesWhatItDoesNotKnow) {
  const auto status = [&](std::vector<std::string> arguments) {
    return run_command(arguments, scratch.path().string()).status;
  };
  EXPECT_EQ(status({"--device", "cpu", "bench", "correlate", "--problem", "n1"}), 2);
  EXPECT_EQ(status({"--device", "cpu", "bench", "correlate", "--sweep", "taps"}), 2);
  // Before anything is measured: not a line of a table.
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"nothing"}, {"search", "--problem", "foo=3"}}) {
    std::vector<std::string> arguments{"--device", "cpu", "bench"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(status({"--device", "cpu", "bench", "host_fed"}), 1);
}

// A signal ends a bench after what it is measuring; a second one, not one sent twice, at once.
TEST_F(DevicesAndBench, InterruptsEndABench) {
  using std::chrono::milliseconds;
  const std::vector<std::string> words{"--device", "cpu",       "--json",  "bench",
                                       "unpack",   "--budget",  "5",       "--problem",
                                       "inputs=2", "--problem", "inputs=3"};
  const std::string folder = scratch.path().string();
  const pid_t once = start_command(words, folder);
  while (!catches(once, SIGINT)) std::this_thread::sleep_for(milliseconds(5));
  kill(once, SIGINT);
  kill(once, SIGINT);
  const CommandResult stopped = finish_command(once, folder);
  EXPECT_EQ(stopped.status, kInterrupted) << stopped.err;
  EXPECT_NE(stopped.err.find("stopped before unpack"), std::string::npos) << stopped.err;
  EXPECT_LE(std::count(stopped.out.begin(), stopped.out.end(), '\n'), 2) << stopped.out;
  expect_error_object(stopped);

  std::filesystem::remove(folder + "/out");
  const pid_t twice = start_command(words, folder);
  // While the second problem is measured.
  while (read_file(folder + "/out").empty()) std::this_thread::sleep_for(milliseconds(20));
  std::this_thread::sleep_for(milliseconds(500));
  kill(twice, SIGINT);
  std::this_thread::sleep_for(milliseconds(800));
  kill(twice, SIGINT);
  const CommandResult ended = finish_command(twice, folder);
  EXPECT_EQ(ended.status, kInterrupted) << ended.err;
  EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 2) << ended.out;
  expect_error_object(ended);
}

}  // namespace
}  // namespace tautline::tests

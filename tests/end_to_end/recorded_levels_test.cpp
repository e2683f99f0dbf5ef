// Files of voltages in which a recorder clipped an input, or an input's gain steps: named, and left as they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class RecordedLevels : public ::testing::Test {
 protected:
  static constexpr std::size_t kTimes = 100'000, kInputs = 4;  // at 1.28 MHz

  using Rms = std::function<double(std::size_t time, std::size_t input)>;
  // Complex bytes of noise.
  void write_noise(const std::string& name, const Rms& rms) {
    DadaFile file;
    file.payload_bytes = 0;
    std::string bytes = file.bytes();
    std::normal_distribution<double> normal;
    for (std::size_t t = 0; t < kTimes; ++t)
      for (std::size_t k = 0; k < 2 * kInputs; ++k)
        bytes += static_cast<char>(
            std::clamp(std::round(rms(t, k / 2) * normal(random)), -128.0, 127.0));
    write_file(scratch / name, bytes);
  }
  CommandResult run(const std::vector<std::string>& arguments) {
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return result;
  }
  std::vector<std::string> correlate(const std::string& name,
                                     const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"correlate",        scratch / name,  "-o",
                                   scratch / "v.uvh5", "--channels",    "16",
                                   "--overwrite",      "--integration", "0.01"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  nlohmann::json summary_of(std::vector<std::string> words) {
    words.insert(words.begin(), "--json");
    return documented_in(run(words).out, "tautline." + words[1]);
  }
  static void expect_text(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
  }
  static void expect_no_text(const std::string& text, const std::string& part) {
    EXPECT_EQ(text.find(part), std::string::npos) << part << "\nin: " << text;
  }

  std::mt19937_64 random = generator();
  const ScratchFolder scratch;
};

// Input 2 is clipped while something strong transmits, 2 % of the time; input 1 has the highest level that is usual.
TEST_F(RecordedLevels, AnInputThatTheRecorderClippedIsNamed) {
  write_noise("x.dada", [](std::size_t t, std::size_t input) {
    return input == 2 && t / 200 % 50 == 3 ? 600.0 : input == 1 ? 35.0 : 20.0;
  });
  const std::string page = scratch / "page.html";
  const auto summary = summary_of(correlate("x.dada", {"--report", page}));
  const auto levels = summary["recorded_levels"];
  EXPECT_EQ(levels["part_looked_at"], 1.0);
  EXPECT_EQ(levels["clipped_inputs"], nlohmann::json::parse("[2]"));
  ASSERT_EQ(levels["at_ends"].size(), kInputs);
  EXPECT_NEAR(levels["at_ends"][2].get<double>(), 0.0166, 0.002);
  EXPECT_LT(levels["at_ends"][0].get<double>(), 1e-4);
  EXPECT_NEAR(levels["rms"][0].get<double>(), 20, 0.3);
  EXPECT_NEAR(levels["at_ends_of_noise"][1].get<double>() / 3e-4, 1, 0.2);
  expect_text(read_file(page), "clipped by the recorder: input 1x");
  expect_text(read_file(page), "\"at_ends\":[");

  const std::string named = "clipped by the recorder: input 1x: 1.";
  const CommandResult text = run(correlate("x.dada"));
  expect_text(text.out + text.err, " components clipped in rounding");
  expect_text(text.out + text.err, "recorded at the ends of their range: 1.");
  expect_text(text.err, named);
  for (const auto& quiet :
       {correlate("x.dada"), std::vector<std::string>{"channelize", scratch / "x.dada", "-o",
                                                      scratch / "x.npy", "--overwrite"}}) {
    std::vector<std::string> words = quiet;
    words.insert(words.begin(), "--quiet");
    expect_text(run(words).err, named);
  }
  const auto record = nlohmann::json::parse(read_file(scratch / "x.npy.json"));
  EXPECT_EQ(record["recorded_levels"]["clipped_inputs"], nlohmann::json::parse("[2]"));
  const auto channelized =
      summary_of({"channelize", scratch / "x.dada", "-o", scratch / "x.npy", "--overwrite"});
  EXPECT_EQ(channelized["recorded_levels"]["clipped_inputs"], nlohmann::json::parse("[2]"));

  run({"plot", scratch / "x.dada", "-o", scratch / "plot.html"});
  expect_text(read_file(scratch / "plot.html"), "Clipped by the recorder: input 1x: 1.");

  write_file(scratch / "p.toml",
             correlate_pipeline(scratch / "x.dada", scratch / "p.uvh5", "channels = 16\n"));
  expect_text(run({"run", scratch / "p.toml"}).err, "clipped by the recorder: input 2: 1.");
}

TEST_F(RecordedLevels, AnInputOfWhichOnePartIsDeadIsNamed) {
  write_noise("x.dada", [](std::size_t, std::size_t) { return 20.0; });
  std::string bytes = read_file(scratch / "x.dada");
  for (std::size_t t = 0; t < kTimes; ++t) {
    bytes[4096 + 2 * (t * kInputs + 1) + 1] = 0;  // imaginary
    bytes[4096 + 2 * (t * kInputs + 2)] = '\7';   // real
  }
  write_file(scratch / "x.dada", bytes);
  const auto levels = summary_of(correlate("x.dada"))["recorded_levels"];
  EXPECT_EQ(levels["still_real"], nlohmann::json::parse("[2]"));
  EXPECT_EQ(levels["still_imaginary"], nlohmann::json::parse("[1]"));
  const std::string named =
      "he real parts of input 1x and the imaginary parts of input 0y never change";
  expect_text(run(correlate("x.dada")).err, named);
  expect_no_text(run(correlate("x.dada", {"--keep-constant"})).err, named);
  run({"plot", scratch / "x.dada", "-o", scratch / "plot.html"});
  expect_text(read_file(scratch / "plot.html"), named);
}

// A third of the amplitude more, in the middle of a file: in the visibilities as it is.
TEST_F(RecordedLevels, AStepOfOneInputsGainInsideAFileIsNamed) {
  const std::size_t at = 40'000 + random() % 20'000;
  write_noise("x.dada", [&](std::size_t t, std::size_t input) {
    return input == 3 && t >= at ? 20 * 1.334 : 20.0;
  });
  const std::string page = scratch / "page.html";
  const auto summary = summary_of(correlate("x.dada", {"--report", page, "--requantize", "off"}));
  ASSERT_EQ(summary["level_steps"].size(), 1u) << summary["level_steps"];
  const auto step = summary["level_steps"][0];
  EXPECT_NEAR(step["sample"].get<double>(), static_cast<double>(at), 1500);
  EXPECT_NEAR(step["time_s"].get<double>(), static_cast<double>(at) / 1.28e6, 0.002);
  EXPECT_LE(step["within_samples"].get<double>(), 1500);
  EXPECT_FALSE(step.contains("before"));
  ASSERT_EQ(step["inputs"].size(), 1u);
  EXPECT_EQ(step["inputs"][0]["input"], 3);
  EXPECT_NEAR(step["inputs"][0]["db"].get<double>(), 2.5, 0.4);
  EXPECT_EQ(summary["recorded_levels"]["clipped_inputs"], nlohmann::json::array());
  expect_text(read_file(page), "steps of level, left as they are: near 0.0");
  const auto visibilities = visibilities_in(scratch / "v.uvh5");

  const CommandResult text = run(correlate("x.dada"));
  expect_text(text.err, "steps of level, left as they are: near 0.0");
  expect_text(text.err, " s: input 1y by +2.");
  run({"plot", scratch / "x.dada", "-o", scratch / "plot.html"});
  expect_text(read_file(scratch / "plot.html"), "Steps of level: near 0.0");
  const auto kept = summary_of(correlate("x.dada", {"--keep-constant", "--requantize", "off"}));
  EXPECT_EQ(kept["level_steps"], nlohmann::json::array());
  const auto same = visibilities_in(scratch / "v.uvh5");
  EXPECT_EQ(same.values, visibilities.values);
  EXPECT_EQ(same.counts, visibilities.counts);
}

// A step at a join is named once, by its files; one inside a file beside it.
TEST_F(RecordedLevels, StepsAtJoinsAndInsideFilesAreNamedOnce) {
  const auto file = [&](const std::string& name, std::size_t number, const Rms& rms) {
    write_noise(name, rms);
    std::string bytes = read_file(scratch / name);
    const std::string is = "OBS_OFFSET 0\n",
                      should = "OBS_OFFSET " + std::to_string(number * 2 * kInputs * kTimes) + "\n";
    bytes.replace(bytes.find(is), is.size(), should);
    bytes.erase(bytes.find('\0'), should.size() - is.size());
    write_file(scratch / name, bytes);
  };
  file("a.dada", 0, [](std::size_t, std::size_t) { return 15.0; });
  file("b.dada", 1, [](std::size_t t, std::size_t input) {
    return input == 1 ? 30.0 : input == 2 && t >= kTimes / 2 ? 10.0 : 15.0;
  });
  const auto summary = summary_of({"correlate", scratch / "a.dada", scratch / "b.dada", "-o",
                                   scratch / "v.uvh5", "--channels", "16"});
  const auto steps = summary["level_steps"];
  ASSERT_EQ(steps.size(), 2u) << steps;
  EXPECT_EQ(steps[0]["sample"], kTimes);
  EXPECT_EQ(steps[0]["after"], scratch / "b.dada");
  EXPECT_EQ(steps[0]["inputs"][0]["input"], 1);
  EXPECT_NEAR(steps[1]["sample"].get<double>(), 1.5 * kTimes, 2000);
  EXPECT_EQ(steps[1]["inputs"][0]["input"], 2);
}

// Of every kind that the simulator writes, with sources and a tone.
TEST_F(RecordedLevels, SimulatedSkiesGiveNoWarning) {
  const std::string array = source_folder() + "/examples/demo/array.toml";
  write_file(scratch / "scene.toml",
             "start = \"2026-03-20-14:00:00\"\ncentre_hz = 154.88e6\nbandwidth_hz = 1.28e6\n"
             "[[source]]\nname = \"bright\"\nazimuth_deg = 40.0\nelevation_deg = 75.0\nflux = "
             "0.5\n[[tone]]\nfrequency_hz = 155.1e6\namplitude = 0.5\n");
  const std::vector<std::vector<std::string>> kinds{
      {"--bits", "4"},           {"--bits", "8"},        {"--bits", "16"},
      {"--bits", "8", "--real"}, {"--format", "mwa32t"}, {"--format", "mwa32t", "--bits", "4"}};
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const bool mwa = kinds[k][0] == "--format";
    const std::string name = scratch / ("x" + std::to_string(k) + (mwa ? "" : ".dada"));
    std::vector<std::string> words{"simulate",   "voltages",
                                   "--array",    array,
                                   "--scene",    scratch / "scene.toml",
                                   "--duration", "0.05",
                                   "--seed",     std::to_string(random() % 1000000),
                                   "-o",         name};
    words.insert(words.end(), kinds[k].begin(), kinds[k].end());
    run(words);
    words = {"--json", "correlate"};
    if (mwa)
      words.insert(words.end(), {name + ".0", name + ".1", name + ".2", name + ".3", "--receivers",
                                 "--utc-start", "2026-03-20-14:00:00"});
    else
      words.push_back(name);
    words.insert(words.end(),
                 {"-o", scratch / "v.uvh5", "--overwrite", "--channels", "32", "--array", array});
    const CommandResult result = run(words);
    ASSERT_EQ(result.status, kDone) << result.err;
    const auto summary = nlohmann::json::parse(result.out);
    EXPECT_EQ(summary["recorded_levels"]["clipped_inputs"], nlohmann::json::array()) << name;
    EXPECT_EQ(summary["level_steps"], nlohmann::json::array()) << name;
    expect_no_text(result.err, "clipped by the recorder");
    expect_no_text(result.err, "steps of level");
  }
}

// Recorded snapshots of one bit a sample, stored in bytes.
TEST_F(RecordedLevels, RecordedSnapshotsOfOneBitGiveNoWarning) {
  const std::string folder = std::string(TAUTLINE_DATA_DIR) + "/tart";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::vector<std::string> words{"--json", "correlate"};
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".dada") words.push_back(entry.path().string());
  words.insert(words.end(), {"-o", scratch / "v.uvh5", "--channels", "64"});
  const CommandResult result = run(words);
  ASSERT_EQ(result.status, kDone) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  EXPECT_EQ(summary["recorded_levels"]["clipped_inputs"], nlohmann::json::array());
  EXPECT_EQ(summary["level_steps"], nlohmann::json::array());
  expect_no_text(result.err, "clipped by the recorder");
  expect_no_text(result.err, "steps of level");
}

}  // namespace
}  // namespace tautline::tests

// TAUTLINE_CPU around the command.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class ProcessorCap : public ::testing::Test {
 protected:
  CommandResult run(const std::vector<std::string>& arguments, const std::string& cap) {
    return run_command(arguments, scratch.path().string(), {{"TAUTLINE_CPU", cap}});
  }
  ScratchFolder scratch;
};

TEST_F(ProcessorCap, DevicesListsALesserProcessor) {
  const CommandResult result = run({"--device", "cpu", "--json", "devices"}, "portable:1");
  ASSERT_EQ(result.status, 0) << result.err;
  std::istringstream text(result.out);
  std::size_t listed = 0;
  for (std::string line; std::getline(text, line);) {
    const auto device = nlohmann::json::parse(line);
    const std::string name = device["device"];
    if (!name.starts_with("cpu:")) continue;
    ++listed;
    EXPECT_EQ(device["supported"], name == "cpu:portable") << name;
    EXPECT_EQ(device["chosen"], name == "cpu:portable") << name;
    EXPECT_EQ(device["threads"], 1);
  }
  EXPECT_EQ(listed, 5u);
}

TEST_F(ProcessorCap, WhatIsAboveItAndWhatItIsNotAreRefused) {
  write_file(scratch / "in.dada", DadaFile{}.bytes());
  const std::vector<std::string> arguments{"--device",          "cpu:avx2", "channelize",
                                           scratch / "in.dada", "-o",       scratch / "out.dada",
                                           "--channels",        "16"};
  const CommandResult above = run(arguments, "portable");
  EXPECT_EQ(above.status, 1) << above.err;
  EXPECT_NE(above.err.find("cpu:avx2"), std::string::npos) << above.err;
  EXPECT_NE(above.err.find("the best here is cpu:portable"), std::string::npos) << above.err;
  const CommandResult wrong = run(arguments, "avx3:1");
  EXPECT_EQ(wrong.status, 2) << wrong.err;
  EXPECT_NE(wrong.err.find("TAUTLINE_CPU: avx3:1, expected portable, avx2"), std::string::npos)
      << wrong.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "out.dada"));
}

// The same seed gives the same file on every processor, which the simulator's loops promise.
TEST_F(ProcessorCap, SimulatedVoltagesAreTheSame) {
  const std::string demo = std::string(TAUTLINE_SOURCE_DIR) + "/examples/demo/";
  std::string first;
  for (const char* cap : {"portable:1", "portable", "avx2", "avx512", ""}) {
    const std::string output = scratch / "out.dada";
    const CommandResult result =
        run({"simulate", "voltages", "--array", demo + "array.toml", "--scene", demo + "scene.toml",
             "--seed", std::to_string(seed()), "--duration", "0.002", "-o", output, "--overwrite"},
            cap);
    ASSERT_EQ(result.status, 0) << cap << ": " << result.err;
    const std::string samples = read_file(output).substr(4096);
    ASSERT_FALSE(samples.empty());
    if (first.empty()) first = samples;
    EXPECT_TRUE(samples == first) << cap << " differs from portable:1";
  }
}

}  // namespace
}  // namespace tautline::tests

// `tautline bench`: every stage can be measured, on the code that was asked for.
#include "tautline/pipeline/measure_stage.h"

#include <gtest/gtest.h>

#include "tautline/core/error.h"

namespace tautline::pipeline {
namespace {

TEST(MeasureStage, EveryStageOnSmallProblems) {
  const auto device =
      device::open({device::Api::cpu, device::InstructionSet::portable}, {.threads = 1});
  Limits limits;
  limits.copy_bytes_per_s = limits.float_operations_per_s = limits.int8_operations_per_s = 1e9;
  const std::map<std::string, Problem> problems{
      {"unpack", {{"inputs", 4}, {"samples", 1000}}},
      {"channelize", {{"inputs", 2}, {"channels", 16}, {"spectra", 8}}},
      {"corner_turn", {{"inputs", 4}, {"channels", 16}, {"spectra", 64}}},
      {"correlate", {{"inputs", 6}, {"channels", 2}, {"samples", 128}}},
      {"dedisperse", {{"channels", 16}, {"trials", 8}, {"samples", 256}, {"rate_hz", 1000}}}};
  ASSERT_EQ(measurable_stages().size(), problems.size());
  for (const std::string& stage : measurable_stages()) {
    SCOPED_TRACE(stage);
    const Measurement m = measure_stage(stage, problems.at(stage), device, limits, 0.001);
    EXPECT_EQ(m.stage, stage);
    EXPECT_NE(m.instruction_set.find("portable"), std::string::npos) << m.instruction_set;
    EXPECT_GT(m.seconds, 0);
    EXPECT_GT(m.rate, 0);
    EXPECT_GT(m.bytes, 0);
    EXPECT_GT(m.fraction_of_limit, 0);
    EXPECT_THROW(measure_stage(stage, {{"dishes", 3}}, device, limits, 0.001), core::Error);
  }
  EXPECT_THROW(measure_stage("fold", {}, device, limits), core::Error);
}

}  // namespace
}  // namespace tautline::pipeline

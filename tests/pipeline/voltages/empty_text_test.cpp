// The empty stretches of voltages as text.
#include "tautline/pipeline/voltages/empty_text.h"

#include <gtest/gtest.h>

namespace tautline::pipeline {
namespace {

TEST(EmptyText, CountsStretchesOfSeveralInputsOnce) {
  stream::EmptyVoltages found;
  found.inputs.assign(4, 0);
  const auto add = [&](std::size_t input, std::uint64_t first) {
    found.list.push_back({.input = input, .first_sample = first, .samples = 64});
    ++found.stretches;
    found.inputs[input] += 64;
  };
  for (std::uint64_t first = 0; first < 392'000; first += 1000)
    for (std::size_t input = 0; input < 4; ++input) add(input, first);
  const std::vector<std::string> names{"0x", "0y", "1x", "1y"};
  const std::string text = empty_text(found, 400'000, names);
  EXPECT_TRUE(text.starts_with("all inputs for 64 samples from 0; ")) << text;
  EXPECT_NE(text.find("(in all 392 stretches: input 0x 6.3 %"), std::string::npos) << text;
  found.stretches += 100;  // that are not listed
  EXPECT_NE(empty_text(found, 400'000, names).find("in all more than 392 stretches"),
            std::string::npos);
}

TEST(EmptyText, SaysHowMuchOfEachInputIsEmpty) {
  stream::EmptyVoltages found;
  found.inputs = {0, 50, 4000, 50};
  const std::vector<std::string> names{"0x", "0y", "1x", "1y"};
  EXPECT_EQ(empty_shares(found, 400'000, names),
            "input 1x for 4000 of 400000 samples (1 %), inputs 0y, 1y for 50 of 400000 samples "
            "(0.0125 %)");
  found.inputs = {7, 7, 7, 7};
  EXPECT_EQ(empty_shares(found, 7, names), "all inputs for 7 of 7 samples (100 %)");
  found.inputs.assign(4, 0);
  EXPECT_EQ(empty_shares(found, 400'000, names), "");
  found.inputs.clear();
  EXPECT_EQ(empty_shares(found, 0, names), "");
}

}  // namespace
}  // namespace tautline::pipeline

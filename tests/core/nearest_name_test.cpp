#include "tautline/core/nearest_name.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tautline::core {
namespace {

TEST(NearestName, TakesFewChangesOrIsBegunByTheWord) {
  const std::vector<std::string> names{"channels", "array_path", "gains", "settle_s", "taps"};
  for (const auto& [word, nearest] : {std::pair{"chanels", "channels"},
                                      {"array", "array_path"},
                                      {"gain", "gains"},
                                      {"settle", "settle_s"},
                                      {"taps", "taps"},
                                      {"tap", "taps"}})
    EXPECT_EQ(nearest_name(word, names), nearest) << word;
  for (const char* word : {"threshold", "x", "arrays of antennas"})
    EXPECT_EQ(nearest_name(word, names), "") << word;
  // Half of the letters of a short word are too many; two that are swapped are one change.
  EXPECT_EQ(nearest_name("path", {"rate", "files"}), "");
  EXPECT_EQ(nearest_name("tpye", {"rate", "type"}), "type");
  // Two names begin so.
  EXPECT_EQ(nearest_name("level", {"level_of_noise", "level_of_signal"}), "");
  EXPECT_EQ(did_you_mean("chanels", names), "did you mean channels");
  EXPECT_EQ(did_you_mean("threshold", names), "");
}

}  // namespace
}  // namespace tautline::core

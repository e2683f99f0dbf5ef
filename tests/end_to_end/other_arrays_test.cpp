// Arrays and delays that are not of the data are refused.
#include <string>
#include <vector>

#include "tests/end_to_end/mistakes.h"

namespace tautline::tests {
namespace {

std::string array_text(const std::string& name, const std::vector<std::string>& antennas,
                       const std::string& feeds) {
  std::string text = "name = \"" + name + "\"\nlatitude_deg = -30\nlongitude_deg = 116\n";
  for (std::size_t k = 0; k < antennas.size(); ++k)
    text += "[[antenna]]\nname = \"" + antennas[k] + "\"\nenu_m = [" + std::to_string(100 * k) +
            ", 0, 0]\n" + feeds;
  return text;
}

// Two antennas of two polarisations are as many inputs as four of one.
TEST_F(Mistakes, ArraysAndDelaysOfOtherDataAreRefused) {
  const std::string data = voltages();
  std::vector<std::string> words{"correlate",  data, "-o",      scratch / "v.uvh5",
                                 "--channels", "16", "--array", scratch / "four.toml"};
  write_file(scratch / "four.toml", array_text("four", {"a", "b", "c", "d"}, "feeds = [\"x\"]\n"));
  refused(words, kWrongUsage,
          "antennas of array four: 4, expected 2, of two polarisations each, as the data have; "
          "give the array of these data, list");
  write_file(scratch / "here.toml", array_text("here", {"east", "west"}, ""));
  write_file(scratch / "there.toml", array_text("there", {"east", "west"}, ""));
  write_file(scratch / "other.toml", array_text("here", {"east", "south"}, ""));
  const CommandResult made = run(
      {"delays", "--array", scratch / "here.toml", "--name", "P", "--ra-deg", "190", "--dec-deg",
       "-30", "--utc-start", "2026-03-20-14:00:00", "--duration", "10", "-o", scratch / "d.toml"});
  ASSERT_EQ(made.status, kDone) << made.err;
  words.insert(words.end(), {"--delays", scratch / "d.toml"});
  words[7] = scratch / "there.toml";
  refused(words, kFailed, "here, expected there, as in the array file; these delays were made for");
  words[7] = scratch / "other.toml";
  refused(words, kFailed, "west, expected south, as in the array file; these delays were made for");
  words[7] = scratch / "here.toml";
  const CommandResult right = run(words);
  EXPECT_EQ(right.status, kDone) << right.err;
}

}  // namespace
}  // namespace tautline::tests

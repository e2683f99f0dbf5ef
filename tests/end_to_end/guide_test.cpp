// The commands of guide pages that promise to run as they stand: each indented line that begins with the command's name,
// in order, in one folder.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

std::vector<std::vector<std::string>> commands_of(const std::string& page) {
  std::istringstream lines(read_file(source_folder() + "/docs/guide/" + page));
  const std::string lead = "    tautline ";
  std::vector<std::vector<std::string>> commands;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(lead)) continue;
    std::istringstream words(line.substr(lead.size()));
    std::vector<std::string>& command = commands.emplace_back();
    for (std::string word; words >> word;) command.push_back(word);
  }
  return commands;
}

TEST(Guide, CommandsForPhotonsRunAsTheyStand) {
#ifndef TAUTLINE_HDF5
  GTEST_SKIP() << "a build without HDF5";
#endif
  const ScratchFolder scratch;
  const auto commands = commands_of("photons.md");
  ASSERT_GE(commands.size(), 10u);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path());
  for (const auto& command : commands) {
    std::string line;
    for (const std::string& word : command) line += " " + word;
    const CommandResult result = run_command(command, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << line << "\n" << result.out << result.err;
    // Every output that it names is there.
    for (std::size_t k = 0; k + 1 < command.size(); ++k)
      if (command[k] == "-o" || command[k] == "--report" || command[k] == "--tcspc") {
        EXPECT_TRUE(std::filesystem::exists(command[k + 1])) << line;
      }
  }
  // What the page says of the plain fit of the finest curve.
  const CommandResult plain =
      run_command({"fit", "fine.h5", "-o", "plain.csv", "--model", "3d"}, scratch.path().string());
  EXPECT_EQ(plain.status, kDamaged) << plain.out;
  EXPECT_NE(plain.err.find("--range"), std::string::npos) << plain.err;
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace tautline::tests

// The commands of guide pages that promise to run as they stand: each indented line that begins with the command's
// name, in order, in one folder, with the TOML files that the page shows (their first line is their name).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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

void write_toml_of(const std::string& page) {
  std::istringstream lines(read_file(source_folder() + "/docs/guide/" + page));
  std::ofstream file;
  for (std::string line; std::getline(lines, line);) {
    if (line == "```toml" && std::getline(lines, line))
      file.open(line.substr(line.find_first_not_of("# ")));
    else if (line == "```")
      file.close();
    else if (file.is_open())
      file << line << "\n";
  }
}

class Guide : public testing::Test {
 protected:
  Guide() { std::filesystem::current_path(scratch.path()); }
  ~Guide() override { std::filesystem::current_path(before); }

  void run_all(const std::string& page, std::size_t at_least);

  const std::filesystem::path before = std::filesystem::current_path();
  const ScratchFolder scratch;
};

void Guide::run_all(const std::string& page, std::size_t at_least) {
  write_toml_of(page);
  const auto commands = commands_of(page);
  ASSERT_GE(commands.size(), at_least);
  for (const auto& command : commands) {
    std::string line;
    for (const std::string& word : command) line += " " + word;
    const CommandResult result = run_command(command, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << line << "\n" << result.out << result.err;
    // Every output that it names is there.
    for (std::size_t k = 0; k + 1 < command.size(); ++k)
      if (command[k] == "-o" || command[k] == "--report" || command[k] == "--tcspc" ||
          command[k] == "--plot" || command[k] == "--cutouts") {
        EXPECT_TRUE(std::filesystem::exists(command[k + 1])) << line;
      }
  }
}

TEST_F(Guide, CommandsForInterferometryRunAsTheyStand) {
#ifndef TAUTLINE_HDF5
  GTEST_SKIP() << "a build without HDF5";
#endif
  run_all("interferometry.md", 5);
}

TEST_F(Guide, CommandsForPulsesRunAsTheyStand) {
#ifndef TAUTLINE_HDF5
  GTEST_SKIP() << "a build without HDF5";
#endif
  run_all("pulses.md", 6);
  // What the page says of the burst.
  const CommandResult found =
      run_command({"--json", "compare", "found.csv", "burst.truth.json"}, scratch.path().string());
  EXPECT_EQ(found.status, kDone) << found.err;
  EXPECT_NE(found.out.find("\"found\":3"), std::string::npos) << found.out;
  EXPECT_NE(found.out.find("\"recall\":1"), std::string::npos) << found.out;
}

TEST_F(Guide, CommandsForPhotonsRunAsTheyStand) {
#ifndef TAUTLINE_HDF5
  GTEST_SKIP() << "a build without HDF5";
#endif
  run_all("photons.md", 10);
  // What the page says of the plain fit of the finest curve.
  const CommandResult plain =
      run_command({"fit", "fine.h5", "-o", "plain.csv", "--model", "3d"}, scratch.path().string());
  EXPECT_EQ(plain.status, kDamaged) << plain.out;
  EXPECT_NE(plain.err.find("--range"), std::string::npos) << plain.err;
}

}  // namespace
}  // namespace tautline::tests

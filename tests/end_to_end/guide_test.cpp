// The commands of guide pages that promise to run as they stand: each indented line that begins with the command's
// name, in order, in one folder, with the TOML files that the page shows (their first line is their name).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/file_visibilities.h"
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

// The words of the first line in a page's blocks that begins with the command's name and this subcommand, and names the
// MWA's files or pipeline.
std::vector<std::string> mwa_command_of(const std::string& page, const std::string& subcommand) {
  std::istringstream lines(read_file(source_folder() + "/docs/guide/" + page));
  std::vector<std::string> command;
  for (std::string line; command.empty() && std::getline(lines, line);) {
    if (!line.starts_with("tautline " + subcommand) || line.find("mwa") == std::string::npos)
      continue;
    std::istringstream words(line.substr(line.find(' ')));
    for (std::string word; words >> word;) command.push_back(word);
  }
  EXPECT_FALSE(command.empty()) << subcommand;
  return command;
}

void replace_value(std::vector<std::string>& command, const std::string& option,
                   const std::string& value) {
  const auto at = std::find(command.begin(), command.end(), option);
  ASSERT_LT(at - command.begin(), static_cast<std::ptrdiff_t>(command.size()) - 1) << option;
  at[1] = value;
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
  // The page's figures of the burst.
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
  // The page's figures of the plain fit of the finest curve.
  const CommandResult plain =
      run_command({"fit", "fine.h5", "-o", "plain.csv", "--model", "3d"}, scratch.path().string());
  EXPECT_EQ(plain.status, kDamaged) << plain.out;
  EXPECT_NE(plain.err.find("--range"), std::string::npos) << plain.err;
}

// As they stand, but for less data, a port that is free, and the patience of a busy machine.
TEST_F(Guide, TwoTerminalsOfLiveReceiversGiveWhatTheirFilesGive) {
#if !defined(TAUTLINE_HDF5) || !defined(TAUTLINE_BOOST)
  GTEST_SKIP() << "a build without HDF5 or Boost";
#endif
  const std::string page = "live.md", folder = scratch.path();
  std::filesystem::create_directory_symlink(source_folder() + "/examples", scratch / "examples");
  for (const char* name : {"run", "send"}) std::filesystem::create_directory(scratch / name);
  auto simulate = mwa_command_of(page, "simulate"), run = mwa_command_of(page, "run"),
       send = mwa_command_of(page, "send");
  replace_value(simulate, "--duration", "1.2");
  const CommandResult made = run_command(simulate, folder);
  ASSERT_EQ(made.status, kDone) << made.err;
  run.insert(run.end(),
             {"--set", "receivers.listen=tcp://127.0.0.1:0", "--set", "receivers.late_s=30"});
  const pid_t pid = start_command(run, scratch / "run");
  std::string said;
  for (int wait = 0; wait < 6000 && said.find(" receivers\n") == std::string::npos; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    said = read_file(scratch / "run/err");
  }
  const std::size_t at = said.find("tcp://");
  EXPECT_NE(at, std::string::npos) << said;
  if (at == std::string::npos) kill(pid, SIGKILL);
  replace_value(send, "--to", said.substr(at, said.find(' ', at) - at));
  const CommandResult sent = run_command(send, scratch / "send");
  EXPECT_EQ(sent.status, kDone) << sent.err;
  if (sent.status != kDone) kill(pid, SIGINT);  // it would wait for receivers for ever
  const CommandResult live = finish_command(pid, scratch / "run");
  EXPECT_EQ(live.status, kDone) << live.err;

  const CommandResult compared = run_command(mwa_command_of(page, "compare"), folder);
  EXPECT_EQ(compared.status, kDone) << compared.out << compared.err;

  const std::string text = read_file(source_folder() + "/docs/guide/" + page),
                    lead = "`tautline correlate mwa.0 mwa.1 mwa.2 mwa.3 --receivers";
  const std::size_t begin = text.find(lead);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t word = text.find(' ', begin) + 1;
  std::istringstream words(text.substr(word, text.find('`', word) - word) + " -o files.uvh5");
  const std::vector<std::string> correlate{std::istream_iterator<std::string>(words), {}};
  const CommandResult result = run_command(correlate, folder);
  ASSERT_EQ(result.status, kDone) << result.err;
  const FileVisibilities given = visibilities_in("live.uvh5"),
                         expected = visibilities_in("files.uvh5");
  EXPECT_EQ(given.middles.size(), 2U);
  EXPECT_TRUE(given == expected);
}

}  // namespace
}  // namespace tautline::tests

// Commands whose messages, or whose printed results, nobody reads any longer.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/end_to_end/command_test.h"
#include "tests/end_to_end/documented_json.h"

namespace tautline::tests {
namespace {

constexpr int kReaderEnded = 128 + SIGPIPE;

// Of a pipe that the shell knows as descriptor 8 and whose reader has gone.
class ClosedOutput : public CommandTest {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_DFL);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(dup2(ends[1], 8), 8);
    for (const int end : ends)
      if (end != 8) close(end);
    std::filesystem::create_directory(scratch / "tmp");
    write_file(scratch / "x.dada", DadaFile().bytes());
  }
  void TearDown() override { close(8); }
  CommandResult run_line(const std::vector<std::string>& words, const std::string& redirected) {
    return run_shell(command_line(words) + " " + redirected, scratch.path().string(),
                     {{"TMPDIR", scratch / "tmp"}});
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path()))
      if (entry.path().filename().string().starts_with("out."))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(ClosedOutput, RunsGoOnWithoutTheirMessages) {
  const std::string examples = source_folder() + "/examples/demo/";
  for (const bool both : {false, true}) {
    const CommandResult result = run_line(
        {"--profile", "simulate", "voltages", "--array", examples + "array.toml", "--scene",
         examples + "scene.toml", "--duration", "0.01", "-o", scratch / "out.dada"},
        both ? ">&8 2>&8" : "2>&8");
    // The summary goes to standard output.
    EXPECT_EQ(result.status, both ? kReaderEnded : kDone) << result.err;
    EXPECT_EQ(left(), (std::vector<std::string>{"out.dada", "out.truth.json"}));
    for (const std::string& name : left()) std::filesystem::remove(scratch / name);
  }
}

TEST_F(ClosedOutput, CopiesOfStandardInputAreRemoved) {
  const std::string fil = scratch / "x.fil";
  const CommandResult made =
      run({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10", "--tsamp",
           "0.001", "--duration", "1", "-o", fil});
  ASSERT_EQ(made.status, kDone) << made.err;
  for (const bool both : {false, true}) {
    const CommandResult result =
        run_shell("cat '" + fil + "' | " + command_line({"plot", "-", "-o", scratch / "out.html"}) +
                      (both ? " >&8 2>&8" : " 2>&8"),
                  scratch.path().string(), {{"TMPDIR", scratch / "tmp"}});
    EXPECT_EQ(result.status, both ? kReaderEnded : kDone) << result.err;
    EXPECT_TRUE(std::filesystem::is_empty(scratch / "tmp"));
    EXPECT_EQ(left(), std::vector<std::string>{"out.html"});
    std::filesystem::remove(scratch / "out.html");
  }
}

// As `| head` has it: at once, and without a word.
TEST_F(ClosedOutput, PrintingEndsInSilence) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"inspect", scratch / "x.dada"},
        {"--json", "inspect", scratch / "x.dada"},
        {"--help"}}) {
    const CommandResult result = run_line(words, ">&8");
    EXPECT_EQ(result.status, kReaderEnded) << words.front();
    EXPECT_EQ(result.err, "") << words.front();
  }
}

// Of more files than the buffer of the output holds the words about.
TEST_F(ClosedOutput, InspectBlamesNoFile) {
  for (const bool json : {false, true}) {
    std::vector<std::string> words{"inspect"};
    if (json) words.insert(words.begin(), "--json");
    words.insert(words.end(), 100, scratch / "x.dada");
    const CommandResult result = run_line(words, ">&8");
    EXPECT_EQ(result.status, kReaderEnded);
    EXPECT_EQ(result.err, "");
  }
}

}  // namespace
}  // namespace tautline::tests

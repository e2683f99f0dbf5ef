// Runs that cannot end: on a full disk, killed half-way, and of an input that shrinks. For each kind of output.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <iostream>

#include "tests/end_to_end/interrupted.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/small_disk.h"

namespace tautline::tests {
namespace {

struct Output {
  const char* name;
  const char* command;
  const char* file;       // -o
  const char* page = "";  // --report
  std::vector<std::string> more;
};

void PrintTo(const Output& output, std::ostream* out) {
  *out << output.name;
}

class BrokenOff : public ::testing::TestWithParam<Output> {
 protected:
  void write_input(std::size_t samples) {
    DadaFile file;
    file.payload_bytes = 8 * samples;
    write_file(scratch / "in.dada", file.bytes());
  }
  // The last file written, the page where there is one, goes into `folder`.
  std::vector<std::string> arguments(const std::string& folder = "") {
    const Output& output = GetParam();
    const std::string page = output.page;
    const std::string file = (page.empty() ? folder : "") + output.file;
    std::vector<std::string> words{"--json", output.command, scratch / "in.dada", "-o",
                                   scratch / file};
    if (!page.empty()) words.insert(words.end(), {"--report", scratch / (folder + page)});
    words.insert(words.end(), output.more.begin(), output.more.end());
    return words;
  }
  // Files whose names begin as the outputs' do.
  std::vector<std::string> left(const std::string& folder = "") {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch / folder))
      if (entry.path().filename().string().starts_with("out."))
        names.push_back(entry.path().filename().string());
    return names;
  }
  pid_t start_long_run(std::uintmax_t samples = 40'000'000);
  ScratchFolder scratch;
};

TEST_P(BrokenOff, AFullDiskLeavesNothing) {
  write_input(100000);
  std::filesystem::create_directory(scratch / "disk");
  const int status = on_small_disk(scratch / "disk", 64 * 1024, [&] {
    const CommandResult result = run_command(arguments("disk/"), scratch.path().string());
    return left("disk").empty() ? result.status : 50;
  });
  if (status == kNoSmallDisk) GTEST_SKIP() << "this machine lets nobody mount a small disk";
  EXPECT_EQ(status, kFailed) << read_file(scratch / "err");
  EXPECT_EQ(left(), std::vector<std::string>{});
  EXPECT_NE(read_file(scratch / "err").find("disk/out."), std::string::npos)
      << read_file(scratch / "err");
}

// A run that has begun to write and goes on for long: of zeros, which take no room.
pid_t BrokenOff::start_long_run(std::uintmax_t samples) {
  write_input(1000);
  std::filesystem::resize_file(scratch / "in.dada", 4096 + 8 * samples);
  const std::string partial = scratch / (std::string(GetParam().file) + ".partial");
  std::filesystem::remove_all(partial);
  const pid_t pid = start_command(arguments(), scratch.path().string());
  for (int wait = 0; wait < 60'000 && !std::filesystem::exists(partial); ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(std::filesystem::exists(partial));
  return pid;
}

TEST_P(BrokenOff, KilledHalfWayLeavesNothingUnderTheFinalName) {
  const pid_t pid = start_long_run();
  kill(pid, SIGKILL);
  EXPECT_EQ(finish_command(pid, scratch.path().string()).status, 1000 + SIGKILL);
  for (const std::string& name : left()) EXPECT_TRUE(name.ends_with(".partial")) << name;
}

TEST_P(BrokenOff, InterruptedLeavesNothingWithinASecond) {
  for (const int signal : {SIGTERM, SIGINT}) {
    EndsWithinASecond ends;
    while (ends.wants_another()) {
      double took_s = 0;
      const CommandResult result =
          interrupt(start_long_run(), signal, scratch.path().string(), took_s);
      ends.add(took_s);
      ASSERT_EQ(result.status, 128 + signal) << result.err;
      EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
      expect_error_object(result);
      EXPECT_EQ(left(), std::vector<std::string>{});
    }
    std::cout << "ended " << ends.best_s() << " s after the signal\n";
    EXPECT_LT(ends.best_s(), 1);
  }
}

// The process is held up, so that the second signal comes before the run has ended by the first.
TEST_P(BrokenOff, InterruptedTwiceLeavesNothing) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const pid_t pid = start_long_run();
    kill(pid, signal);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kill(pid, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    kill(pid, signal);
    kill(pid, SIGCONT);
    const CommandResult result = finish_command(pid, scratch.path().string());
    EXPECT_EQ(result.status, 128 + signal) << result.err;
    EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
    expect_error_object(result);
    EXPECT_EQ(left(), std::vector<std::string>{});
  }
}

// Whichever part of it had been read: what is there counts, or the run fails; no signal ends it.
TEST_P(BrokenOff, AnInputThatShrinksIsNamed) {
  const pid_t pid = start_long_run(10'000'000);
  std::filesystem::resize_file(scratch / "in.dada", 4096 + 8 * 1000);
  const CommandResult result = finish_command(pid, scratch.path().string());
  EXPECT_TRUE(result.status == kDamaged || result.status == kFailed) << result.status;
  EXPECT_NE(result.err.find("in.dada"), std::string::npos) << result.err;
  if (result.status == kFailed) {
    EXPECT_EQ(left(), std::vector<std::string>{});
  }
}

const std::vector<std::string> kCorrelate{"--channels", "128", "--integration", "0.001"};
// Slow enough to be caught.
const std::vector<std::string> kChannelize{"--channels", "16", "--taps", "4096"};

INSTANTIATE_TEST_SUITE_P(
    Outputs, BrokenOff,
    ::testing::Values(Output{"uvh5", "correlate", "out.uvh5", "", kCorrelate},
                      Output{"report", "correlate", "out.uvh5", "out.html", kCorrelate},
                      Output{"dada", "channelize", "out.dada", "", kChannelize},
                      Output{"npy", "channelize", "out.npy", "", kChannelize},
                      Output{"fil", "channelize", "out.fil", "", kChannelize}),
    [](const auto& output) { return std::string(output.param.name); });

}  // namespace
}  // namespace tautline::tests

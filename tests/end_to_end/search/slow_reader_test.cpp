// Results that leave by a pipe whose reader waits: the run waits too, in the memory of any other run, and goes on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <iostream>
#include <regex>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

// The number behind a name in a file of /proc.
std::size_t number_in(const std::string& file, const std::string& name) {
  const std::string text = read_file(file);
  const std::size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size()));
}

struct Waiting {
  std::size_t read_bytes = 0, peak_kib = 0;
};

// The memory of the process, once it has read nothing for a second.
Waiting until_it_waits(pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid);
  Waiting now;
  for (int calm = 0; calm < 10;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::size_t bytes = number_in(proc + "/io", "rchar: ");
    calm = bytes == now.read_bytes ? calm + 1 : 0;
    now.read_bytes = bytes;
  }
  now.peak_kib = number_in(proc + "/status", "VmHWM:");
  return now;
}

// Without the field that depends on the time of day.
std::string without_latency(const std::string& lines) {
  return std::regex_replace(lines, std::regex("\"latency_s\":[^,]*,"), "");
}

TEST(SlowReader, OfCandidatesHoldsTheSearchUp) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path().string(), input = scratch / "noise.fil";
  const CommandResult made = run_command(
      {"simulate", "filterbank", "--nchans", "64", "--fch1", "1500", "--foff", "-1", "--tsamp",
       "1e-4", "--duration", "120", "--seed", std::to_string(generator()() % 1000), "-o", input},
      folder);
  ASSERT_EQ(made.status, kDone) << made.err;
  // So low a threshold that the candidates of the noise fill a pipe.
  const auto search = [&](const std::string& list, const std::string& events) {
    return std::vector<std::string>{"--device", "cpu",      "--quiet", "search",     input,
                                    "-o",       list,       "--dms",   "0:20:5",     "--threshold",
                                    "4",        "--events", events,    "--overwrite"};
  };
  int status = 0;
  rusage usage{};
  wait4(start_command(search(scratch / "a.csv", scratch / "a.jsonl"), folder), &status, 0, &usage);
  ASSERT_EQ(status, 0) << read_file(scratch / "err");

  const std::string pipe = scratch / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const pid_t pid = start_command(search(scratch / "b.csv", pipe), folder);
  const int reader = open(pipe.c_str(), O_RDONLY);
  ASSERT_GE(reader, 0);
  const Waiting waiting = until_it_waits(pid);
  std::string came;
  std::vector<char> some(1 << 16);
  for (ssize_t got = 0; (got = read(reader, some.data(), some.size())) > 0;)
    came.append(some.data(), static_cast<std::size_t>(got));
  close(reader);
  const CommandResult slow = finish_command(pid, folder);

  std::cout << "while the reader waits: " << waiting.read_bytes << " bytes read, peak "
            << waiting.peak_kib << " KiB; peak without a pipe: " << usage.ru_maxrss << " KiB\n";
  ASSERT_EQ(slow.status, kDone) << slow.err;
  EXPECT_GT(waiting.read_bytes, 0u);
  EXPECT_LT(waiting.read_bytes, std::filesystem::file_size(input) * 3 / 4);
  EXPECT_GT(waiting.peak_kib, 0u);
  constexpr std::size_t kSpare_kib = 8 << 10;  // the file has 75 MiB
  EXPECT_LT(waiting.peak_kib, static_cast<std::size_t>(usage.ru_maxrss) + kSpare_kib);
  EXPECT_EQ(without_latency(came), without_latency(read_file(scratch / "a.jsonl")));
  EXPECT_EQ(read_file(scratch / "b.csv"), read_file(scratch / "a.csv"));
}

}  // namespace
}  // namespace tautline::tests

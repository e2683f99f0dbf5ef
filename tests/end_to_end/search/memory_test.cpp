// Peak memory of dedisperse and search does not grow with the file: sparse files, one ten times as
// long as the other. A minute and ten minutes of 20,000 samples/s when TAUTLINE_FULL is set.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

struct Peak {
  int status = -1;
  long kib = 0;
};

Peak run_on(const ScratchFolder& scratch, const std::string& command, const std::string& input,
            const std::string& dms = "0:40:2", const std::vector<std::string>& more = {}) {
  const std::string output = scratch / (command == "search" ? "out.csv" : "series");
  std::vector<std::string> words{"--device", "cpu", "--threads", "2",    "--quiet",
                                 command,    input, "-o",        output, "--overwrite",
                                 "--dms",    dms,   "--memory",  "96M"};
  words.insert(words.end(), more.begin(), more.end());
  const pid_t pid = start_command(words, scratch.path().string());
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000, usage.ru_maxrss};
}

Peak run_on_zeros(const ScratchFolder& scratch, const std::string& command, double seconds) {
  SigprocShape shape;
  shape.nchans = 128;
  shape.fch1 = 1500;
  shape.foff = -1;
  shape.tsamp = 50e-6;
  SigprocBytes header = sigproc_header(shape);
  const std::vector<char>& bytes = header.bytes();
  const std::string input = scratch / "in.fil";
  write_file(input, std::string(bytes.begin(), bytes.end()));
  std::filesystem::resize_file(
      input, bytes.size() + 128 * static_cast<std::uintmax_t>(std::llround(seconds / shape.tsamp)));
  return run_on(scratch, command, input);
}

// Noise of 16 channels, 1,000 samples a second.
Peak run_on_noise(const ScratchFolder& scratch, const std::string& command, double seconds,
                  const std::vector<std::string>& more = {}) {
  const std::string input = scratch / "in.fil";
  const CommandResult made =
      run_command({"simulate", "filterbank", "-o", input, "--overwrite", "--nchans", "16", "--fch1",
                   "1500", "--foff", "-8", "--tsamp", "1e-3", "--duration", std::to_string(seconds),
                   "--seed", std::to_string(generator()())},
                  scratch.path().string());
  EXPECT_EQ(made.status, 0) << made.err;
  // Three series of ten hours are 0.4 GB.
  return run_on(scratch, command, input, command == "search" ? "0:40:2" : "0:40:20", more);
}

// The memory that --memory allows, and that of the program itself with two threads.
constexpr long kMost_kib = (96 + 64) * 1024;

TEST(SearchMemory, IsTheSameForAFileTenTimesAsLong) {
  const double seconds = std::getenv("TAUTLINE_FULL") != nullptr ? 60 : 6;
  for (const std::string command : {"dedisperse", "search"}) {
    const ScratchFolder scratch;
    const Peak small = run_on_zeros(scratch, command, seconds);
    const Peak large = run_on_zeros(scratch, command, 10 * seconds);
    ASSERT_EQ(small.status, kDamaged) << read_file(scratch / "err");  // zeros hold nothing
    ASSERT_EQ(large.status, kDamaged) << read_file(scratch / "err");
    std::cout << command << ", peak: " << small.kib << " KiB for " << seconds << " s, " << large.kib
              << " KiB for ten times that\n"
              << std::flush;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(large.kib, kMost_kib);
#endif
    EXPECT_LT(large.kib, small.kib * 11 / 10 + 8 * 1024);
  }
}

// Every detection is a pulse of its own, so that pulses take most of the memory.
constexpr long kPulseBytes = 300;

TEST(SearchMemory, GrowsByWhatPulsesTake) {
  const ScratchFolder scratch;
  const auto search = [&](double seconds) {
    const Peak peak = run_on_noise(scratch, "search", seconds,
                                   {"--threshold", "2", "--link-time", "0", "--link-dm", "0"});
    EXPECT_EQ(peak.status, 0) << read_file(scratch / "err");
    const std::string list = read_file(scratch / "out.csv");
    return std::pair{peak.kib, std::count(list.begin(), list.end(), '\n')};
  };
  const auto [small_kib, few] = search(150);
  const auto [large_kib, many] = search(600);
  std::cout << "peak: " << small_kib << " KiB with " << few << " pulses, " << large_kib
            << " KiB with " << many << '\n'
            << std::flush;
  EXPECT_GT(many, few + 100'000);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(large_kib - small_kib, (many - few) * kPulseBytes / 1024 + 8 * 1024);
#endif
}

// Noise passes the threshold now and then, and what does is kept to the end: some hundred bytes of
// each. Both commands are a tenth larger after ten hours.
TEST(SearchMemory, IsTheSameForAMinuteAndTenHours) {
  if (std::getenv("TAUTLINE_FULL") == nullptr) GTEST_SKIP() << "ten hours: with TAUTLINE_FULL";
  for (const std::string command : {"dedisperse", "search"}) {
    const ScratchFolder scratch;
    const Peak small = run_on_noise(scratch, command, 60);
    ASSERT_EQ(small.status, 0) << read_file(scratch / "err");
    const Peak large = run_on_noise(scratch, command, 36000);
    ASSERT_EQ(large.status, 0) << read_file(scratch / "err");
    std::cout << command << ", peak: " << small.kib << " KiB for a minute, " << large.kib
              << " KiB for ten hours\n"
              << std::flush;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(small.kib, kMost_kib);
    EXPECT_LT(large.kib, kMost_kib);
#endif
    EXPECT_LT(large.kib, small.kib * 12 / 10 + 8 * 1024);
  }
}

}  // namespace
}  // namespace tautline::tests

// Peak memory of commands does not grow with the file: sparse files of zeros, of sizes that differ by four, up to 0.4
// GB; up to 46 GB when TAUTLINE_FULL is set (scripts/test --full), where some are a minute and ten hours of the same
// input. search/memory_test.cpp has those of filterbanks.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

constexpr long kMost_kib = 512 * 1024;

struct Peak {
  int status = -1;
  long kib = 0;
};

constexpr std::uintmax_t kMinutes = 600;  // of ten hours

struct LongRun {
  const char* name;
  const char* command;
  std::uintmax_t full_bytes;  // of the smaller file, with TAUTLINE_FULL
  std::uintmax_t full_times;  // the larger one's over that
  const char* input;
  std::vector<std::string> words;  // behind the input
};

void PrintTo(const LongRun& command, std::ostream* out) {
  *out << command.name;
}

class Memory : public testing::TestWithParam<LongRun> {
 protected:
  // Of zeros: voltages of 64 inputs, or counts of 64 sensors.
  Peak run(std::uintmax_t bytes) {
    const LongRun& command = GetParam();
    const std::string input = scratch_ / command.input;
    std::string header;
    if (input.ends_with(".dada")) {
      DadaFile file;
      file.nant = "32";
      if (command.full_times == kMinutes) file.tsamp = "100", file.bw = "0.01";
      file.payload_bytes = 0;
      header = file.bytes();
    }
    write_file(input, header);
    std::filesystem::resize_file(input, header.size() + bytes / 128 * 128);
    std::vector<std::string> words{"--device",      "cpu", "--quiet",
                                   command.command, input, "--overwrite"};
    words.insert(words.end(), command.words.begin(), command.words.end());
    words.back() = scratch_ / words.back();
    const pid_t pid = start_command(words, scratch_.path().string());
    int status = 0;
    rusage usage{};
    wait4(pid, &status, 0, &usage);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000, usage.ru_maxrss};
  }
  ScratchFolder scratch_;
};

TEST_P(Memory, IsBoundedWhateverTheFile) {
  const bool full = std::getenv("TAUTLINE_FULL") != nullptr;
  const std::uintmax_t small_bytes = full ? GetParam().full_bytes : 100'000'000;
  const std::uintmax_t times = full ? GetParam().full_times : 4;
  // Voltages of zeros are no data, which is said at the end.
  const int status = std::string(GetParam().input).ends_with(".dada") ? kDamaged : kDone;
  const Peak small = run(small_bytes);
  ASSERT_EQ(small.status, status) << read_file(scratch_ / "err");
  const Peak large = run(times * small_bytes);
  ASSERT_EQ(large.status, status) << read_file(scratch_ / "err");
  std::cout << "peak: " << small.kib << " KiB for " << small_bytes << " bytes, " << large.kib
            << " KiB for " << times << " times that\n";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(small.kib, kMost_kib);
  EXPECT_LT(large.kib, kMost_kib);
#endif
  EXPECT_LT(large.kib, small.kib * 11 / 10 + 8 * 1024);
}

// The machine's memory is enough for a large array, without --memory.
TEST(DefaultMemory, TakesA256InputArray) {
  const ScratchFolder scratch;
  DadaFile file;
  file.nant = "128";
  file.nchan = "96";
  file.tsamp = "100";
  file.payload_bytes = std::size_t{256} * 96 * 2 * 100;
  write_file(scratch / "in.dada", file.bytes());
  const CommandResult result =
      run_command({"--device", "cpu", "--json", "correlate", scratch / "in.dada", "-o",
                   scratch / "out.uvh5", "--integration", "0.01"},
                  scratch.path().string());
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_NE(result.out.find("\"inputs\":256"), std::string::npos) << result.out;
}

// Two of these are slower than their source, channelize than its sink too. A minute of counts of 64 sensors at 20 kHz
// has 77 MB, of power of 64 inputs at 10 kHz as many.
INSTANTIATE_TEST_SUITE_P(
    Commands, Memory,
    testing::Values(LongRun{"correlate",
                            "correlate",
                            5'000'000'000,
                            4,
                            "in.dada",
                            {"--channels", "128", "--integration", "1", "-o", "out.uvh5"}},
                    LongRun{"channelize",
                            "channelize",
                            1'000'000'000,
                            4,
                            "in.dada",
                            {"--channels", "128", "-o", "out.npy"}},
                    LongRun{"channelize_to_power",
                            "channelize",
                            77'000'000,
                            kMinutes,
                            "in.dada",
                            {"--channels", "128", "--integrate", "256", "-o", "out.fil"}},
                    LongRun{
                        "autocorrelate",
                        "autocorrelate",
                        77'000'000,
                        kMinutes,
                        "in.u8",
                        {"--dtype", "u8", "--sensors", "64", "--bin", "5e-5", "-o", "out.zip"}}),
    [](const auto& command) { return std::string(command.param.name); });

}  // namespace
}  // namespace tautline::tests

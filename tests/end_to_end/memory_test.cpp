// Peak memory of commands does not grow with the file: sparse files of zeros, of sizes that differ by four. up to 20 GB
// when TAUTLINE_FULL is set (scripts/test --full), else 0.4. search/memory_test.cpp has those of filterbanks.
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

struct LongRun {
  const char* name;
  std::uintmax_t full_bytes;  // of the smaller file, with TAUTLINE_FULL
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
      file.payload_bytes = 0;
      header = file.bytes();
    }
    write_file(input, header);
    std::filesystem::resize_file(input, header.size() + bytes / 128 * 128);
    std::vector<std::string> words{"--device",   "cpu", "--quiet",
                                   command.name, input, "--overwrite"};
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
  const Peak small = run(small_bytes);
  ASSERT_EQ(small.status, 0) << read_file(scratch_ / "err");
  const Peak large = run(4 * small_bytes);
  ASSERT_EQ(large.status, 0) << read_file(scratch_ / "err");
  std::cout << "peak: " << small.kib << " KiB for " << small_bytes << " bytes, " << large.kib
            << " KiB for four times that\n";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(small.kib, kMost_kib);
  EXPECT_LT(large.kib, kMost_kib);
#endif
  EXPECT_LT(large.kib, small.kib * 11 / 10 + 8 * 1024);
}

// Two of these are slower than their source, channelize than its sink too.
INSTANTIATE_TEST_SUITE_P(
    Commands, Memory,
    testing::Values(
        LongRun{"correlate",
                5'000'000'000,
                "in.dada",
                {"--channels", "128", "--integration", "1", "-o", "out.uvh5"}},
        LongRun{"channelize", 1'000'000'000, "in.dada", {"--channels", "128", "-o", "out.npy"}},
        LongRun{"autocorrelate",
                5'000'000'000,
                "in.u8",
                {"--dtype", "u8", "--sensors", "64", "--bin", "1e-6", "-o", "out.zip"}}),
    [](const auto& command) { return std::string(command.param.name); });

}  // namespace
}  // namespace tautline::tests

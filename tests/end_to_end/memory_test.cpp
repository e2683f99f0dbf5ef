// Peak memory of `correlate` does not grow with the file: sparse files of zeros, of sizes that differ
// by two. 10 and 20 GB when TAUTLINE_FULL is set (scripts/test --full), else a tenth of a tenth.
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

// Correlates 64 inputs of `bytes` in all and returns the process's largest resident size.
Peak correlate_zeros(const ScratchFolder& scratch, std::uintmax_t bytes) {
  DadaFile file;
  file.nant = "32";
  file.payload_bytes = 0;
  const std::string input = scratch / "in.dada";
  write_file(input, file.bytes());
  std::filesystem::resize_file(input, 4096 + bytes);
  const pid_t pid =
      start_command({"--device", "cpu", "--quiet", "correlate", input, "-o", scratch / "out.uvh5",
                     "--overwrite", "--channels", "128", "--integration", "1"},
                    scratch.path().string());
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000, usage.ru_maxrss};
}

TEST(Memory, IsBoundedWhateverTheFile) {
  const bool full = std::getenv("TAUTLINE_FULL") != nullptr;
  const std::uintmax_t small_bytes = full ? 10'000'000'000 : 400'000'000;
  const ScratchFolder scratch;
  const Peak small = correlate_zeros(scratch, small_bytes / 128 * 128);
  const Peak large = correlate_zeros(scratch, 2 * small_bytes / 128 * 128);
  ASSERT_EQ(small.status, 0) << read_file(scratch / "err");
  ASSERT_EQ(large.status, 0) << read_file(scratch / "err");
  std::cout << "peak: " << small.kib << " KiB for " << small_bytes << " bytes, " << large.kib
            << " KiB for twice that\n";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(small.kib, kMost_kib);
  EXPECT_LT(large.kib, kMost_kib);
#endif
  EXPECT_LT(large.kib, small.kib * 11 / 10 + 8 * 1024);
}

}  // namespace
}  // namespace tautline::tests

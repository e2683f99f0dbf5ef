// Peak memory of dedisperse and search does not grow with the file: sparse files, one ten times as
// long as the other. A minute and ten minutes of 20,000 samples/s when TAUTLINE_FULL is set.
#include <gtest/gtest.h>
#include <sys/resource.h>

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
  const std::string output = scratch / (command == "search" ? "out.csv" : "series");
  const pid_t pid = start_command({"--device", "cpu", "--quiet", command, input, "-o", output,
                                   "--overwrite", "--dms", "0:40:2", "--memory", "96M"},
                                  scratch.path().string());
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000, usage.ru_maxrss};
}

TEST(SearchMemory, IsTheSameForAFileTenTimesAsLong) {
  const double seconds = std::getenv("TAUTLINE_FULL") != nullptr ? 60 : 6;
  for (const std::string command : {"dedisperse", "search"}) {
    const ScratchFolder scratch;
    const Peak small = run_on_zeros(scratch, command, seconds);
    const Peak large = run_on_zeros(scratch, command, 10 * seconds);
    ASSERT_EQ(small.status, 0) << read_file(scratch / "err");
    ASSERT_EQ(large.status, 0) << read_file(scratch / "err");
    std::cout << command << ", peak: " << small.kib << " KiB for " << seconds << " s, " << large.kib
              << " KiB for ten times that\n";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(large.kib, 96 * 1024 + 64 * 1024);  // what --memory allows and the program itself
#endif
    EXPECT_LT(large.kib, small.kib * 11 / 10 + 8 * 1024);
  }
}

}  // namespace
}  // namespace tautline::tests

// A disk that cannot be read any more, from the first read of the input on or from a later one: the message names the
// file, and nothing half-written is left.
#include <gtest/gtest.h>

#include <ostream>

#include "tests/faults/support.h"
#include "tests/formats/sigproc/sigproc_files.h"

namespace tautline::tests {
namespace {

struct ReadingRun {
  const char* name;
  const char* input;
  std::vector<std::string>
      words;  // "IN" and "OUT" in them stand for the input and the folder of the outputs
};

void PrintTo(const ReadingRun& run, std::ostream* out) {
  *out << run.name;
}

class ReadFaults : public ::testing::TestWithParam<ReadingRun> {
 protected:
  void SetUp() override {
#ifndef TAUTLINE_HDF5
    for (const std::string& word : GetParam().words)
      if (word.ends_with("h5")) GTEST_SKIP() << "a build without HDF5";
#endif
    std::filesystem::create_directory(folder);
    DadaFile file;
    file.payload_bytes = std::size_t{16} << 20;
    std::string bytes = file.bytes();
    const std::string input = GetParam().input;
    if (!input.ends_with(".dada")) bytes.erase(0, bytes.size() - file.payload_bytes);
    if (input.ends_with(".fil")) {
      SigprocShape shape;
      shape.nchans = 64;
      SigprocBytes header = sigproc_header(shape);
      bytes.insert(bytes.begin(), header.bytes().begin(), header.bytes().end());
    }
    write_file(folder + "/" + input, bytes);
  }
  CommandResult run(int first_failure) {
    std::vector<std::string> words{"--device", "cpu"};
    for (std::string word : GetParam().words) {
      if (const auto at = word.find("IN"); at != std::string::npos)
        word.replace(at, 2, folder + "/" + GetParam().input);
      if (const auto at = word.find("OUT"); at != std::string::npos) word.replace(at, 3, folder);
      words.push_back(word);
    }
    return run_command(words, scratch.path().string(), preloaded("read", fault(first_failure)));
  }
  static std::string fault(int first_failure) {
    return "read " + std::string(GetParam().input) + " " + std::to_string(first_failure);
  }

  ScratchFolder scratch;
  std::string folder = scratch / "data";
};

TEST_P(ReadFaults, AreNamedAndLeaveNothing) {
  int failures = 0;
  for (int n = 1;; n *= 2) {
    const CommandResult result = run(n);
    record("host", fault(n), result);
    if (result.status == kDone) break;
    ++failures;
    ASSERT_LT(n, 100'000);
    ASSERT_EQ(result.status, kFailed) << fault(n) << ": " << result.err;
    EXPECT_NE(result.err.find(folder + "/" + GetParam().input + ": cannot be read at byte "),
              std::string::npos)
        << fault(n) << ": " << result.err;
    EXPECT_NE(result.err.find("Input/output error"), std::string::npos) << result.err;
    EXPECT_EQ(listing(folder), std::vector<std::string>{GetParam().input}) << fault(n);
    EXPECT_EQ(result.out, "");
  }
  EXPECT_GE(failures, 3);                 // the header, and samples
  EXPECT_GT(listing(folder).size(), 1U);  // or the failures would prove nothing
}

const std::string kExample = TAUTLINE_SOURCE_DIR "/examples/pipelines/correlate.toml";

INSTANTIATE_TEST_SUITE_P(
    Commands, ReadFaults,
    ::testing::Values(
        ReadingRun{"correlate",
                   "in.dada",
                   {"correlate", "IN", "-o", "OUT/v.uvh5", "--integration", "0.1"}},
        ReadingRun{"channelize", "in.dada", {"channelize", "IN", "-o", "OUT/x.dada"}},
        ReadingRun{
            "dedisperse", "in.fil", {"dedisperse", "IN", "-o", "OUT/s.npy", "--dms", "0:20:5"}},
        ReadingRun{"search", "in.fil", {"search", "IN", "-o", "OUT/c.csv", "--dms", "0:20:5"}},
        ReadingRun{"autocorrelate",
                   "in.u8",
                   {"autocorrelate", "IN", "-o", "OUT/g.csv", "--dtype", "u8", "--sensors", "1",
                    "--bin", "1e-5"}},
        ReadingRun{"run",
                   "in.dada",
                   {"run", kExample, "--set", "voltages.files=IN", "--set",
                    "visibilities.path=OUT/v.uvh5"}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tautline::tests

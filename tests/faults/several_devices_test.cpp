// One of several devices fails: the run ends, says which one, and leaves nothing.
#include <gtest/gtest.h>

#include "tests/faults/support.h"

namespace tautline::tests {
namespace {

class SeveralDevicesFail : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device::opencl::device_count() == 0 || !device::opencl::is_host_cpu(0))
      GTEST_SKIP() << "PoCL is not the first OpenCL device";
    std::filesystem::create_directory(scratch / "data");
    DadaFile file;
    write_file(scratch / "data/voltages.dada", file.bytes());
    file.nchan = "8";
    write_file(scratch / "data/channels.dada", file.bytes());
  }
  CommandResult run(const std::string& fault, const std::string& input) {
    Variables variables = faulty("opencl:0", fault);
    variables.emplace_back("POCL_DEVICES", "pthread basic");
    return run_command({"--device", "opencl:0,opencl:1", "correlate", scratch / input, "-o",
                        scratch / "data/v.uvh5", "--overwrite", "--integration", "0.004"},
                       scratch.path().string(), variables);
  }
  ScratchFolder scratch;
};

TEST_F(SeveralDevicesFail, TheRunEndsWithTheMessageOfTheOne) {
  for (const std::string input : {"data/voltages.dada", "data/channels.dada"})
    for (const std::string kind : {"trap * ", "memory ", "pinned "}) {
      int n = 1, failures = 0;
      bool first = false, second = false;
      for (;; n += kind == "trap * " ? 3 : 5) {
        const CommandResult result = run(kind + std::to_string(n), input);
        if (result.status == 0) break;
        ASSERT_LT(n, 300);
        SCOPED_TRACE(kind + std::to_string(n) + ": " + result.err);
        EXPECT_EQ(result.status, 1);
        EXPECT_EQ(listing(scratch / "data"),
                  (std::vector<std::string>{"channels.dada", "voltages.dada"}));
        first = first || result.err.find("opencl:0 (") != std::string::npos;
        second = second || result.err.find("opencl:1 (") != std::string::npos;
        ++failures;
        if (HasFailure()) return;
      }
      EXPECT_GE(failures, 2) << kind;
      EXPECT_TRUE(first || second) << kind;
      std::filesystem::remove(scratch / "data/v.uvh5");
    }
}

}  // namespace
}  // namespace tautline::tests

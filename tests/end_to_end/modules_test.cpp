// Formats of libraries that the command opens when it needs them: each is there, and where one is not, the error says
// which.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

namespace fs = std::filesystem;

class Modules : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(scratch / "in.dada", DadaFile{}.bytes());
    std::string counts(2000, '\0');
    auto random = generator();
    for (char& count : counts) count = static_cast<char>(random() % 7);
    write_file(scratch / "x.u8", counts);
  }
  std::vector<std::string> correlate(const std::string& output) {
    return {"correlate", scratch / "in.dada", "-o", scratch / output, "--channels", "16"};
  }
  std::vector<std::string> autocorrelate(const std::string& output) {
    return {"autocorrelate",
            scratch / "x.u8",
            "-o",
            scratch / output,
            "--dtype",
            "u8",
            "--sensors",
            "1",
            "--bin",
            "1e-6",
            "--levels",
            "2"};
  }
  // The command in a folder without its modules.
  CommandResult run_alone(const std::vector<std::string>& arguments) {
    const std::string alone = scratch / "tautline";
    if (!fs::exists(alone)) fs::copy_file(command_path(), alone);
    return run_program(alone, arguments, scratch.path().string());
  }
  ScratchFolder scratch;
};

TEST_F(Modules, AreOpenedWhereAFileNeedsThem) {
#ifdef TAUTLINE_HDF5
  for (const auto& arguments : {correlate("x.uvh5"), autocorrelate("x.h5")}) {
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
  }
  // Errors that a module throws are the command's.
  write_file(scratch / "bad.uvh5", "no HDF5");
  const CommandResult bad = run_command({"report", scratch / "bad.uvh5", "-o", scratch / "x.html"},
                                        scratch.path().string());
  EXPECT_EQ(bad.status, kFailed);
  EXPECT_NE(bad.err.find("bad.uvh5"), std::string::npos) << bad.err;
#else
  GTEST_SKIP() << "a build without HDF5 has no such module";
#endif
}

TEST_F(Modules, AreNotNeededByOtherFiles) {
  const CommandResult result = run_alone(autocorrelate("x.csv"));
  EXPECT_EQ(result.status, kDone) << result.err;
}

TEST_F(Modules, ThatAreAbsentAreNamed) {
#ifdef TAUTLINE_HDF5
  for (const auto& arguments : {correlate("x.uvh5"), autocorrelate("x.h5")}) {
    const CommandResult result = run_alone(arguments);
    EXPECT_EQ(result.status, kFailed) << result.err;
    for (const char* said : {"module libtautline_hdf5.so", "without it there are no HDF5 files",
                             "install tautline with all of its files"})
      EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(scratch / "x.uvh5") || fs::exists(scratch / "x.h5"));
  }
#else
  GTEST_SKIP() << "a build without HDF5 has no such module";
#endif
}

}  // namespace
}  // namespace tautline::tests

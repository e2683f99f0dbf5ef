// The CUDA text of every kernel compiles for every architecture, without a GPU, and spills nothing.
#include <gtest/gtest.h>

#include <string>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/jit/program.h"
#include "tautline/stages/dedisperse/tunables.h"
#include "tests/support/kernel_compiler.h"

namespace tautline::stages::dedisperse {
namespace {

using tests::kArchitectures;

class GpuCompile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device::cuda::compiler_available()) GTEST_SKIP() << "NVRTC cannot be opened here";
  }
  void TearDown() override { compiler_.say_what_is_unknown(); }

  void compile(const std::string& file, const jit::Defines& defines, const char* architecture) {
    SCOPED_TRACE(file + " for " + architecture);
    const auto report =
        compiler_.compile(jit::make_source(device::Api::cuda, file, defines), architecture);
    EXPECT_EQ(report.spilled_bytes, 0u);
  }

 private:
  tests::KernelCompiler compiler_;
};

TEST_F(GpuCompile, SumsOfEveryTypeWithTheDefaults) {
  const GpuTunables t;
  std::size_t turn = 0;
  for (const int row : {8, 16, 32})
    for (const int window : {0, 4096}) {
      const auto defines = jit::Defines()
                               .set("ROW", row)
                               .set("ITEMS_TIME", static_cast<std::int64_t>(t.items_time))
                               .set("ITEMS_DM", static_cast<std::int64_t>(t.items_dm))
                               .set("ELEMENTS_TIME", static_cast<std::int64_t>(t.elements_time))
                               .set("ELEMENTS_DM", static_cast<std::int64_t>(t.elements_dm))
                               .set("CHANNELS", static_cast<std::int64_t>(t.channels))
                               .set("WINDOW", window);
      compile("dedisperse/sum.kernel", defines, kArchitectures[turn++ % 6]);
    }
}

TEST_F(GpuCompile, TakesOfEveryWidth) {
  std::size_t turn = 0;
  for (const int bits : {1, 2, 4, 8, 16, 32})
    for (const int spectra : {0, 1})
      compile("dedisperse/take.kernel", jit::Defines().set("BITS", bits).set("SPECTRA", spectra),
              kArchitectures[turn++ % 6]);
}

}  // namespace
}  // namespace tautline::stages::dedisperse

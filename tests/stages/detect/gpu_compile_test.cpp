// Every kernel compiles for every architecture, without a GPU, and does not spill registers, except
// for one value of units.kernel before compute capability 9.0.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/stages/detect/detect.h"
#include "tests/support/environment.h"
#include "tests/support/kernel_compiler.h"
#include "tests/support/recording_device.h"
#include "tests/support/scratch.h"

namespace tautline::stages::detect {
namespace {

class GpuCompile : public ::testing::Test {
 private:
  // An empty cache, so that every program is compiled.
  tests::ScratchFolder folder_;
  tests::Environment cache_{"TAUTLINE_CACHE", folder_ / "cache"};
};

TEST_F(GpuCompile, EveryTypeAndReachOnEveryArchitecture) {
  if (!device::cuda::compiler_available()) GTEST_SKIP() << "NVRTC cannot be opened here";
  const auto device =
      std::make_shared<tests::RecordingDevice>("sm_90a", 90, std::size_t{227} << 10);
  for (const core::SampleType type : {core::SampleType::i32, core::SampleType::f32})
    for (const double widest_s : {0.01, 5.0})
      make_plan({.sample_time_s = 1e-3, .type = type, .max_width_s = widest_s}, device);
  tests::KernelCompiler compiler;
  const bool full = std::getenv("TAUTLINE_FULL") != nullptr;
  std::set<std::string> files;
  std::size_t turn = 0;
  for (const device::ProgramSource& source : device->sources()) {
    files.insert(source.name);
    ++turn;
    for (std::size_t a = 0; a < std::size(tests::kArchitectures); ++a) {
      if (!full && a != turn % std::size(tests::kArchitectures)) continue;
      const char* architecture = tests::kArchitectures[a];
      SCOPED_TRACE(source.name + " for " + architecture);
      const auto report = compiler.compile(source, architecture);
      // With 64 registers, 1,024 threads fit on a multiprocessor; with 85, three groups of peaks.kernel.
      EXPECT_LE(report.registers, source.name == "detect/gpu/peaks.kernel" ? 85u : 64u);
      EXPECT_LE(report.spilled_bytes, source.name == "detect/gpu/units.kernel" ? 8u : 0u);
      if (full)
        std::printf("%s %s: %zu registers, %zu bytes spilled\n", source.name.c_str(), architecture,
                    report.registers, report.spilled_bytes);
    }
  }
  EXPECT_EQ(files.size(), 7u);
  compiler.say_what_is_unknown();
}

}  // namespace
}  // namespace tautline::stages::detect

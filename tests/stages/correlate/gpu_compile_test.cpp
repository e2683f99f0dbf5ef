// The CUDA text of every kernel compiles for every architecture, without a GPU, within limits of
// registers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/jit/program.h"
#include "tautline/stages/correlate/gpu/tiled.h"
#include "tests/stages/correlate/covering_tunables.h"
#include "tests/support/kernel_compiler.h"

namespace tautline::stages::correlate::tests {
namespace {

using tautline::tests::kArchitectures;
using tautline::tests::PtxasReport;

class GpuCompile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device::cuda::compiler_available()) GTEST_SKIP() << "NVRTC cannot be opened here";
  }
  void TearDown() override { compiler_.say_what_is_unknown(); }

  // Compiles for one of six architectures, the next one in every call, or for all with
  // TAUTLINE_FULL; returns the largest usage.
  PtxasReport compile(const device::ProgramSource& source) {
    PtxasReport most;
    const bool full = std::getenv("TAUTLINE_FULL") != nullptr;
    for (std::size_t a = 0; a < std::size(kArchitectures); ++a) {
      if (!full && a != calls_ % std::size(kArchitectures)) continue;
      const PtxasReport r = compiler_.compile(source, kArchitectures[a]);
      most.registers = std::max(most.registers, r.registers);
      most.spilled_bytes = std::max(most.spilled_bytes, r.spilled_bytes);
    }
    ++calls_;
    return most;
  }

  std::size_t calls_ = 0;
  tautline::tests::KernelCompiler compiler_;
};

TEST_F(GpuCompile, TiledKernels) {
  gpu::TiledTarget target;
  target.local_bytes = std::size_t{96} << 10;
  for (const core::SampleFormat format : {core::kCi8, core::kCf32}) {
    const Config config{.format = format};
    for (const CoveringTunables& covering : kCovering) {
      const auto tunables = gpu::complete(covering.tunables, config, target);
      const PtxasReport r =
          compile(jit::make_source(device::Api::cuda, gpu::tiled_kernel_file(config),
                                   gpu::tiled_defines(config, tunables, target)));
      const std::string what = core::to_string(format) + ", " + gpu::describe(tunables);
      const bool exact = config.exact();
      EXPECT_LE(r.registers, exact ? covering.exact_registers : covering.float_registers) << what;
      EXPECT_LE(r.spilled_bytes, exact ? covering.exact_spilled_bytes : 0) << what;
      RecordProperty(what, static_cast<int>(r.registers));
    }
  }
}

TEST_F(GpuCompile, TheOthers) {
  constexpr std::pair<int, int> kSources[] = {{4, 0}, {8, 0}, {16, 0}, {16, 1}, {16, 2}, {32, 0}};
  for (const auto& [source, half] : kSources)
    for (const int masked : {0, 1}) {
      jit::Defines defines;
      defines.set("SOURCE", source)
          .set("HALF", half)
          .set("MASKED", masked)
          .set("THREADS", 256)
          .set("THREAD_SAMPLES", 8);
      const auto prepare =
          compile(jit::make_source(device::Api::cuda, "correlate/gpu/prepare.kernel", defines));
      EXPECT_EQ(prepare.spilled_bytes, 0u);
      EXPECT_LE(prepare.registers, 40u);
    }
  for (const char* value : {"i64", "double"}) {
    jit::Defines defines;
    defines.set("THREADS", 256).set("VALUE", value);
    const auto add =
        compile(jit::make_source(device::Api::cuda, "correlate/gpu/add.kernel", defines));
    EXPECT_EQ(add.spilled_bytes, 0u);
    EXPECT_LE(add.registers, 40u);
  }
}

}  // namespace
}  // namespace tautline::stages::correlate::tests

// Every program of the GPU plans compiles for every architecture, without a GPU, and does not spill
// registers.
#include <cstdlib>
#include <map>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/stages/autocorrelate/gpu/plan.h"
#include "tests/stages/autocorrelate/support.h"
#include "tests/support/environment.h"
#include "tests/support/kernel_compiler.h"
#include "tests/support/recording_device.h"
#include "tests/support/scratch.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

using tautline::tests::kArchitectures;

class GpuCompile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device::cuda::compiler_available()) GTEST_SKIP() << "NVRTC cannot be opened here";
  }
  // Every program of these problems' plans.
  static std::vector<device::ProgramSource> sources(const GpuTunables& tunables) {
    const auto device =
        std::make_shared<tautline::tests::RecordingDevice>("sm_90a", 90, std::size_t{227} << 10);
    std::vector<Config> problems{
        {.sensors = 1024},
        {.sensors = 1024, .lag_scheme = LagScheme::standard, .bins = 16, .levels = 17},
        {.sensors = 100, .type = SampleType::u16},
        {.sensors = 100, .type = SampleType::u32},
        {.sensors = 100, .type = SampleType::f32},
        {.sensors = 3, .bins = 8, .levels = 40, .coarsening = Coarsening::second}};
    Config pairs{.sensors = 4, .levels = 3};
    for (std::uint32_t i = 0; i < 100; ++i) pairs.pairs.push_back({i % 4, i / 25});
    problems.push_back(pairs);
    for (const Config& problem : problems) gpu::make_plan(problem, device, tunables);
    return device->sources();
  }

 private:
  // An empty cache, so that every program is compiled.
  tautline::tests::ScratchFolder folder_;
  tautline::tests::Environment cache_{"TAUTLINE_CACHE", folder_ / "cache"};
};

// Each program for one of the architectures, all in rotation; for all architectures with
// TAUTLINE_FULL. The bounds are a little above the registers with NVRTC 13.0.
TEST_F(GpuCompile, EverythingAlmostWithoutSpills) {
  const std::map<std::string, std::size_t> bounds{{"autocorrelate/gpu/products.kernel", 168},
                                                  {"autocorrelate/gpu/matrix.cuda.kernel", 168}};
  const bool full = std::getenv("TAUTLINE_FULL") != nullptr;
  const bool small = std::getenv("TAUTLINE_SMALL") != nullptr;
  tautline::tests::KernelCompiler compiler;
  std::size_t turn = 0;
  std::map<std::string, std::size_t> compiled;
  for (const GpuDesign design : {GpuDesign::matrix, GpuDesign::portable})
    for (const device::ProgramSource& source : sources({.design = design})) {
      if (small && ++compiled[source.name] > 2) continue;
      const auto bound = bounds.find(source.name);
      for (const char* architecture : kArchitectures) {
        if (!full && architecture != kArchitectures[turn % std::size(kArchitectures)]) continue;
        std::string defines;
        for (const std::string& define : source.defines) defines += " " + define;
        SCOPED_TRACE(source.name + defines + " for " + architecture);
        const auto report = compiler.compile(source, architecture);
        EXPECT_LE(report.registers, bound == bounds.end() ? 64 : bound->second);
        // For counts of two bytes, two groups per multiprocessor limit the registers; values that
        // are used once per tile are spilled.
        EXPECT_LE(report.spilled_bytes,
                  source.name == "autocorrelate/gpu/matrix.cuda.kernel" ? 48u : 0u);
      }
      ++turn;
    }
  EXPECT_GE(turn, small ? 10u : 20u);
  compiler.say_what_is_unknown();
}

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests

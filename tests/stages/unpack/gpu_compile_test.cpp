// The CUDA text of unpack compiles for every architecture, without a GPU, for every format and both
// orders in memory, and for floats that lie on the device, within limits of registers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/stages/unpack/case.h"
#include "tests/support/environment.h"
#include "tests/support/kernel_compiler.h"
#include "tests/support/recording_device.h"
#include "tests/support/scratch.h"

namespace tautline::stages::unpack {
namespace {

// At most 40 registers of a thread with NVRTC 13.0 on any architecture, plus 8: a change that takes
// more should be examined. Nothing is spilled.
constexpr std::size_t kRegisters = 48;

// For one of six architectures, the next one for every text, or for all with TAUTLINE_FULL.
TEST(GpuCompile, UnpackEveryFormatInEitherOrder) {
  if (!device::cuda::compiler_available()) GTEST_SKIP() << "NVRTC cannot be opened here";
  const tests::ScratchFolder folder;  // an empty cache, so that every text is compiled
  const tests::Environment cache("TAUTLINE_CACHE", folder / "cache");
  const bool full = std::getenv("TAUTLINE_FULL") != nullptr;
  std::size_t texts = 0;
  tests::KernelCompiler compiler;
  for (const int bits : {1, 2, 4, 8, 16, 32})
    for (const bool complex : {false, true})
      for (const char* order : {"TA", "AT"}) {
        const bool floats = bits == 32;
        if (floats && std::string_view(order) == "AT") continue;  // of one text
        const Case c{
            "",
            {bits, complex, floats ? core::Encoding::ieee_float : core::Encoding::twos_complement},
            1,
            8,
            1,
            order,
            4096};
        Config config = c.config();
        config.blocks_on_device = floats;
        const auto device =
            std::make_shared<tests::RecordingDevice>("sm_80", 80, std::size_t{100} << 10);
        const auto plan = make_plan(config, device);
        ASSERT_EQ(device->sources().size(), 1u) << plan->backend();
        for (std::size_t a = 0; a < std::size(tests::kArchitectures); ++a) {
          if (!full && a != texts % std::size(tests::kArchitectures)) continue;
          SCOPED_TRACE(std::to_string(bits) + " bits, " + plan->backend() + ", " +
                       tests::kArchitectures[a]);
          const tests::PtxasReport report =
              compiler.compile(device->sources()[0], tests::kArchitectures[a]);
          EXPECT_LE(report.registers, kRegisters);
          EXPECT_EQ(report.spilled_bytes, 0u);
          RecordProperty("registers", static_cast<int>(report.registers));
        }
        ++texts;
      }
  EXPECT_EQ(texts, 22u);
  compiler.say_what_is_unknown();
}

}  // namespace
}  // namespace tautline::stages::unpack

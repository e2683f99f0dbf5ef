// The CUDA text of every kernel compiles for every architecture, without a GPU, and spills nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/jit/program.h"
#include "tautline/stages/dedisperse/tunables.h"
#include "tests/support/kernel_compiler.h"

namespace tautline::stages::dedisperse {
namespace {

using tests::kArchitectures;

// Each text for one architecture, in turns; for every one of them when TAUTLINE_FULL is set.
class GpuCompile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device::cuda::compiler_available()) GTEST_SKIP() << "NVRTC cannot be opened here";
  }
  void TearDown() override { compiler_.say_what_is_unknown(); }

  void compile(const std::string& file, const jit::Defines& defines, std::size_t turn,
               std::size_t most_registers, std::size_t most_spilled = 0) {
    for (std::size_t a = 0; a < std::size(kArchitectures); ++a) {
      if (std::getenv("TAUTLINE_FULL") == nullptr && a != turn % std::size(kArchitectures))
        continue;
      compile_for(kArchitectures[a], file, defines, most_registers, most_spilled);
    }
  }
  void compile_for(const std::string& architecture, const std::string& file,
                   const jit::Defines& defines, std::size_t most_registers,
                   std::size_t most_spilled) {
    SCOPED_TRACE(file + " for " + architecture);
    const auto report =
        compiler_.compile(jit::make_source(device::Api::cuda, file, defines), architecture);
    EXPECT_LE(report.registers, most_registers);
    EXPECT_LE(report.spilled_bytes, most_spilled);
  }

 private:
  tests::KernelCompiler compiler_;
};

jit::Defines sum_defines(int row) {
  const GpuTunables t;
  return jit::Defines()
      .set("ROW", row)
      .set("ITEMS_TIME", static_cast<std::int64_t>(t.items_time))
      .set("ITEMS_DM", static_cast<std::int64_t>(t.items_dm))
      .set("ELEMENTS_TIME", static_cast<std::int64_t>(t.elements_time))
      .set("ELEMENTS_DM", static_cast<std::int64_t>(t.elements_dm));
}

TEST_F(GpuCompile, SumsOfEveryTypeWithTheDefaults) {
  std::size_t turn = 0;
  for (const int row : {8, 16, 32})
    compile("dedisperse/gpu/sum.kernel", sum_defines(row), turn++, 128);
}

// A group of 1,024 threads has 64 registers for each: addresses are spilled outside the loops over
// trials, up to 60 bytes with NVRTC 13.0.
TEST_F(GpuCompile, TilesOfEveryTypeAndLevelWithTheDefaults) {
  std::size_t turn = 0;
  for (const int row : {8, 16, 32})
    for (const int levels : {0, 2, 3, 4, 5, 6}) {
      if (row == 16 && levels > 3) continue;
      compile("dedisperse/gpu/tile.kernel",
              sum_defines(row)
                  .set("ELEMENTS_TIME", row == 8 ? 4 : 8)
                  .set("LEVELS", levels)
                  .set("GROUPS", 1)
                  .set("LOCAL_BYTES", 100000)
                  .set("ROW_THREADS", levels == 0 ? 256 : 32),
              turn++, 64, 96);
    }
}

// Of compute capability 9.0 alone: roles that take registers as they need them spill next to
// nothing.
TEST_F(GpuCompile, ChannelBlocks) {
  struct Shape {
    int channels, window, tiles, elements_dm;
  };
  for (const Shape& shape : {Shape{16, 8, 5, 16}, {16, 8, 5, 12}, {8, 8, 6, 16}, {8, 16, 5, 16}})
    compile_for("sm_90a", "dedisperse/gpu/hopper/channel_blocks.cuda.kernel",
                jit::Defines()
                    .set("ITEMS_TIME", 64)
                    .set("ITEMS_DM", 4)
                    .set("ELEMENTS_TIME", 8)
                    .set("ELEMENTS_DM", shape.elements_dm)
                    .set("PRODUCER_WARPS", 4)
                    .set("FETCH_WARPS", 4)
                    .set("CHANNELS", shape.channels)
                    .set("WINDOW", shape.window)
                    .set("TILES", shape.tiles)
                    .set("ROW_WORDS", 328)
                    .set("PACKET_WORDS", 200)
                    .set("LOCAL_WORDS", 25000)
                    .set("CARRIES", shape.tiles > 5 ? 0 : 1)
                    .set("PACKETS", 8),
                128, 16);
}

TEST_F(GpuCompile, CleaningOfEveryKind) {
  std::size_t turn = 0;
  for (const int bits : {1, 2, 4, 8, 16, 32})
    for (const int spectra : {0, 1})
      for (const int row : {8, 16, 32}) {
        if (bits == 32 && row < 32) continue;
        const int cleaned = row == 32 && bits < 32 ? 1 : 0;
        compile("dedisperse/gpu/clean.kernel",
                jit::Defines()
                    .set("BITS", bits)
                    .set("SPECTRA", spectra)
                    .set("ROW", row)
                    .set("ZERO_DM", cleaned)
                    .set("MEASURE", cleaned)
                    .set("SIGNED", bits == 8 || bits == 16 ? 1 : 0),
                turn++, 96);
      }
  compile("dedisperse/gpu/corner_turn.kernel", {}, turn++, 48);
}

TEST_F(GpuCompile, ZeroDmOfEverySize) {
  std::size_t turn = 0;
  for (const int points : {256, 1024, 4096, 16384})
    compile("dedisperse/gpu/zero_dm.kernel",
            jit::Defines().set("POINTS", points).set("PARTS", 1).set("LOCAL_BYTES", 8 * points),
            turn++, 128, 64);
}

}  // namespace
}  // namespace tautline::stages::dedisperse

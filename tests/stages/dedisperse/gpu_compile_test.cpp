// The CUDA text of every kernel compiles for every architecture, without a GPU, and spills nothing.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/jit/program.h"
#include "tautline/stages/dedisperse/tunables.h"
#include "tests/support/kernel_compiler.h"

namespace tautline::stages::dedisperse {
namespace {

using tests::kArchitectures;

// Bytes that channel_blocks.kernel may spill, in its slow paths.
constexpr std::size_t kMostOfChannelBlocks = 256;

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

jit::Defines channel_block_defines(int channels, int window, int producer_warps, int tiles,
                                   int matrix) {
  return jit::Defines()
      .set("ITEMS_TIME", 64)
      .set("ITEMS_DM", 4)
      .set("ELEMENTS_TIME", 8)
      .set("PRODUCER_WARPS", producer_warps)
      .set("CHANNELS", channels)
      .set("WINDOW", window)
      .set("TILES", tiles)
      .set("MATRIX", matrix)
      .set("CONSUMERS_FETCH", matrix)
      .set("ROW_WORDS", 328)
      .set("PACKET_WORDS", 200)
      .set("LOCAL_WORDS", 25000)
      .set("CARRIES", matrix)
      .set("FETCH_WARPS", 0)
      .set("PACKETS", 8);
}

// Producer warps and consumer warps share what a thread may have: a few addresses are spilled.
TEST_F(GpuCompile, ChannelBlocksWithAndWithoutMatrixUnits) {
  std::size_t turn = 0;
  for (const int matrix : {0, 1})
    for (const int window : {8, 16})
      for (const auto& [elements_dm, producer_warps, groups, most] :
           {std::array{16, 4, 1, 168}, {8, 2, 2, 96}, {4, 4, 1, 168}})
        compile("dedisperse/gpu/channel_blocks.kernel",
                channel_block_defines(16, window, producer_warps, 2, matrix)
                    .set("ELEMENTS_DM", elements_dm)
                    .set("GROUPS", groups),
                turn++, static_cast<std::size_t>(most), kMostOfChannelBlocks);
}

// The defaults, of compute capability 9.0 alone: roles that take registers as they need them spill
// next to nothing.
TEST_F(GpuCompile, ChannelBlocksOfTheDefaults) {
  struct Default {
    int channels, window, producer_warps, tiles;
    std::size_t registers;
  };
  for (const Default& shape :
       {Default{16, 8, 4, 5, 128}, Default{8, 8, 4, 6, 128}, Default{8, 16, 4, 5, 128}})
    compile_for(
        "sm_90a", "dedisperse/gpu/channel_blocks.kernel",
        channel_block_defines(shape.channels, shape.window, shape.producer_warps, shape.tiles, 1)
            .set("ELEMENTS_DM", 16)
            .set("GROUPS", 1)
            .set("FETCH_WARPS", 4),
        shape.registers, 16);
}

TEST_F(GpuCompile, TakesOfEveryWidth) {
  std::size_t turn = 0;
  for (const int bits : {1, 2, 4, 8, 16, 32})
    for (const int spectra : {0, 1})
      compile("dedisperse/gpu/take.kernel",
              jit::Defines().set("BITS", bits).set("SPECTRA", spectra), turn++, 48);
  compile("dedisperse/gpu/corner_turn.kernel", {}, turn++, 48);
}

TEST_F(GpuCompile, CleaningOfEveryKind) {
  std::size_t turn = 0;
  for (const int bits : {1, 8, 16})
    for (const int spectra : {0, 1})
      for (const int row : {8, 16, 32})
        compile("dedisperse/gpu/clean.kernel",
                jit::Defines()
                    .set("BITS", bits)
                    .set("SPECTRA", spectra)
                    .set("ROW", row)
                    .set("ZERO_DM", row == 32 ? 1 : 0)
                    .set("SIGNED", bits == 1 ? 0 : 1),
                turn++, 96);
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

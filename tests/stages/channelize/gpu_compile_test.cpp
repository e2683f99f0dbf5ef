// The CUDA text of every kernel compiles for every architecture, without a GPU, for every value of
// every tunable, within limits of registers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/jit/program.h"
#include "tautline/stages/channelize/gpu/dispatch.h"
#include "tautline/stages/channelize/gpu/layout.h"
#include "tests/stages/channelize/support.h"
#include "tests/support/kernel_compiler.h"

namespace tautline::stages::channelize {
namespace {

using tests::kArchitectures;

struct Covering {
  const char* format;
  std::size_t channels, taps;
  Output output;
  /// Most registers of a thread with NVRTC 13.0, for any kernel on any architecture, in units of
  /// eight.
  std::size_t registers;
  GpuTunables tunables;
  bool lower = false;
  std::size_t p = 1, q = 1;
  /// Most bytes that NVRTC 13.0 spills on any architecture, plus a few: a change that spills more
  /// should be examined.
  std::size_t spilled_bytes = 0;
};

using enum Output;
constexpr auto kFused = GpuDesign::fused, kSplit = GpuDesign::split,
               kSeparate = GpuDesign::separate;

// Every design, format, output, sideband, and value of every tunable at least once. The first are
// the default configurations for the problems of docs/performance/channelize.md.
const std::vector<Covering> kCovering = {
    {"ci8", 1024, 8, spectra_float, 96, {}, false, 1, 1, 8},
    {"ci8", 1024, 16, spectra_float, 96, {}, false, 1, 1, 8},
    {"ci8", 1024, 32, spectra_float, 128, {}, false, 1, 1, 40},
    {"ci8", 1024, 8, corner_turned_ci8, 128, {}, false, 1, 1, 8},
    {"ci8", 1024, 16, corner_turned_ci8, 128, {}, false, 1, 1, 72},
    {"ci8", 64, 8, spectra_float, 128, {}, false, 1, 1, 8},
    {"ci8", 4096, 8, spectra_float, 128, {}, false, 1, 1, 8},
    {"ci8", 16384, 8, spectra_float, 128, {}, false, 1, 1, 8},
    {"ci8", 8192, 8, spectra_float, 128, {}, false, 1, 1, 16},
    {"ci16", 1024, 4, corner_turned_ci4, 128, {}, false, 1, 1, 16},
    {"i8", 1024, 8, corner_turned_ci8, 128, {}, true, 1, 1, 24},
    {"f32", 512, 8, corner_turned_float, 128, {}, false, 1, 1, 8},
    {"cf32", 2048, 5, corner_turned_float, 128, {}, false, 1, 1, 8},
    {"ci8", 1024, 8, corner_turned_ci8, 128, {}, false, 32, 27, 8},
    {"i16", 256, 8, spectra_float, 128, {}, true, 4, 1},
    {"ci8", 64, 3, corner_turned_ci4, 48, {kFused, 4, 16, 1, 1, 1, 2}},
    {"ci8", 128, 2, corner_turned_ci8, 64, {kFused, 8, 1, 2, 1, 16, 1}},
    {"ci8", 256, 64, corner_turned_float, 128, {kFused, 16, 32, 8, 4, 1, 0, 8}, false, 1, 1, 96},
    {"ci8", 512, 12, corner_turned_ci8, 128, {kFused, 32, 16, 2, 16, 2, 2, 64}, false, 1, 1, 8},
    {"ci8",
     1024,
     16,
     corner_turned_ci8,
     128,
     {kFused, 32, 8, 2, 8, 2, 1, 16, 1, 1},
     false,
     1,
     1,
     8},
    {"i8", 512, 8, corner_turned_ci4, 128, {kFused, 16, 8, 2, 4, 2, 0, 8, 1, 1}},
    {"ci8", 1024, 64, spectra_float, 128, {}, false, 1, 1, 40},
    {"i16", 1024, 9, spectra_float, 128, {kFused, 32, 4, 4, 4, 4, 1, 4, 0, 1}, true, 1, 1, 64},
    {"ci8", 65536, 8, spectra_float, 128, {kSplit}, false, 1, 1, 8},
    {"ci16", 8192, 4, corner_turned_ci8, 128, {kSplit}, true, 1, 1, 8},
    {"ci8", 1000, 8, spectra_float, 120, {kSeparate}, false, 1, 1, 48},
    {"f32", 97, 3, corner_turned_ci8, 48, {kSeparate}, true},
    {"ci8", 12, 2, corner_turned_float, 80, {kSeparate}, true, 4, 3}};

Bank bank_of(const Covering& covering) {
  Config c;
  c.channels = covering.channels, c.taps = covering.taps, c.output = covering.output;
  c.input = core::parse_sample_format(covering.format);
  c.lower_sideband = covering.lower;
  c.oversample_numerator = covering.p, c.oversample_denominator = covering.q;
  return Bank(c);
}

std::vector<device::ProgramSource> sources_of(const GpuTunables& t, const Bank& bank) {
  const auto source = [](const char* file, const jit::Defines& defines) {
    device::ProgramSource made = jit::make_source(device::Api::cuda, file, defines);
    made.options = gpu::exact_options(device::Api::cuda);
    return made;
  };
  switch (t.design) {
    case GpuDesign::fused:
      return {source("channelize/gpu/fused.kernel", gpu::fused_defines(t, bank))};
    case GpuDesign::split:
      return {source("channelize/gpu/columns.kernel", gpu::columns_defines(t, bank)),
              source("channelize/gpu/rows.kernel", gpu::rows_defines(t, bank))};
    default:
      return {source("channelize/gpu/fir.kernel", gpu::fir_defines(t, bank)),
              source("channelize/gpu/finish.kernel", gpu::finish_defines(bank))};
  }
}

class GpuCompile : public ::testing::TestWithParam<std::size_t> {};

// For one of six architectures, the next one for every row, or for all with TAUTLINE_FULL.
TEST_P(GpuCompile, WithinItsRegisters) {
  if (!device::cuda::compiler_available()) GTEST_SKIP() << "NVRTC cannot be opened here";
  constexpr std::size_t kRegistersOfAMultiprocessor = 65536;
  const Covering& covering = kCovering[GetParam()];
  const Bank bank = bank_of(covering);
  // The local memory of compute capability 9.0: the compiler does not check it.
  const GpuTunables t =
      gpu::complete(covering.tunables, bank, {device::Api::cuda, 227 << 10, 1024, false});
  const bool full = std::getenv("TAUTLINE_FULL") != nullptr;
  tests::KernelCompiler compiler;
  for (std::size_t a = 0; a < std::size(kArchitectures); ++a) {
    if (!full && a != GetParam() % std::size(kArchitectures)) continue;
    for (const device::ProgramSource& source : sources_of(t, bank)) {
      SCOPED_TRACE(source.name + " for " + kArchitectures[a] + ", " + gpu::describe(t));
      const tests::PtxasReport r = compiler.compile(source, kArchitectures[a]);
      EXPECT_LE(r.registers, covering.registers);
      EXPECT_LE(r.spilled_bytes, covering.spilled_bytes);
      RecordProperty("registers", static_cast<int>(r.registers));
      if (t.design != GpuDesign::fused || t.groups == 1) continue;
      const std::size_t threads = gpu::fused_sizes(t, bank).threads;
      // The compiler leaves room for the requested number of groups.
      EXPECT_LE(r.registers * ((threads + 31) / 32 * 32) *
                    std::min<std::size_t>(t.groups, 2048 / threads),
                kRegistersOfAMultiprocessor);
    }
  }
  compiler.say_what_is_unknown();
}

INSTANTIATE_TEST_SUITE_P(Rows, GpuCompile, ::testing::Range(std::size_t{0}, kCovering.size()),
                         [](const auto& info) {
                           const Covering& c = kCovering[info.param];
                           return std::to_string(info.param) + "_" + std::to_string(c.channels) +
                                  "x" + std::to_string(c.taps) + "_" + c.format;
                         });

}  // namespace
}  // namespace tautline::stages::channelize

// The AMX correlator's packing and block loop with emulated tile instructions: machines with VNNI
// test everything but the instructions.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstdlib>
#include <cstring>

#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/cpu/plan.h"
#include "tests/stages/correlate/correlate_support.h"

// GCC 12 warns about the deliberately undefined operands of its own AVX-512 intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#include "tautline/stages/correlate/cpu/pack8.h"
#pragma GCC target("avx512vnni")
#include "tautline/stages/correlate/cpu/amx/blocks.h"
#include "tests/support/emulated_tiles.h"

namespace tautline::stages::correlate::tests {
namespace {

constexpr cpu::IntegerKernel kEmulated =
    cpu::amx::kernel<tautline::tests::EmulatedTiles>("amx-emulated");

}  // namespace
}  // namespace tautline::stages::correlate::tests

#pragma GCC pop_options

namespace tautline::stages::correlate::tests {
namespace {

class AmxEmulated : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device::supported(InstructionSet::vnni))
      GTEST_SKIP() << "this processor has no vnni, which the packing needs";
  }

  template <class Sample>
  void check(const Samples<Sample>& samples, const std::string& what, const Validity& validity = {},
             const Tunables& tunables = {}, std::size_t threads = 2) {
    const auto device = forced(InstructionSet::avx512, threads);
    const auto plan = cpu::make_integer_plan(config_for(samples), device, kEmulated, tunables);
    ASSERT_EQ(plan->backend(), "amx-emulated");
    const auto queue = device->make_queue();
    expect_equal(run(*plan, *queue, samples, validity), run_reference(samples, validity), what);
  }
};

TEST_F(AmxEmulated, EveryNumberOfInputs) {
  for (const std::size_t inputs : kTestInputs) {
    Data<core::ci8> data(1, inputs, 100);
    check(data.samples(), std::to_string(inputs) + " inputs");
  }
}

TEST_F(AmxEmulated, AwkwardTimes) {
  for (const std::size_t samples : kTestSamples) {
    Data<core::ci8> data(2, 19, samples);
    check(data.samples(), std::to_string(samples) + " samples");
  }
}

TEST_F(AmxEmulated, EveryPairOfByteValues) {
  Data<core::ci8> data = every_pair_of_bytes();
  check(data.samples(), "all byte values");
}

TEST_F(AmxEmulated, FullScaleBeyond32BitSums) {
  Data<core::ci8> data(1, 3, 70000);
  data.fill(0, {-128, -128});
  data.fill(1, {-128, -128});
  data.fill(2, {127, -128});
  check(data.samples(), "full scale");
}

TEST_F(AmxEmulated, FourBitsMasksAndStrides) {
  Data<core::ci4> data(2, 37, 300, {.time = 2, .after_row = 1});
  Masks masks(2, 37, 300);
  masks.randomise(0.2);
  check(data.samples(), "ci4", masks.view());
}

TEST_F(AmxEmulated, ChunksInPlaceAndCopied) {
  // Whole steps are packed in place; partial and masked steps are copied first, and the two
  // must mix.
  for (const std::size_t samples : {64u, 128u, 192u, 448u, 450u}) {
    Data<core::ci8> data(5, 40, samples);
    check(data.samples(), std::to_string(samples) + " samples", {}, {.chunk_samples = 128});
  }
  Data<core::ci8> data(5, 40, 640);
  Masks masks(5, 40, 640);
  core::set_range(masks.row(1, 3), 200, 1, false);
  core::set_range(masks.row(3, 39), 639, 1, false);
  check(data.samples(), "two masked chunks", masks.view(), {.chunk_samples = 64});
}

TEST_F(AmxEmulated, TunablesChangeNothing) {
  Data<core::ci8> data(3, 70, 700);
  for (const Tunables tunables :
       {Tunables{.chunk_samples = 64}, Tunables{.chunk_samples = 192, .group_panels = 2},
        Tunables{.chunk_samples = 1024, .group_panels = 1}, Tunables{.cache_bytes = 1 << 15},
        Tunables{.chunk_samples = 128, .group_panels = 3}})
    for (const std::size_t threads : {1u, 2u, 3u}) {
      if (threads == 1 && std::getenv("TAUTLINE_SMALL") != nullptr) continue;
      check(data.samples(), "chunk " + std::to_string(tunables.chunk_samples), {}, tunables,
            threads);
    }
}

}  // namespace
}  // namespace tautline::stages::correlate::tests

#endif  // __x86_64__

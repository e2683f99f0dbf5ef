// The levels on matrix units with emulated tile instructions, so that any machine with VNNI tests
// all code except the instructions themselves.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "tautline/stages/autocorrelate/cpu/amx/plan.h"
#include "tests/stages/autocorrelate/support.h"

// GCC 12 warns about the undefined operands in its own AVX-512 intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#include "tautline/stages/autocorrelate/cpu/amx/level_pairs-inl.h"
#include "tests/support/emulated_tiles.h"

#pragma GCC pop_options

namespace tautline::stages::autocorrelate::tests {
namespace {

class AmxEmulated : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device::supported(InstructionSet::vnni))
      GTEST_SKIP() << "this processor has no vnni, which the packing needs";
  }

  std::shared_ptr<const Plan> plan(const Config& config, const Tunables& tunables = {}) {
    static const cpu::AmxKernels kernels =
        cpu::amx::kernels<tautline::tests::EmulatedTiles>("amx-emulated", cpu::vnni_kernels());
    device_ = opened(kBackends[3]);
    queue_ = device_->make_queue();
    EXPECT_TRUE(cpu::amx_fits(config, tunables));
    return cpu::make_amx_plan(config, device_, kernels, tunables);
  }

  void check(const Config& config, const std::vector<std::uint8_t>& data,
             const Tunables& tunables = {}) {
    const auto made = plan(config, tunables);
    ASSERT_EQ(made->backend(), "amx-emulated");
    expect_equal(config, run(*made, *queue_, data), run_on(kReference, config, data),
                 config_text(config, data.size() / config.sensors) + ", " +
                     std::to_string(tunables.amx_level_pairs) + " pairs");
  }

  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<device::Queue> queue_;
};

constexpr Tunables kSmall{.amx_samples = 1024, .amx_later_samples = 1024};

TEST_F(AmxEmulated, LengthsAroundBlocks) {
  for (const std::size_t samples : {0u, 1u, 2u, 3u, 4u, 5u, 63u, 1023u, 1024u, 1025u, 1026u, 1027u,
                                    4095u, 4096u, 4097u, 5000u, 6001u})
    check({.sensors = 5}, random_counts<std::uint8_t>(samples, 5, 255), kSmall);
}

TEST_F(AmxEmulated, Pairs) {
  for (const std::size_t pairs : {1u, 2u, 3u, 4u}) {
    Tunables tunables = kSmall;
    tunables.amx_level_pairs = pairs;
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
      check({.sensors = 6, .lag_scheme = scheme, .max_samples = 1 << 17},
            random_counts<std::uint8_t>(70'003, 6, 255), tunables);
  }
}

TEST_F(AmxEmulated, BinsAndLevels) {
  for (const std::size_t bins : {1u, 2u, 3u, 4u, 8u, 12u, 16u, 17u, 31u, 32u})
    for (const std::size_t levels : {1u, 2u, 3u, 6u}) {
      const auto data = random_counts<std::uint8_t>(2501, 5, 255);
      // With an odd number of bins, the second level's delay is not a multiple of its window.
      if (bins % 2 == 0 || levels == 1)
        check({.sensors = 5, .bins = bins, .levels = levels}, data, kSmall);
      if (bins % 2 == 0)
        check({.sensors = 5, .lag_scheme = LagScheme::standard, .bins = bins, .levels = levels},
              data, kSmall);
    }
}

TEST_F(AmxEmulated, Sensors) {
  for (const std::size_t sensors : {5u, 16u, 17u, 63u, 64u, 65u, 129u})
    check({.sensors = sensors, .levels = 5}, random_counts<std::uint8_t>(1500, sensors, 255),
          kSmall);
}

// Rare counts leave the high bytes zero until the counts become large.
TEST_F(AmxEmulated, FaintThenBrightThenFaint) {
  auto data = random_counts<std::uint8_t>(40'000, 5, 3);
  auto bright = random_counts<std::uint8_t>(1000, 5, 255);
  std::copy(bright.begin(), bright.end(), data.begin() + 5 * 17'111);
  check({.sensors = 5}, data, kSmall);
}

TEST_F(AmxEmulated, FullScaleInLongBlocks) {
  check({.sensors = 5, .max_samples = 1 << 17}, std::vector<std::uint8_t>(5 * 70'000, 255),
        {.amx_samples = 16384, .amx_later_samples = 16384});
}

TEST_F(AmxEmulated, AnySplit) {
  auto random = generator();
  const Config config{.sensors = 66, .levels = 8};
  const std::size_t samples = 6000;
  const auto data = random_counts<std::uint8_t>(samples, config.sensors, 255);
  const auto expected = run_on(kReference, config, data);
  for (const std::size_t longest : {300u, 3000u}) {
    const auto made = plan(config, kSmall);
    auto state = made->make_state(*queue_);
    for (std::size_t t = 0; t < samples;) {
      const std::size_t count = std::min<std::size_t>(samples - t, random() % (longest + 1));
      made->execute(*queue_, *state, view_of(data, config.sensors, t, count));
      t += count;
      if (random() % 8 == 0) {
        Result<std::int64_t> on_the_way(config);
        made->read(*queue_, *state, on_the_way.views());
      }
      if (random() % 8 == 0) {
        const auto saved = state->save();
        state = made->make_state(*queue_);
        state->load(saved);
      }
    }
    Result<std::int64_t> result(config);
    made->read(*queue_, *state, result.views());
    expect_equal(config, result, expected, "splits of up to " + std::to_string(longest));
  }
}

TEST_F(AmxEmulated, StatesAreCutAndToldApart) {
  const Config config{.sensors = 66, .levels = 8};
  const std::vector others{plan(config), plan({.sensors = 65, .levels = 8}, kSmall)};
  const auto made = plan(config, kSmall);
  expect_cut_everywhere(*made, *queue_, random_counts<std::uint8_t>(6000, 66, 255), 3000);
  expect_states_told_apart(*made, *queue_, others);
}

TEST_F(AmxEmulated, StridedSamples) {
  const Config config{.sensors = 6, .bins = 8, .levels = 4};
  const auto wide = random_counts<std::uint8_t>(1100, 20, 255);
  std::vector<std::uint8_t> dense;
  for (std::size_t t = 0; t < 1100; ++t)
    for (std::size_t s = 0; s < 6; ++s) dense.push_back(wide[t * 20 + 3 * s]);
  const auto made = plan(config);
  const auto state = made->make_state(*queue_);
  made->execute(*queue_, *state, Samples<std::uint8_t>(wide.data(), {1100, 6}, {20, 3}));
  Result<std::int64_t> result(config);
  made->read(*queue_, *state, result.views());
  expect_equal(config, result, run_on(kReference, config, dense), "strides");
}

TEST(Amx, FitsWhatItCanCompute) {
  EXPECT_TRUE(cpu::amx_fits({.sensors = 1024}, {}));
  EXPECT_FALSE(cpu::amx_fits({.sensors = 2}, {}));
  EXPECT_FALSE(cpu::amx_fits({.sensors = 1024, .bins = 33}, {}));
  EXPECT_FALSE(cpu::amx_fits({.sensors = 1024, .type = SampleType::u16}, {}));
  EXPECT_FALSE(cpu::amx_fits({.sensors = 1024, .coarsening = Coarsening::first}, {}));
  EXPECT_FALSE(cpu::amx_fits({.sensors = 1024, .pairs = {{0, 1}}}, {}));
  EXPECT_FALSE(cpu::amx_fits({.sensors = 1024}, {.amx_level_pairs = 0}));
  EXPECT_FALSE(cpu::amx_fits({.sensors = 1024, .bins = 31}, {}));
  EXPECT_EQ(cpu::make_amx_layout({.sensors = 9}, {}).pairs.size(), 3u);
  EXPECT_EQ(cpu::make_amx_layout({.sensors = 9, .bins = 16}, {}).pairs.size(), 2u);
  EXPECT_EQ(cpu::make_amx_layout({.sensors = 9, .levels = 5}, {}).pairs.size(), 3u);
  EXPECT_THROW(cpu::make_amx_layout({.sensors = 9}, {.amx_samples = 1000}), core::Error);
  EXPECT_THROW(cpu::make_amx_layout({.sensors = 9}, {.amx_later_samples = 0}), core::Error);
}

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests

#endif

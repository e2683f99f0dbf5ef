// Which kernel a plan takes on which GPU, by what it compiles for devices that are not here.
#include <algorithm>
#include <string>

#include "tests/stages/dedisperse/support.h"
#include "tests/support/environment.h"
#include "tests/support/recording_device.h"
#include "tests/support/scratch.h"

namespace tautline::stages::dedisperse {
namespace {

constexpr std::size_t kLocalBytes = 227 << 10;

Config apertif(std::size_t trials, Method method, int bits = 8) {
  Config config;
  config.frequencies_mhz = falling_band(1720, 300.0 / 1024, 1024);
  config.sample_time_s = 50e-6;
  config.dms = even_dms(0.25, trials);
  config.bits = bits;
  config.max_samples = 4096;
  config.method = method;
  return config;
}

struct Made {
  std::string text;
  std::vector<std::string> kernels, defines;
  bool compiled(const std::string& kernel) const {
    return std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
  }
  bool defined(const std::string& define) const {
    return std::find(defines.begin(), defines.end(), define) != defines.end();
  }
};
Made plan_on(const Config& config, const std::string& architecture, int capability) {
  // What was cached before would not be compiled.
  const tests::ScratchFolder folder;
  const tests::Environment cache("TAUTLINE_CACHE", folder / "cache");
  const auto device =
      std::make_shared<tests::RecordingDevice>(architecture, capability, kLocalBytes);
  Made made;
  made.text = make_plan(config, device, Tunables{})->choice().text;
  for (const device::ProgramSource& source : device->sources()) {
    made.kernels.push_back(source.name);
    if (source.name != "dedisperse/gpu/take.kernel" &&
        source.name != "dedisperse/gpu/corner_turn.kernel" &&
        source.name != "dedisperse/gpu/clean.kernel")
      made.defines = source.defines;
  }
  return made;
}

TEST(GpuChoice, BandsWhereRolesMayTakeRegisters) {
  for (const Method method : {Method::shared, Method::subband}) {
    const Made made = plan_on(apertif(130, method), "sm_90a", 90);
    EXPECT_TRUE(made.compiled("dedisperse/gpu/channel_blocks.kernel")) << made.text;
    EXPECT_TRUE(made.defined("MATRIX=1"));
    EXPECT_TRUE(made.defined("FETCH_WARPS=4"));
    EXPECT_NE(made.text.find("makers by the matrix units"), std::string::npos) << made.text;
    EXPECT_EQ(made.text.find(to_string(method)), 0u) << made.text;
  }
}

TEST(GpuChoice, TilesElsewhere) {
  EXPECT_TRUE(
      plan_on(apertif(130, Method::shared), "sm_80", 80).compiled("dedisperse/gpu/tile.kernel"));
  for (const int bits : {16, 32}) {
    const Made made = plan_on(apertif(70, Method::shared, bits), "sm_90a", 90);
    EXPECT_TRUE(made.compiled("dedisperse/gpu/tile.kernel"));
    EXPECT_TRUE(made.defined("ELEMENTS_TIME=8"));
  }
  const Made exact = plan_on(apertif(70, Method::exact), "sm_90a", 90);
  EXPECT_TRUE(exact.compiled("dedisperse/gpu/tile.kernel"));
  EXPECT_TRUE(exact.defined("ELEMENTS_TIME=4"));
}

// However few sums wide pulses leave to tiles, channel blocks stage their rows faster.
TEST(GpuChoice, BandsForWidePulses) {
  Config config = apertif(500, Method::subband);
  config.pulse_width_s = 0.05;
  EXPECT_TRUE(plan_on(config, "sm_90a", 90).compiled("dedisperse/gpu/channel_blocks.kernel"));
}

TEST(GpuChoice, TilesWhereTrialsAreTooFarApartForBands) {
  Config config = apertif(70, Method::shared);
  for (double& dm : config.dms) dm *= 8;
  config.max_samples = 65536;
  EXPECT_TRUE(plan_on(config, "sm_90a", 90).compiled("dedisperse/gpu/tile.kernel"));
}

// A tenth of a second of LOFAR's band.
Config lofar(std::size_t trials) {
  Config config = dedisperse::lofar(trials).config;
  config.max_samples = 20000;
  config.method = Method::shared;
  return config;
}

// Few tiles leave most of a card without work, which rows read where they lie do not.
TEST(GpuChoice, FewTrialsFarApartTakeWhatFillsTheCard) {
  for (const std::size_t trials : {16u, 32u, 64u})
    EXPECT_TRUE(plan_on(lofar(trials), "sm_90a", 90).compiled("dedisperse/gpu/sum.kernel"))
        << trials;
  Config config = lofar(12);
  EXPECT_TRUE(plan_on(config, "sm_90a", 90).compiled("dedisperse/gpu/sum.kernel"));
  config.beams = 20;
  EXPECT_TRUE(plan_on(config, "sm_90a", 90).compiled("dedisperse/gpu/tile.kernel"));
}

// Each kernel adds in an order of its own, and floats are to be the same whatever a block's size.
TEST(GpuChoice, FloatsTakeOneKernelWhateverTheSizeOfACall) {
  Config config = apertif(64, Method::shared, 32);
  for (double& dm : config.dms) dm *= 4;
  const bool tile = plan_on(config, "sm_90a", 90).compiled("dedisperse/gpu/tile.kernel");
  for (const std::size_t samples : {1024u, 20000u, 131072u}) {
    config.max_samples = samples;
    EXPECT_EQ(plan_on(config, "sm_90a", 90).compiled("dedisperse/gpu/tile.kernel"), tile)
        << samples;
  }
}

// Two channel blocks hide nothing of each other's work.
TEST(GpuChoice, TilesOfFewChannels) {
  for (const std::size_t trials : {2u, 64u, 1024u, 4096u}) {
    Config config = lofar(trials);
    config.dms.assign(trials, 0);
    EXPECT_TRUE(plan_on(config, "sm_90a", 90).compiled("dedisperse/gpu/tile.kernel")) << trials;
  }
}

}  // namespace
}  // namespace tautline::stages::dedisperse

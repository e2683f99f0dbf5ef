// Which kernel a plan takes on a GPU that is not here: the one that was measured to be the fastest on an
// H200 (docs/performance/dedisperse.md), and none that the hardware lacks instructions for.
#include <chrono>
#include <future>
#include <set>
#include <string>

#include "tests/stages/dedisperse/support.h"
#include "tests/support/environment.h"
#include "tests/support/recording_device.h"
#include "tests/support/scratch.h"

namespace tautline::stages::dedisperse {
namespace {

// The kernel that sums, of those that the plan compiles: "tile", "channel_blocks" or "sum".
std::string kernel_on(const Config& config, const std::string& architecture = "sm_90a",
                      int capability = 90) {
  // Programs that are cached already would not be compiled.
  const tests::ScratchFolder folder;
  const tests::Environment cache("TAUTLINE_CACHE", folder / "cache");
  const auto device = std::make_shared<tests::RecordingDevice>(architecture, capability, 227 << 10);
  make_plan(config, device, Tunables{});
  std::set<std::string> compiled;
  for (const device::ProgramSource& source : device->sources()) compiled.insert(source.name);
  std::string found;
  for (const std::string name : {"tile", "channel_blocks", "sum"})
    if (compiled.contains("dedisperse/gpu/" + name + ".kernel") ||
        compiled.contains("dedisperse/gpu/hopper/" + name + ".cuda.kernel"))
      found += name;
  return found;
}

Config apertif_by(std::size_t trials, Method method) {
  Config config = dedisperse::apertif(trials).config;
  config.max_samples = 4096;
  config.method = method;
  return config;
}
// A tenth of a second.
Config lofar_trials(std::size_t trials) {
  Config config = dedisperse::lofar(trials).config;
  config.max_samples = 20000;
  config.method = Method::shared;
  return config;
}

TEST(GpuChoice, ChannelBlocksForSumsThatTrialsShare) {
  EXPECT_EQ(kernel_on(apertif_by(130, Method::shared)), "channel_blocks");
  EXPECT_EQ(kernel_on(apertif_by(130, Method::subband)), "channel_blocks");
  EXPECT_EQ(kernel_on(apertif_by(70, Method::exact)), "tile");
  // However few sums wide pulses leave to tiles, channel blocks stage their rows faster.
  Config wide = apertif_by(500, Method::subband);
  wide.pulse_width_s = 0.05;
  EXPECT_EQ(kernel_on(wide), "channel_blocks");
}

TEST(GpuChoice, TilesWhereTrialsAreTooFarApartForChannelBlocks) {
  Config config = apertif_by(70, Method::shared);
  for (double& dm : config.dms) dm *= 8;
  config.max_samples = 65536;
  EXPECT_EQ(kernel_on(config), "tile");
}

// Two channel blocks hide nothing of each other's work.
TEST(GpuChoice, TilesOfFewChannels) {
  for (const std::size_t trials : {2u, 64u, 1024u, 4096u}) {
    Config config = lofar_trials(trials);
    config.dms.assign(trials, 0);
    EXPECT_EQ(kernel_on(config), "tile") << trials;
  }
}

// Few tiles leave most of a card without work, which kernels that read rows from global memory do not.
TEST(GpuChoice, FewTrialsFarApartTakeWhatFillsTheCard) {
  for (const std::size_t trials : {16u, 32u, 64u})
    EXPECT_EQ(kernel_on(lofar_trials(trials)), "sum") << trials;
  Config config = lofar_trials(12);
  EXPECT_EQ(kernel_on(config), "sum");
  config.beams = 20;
  EXPECT_EQ(kernel_on(config), "tile");
}

// Their roles need the matrix units and registers by role.
TEST(GpuChoice, NoKernelThatTheHardwareLacksInstructionsFor) {
  for (const auto& [architecture, capability] :
       {std::pair("sm_61", 61), std::pair("sm_80", 80), std::pair("sm_100a", 100)})
    EXPECT_EQ(kernel_on(apertif_by(130, Method::shared), architecture, capability), "tile")
        << architecture;
}

// A search makes several plans, and opens its files, while kernels are compiled.
TEST(GpuChoice, NoPlanWaitsForItsKernels) {
  const tests::ScratchFolder folder;
  const tests::Environment cache("TAUTLINE_CACHE", folder / "cache");
  for (const bool floats : {false, true}) {
    const auto device = std::make_shared<tests::RecordingDevice>("sm_90a", 90, 227 << 10);
    std::promise<void> go;
    device->may_compile = go.get_future().share();
    Config config = apertif_by(130, Method::shared);
    if (floats) config.bits = 32;
    auto plan = std::async(std::launch::async, [&] { return make_plan(config, device, Tunables{}); });
    const auto made = plan.wait_for(std::chrono::minutes(1));
    go.set_value();
    EXPECT_EQ(made, std::future_status::ready) << (floats ? "floats" : "bytes");
    EXPECT_NE(plan.get(), nullptr);
    EXPECT_FALSE(device->sources().empty());
  }
}

// Bytes alone are multiplied; each kernel adds floats in an order of its own, and they are to be the
// same whatever the size of a call.
TEST(GpuChoice, FloatsTakeOneKernelWhateverTheSizeOfACall) {
  Config config = apertif_by(64, Method::shared);
  config.bits = 32;
  for (const double apart : {1.0, 4.0}) {
    for (double& dm : config.dms) dm *= apart;
    std::set<std::string> kernels;
    for (const std::size_t samples : {64u, 1024u, 20000u, 131072u}) {
      config.max_samples = samples;
      kernels.insert(kernel_on(config));
    }
    EXPECT_EQ(kernels.size(), 1u) << apart;
    EXPECT_FALSE(kernels.contains("channel_blocks")) << apart;
  }
}

}  // namespace
}  // namespace tautline::stages::dedisperse

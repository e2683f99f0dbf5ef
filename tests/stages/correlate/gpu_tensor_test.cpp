// The kernels for matrix units: their text for every architecture that has them, how tiles are
// shared out, and on a GPU that has them their sums, bit for bit.
#include "tautline/stages/correlate/gpu_tensor.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/gpu.h"
#include "tests/stages/correlate/correlate_support.h"

namespace tautline::stages::correlate::tests {
namespace {

// Of the smallest GPUs that have the units.
constexpr std::size_t kHopperLocalBytes = 232448;
constexpr std::size_t kAdaLocalBytes = 101376;

constexpr WgmmaTunables kWgmmaTunables[] = {{}, {6, 32}, {3, 32}};
constexpr MmaTunables kMmaTunables[] = {{}, {3}};

std::size_t largest(const std::string& log, const char* pattern) {
  std::size_t most = 0;
  const std::regex wanted(pattern);
  for (auto at = std::sregex_iterator(log.begin(), log.end(), wanted); at != std::sregex_iterator();
       ++at)
    most = std::max<std::size_t>(most, std::stoul((*at)[1]));
  return most;
}

// Registers are bounded where the kernel does not bound them itself; nothing may be spilled, and
// the compiler may not put matrix instructions one behind the other for want of registers.
void expect_fits(const device::ProgramSource& source, const char* architecture,
                 std::size_t registers) {
  const auto compiled = device::cuda::compile(source, architecture);
  EXPECT_FALSE(compiled.binary.empty());
  EXPECT_GT(largest(compiled.log, "Used ([0-9]+) registers"), 0u) << compiled.log;
  EXPECT_LE(largest(compiled.log, "Used ([0-9]+) registers"), registers)
      << source.name << " for " << architecture;
  EXPECT_EQ(largest(compiled.log, "([0-9]+) bytes spill stores"), 0u)
      << source.name << " for " << architecture;
  EXPECT_EQ(compiled.log.find("serialized"), std::string::npos) << compiled.log;
}

TEST(GpuTensorCompile, Wgmma) {
  if (!device::cuda::compiler_available()) GTEST_SKIP() << "NVRTC cannot be opened here";
  for (const WgmmaTunables& wanted : kWgmmaTunables) {
    const WgmmaTunables tunables = gpu::complete(wanted, kHopperLocalBytes);
    // 65,536 registers among 384 threads, which they share out anew at run time.
    for (const core::SampleFormat format : {core::kCi8, core::kCf16})
      expect_fits(jit::make_source(device::Api::cuda, "correlate/wgmma.cuda.kernel",
                                   gpu::wgmma_defines({.format = format}, tunables)),
                  "sm_90a", 168);
  }
}

TEST(GpuTensorCompile, Mma) {
  if (!device::cuda::compiler_available()) GTEST_SKIP() << "NVRTC cannot be opened here";
  for (const MmaTunables& wanted : kMmaTunables)
    for (const core::SampleFormat format : {core::kCi8, core::kCf16})
      for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"})
        // 196 to 212 with NVRTC 13.0.
        expect_fits(jit::make_source(device::Api::cuda, "correlate/mma.cuda.kernel",
                                     gpu::mma_defines({.format = format},
                                                      gpu::complete(wanted, kAdaLocalBytes))),
                    architecture, 228);
}

TEST(GpuTensor, RefusesTunablesOutOfRange) {
  for (const WgmmaTunables& bad :
       {WgmmaTunables{2}, {7}, {5, 16}, {6, 64}})  // the last does not fit
    EXPECT_THROW(gpu::complete(bad, kHopperLocalBytes), core::Error);
  EXPECT_THROW(gpu::complete(MmaTunables{2}, kHopperLocalBytes), core::Error);
  EXPECT_THROW(gpu::complete(MmaTunables{7}, kHopperLocalBytes), core::Error);
  EXPECT_THROW(gpu::complete(MmaTunables{4}, kAdaLocalBytes), core::Error);
  EXPECT_EQ(gpu::complete(MmaTunables{}, kAdaLocalBytes).stages, 3u);
}

TEST(GpuTensor, OnlyTheLastRoundIsInParts) {
  for (const std::size_t tiles : {1u, 5u, 66u, 84u, 131u, 132u, 133u, 2400u})
    for (const std::size_t groups : {1u, 66u, 132u})
      for (const std::size_t pairs : {1u, 4u, 8u, 24u, 512u}) {
        const auto s = gpu::schedule_tiles(tiles, groups, pairs);
        EXPECT_EQ(s.items, s.whole + (tiles - s.whole) * s.parts);
        EXPECT_LE(s.whole, tiles);
        EXPECT_GE(s.parts, 1u);
        if (s.parts == 1) continue;
        EXPECT_GE(pairs, 4 * s.parts);
        EXPECT_EQ(s.whole % groups, 0u);
        EXPECT_LE(s.items - s.whole, groups);
      }
}

class GpuTensorSums : public ::testing::Test {
 protected:
  void SetUp() override {
    const Backend& cuda = kBackends[5];
    ASSERT_STREQ(cuda.name, "cuda");
    if (const std::string reason = missing(cuda); !reason.empty()) GTEST_SKIP() << reason;
    device_ = opened(cuda);
  }

  std::vector<GpuTunables> designs() const {
    std::vector<GpuTunables> all;
    const int capability = device_->properties().compute_capability;
    if (capability == 90)
      for (const WgmmaTunables& wgmma : kWgmmaTunables) {
        all.emplace_back().design = GpuDesign::wgmma;
        all.back().wgmma = wgmma;
      }
    if (capability >= 80)
      for (const MmaTunables& mma : kMmaTunables) {
        all.emplace_back().design = GpuDesign::mma;
        all.back().mma = mma;
      }
    return all;
  }

  template <class Sample>
  void check(Data<Sample>& data, const GpuTunables& tunables) {
    const auto plan = gpu::make_gpu_plan(config_for(data.samples()), device_, tunables);
    const char* wanted = tunables.design == GpuDesign::wgmma ? "cuda wgmma" : "cuda mma";
    EXPECT_EQ(plan->backend().rfind(wanted, 0), 0u) << plan->backend();
    const auto queue = device_->make_queue();
    const std::string what = plan->backend() + ", " + std::to_string(data.extents[0]) + " x " +
                             std::to_string(data.extents[1]) + " x " +
                             std::to_string(data.extents[2]);
    // The CPU's code is held to the reference by the other tests, and is fast enough here.
    const auto expected = run(device::open({}), data.samples());
    expect_equal(run(*plan, *queue, data.samples()), expected, what + ", stored");
    expect_equal(run_in_device_memory(*plan, *queue, data), expected, what + ", added");
  }

  // Sums that start from a pattern on the device.
  template <class Sample>
  Sums<core::ci64> run_in_device_memory(const Plan& plan, device::Queue& queue,
                                        Data<Sample>& data) {
    Sums<core::ci64> sums(data.extents[0], data.extents[1]);
    const std::size_t visibility_bytes = sums.visibilities.size() * sizeof(core::ci64);
    const std::size_t count_bytes = sums.counts.size() * sizeof(std::int64_t);
    const device::Buffer visibilities = device_->allocate(visibility_bytes);
    const device::Buffer counts = device_->allocate(count_bytes);
    queue.copy(visibilities.data(), sums.visibilities.data(), visibility_bytes);
    queue.copy(counts.data(), sums.counts.data(), count_bytes);
    const auto state = plan.make_state(queue);
    plan.execute(queue, *state, data.samples(), {}, sums.view(visibilities.as<core::ci64>()),
                 sums.view(counts.as<std::int64_t>()));
    queue.copy(sums.visibilities.data(), visibilities.data(), visibility_bytes);
    queue.copy(sums.counts.data(), counts.data(), count_bytes);
    queue.synchronise();
    return sums;
  }

  std::shared_ptr<const device::Device> device_;
};

TEST_F(GpuTensorSums, AnyShape) {
  for (const GpuTunables& tunables : designs())
    for (const auto& [channels, inputs, samples] :
         std::vector<std::array<std::size_t, 3>>{{1, 1, 1},
                                                 {2, 1, 3072},
                                                 {3, 2, 31},
                                                 {1, 3, 1000},
                                                 {2, 33, 64},
                                                 {3, 64, 65},
                                                 {2, 65, 130},
                                                 {5, 127, 100},
                                                 {140, 128, 192},
                                                 {1, 128, 3072},
                                                 {3, 129, 1000},
                                                 {2, 130, 63},
                                                 {2, 256, 257},
                                                 {1, 300, 3072},
                                                 {3, 385, 520},
                                                 {1, 700, 700},
                                                 {2, 40, 7},
                                                 {4, 200, 2048}}) {
      Data<core::ci8> data(channels, inputs, samples);
      check(data, tunables);
      if (HasFatalFailure()) return;
    }
}

TEST_F(GpuTensorSums, FullScaleForLongerThan32BitsHold) {
  for (const GpuTunables& tunables : designs()) {
    Data<core::ci8> data(1, 130, 2 * gpu::kTensorMaxSamples + 77);
    for (const std::size_t input : {0u, 1u, 64u, 129u}) data.fill(input, {-128, -128});
    data.fill(2, {127, -128});
    check(data, tunables);
    if (HasFatalFailure()) return;
  }
}

// Full-scale correlation, the worst case of sums that are cut off, and noise. The largest error is
// recorded: what the tolerance allows is far more than what a card was seen to make.
TEST_F(GpuTensorSums, Halves) {
  for (const GpuTunables& tunables : designs())
    for (const auto& [channels, inputs, samples] :
         std::vector<std::array<std::size_t, 3>>{{1, 1, 1},
                                                 {2, 2, 31},
                                                 {3, 65, 130},
                                                 {1, 300, 3072},
                                                 {140, 128, 64},
                                                 {1, 3, 10000},
                                                 {2, 129, 4099}}) {
      Data<core::cf16> data(channels, inputs, samples);
      for (std::size_t t = 0; t < samples && inputs > 2; ++t)
        for (std::size_t c = 0; c < channels; ++c) data.view()(c, 1, t) = data.view()(c, 0, t);
      const auto plan = gpu::make_gpu_plan(config_for(data.samples()), device_, tunables);
      const auto queue = device_->make_queue();
      auto got = run(*plan, *queue, data.samples());
      auto expected = run(device::open({}), data.samples());
      ASSERT_EQ(got.counts, expected.counts);
      double worst = 0;
      for (std::size_t k = 0; k < got.visibilities.size(); ++k)  // samples have a power of 2
        worst = std::max(worst, std::abs(got.visibilities[k] - expected.visibilities[k]) /
                                    (2.0 * static_cast<double>(samples)));
      EXPECT_LE(worst, kHalfTolerance * (samples < 100 ? 4 : 1)) << plan->backend();
      RecordProperty("error of " + std::to_string(inputs) + " x " + std::to_string(samples),
                     std::to_string(worst));
    }
}

TEST_F(GpuTensorSums, FourBits) {
  for (const GpuTunables& tunables : designs()) {
    Data<core::ci4> data(3, 150, 200);
    check(data, tunables);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tautline::stages::correlate::tests

// The kernels for matrix units: their text compiles for every architecture that has the units,
// tiles are scheduled evenly, and on a GPU that has the units sums are right bit for bit.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/gpu/plan.h"
#include "tautline/stages/correlate/gpu/tensor.h"
#include "tests/stages/correlate/correlate_support.h"
#include "tests/support/kernel_compiler.h"

namespace tautline::stages::correlate::tests {
namespace {

// Shared memory of a group on the smallest GPUs that have the units.
constexpr std::size_t kHopperLocalBytes = 232448;
constexpr std::size_t kAdaLocalBytes = 101376;

constexpr WgmmaTunables kWgmmaTunables[] = {{}, {5, 32}, {6, 32}, {3, 32}};
constexpr MmaTunables kMmaTunables[] = {{}, {3}};

// Kernels stay within a limit of registers, spill nothing, and the compiler does not serialise
// matrix instructions for lack of registers.
class GpuTensorCompile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device::cuda::compiler_available()) GTEST_SKIP() << "NVRTC cannot be opened here";
  }
  void TearDown() override { compiler_.say_what_is_unknown(); }

  void expect_fits(const device::ProgramSource& source, const char* architecture,
                   std::size_t registers) {
    SCOPED_TRACE(source.name + " for " + architecture);
    const auto report = compiler_.compile(source, architecture);
    EXPECT_LE(report.registers, registers);
    EXPECT_EQ(report.spilled_bytes, 0u);
    EXPECT_EQ(compiler_.log.find("serialized"), std::string::npos) << compiler_.log;
  }

 private:
  tautline::tests::KernelCompiler compiler_;
};

TEST_F(GpuTensorCompile, Wgmma) {
  for (const WgmmaTunables& wanted : kWgmmaTunables) {
    const WgmmaTunables tunables = gpu::complete(wanted, kHopperLocalBytes);
    // 65,536 registers for 384 threads, which reallocate them at run time.
    for (const core::SampleFormat format : {core::kCi8, core::kCf16})
      if (format == core::kCi8 || tunables.staging_columns == 32)
        expect_fits(jit::make_source(device::Api::cuda, "correlate/gpu/hopper/wgmma.cuda.kernel",
                                     gpu::wgmma_defines({.format = format}, tunables)),
                    "sm_90a", 168);
  }
}

TEST_F(GpuTensorCompile, DeferredSums) {
  for (const std::size_t stages : {0u, 3u, 7u})
    expect_fits(
        jit::make_source(device::Api::cuda, "correlate/gpu/hopper/wgmma_deferred.cuda.kernel",
                         gpu::deferred_defines(gpu::complete(
                             WgmmaTunables{.deferred_stages = stages}, kHopperLocalBytes))),
        "sm_90a", 168);
  expect_fits(
      jit::make_source(device::Api::cuda, "correlate/gpu/hopper/flush_deferred.cuda.kernel", {}),
      "sm_90a", 84);
}

TEST_F(GpuTensorCompile, Mma) {
  for (const MmaTunables& wanted : kMmaTunables)
    for (const core::SampleFormat format : {core::kCi8, core::kCf16})
      for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"})
        // 196 to 218 with NVRTC 13.0.
        expect_fits(jit::make_source(device::Api::cuda, "correlate/gpu/mma.cuda.kernel",
                                     gpu::mma_defines({.format = format},
                                                      gpu::complete(wanted, kHopperLocalBytes))),
                    architecture, 234);
}

TEST(GpuTensor, RefusesTunablesOutOfRange) {
  for (const WgmmaTunables& bad :
       {WgmmaTunables{2}, {7}, {5, 16}, {6, 64}, {5, 64, 8}, {5, 64, 2}})  // the last does not fit
    EXPECT_THROW(gpu::complete(bad, kHopperLocalBytes), core::Error);
  EXPECT_THROW(gpu::complete(WgmmaTunables{5, 64}, kHopperLocalBytes, true), core::Error);
  EXPECT_EQ(gpu::complete(WgmmaTunables{}, kHopperLocalBytes, true).staging_columns, 32u);
  EXPECT_THROW(gpu::complete(MmaTunables{2}, kHopperLocalBytes), core::Error);
  EXPECT_THROW(gpu::complete(MmaTunables{7}, kHopperLocalBytes), core::Error);
  EXPECT_THROW(gpu::complete(MmaTunables{4}, kAdaLocalBytes), core::Error);
  EXPECT_EQ(gpu::complete(MmaTunables{}, kAdaLocalBytes).stages, 3u);
}

TEST(GpuTensor, OnlyTheLastRoundIsInParts) {
  for (const std::size_t tiles : {1u, 5u, 66u, 84u, 131u, 132u, 133u, 2400u})
    for (const std::size_t groups : {1u, 66u, 132u})
      for (const std::size_t pairs : {1u, 4u, 8u, 24u, 512u}) {
        EXPECT_EQ(gpu::schedule_tiles(tiles, 1, groups, pairs, false).items, tiles);
        const auto s = gpu::schedule_tiles(tiles, 1, groups, pairs);
        EXPECT_EQ(s.items, s.whole + (tiles - s.whole) * s.parts);
        EXPECT_LE(s.whole, tiles);
        EXPECT_GE(s.parts, 1u);
        if (s.parts == 1) continue;
        EXPECT_GE(pairs, 4 * s.parts);
        EXPECT_EQ(s.whole % groups, 0u);
        // Parts shorten the last round.
        const std::size_t rounds = (s.items - s.whole + groups - 1) / groups;
        EXPECT_LT(rounds * (pairs + s.parts), s.parts * (pairs + 1));
      }
}

TEST(GpuTensor, GroupsGetTheSameWork) {
  for (const std::size_t groups : {1u, 66u, 132u, 144u})
    for (const std::size_t blocks : {1u, 2u, 3u, 4u, 9u, 16u, 32u}) {
      const std::size_t tiles = blocks * (blocks + 1) / 2;
      const std::size_t items = groups * 60;
      const auto s = gpu::schedule_tiles(items, tiles, groups, 24);
      EXPECT_LT(s.rotation, std::max<std::size_t>(groups, 2));
      // As in wgmma_tile.cuda.kernel; a tile on the diagonal is three quarters of the work.
      std::vector<double> work(tiles, 1);
      for (std::size_t row = 0; row < blocks; ++row) work[row * (row + 3) / 2] = 0.75;
      std::vector<std::size_t> seen(items);
      double most = 0, all = 0;
      for (std::size_t group = 0; group < groups; ++group) {
        std::size_t place = group;
        double sum = 0;
        for (std::size_t round = 0; round < items; round += groups) {
          ++seen[round + place];
          sum += work[(round + place) % tiles];
          place = (place + s.rotation) % groups;
        }
        most = std::max(most, sum);
        all += sum;
      }
      for (const std::size_t times : seen) ASSERT_EQ(times, 1u);
      // The busiest group determines the time.
      EXPECT_LT(most, 1.03 * all / static_cast<double>(groups))
          << groups << ", " << tiles << " tiles";
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
    // Other tests compare the CPU's kernels with the reference, which would be too slow here.
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

// Deferred sums, also of more samples than 32 bits can take, with calls of different lengths, calls
// with masks, which add to the visibilities at once, and calls without samples.
TEST_F(GpuTensorSums, DeferredFromCallToCall) {
  for (const auto& [channels, inputs, samples] : std::vector<std::array<std::size_t, 3>>{
           {2, 128, 3072}, {140, 128, 192}, {3, 200, 1000}, {1, 300, 20000}, {5, 257, 640}}) {
    Data<core::ci8> data(channels, inputs, samples, {.after_row = (16 - samples % 16) % 16});
    data.fill(1, {-128, -128});
    data.fill(inputs - 1, {-128, -128});
    Masks masks(channels, inputs, samples);
    masks.randomise(0.1);
    const std::size_t row = data.strides[1];
    const device::Buffer memory = device_->allocate(data.storage.size() * sizeof(core::ci8));
    Config config = config_for(data.samples());
    config.defer_sums = true;
    const auto plan = make_plan(config, device_), host = make_plan(config, device::open({}));
    EXPECT_NE(plan->backend().find("deferred"), std::string::npos) << plan->backend();
    const auto queue = device_->make_queue(), host_queue = device::open({})->make_queue();
    queue->copy(memory.data(), data.storage.data() + 1,
                (data.storage.size() - 1) * sizeof(core::ci8));
    Sums<core::ci64> expected(channels, inputs), got(channels, inputs);
    const device::Buffer visibilities =
        device_->allocate(got.visibilities.size() * sizeof(core::ci64));
    const device::Buffer counts = device_->allocate(got.counts.size() * sizeof(std::int64_t));
    queue->copy(visibilities.data(), got.visibilities.data(), visibilities.bytes());
    queue->copy(counts.data(), got.counts.data(), counts.bytes());
    const auto sums = got.view(visibilities.as<core::ci64>());
    const auto numbers = got.view(counts.as<std::int64_t>());
    auto state = plan->make_state(*queue);
    const auto host_state = host->make_state(*host_queue);
    bool cut = false;
    const Samples<core::ci8> on_device(
        memory.as<core::ci8>(), data.extents,
        {static_cast<std::ptrdiff_t>(row * inputs), static_cast<std::ptrdiff_t>(row), 1});
    const auto both = [&](std::size_t length, bool masked) {
      const Validity validity = masked ? masks.view() : Validity();
      if (cut) state = saved_and_loaded(*plan, *queue, *state);
      plan->execute(*queue, *state, on_device.slice(2, 0, length), validity, sums, numbers);
      host->execute(*host_queue, *host_state, data.samples().slice(2, 0, length), validity,
                    expected.visibility_view(), expected.count_view());
    };
    for (int integration = 0; integration < 4; ++integration) {
      cut = integration % 2 == 1;  // each call has a state that was saved and loaded
      if (integration >= 2) {      // the buffers are overwritten
        state->begin();
        host_state->begin();
      }
      if (integration == 3) both(samples, true);  // added to the visibilities at once
      const std::size_t calls = samples > 10000 ? 5 : 3;
      for (std::size_t call = 0; call < calls; ++call) both(samples, false);
      both(1, false);
      both(samples - samples / 3, false);
      both(samples, true);
      both(0, false);
      both(samples, false);
      plan->flush(*queue, *state, sums, numbers);
      plan->flush(*queue, *state, sums, numbers);  // adds nothing
    }
    queue->copy(got.visibilities.data(), visibilities.data(), visibilities.bytes());
    queue->copy(got.counts.data(), counts.data(), counts.bytes());
    queue->synchronise();
    expect_equal(got, expected, plan->backend() + ", " + std::to_string(inputs) + " inputs");
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

// Full-scale correlation, the worst case of truncated sums, and noise. The largest error is
// recorded: it is far smaller than the tolerance.
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

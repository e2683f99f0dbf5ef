// Engines take all of their GPU memory before the first block.
#include "tautline/pipeline/device_memory.h"

#include <gtest/gtest.h>

#include "tautline/core/baseline.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/integrator.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

class EnginesOnDevice : public ::testing::TestWithParam<std::string> {};

TEST_P(EnginesOnDevice, TakeNoMemoryAfterTheyAreMadeReady) {
  SKIP_WITHOUT_GPU(GetParam());
  constexpr std::size_t kInputs = 4, kChannels = 16, kBlock = 3000, kBlocks = 5;
  // With a limit, others who use the same card change nothing.
  const auto device = device::open(device::parse_selection(GetParam()),
                                   {.device_memory_bytes = std::size_t{256} << 20});
  const auto queue = device->make_queue();
  core::VoltageDescription description;
  description.format = core::kCi8;
  description.antennas = kInputs;
  description.rate_hz = {1'000'000, 1};
  description.centre_hz = 1e8;
  description.bandwidth_hz = 1e6;
  description.start = core::parse_utc("2026-03-20T14:00:00");
  core::RawLayout layout;
  layout.format = core::kCi8;
  layout.antennas = kInputs;
  layout.time_stride_bits = 16 * kInputs;
  layout.antenna_stride_bits = 16;
  FilterConfig filter;
  filter.channels = kChannels;
  filter.taps = 8;
  filter.output = stages::channelize::Output::corner_turned_ci8;
  FEngine engine(device, description, layout, filter, kBlock);
  engine.set_gains(std::vector<float>(kChannels * kInputs, 1));
  Integrator integrator(device, {0, kChannels}, kChannels, {kInputs, kInputs},
                        engine.sample_format(), engine.max_spectra());
  engine.make_ready(*queue);
  integrator.make_ready(*queue);
  constexpr std::array<std::size_t, 2> kShape{kChannels, core::baseline_count(kInputs)};
  std::vector<core::ci64> arrived(kShape[0] * kShape[1]);
  const device::Buffer sums = device->allocate(arrived.size() * sizeof arrived[0]);
  const device::Buffer counts = device->allocate(arrived.size() * sizeof(std::int64_t));
  const std::size_t before = device->free_bytes();

  auto random = tests::generator();
  engine.begin_segment(description.start);
  for (std::size_t b = 0; b < kBlocks; ++b) {
    core::RawBlock block;
    block.layout = layout;
    block.bytes.resize(2 * kInputs * kBlock);
    for (std::byte& value : block.bytes) value = static_cast<std::byte>(random());
    block.samples = kBlock;
    block.first_sample = b * kBlock;
    integrator.begin({sums.data(), core::SampleType::ci64, kShape},
                     {counts.as<std::int64_t>(), kShape});
    engine.push(*queue, block);
    for (SpectraChunk chunk = engine.take(*queue, 64); chunk.spectra > 0;
         chunk = engine.take(*queue, 64)) {
      integrator.add(*queue, chunk);
      EXPECT_EQ(device->free_bytes(), before) << "block " << b;
    }
    integrator.finish(*queue);
    queue->copy(arrived.data(), sums.data(), sums.bytes());
    queue->synchronise();
    EXPECT_EQ(device->free_bytes(), before) << "block " << b;
    EXPECT_NE(arrived, decltype(arrived)(arrived.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EnginesOnDevice, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::pipeline

// Blocks of a search and the host's memory.
#include "tautline/pipeline/search/search_pass.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <future>
#include <iostream>
#include <set>
#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tests/jit/fake_device.h"
#include "tests/support/environment.h"
#include "tests/support/error_of.h"
#include "tests/support/recording_device.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

// For every device: the memory of a GPU gives no measure of the host's.
TEST(SearchBlocks, TakeNoMoreOfTheHostThanAllowed) {
  PassRequest request;
  request.sample_bytes = 4 * 1024;  // 1,024 channels of floats
  request.most_block_samples = kMostBlock;
  for (const std::size_t mebibytes : {13, 64, 300, 767, 768, 4000}) {
    request.memory_bytes = mebibytes << 20;
    const std::size_t block = most_in_a_block(request);
    EXPECT_LE(FilterbankSourceNode::kBlocks * block * request.sample_bytes, request.memory_bytes);
    EXPECT_LE(block, request.most_block_samples);
    // The next power of two is too long.
    if (block < request.most_block_samples) {
      EXPECT_GT(2 * FilterbankSourceNode::kBlocks * block * request.sample_bytes,
                request.memory_bytes);
    }
  }
  EXPECT_EQ(most_in_a_block(request), kMostBlock);
  request.most_block_samples = 0;  // as it comes
  EXPECT_EQ(most_in_a_block(request), kMostBlock);
  request.memory_bytes = std::size_t{11} << 20;
  const core::Error error = tests::error_of([&] { most_in_a_block(request); });
  EXPECT_EQ(error.kind(), core::ErrorKind::memory);
  EXPECT_NE(std::string(error.what()).find("memory_bytes"), std::string::npos) << error.what();
}

// A field that caps the host's memory is no advice where a GPU's own is short.
TEST(SearchBlocks, AreBoundByTheMemoryThatErrorsName) {
  tests::FakeDevice fake;
  EXPECT_EQ(memory_bound(fake).field, "fake: memory");
  for (const std::string& text : {memory_bound(fake).name, memory_bound(fake).advice})
    EXPECT_EQ(text.find("`memory_bytes`"), std::string::npos) << text;
  EXPECT_NE(memory_bound(fake).advice.find("`device_memory_bytes`"), std::string::npos);
  fake.properties_value.host_cpu = true;
  for (const MemoryBound& bound : {memory_bound(fake), memory_bound(*device::open({}))}) {
    EXPECT_EQ(bound.field, "memory_bytes");
    EXPECT_EQ(bound.advice, "raise `memory_bytes`");
  }
}

// The memory of a plan's blocks follows from the plan, on the CPU too.
TEST(SearchBlocks, OfAPlanFollowTheMemory) {
  PassRequest request;
  for (int c = 0; c < 256; ++c) request.dedisperse.frequencies_mhz.push_back(1500 - c);
  request.dedisperse.sample_time_s = 1e-3;
  request.detect.max_width_s = 0.05;
  request.samples = 1 << 20;
  request.sample_bytes = 256;
  request.memory_bytes = std::size_t{24} << 20;
  stages::dedisperse::DmPlan trials;
  trials.ranges = {{{0, 10, 20}, 1, 0}};
  const auto passes = plan_passes(request, trials, device::open({}, {.threads = 2}));
  for (const PassPlan& pass : passes)
    EXPECT_LE(FilterbankSourceNode::kBlocks * pass.block_samples * 256, request.memory_bytes);
}

// Kernels of all stages and ranges are compiled side by side, while the run goes on to open its files.
TEST(SearchBlocks, ArePlannedWithoutWaitingForKernels) {
  const tests::ScratchFolder folder;
  const tests::Environment cache("TAUTLINE_CACHE", folder / "cache");
  PassRequest request;
  for (int c = 0; c < 1024; ++c) request.dedisperse.frequencies_mhz.push_back(1720 - 0.29 * c);
  request.dedisperse.sample_time_s = 5e-5;
  request.samples = 1 << 20;
  request.sample_bytes = 1024;
  request.memory_bytes = std::size_t{1} << 30;
  stages::dedisperse::DmPlan trials;
  trials.ranges = {{{}, 1, 0}, {{}, 2, 130}};
  for (int i = 0; i < 260; ++i) trials.ranges[i / 130].dms.push_back(0.25 * i);
  const auto device =
      std::make_shared<tests::RecordingDevice>("sm_90a", 90, std::size_t{227} << 10);
  std::promise<void> go;
  device->may_compile = go.get_future().share();
  auto passes =
      std::async(std::launch::async, [&] { return plan_passes(request, trials, device); });
  const auto planned = passes.wait_for(std::chrono::minutes(1));
  go.set_value();
  EXPECT_EQ(planned, std::future_status::ready);
  const auto made = passes.get();
  ASSERT_EQ(made.size(), 1u);
  std::set<std::string> compiled;
  for (const device::ProgramSource& source : device->sources()) compiled.insert(source.name);
  EXPECT_TRUE(compiled.contains("dedisperse/gpu/hopper/channel_blocks.cuda.kernel"));
  EXPECT_TRUE(compiled.contains("detect/gpu/boxcars.kernel"));
}

// Of several passes only detections that may belong to another pass wait: the others are joined at once.
TEST(SearchBlocks, SeveralPassesKeepFewDetections) {
  PassRequest request;
  for (int c = 0; c < 16; ++c) request.dedisperse.frequencies_mhz.push_back(1500 - 10 * c);
  request.dedisperse.sample_time_s = 1e-3;
  request.dedisperse.method = stages::dedisperse::Method::exact;
  request.detect.max_width_s = 0.02;
  request.detect.threshold = 3.7;
  request.detect.links.dm_trials = 2;
  request.samples = 30000;
  request.sample_bytes = 16;
  request.memory_bytes = std::size_t{8} << 20;
  stages::dedisperse::DmPlan trials;
  trials.ranges = {{{}, 1, 0}};
  for (int i = 0; i < 90; ++i) trials.ranges[0].dms.push_back(4.0 * i);
  const auto device = device::open({}, {.threads = 2});  // each takes memory
  const auto passes = plan_passes(request, trials, device);
  ASSERT_GT(passes.size(), 1u);
  auto random = tests::generator();
  std::normal_distribution<double> normal(100, 9);
  std::vector<std::byte> spectra(request.samples * request.sample_bytes);
  for (std::byte& x : spectra) x = static_cast<std::byte>(std::lround(normal(random)));
  std::size_t separate = 0, joined = 0, detections = 0;
  for (const PassPlan& plan : passes) {
    const auto queue = device->make_queue();
    SearchPass pass(plan, request.sample_bytes, device, *queue);
    for (std::size_t done = 0; done < request.samples; done += plan.block_samples)
      pass.push(spectra.data() + done * request.sample_bytes,
                std::min<std::size_t>(plan.block_samples, request.samples - done));
    pass.finish();
    EXPECT_FALSE(pass.found()[0].joined);
    for (const auto& pulse : pass.found()[0].pulses) ++(pulse.separate ? separate : joined);
    detections += pass.detections();
  }
  EXPECT_GT(detections, 300u);
  EXPECT_GT(joined, 0u);
  EXPECT_LT(separate, detections / 2);
  std::cout << passes.size() << " passes, " << detections << " detections: " << joined
            << " pulses and " << separate << " detections kept\n";
}

}  // namespace
}  // namespace tautline::pipeline

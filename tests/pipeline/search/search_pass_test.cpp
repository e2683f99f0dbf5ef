// Blocks of a search and the host's memory.
#include "tautline/pipeline/search_pass.h"

#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tautline/pipeline/filterbank_blocks.h"

namespace tautline::pipeline {
namespace {

// Whatever the device: a GPU's own memory says nothing of the host's.
TEST(SearchBlocks, TakeNoMoreOfTheHostThanAllowed) {
  PassRequest request;
  request.sample_bytes = 4 * 1024;  // 1,024 channels of floats
  for (const std::size_t mebibytes : {13, 64, 300, 767, 768, 4000}) {
    request.memory_bytes = mebibytes << 20;
    const std::size_t block = most_in_a_block(request);
    EXPECT_LE(FilterbankBlocks::kBlocks * block * request.sample_bytes, request.memory_bytes);
    EXPECT_LE(block, request.most_block_samples);
    // The next power of two is too long.
    if (block < request.most_block_samples) {
      EXPECT_GT(2 * FilterbankBlocks::kBlocks * block * request.sample_bytes, request.memory_bytes);
    }
  }
  EXPECT_EQ(most_in_a_block(request), 65536u);
  request.memory_bytes = std::size_t{11} << 20;
  try {
    most_in_a_block(request);
    ADD_FAILURE() << "1,024 times in three blocks are 12 MiB";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.kind(), core::ErrorKind::memory);
    EXPECT_NE(std::string(error.what()).find("--memory"), std::string::npos) << error.what();
  }
}

// What the blocks of a plan take follows from it, on the processor too.
TEST(SearchBlocks, OfAPlanFollowTheMemory) {
  PassRequest request;
  for (int c = 0; c < 256; ++c) request.dedisperse.frequencies_mhz.push_back(1500 - c);
  request.dedisperse.sample_time_s = 1e-3;
  request.detect.max_width_s = 0.05;
  request.samples = 1 << 20;
  request.sample_bytes = 256;
  request.memory_bytes = std::size_t{24} << 20;
  stages::dedisperse::DmPlan trials;
  trials.segments = {{{0, 10, 20}, 1, 0}};
  const auto passes = plan_passes(request, trials, device::open({}));
  for (const PassPlan& pass : passes)
    EXPECT_LE(FilterbankBlocks::kBlocks * pass.block_samples * 256, request.memory_bytes);
}

}  // namespace
}  // namespace tautline::pipeline

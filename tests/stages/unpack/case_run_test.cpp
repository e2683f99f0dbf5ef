// The harness of benchmarks on a block: what it leaves in its buffers, on every device.
#include "tautline/stages/unpack/case_run.h"

#include <gtest/gtest.h>

#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::stages::unpack {
namespace {

class Harness : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(GetParam()); }
};

TEST_P(Harness, HasTheSamplesOfItsBlock) {
  auto random = tests::generator();
  const auto device = device::open(device::parse_selection(GetParam()));
  for (const core::SampleFormat& format : {core::kCi4, core::kCf32}) {
    const Case c{"", format, 3, 5, 2, "TFAP", 200};
    core::RawBlock block = make_block(c, random, true);
    block.invalid = {{4, 60, 10}};
    const core::SampleType type = unpacked_type(format);
    std::vector<std::byte> expected(3 * 10 * 200 * core::bytes_of(type));
    core::ValidityMask valid(10, 200);
    unpack(block, {expected.data(), type, {3, 10, 200}}, valid.mutable_view(),
           device::parse_selection("reference"));
    EXPECT_FALSE(valid.all_valid());
    Config config = c.config();
    for (const bool on_device : {false, true}) {
      config.blocks_on_device = on_device;
      if (on_device && !device->compiles()) continue;
      CaseRun calls(config, block, device);
      EXPECT_TRUE(jit::results_of(calls, make_plan(config, device)) == expected);
      EXPECT_EQ(calls.validity().count(), valid.count());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Harness, ::testing::ValuesIn(tests::gpu_names_and_cpu()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::unpack

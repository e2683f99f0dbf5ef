// How long sinks write, measured in the folder of their output, where nothing is left.
#include "tautline/pipeline/time_writing.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>

#include "tautline/core/stopwatch.h"
#include "tests/support/scratch.h"
#include "tests/support/small_disk.h"

namespace tautline::pipeline {
namespace {

constexpr double kBytesPerS = 1e6;

TEST(TimeWriting, IsThatOfAFileWhichIsGoneAfterwards) {
  const tests::ScratchFolder scratch;
  const auto start = core::Clock::now();
  const auto load = time_writing(scratch / "out.npy", kBytesPerS);
  const double elapsed_s = core::seconds_since(start);
  ASSERT_TRUE(load);
  EXPECT_EQ(load->device, kWriting);
  EXPECT_GT(load->seconds, 0);
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
  if (elapsed_s < 0.5) {
    EXPECT_LE(load->seconds / kBytesPerS * (64 << 20), elapsed_s);
  }
  EXPECT_FALSE(time_writing(scratch / "no/out.npy", kBytesPerS));
}

TEST(TimeWriting, OfAFullDiskIsNotKnown) {
  const tests::ScratchFolder scratch;
  std::filesystem::create_directory(scratch / "disk");
  const int status = tests::on_small_disk(scratch / "disk", 1 << 20, [&] {
    const bool none = !time_writing(scratch / "disk/out.npy", kBytesPerS);
    if (!none) fprintf(stderr, "64 MiB on a disk of 1\n");
    return none && std::filesystem::is_empty(scratch / "disk") ? 0 : 9;
  });
  if (status == tests::kNoSmallDisk) GTEST_SKIP() << "this machine lets no test mount a small disk";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tautline::pipeline

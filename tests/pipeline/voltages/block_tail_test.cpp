// A block's last samples unpack to the last samples of the block.
#include "tautline/pipeline/voltages/block_tail.h"

#include <gtest/gtest.h>

#include "tautline/stages/unpack/case.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

namespace unpack = stages::unpack;

struct Unpacked {
  std::vector<std::byte> samples;
  core::ValidityMask valid;
};

Unpacked unpack_block(const unpack::Case& c, const core::RawBlock& block) {
  const std::size_t inputs = c.layout().inputs();
  const core::SampleType type = unpack::unpacked_type(c.format);
  Unpacked out{std::vector<std::byte>(inputs * c.samples * core::bytes_of(type)),
               core::ValidityMask(inputs, c.samples)};
  unpack::unpack(block, {out.samples.data(), type, {1, inputs, c.samples}},
                 out.valid.mutable_view(), device::parse_selection("reference"));
  return out;
}

TEST(BlockTail, UnpacksToTheLastSamples) {
  auto random = tests::generator();
  for (const char* format : {"ci8", "ci4", "i8", "cf32"})
    for (int round = 0; round < 20; ++round) {
      unpack::Case c{
          "", core::parse_sample_format(format), 1, 1 + random() % 5, 2, "TAP", 2 + random() % 300};
      if (random() % 2) c.gap_bits = 16;
      if (random() % 2) c.offset_bits = 16;
      ASSERT_TRUE(ends_with_last_samples(c.layout()));
      core::RawBlock block = unpack::make_block(c, random, false);
      block.samples = c.samples - random() % 2;
      block.first_sample = 1000;
      block.invalid = {
          {random() % 2, random() % 200, random() % 200},
          {core::InvalidSpan::kAllInputs, random() % 300, static_cast<std::size_t>(-1)},
          {0, 5, 0}};
      core::RawBlock tail;
      tail.invalid = {{0, 0, 7}};  // of the tail before
      const std::size_t skipped = random() % (block.samples + 1);
      take_tail(block, skipped, tail);
      EXPECT_EQ(tail.samples, block.samples - skipped);
      EXPECT_EQ(tail.first_sample, 1000 + skipped);
      if (tail.samples == 0) continue;
      const Unpacked all = unpack_block(c, block), some = unpack_block(c, tail);
      const std::size_t bytes = core::bytes_of(unpack::unpacked_type(c.format));
      for (std::size_t i = 0; i < c.layout().inputs(); ++i)
        for (std::size_t t = 0; t < tail.samples; ++t) {
          const auto bit = [i](const Unpacked& u, std::size_t at) {
            return u.valid.view().row(i)[at / 64] >> (at % 64) & 1;
          };
          ASSERT_EQ(bit(some, t), bit(all, skipped + t)) << i << " " << t;
          for (std::size_t k = 0; k < bytes; ++k)
            ASSERT_EQ(some.samples[(i * c.samples + t) * bytes + k],
                      all.samples[(i * c.samples + skipped + t) * bytes + k]);
        }
    }
}

TEST(BlockTail, WhereTimeIsNotTheSlowestAxisThereIsNone) {
  for (const char* order : {"PTA", "APT", "PAT"})
    EXPECT_FALSE(ends_with_last_samples(unpack::Case{"", core::kCi8, 1, 3, 2, order, 100}.layout()))
        << order;
  EXPECT_TRUE(ends_with_last_samples(unpack::Case{"", core::kCi8, 1, 1, 1, "T", 100}.layout()));
  // A time of 4 bits begins inside a byte.
  EXPECT_FALSE(ends_with_last_samples(
      unpack::Case{"", {4, false, core::Encoding::twos_complement}, 1, 1, 1, "T", 100}.layout()));
}

}  // namespace
}  // namespace tautline::pipeline

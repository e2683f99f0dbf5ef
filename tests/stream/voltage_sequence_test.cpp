// Every sample that files hold arrives once, whatever their sizes said, in blocks of one layout.
#include "tautline/stream/voltage_sequence.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/mwa32t/writer.h"
#include "tautline/formats/npy/npy.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

SequenceOptions options() {
  SequenceOptions o;
  o.reader.assumed.rate_hz = {1000, 1};
  o.reader.assumed.format = core::kF32;
  o.reader.assumed.start = core::parse_utc("2026-01-01-00:00:00");
  return o;
}

// One row of floats that count up from `first`.
void write_ramp(const std::string& path, std::size_t samples, float first) {
  std::vector<float> values(samples);
  std::iota(values.begin(), values.end(), first);
  formats::npy::ArrayWriter writer(path, "<f4", {1, samples}, false);
  writer.write(std::as_bytes(std::span<const float>(values)));
  writer.finish();
}

std::vector<float> read_all(VoltageSequence& sequence, std::size_t block_samples) {
  std::vector<float> values;
  core::RawBlock block;
  SegmentPlace segment;
  while (const std::size_t got = sequence.read(block_samples, block, segment)) {
    EXPECT_EQ(got, block.samples);
    EXPECT_EQ(block.layout, sequence.layout(block_samples));
    for (std::size_t t = 0; t < got; ++t) {
      float value;
      std::memcpy(
          &value,
          block.bytes.data() + (block.layout.offset_bits + t * block.layout.time_stride_bits) / 8,
          sizeof value);
      values.push_back(value);
    }
  }
  return values;
}

TEST(VoltageSequence, DeliversEverySampleInBlocksOfOneLayout) {
  auto random = tests::generator();
  const tests::ScratchFolder scratch;
  const std::size_t samples = 1 + random() % 5000;
  write_ramp(scratch / "a.npy", samples, 0);
  for (const std::size_t block : {std::size_t{1}, std::size_t{128}, samples, samples + 1}) {
    VoltageSequence sequence({scratch / "a.npy"}, options());
    const std::vector<float> values = read_all(sequence, block);
    ASSERT_EQ(values.size(), samples);
    for (std::size_t t = 0; t < samples; ++t) ASSERT_EQ(values[t], static_cast<float>(t));
  }
}

TEST(VoltageSequence, TakesThePartThatIsAskedFor) {
  const tests::ScratchFolder scratch;
  write_ramp(scratch / "a.npy", 3000, 0);
  SequenceOptions part = options();
  part.start_s = 0.5;
  part.duration_s = 1.25;
  VoltageSequence sequence({scratch / "a.npy"}, part);
  EXPECT_EQ(sequence.total_samples(), 1250u);
  EXPECT_EQ(sequence.description().start,
            core::advance(options().reader.assumed.start, 500, {1000, 1}));
  EXPECT_EQ(sequence.end(), core::advance(options().reader.assumed.start, 1750, {1000, 1}));
  const std::vector<float> values = read_all(sequence, 400);
  ASSERT_EQ(values.size(), 1250u);
  EXPECT_EQ(values.front(), 500.0f);
  EXPECT_EQ(values.back(), 1749.0f);
  part.start_s = 3;
  EXPECT_THROW(VoltageSequence({scratch / "a.npy"}, part), core::Error);
}

TEST(VoltageSequence, SamplesBehindACounterGapArriveToo) {
  const tests::ScratchFolder scratch;
  const std::vector<core::ci8> times(16 * 10000, {1, 2});
  formats::mwa32t::Writer writer(scratch / "r.mwa32t", formats::mwa32t::Mode::two_byte);
  writer.write(times);
  writer.skip(8000);
  writer.write(times);
  writer.finish();
  SequenceOptions o;
  o.reader.receivers = true;
  VoltageSequence sequence({scratch / "r.mwa32t"}, o);
  std::uint64_t delivered = 0, invalid = 0;
  core::RawBlock block;
  SegmentPlace segment;
  while (const std::size_t got = sequence.read(4096, block, segment)) {
    delivered += got;
    for (const core::InvalidSpan& span : block.invalid)
      invalid += span.samples * (span.input == core::InvalidSpan::kAllInputs ? 16 : 1);
  }
  EXPECT_EQ(delivered, 28000u);
  EXPECT_EQ(invalid, 16u * 8000);
  EXPECT_EQ(sequence.damage().lost_samples, 16u * 8000);
}

}  // namespace
}  // namespace tautline::stream

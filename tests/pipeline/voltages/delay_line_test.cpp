#include "tautline/pipeline/voltages/delay_line.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

// Against the definition: the whole stream in one array, and out(u) = in(u - delay).
TEST(DelayLine, ReadsEveryInputShifted) {
  auto random = tests::generator();
  const auto device = device::open({}, {.threads = 1});
  const auto queue = device->make_queue();
  constexpr std::size_t kInputs = 3, kHistory = 40, kBlock = 100;
  DelayLine line(*device, kInputs, sizeof(std::int16_t), kHistory, kBlock);
  std::vector<std::int16_t> stream[kInputs];
  std::vector<bool> valid[kInputs];
  for (int block = 0; block < 20; ++block) {
    const std::size_t count = 1 + random() % kBlock;
    auto* rows = static_cast<std::byte*>(line.rows(*queue));
    for (std::size_t i = 0; i < kInputs; ++i) {
      auto* row = reinterpret_cast<std::int16_t*>(rows + i * line.row_stride_bytes());
      line.mask().set(i, 0, kBlock, true);
      for (std::size_t t = 0; t < count; ++t) {
        row[t] = static_cast<std::int16_t>(random());
        stream[i].push_back(row[t]);
        valid[i].push_back(random() % 8 != 0);
        line.mask().set(i, t, 1, valid[i].back());
      }
    }
    line.append(count);
    ASSERT_EQ(line.end(), static_cast<std::int64_t>(stream[0].size()));

    const std::vector<std::int64_t> delays{0, static_cast<std::int64_t>(random() % 20),
                                           -static_cast<std::int64_t>(random() % 10)};
    const std::int64_t first = line.end() - static_cast<std::int64_t>(count) - 5;
    const std::size_t wanted = count + 20;
    std::vector<std::int16_t> out(kInputs * 256, 0x5555);
    core::ValidityMask mask(kInputs, 256);
    line.gather(*queue, first, wanted, delays, out.data(), 256 * sizeof(std::int16_t), mask);
    for (std::size_t i = 0; i < kInputs; ++i)
      for (std::size_t k = 0; k < wanted; ++k) {
        const std::int64_t at = first + static_cast<std::int64_t>(k) - delays[i];
        const bool inside = at >= 0 && at < line.end();
        EXPECT_EQ(mask.valid(i, k), inside && valid[i][static_cast<std::size_t>(at)]);
        EXPECT_EQ(out[i * 256 + k], inside ? stream[i][static_cast<std::size_t>(at)] : 0);
      }
  }
}

}  // namespace
}  // namespace tautline::pipeline

#include "tautline/stream/impairment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tautline/core/error.h"
#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

TEST(Impairments, AreReadAsTheyAreWritten) {
  const Impairment all =
      parse_impairment("loss=0.01,reorder=0.1,duplicate=0.02,corrupt=1e-3,jitter=2ms,seed=77");
  EXPECT_EQ(all.loss, 0.01);
  EXPECT_EQ(all.reorder, 0.1);
  EXPECT_EQ(all.duplicate, 0.02);
  EXPECT_EQ(all.corrupt, 1e-3);
  EXPECT_EQ(all.jitter_s, 2e-3);
  EXPECT_EQ(all.seed, 77U);
  EXPECT_FALSE(parse_impairment("").any());
  EXPECT_FALSE(parse_impairment("jitter=1,seed=2").any());
  for (const char* wrong : {"loss", "loss=", "loss=x", "loss=1.1", "loss=-1", "loss=nan", "los=1",
                            "=1", "jitter=-1", "seed=-1", "seed=1.5", "loss=0.1,,seed=1"})
    EXPECT_THROW((void)parse_impairment(wrong), core::Error) << wrong;
}

// The same again with the same seed, and others for another sender; as often as asked.
TEST(Impairments, HappenAsOftenAsAsked) {
  const std::uint64_t seed = tests::generator()();
  const Impairment half{.loss = 0.5, .jitter_s = 0.25, .seed = seed};
  Fate one(half, 0), again(half, 0), other(half, 1);
  int lost = 0, alike = 0;
  for (int k = 0; k < 10'000; ++k) {
    const bool gone = one.is_lost();
    EXPECT_EQ(again.is_lost(), gone);
    EXPECT_FALSE(one.is_repeated());
    const double delay_s = one.delay_s();
    EXPECT_GE(delay_s, 0);
    EXPECT_LE(delay_s, 0.25);
    EXPECT_EQ(again.delay_s(), delay_s);
    alike += other.is_lost() == gone ? 1 : 0;
    lost += gone ? 1 : 0;
  }
  EXPECT_LT(std::abs(lost - 5000), 400);  // 8 standard deviations
  EXPECT_LT(std::abs(alike - 5000), 400);
}

}  // namespace
}  // namespace tautline::stream

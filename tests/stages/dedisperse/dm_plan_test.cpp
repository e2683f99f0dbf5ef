// DM plans: steps, ranges, summaries and the memory limit.
#include <cmath>

#include "tautline/stages/dedisperse/plan/trials.h"
#include "tests/stages/dedisperse/support.h"
#include "tests/support/error_of.h"

namespace tautline::stages::dedisperse {
namespace {

Band parkes() {
  return {falling_band(1465, 1, 336), 1.26646875e-3};
}

TEST(DmPlan, LinearIncludesItsUpperEnd) {
  EXPECT_EQ(linear_dms(0, 100, 0.25).size(), 401u);
  EXPECT_EQ(linear_dms(0, 100, 0.25).back(), 100);
  EXPECT_EQ(linear_dms(0, 0.3, 0.1), (std::vector<double>{0, 0.1, 0.2, 0.3}));
  EXPECT_EQ(linear_dms(5, 5, 1), std::vector<double>{5});
  EXPECT_EQ(linear_dms(0, 10, 4), (std::vector<double>{0, 4, 8}));
  EXPECT_THROW(linear_dms(0, 10, 0), core::Error);
  EXPECT_THROW(linear_dms(10, 0, 1), core::Error);
  EXPECT_THROW(linear_dms(-1, 1, 1), core::Error);
  EXPECT_THROW(linear_dms(0, 1e9, 1e-9), core::Error);
  EXPECT_THROW(linear_dms(0, std::nan(""), 1), core::Error);
}

TEST(DmPlan, LevinsStepsAsDedispHasThem) {
  const auto dms = tolerance_dms(parkes(), 0, 1000, 40e-6, 1.25);
  EXPECT_EQ(dms.size(), 208u);
  EXPECT_EQ(dms.front(), 0);
  EXPECT_GE(dms.back(), 1000);
  EXPECT_LT(dms[dms.size() - 2], 1000);
  for (std::size_t k = 1; k < dms.size(); ++k) EXPECT_GT(dms[k], dms[k - 1] + 1);
  // The order of channels does not matter.
  Band rising = parkes();
  std::reverse(rising.frequencies_mhz.begin(), rising.frequencies_mhz.end());
  EXPECT_EQ(tolerance_dms(rising, 0, 1000, 40e-6, 1.25), dms);
  EXPECT_EQ(tolerance_dms(parkes(), 7, 7, 40e-6, 1.25), std::vector<double>{7});
  EXPECT_THROW(tolerance_dms(parkes(), 0, 10, 40e-6, 1), core::Error);
}

TEST(DmPlan, ListsAreSortedAndNameWhatIsWrong) {
  EXPECT_EQ(parse_dm_list("3, 1\n# no 9\n2 1 # twice\n", "f"), (std::vector<double>{1, 2, 3}));
  for (const char* bad : {"", "# none\n", "1\nx", "1 -2", "nan", "1e999", "1;2"}) {
    try {
      parse_dm_list(bad, "list.txt");
      ADD_FAILURE() << bad;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
      EXPECT_NE(error.field().find("list.txt"), std::string::npos);
    }
  }
}

TEST(DmPlan, SegmentsCoverAllTrialsAndBroadenNoMoreThanTold) {
  const Band band{falling_band(1500, 1, 256), 64e-6};
  const auto dms = linear_dms(0, 3000, 1);
  const DmPlan plan = make_dm_plan(band, dms, 40e-6, 1.15);
  EXPECT_EQ(plan.dms(), dms);
  EXPECT_EQ(plan.trials(), dms.size());
  EXPECT_GT(plan.ranges.size(), 2u);
  std::size_t first = 0;
  for (const DmRange& s : plan.ranges) {
    EXPECT_EQ(s.first_trial, first);
    first += s.dms.size();
    const double n = static_cast<double>(s.downsample), dm = s.dms.front();
    const double others = 40e-6 * 40e-6 + std::pow(smearing_s(band, dm), 2);
    EXPECT_LE(std::sqrt(others + std::pow(64e-6 * n, 2)),
              1.15 * std::sqrt(others + std::pow(64e-6, 2)) * (1 + 1e-12));
  }
  EXPECT_EQ(make_dm_plan(band, dms, 40e-6, 0).ranges.size(), 1u);
  EXPECT_LE(make_dm_plan(band, dms, 40e-6, 1.15, 4).ranges.back().downsample, 4u);
}

TEST(DmPlan, AMemoryLimitShortensBlocksOrIsRefusedWithTheNumbers) {
  Config config = small_config(64, 8, 0);
  config.max_samples = 1 << 18;
  const Band band{config.frequencies_mhz, config.sample_time_s};
  const DmPlan plan = make_dm_plan(band, linear_dms(0, 50, 1), 0, 0);
  const auto device = device::open({});
  const auto free = make_plans(config, plan, device, 0);
  const std::size_t all = needed_bytes(free);
  EXPECT_EQ(free[0]->config().max_samples, config.max_samples);
  const auto limited = make_plans(config, plan, device, all / 4);
  EXPECT_LE(needed_bytes(limited), all / 4);
  EXPECT_LT(limited[0]->config().max_samples, config.max_samples);
  const core::Error error = tests::error_of([&] { make_plans(config, plan, device, 10000); });
  EXPECT_EQ(error.kind(), core::ErrorKind::memory);
  EXPECT_NE(std::string(error.what()).find("10000"), std::string::npos);
  const std::string text = describe(free);
  EXPECT_NE(text.find("51 trials"), std::string::npos);
  EXPECT_NE(text.find("MiB"), std::string::npos);
}

}  // namespace
}  // namespace tautline::stages::dedisperse

// The pictures of a candidate show the properties of one simulated pulse.
#include "tautline/pipeline/search/candidate_pictures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tautline/core/dispersion.h"
#include "tautline/pipeline/simulation/simulate_filterbank.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kChannels = 64, kPulseSample = 2000, kImpulseSample = 2120;

// Float samples, so that nothing saturates; so bright a pulse that noise moves no maximum. The
// impulse is 30 bins later, in all channels at once, and brighter yet.
class CandidatePicture : public ::testing::Test {
 protected:
  std::unique_ptr<formats::FilterbankReader> observation(bool with_impulse) {
    SimulateFilterbankConfig config;
    auto& s = config.scene;
    s.channels = kChannels;
    s.fch1_mhz = 1500;
    s.foff_mhz = -4;
    s.tsamp_s = 1e-3;
    s.bits = 32;
    s.start = core::parse_utc("2026-01-01-00:00:00");
    s.pulses = {{(kPulseSample + 0.5) * 1e-3, 60, 16e-3, 2000, 0, 0}};
    if (with_impulse) s.impulses = {{kImpulseSample * 1e-3, 8e-3, 2000}};
    config.output = folder_ / "a.fil";
    config.duration_s = 4;
    config.seed = tests::generator()();
    config.overwrite = true;
    simulate_filterbank(config);
    return formats::open_filterbank({config.output}, {});
  }
  CandidatePictures draw(bool with_impulse, const PictureConfig& given = {}) {
    const auto reader = observation(with_impulse);
    core::Candidate candidate;
    candidate.sample = kPulseSample;
    candidate.width_samples = 19;  // 1.2 times the pulse's: bins of 4 samples
    candidate.dm = 60;
    PictureConfig config = given;
    config.dm_constant = core::kDispersionConstant;
    return draw_candidate(*reader, {0, reader->description().samples}, candidate, 0, config);
  }

  tests::ScratchFolder folder_;
};

// The largest of `n` values that are not NaN.
std::size_t peak(const float* values, std::size_t n) {
  std::size_t best = n;
  for (std::size_t k = 0; k < n; ++k)
    if (std::isfinite(values[k]) && (best == n || values[k] > values[best])) best = k;
  return best;
}

// The middle bin begins with the candidate's sample, in whose middle the pulse is: the maximum is
// in it or in the one before.
void expect_in_the_middle(const float* values, std::size_t bins, const std::string& what) {
  const std::size_t at = peak(values, bins);
  EXPECT_GE(at, bins / 2 - 1) << what;
  EXPECT_LE(at, bins / 2) << what;
}

TEST_F(CandidatePicture, HasThePulseInTheMiddleOfAllThree) {
  const CandidatePictures drawn = draw(false);
  ASSERT_EQ(drawn.bins, 128u);
  ASSERT_EQ(drawn.dm_rows, 49u);
  ASSERT_EQ(drawn.sub_bands, 64u);
  EXPECT_NEAR(drawn.bin_s, 4e-3, 1e-12);
  EXPECT_NEAR(drawn.first_s, -64 * 4e-3, 1e-9);
  EXPECT_NEAR((drawn.low_dm + drawn.high_dm) / 2, 60, 1e-9);
  expect_in_the_middle(drawn.profile.data(), 128, "profile");
  EXPECT_GT(*std::max_element(drawn.profile.begin(), drawn.profile.end()), 100);

  // Two bins, which hold the pulse's top wherever in a bin it is: a row off, the band smears it.
  std::size_t best_row = 0;
  float best = 0;
  for (std::size_t row = 0; row < 49; ++row)
    for (std::size_t k = 0; k + 1 < 128; ++k) {
      const float sum = drawn.dm_time[row * 128 + k] + drawn.dm_time[row * 128 + k + 1];
      if (!(sum > best)) continue;
      best = sum;
      best_row = row;
    }
  EXPECT_EQ(best_row, 24u);

  for (std::size_t s = 0; s < 64; ++s)
    expect_in_the_middle(drawn.frequency_time.data() + s * 128, 128,
                         "sub-band " + std::to_string(s));
}

TEST_F(CandidatePicture, LeavesOutWhatTheSearchDid) {
  EXPECT_GT(peak(draw(true).profile.data(), 128), 70u);  // the impulse

  PictureConfig config;
  config.zero_dm = true;
  expect_in_the_middle(draw(true, config).profile.data(), 128, "zero-DM filter");

  // Intervals of 20 samples, of which the one with the impulse is masked.
  formats::presto::Mask mask;
  mask.channels = kChannels;
  mask.low_channel_mhz = 1500 - 4 * 63;
  mask.channel_width_mhz = 4;
  mask.interval_s = 20e-3;
  mask.samples_per_interval = 20;
  mask.intervals = 200;
  mask.zapped_intervals = {kImpulseSample / 20};
  mask.interval_channels.resize(200);
  config = {};
  config.mask = &mask;
  const CandidatePictures masked = draw(true, config);
  expect_in_the_middle(masked.profile.data(), 128, "mask");
  for (std::size_t s = 0; s < 64; ++s)
    expect_in_the_middle(masked.frequency_time.data() + s * 128, 128,
                         "masked, sub-band " + std::to_string(s));

  // Channels left out are empty.
  config = {};
  config.ignored_channels = {3};
  const CandidatePictures without = draw(false, config);
  EXPECT_EQ(peak(without.frequency_time.data() + 3 * 128, 128), 128u);
  expect_in_the_middle(without.frequency_time.data() + 4 * 128, 128, "beside it");
}

}  // namespace
}  // namespace tautline::pipeline

// Invalid samples are left out of the sums, and counts are the numbers of samples summed.

#include "tests/stages/correlate/correlate_support.h"

namespace tautline::stages::correlate::tests {
namespace {

class Masked : public EachBackend {
 protected:
  template <class Sample>
  void check(const Samples<Sample>& samples, const Masks& masks, const std::string& what) {
    expect_equal(run(opened(GetParam()), samples, masks.view()),
                 run_reference(samples, masks.view()), what);
  }
};

TEST_P(Masked, RandomMasks) {
  for (const std::size_t inputs : {1u, 5u, 33u, 70u})  // 70: more masks than the table of classes
    for (const std::size_t samples : {1u, 63u, 64u, 65u, 700u})
      for (const double invalid : {0.02, 0.5}) {
        Data<core::ci8> data(2, inputs, samples);
        Masks masks(2, inputs, samples);
        masks.randomise(invalid);
        check(data.samples(), masks, std::to_string(inputs) + " x " + std::to_string(samples));
        if (HasFatalFailure()) return;
      }
}

TEST_P(Masked, FourBitsAndStrides) {
  Data<core::ci4> data(2, 19, 300, {.time = 2, .after_row = 3});
  Masks masks(2, 19, 300);
  masks.randomise(0.3);
  check(data.samples(), masks, "ci4, time stride 2");
}

TEST_P(Masked, WholeRowsAndRuns) {
  Data<core::ci8> data(3, 20, 1500);
  Masks masks(3, 20, 1500);
  core::set_range(masks.row(0, 3), 0, 1500, false);  // an input missing in one channel
  for (std::size_t i = 8; i < 16; ++i)               // a receiver loses a packet
    core::set_range(masks.row(1, i), 100, 700, false);
  core::set_range(masks.row(2, 0), 0, 64, false);     // whole words
  core::set_range(masks.row(2, 19), 1499, 1, false);  // the last sample
  check(data.samples(), masks, "rows and runs");
}

TEST_P(Masked, OneMaskForAllChannels) {
  for (const std::size_t inputs : {6u, 80u}) {
    Data<core::ci8> data(5, inputs, 333);
    Masks masks(5, inputs, 333, /*shared=*/true);
    masks.randomise(0.1);
    check(data.samples(), masks, "channel stride 0");
  }
}

TEST_P(Masked, AllValidIsNoMask) {
  Data<core::ci8> data(2, 18, 200);
  Masks masks(2, 18, 200);
  expect_equal(run(opened(GetParam()), data.samples(), masks.view()),
               run(opened(GetParam()), data.samples()), "all valid");
}

TEST_P(Masked, BitsBeyondTheEndDoNotCount) {
  Data<core::ci8> data(1, 17, 70);
  Masks clean(1, 17, 70), dirty(1, 17, 70);
  clean.randomise(0.2);
  dirty.words = clean.words;
  for (std::size_t w = 1; w < dirty.words.size(); w += 2) dirty.words[w] |= ~std::uint64_t{63};
  expect_equal(run(opened(GetParam()), data.samples(), dirty.view()),
               run(opened(GetParam()), data.samples(), clean.view()), "stray bits");
}

TEST_P(Masked, FewAndManyChannelsPerThread) {
  for (const std::size_t channels : {1u, 3u, 9u}) {
    Data<core::ci8> data(channels, 40, 130);
    Masks masks(channels, 40, 130);
    masks.randomise(0.4);
    expect_equal(run(opened(GetParam(), 4), data.samples(), masks.view()),
                 run_reference(data.samples(), masks.view()), std::to_string(channels));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Masked, ::testing::ValuesIn(kBackends), backend_name);

TEST(Validity, CountsOfKnownMasks) {
  Data<core::ci8> data(1, 2, 100);
  Masks masks(1, 2, 100);
  core::set_range(masks.row(0, 0), 0, 30, false);
  core::set_range(masks.row(0, 1), 20, 50, false);
  const Sums<core::ci64> start(1, 2);
  const auto sums = run_reference(data.samples(), masks.view());
  EXPECT_EQ(sums.counts[core::baseline_index(0, 0)] - start.counts[0], 70);
  EXPECT_EQ(sums.counts[core::baseline_index(1, 0)] - start.counts[1], 30);
  EXPECT_EQ(sums.counts[core::baseline_index(1, 1)] - start.counts[2], 50);
}

}  // namespace
}  // namespace tautline::stages::correlate::tests

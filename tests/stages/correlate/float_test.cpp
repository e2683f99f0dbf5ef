// The float path against the double reference, within the tolerance of case.h.
#include <cmath>

#include "tautline/stages/correlate/case.h"
#include "tests/stages/correlate/correlate_support.h"

namespace tautline::stages::correlate::tests {
namespace {

std::complex<double> value(std::complex<float> x) {
  return x;
}
std::complex<double> value(core::cf16 x) {
  return {core::to_float(x.re), core::to_float(x.im)};
}
std::complex<double> value(core::ci16 x) {
  return {double(x.re), double(x.im)};
}

class Float : public EachBackend {
 protected:
  // Only the matrix units of GPUs sum halves with another tolerance.
  template <class Sample>
  double tolerance() const {
    return GetParam().gpu() ? kTolerance<Sample> : kFloatTolerance;
  }

  template <class Sample>
  void check(const Samples<Sample>& samples, const Validity& validity, const std::string& what,
             std::size_t threads = 2) {
    const auto device = opened(GetParam(), threads);
    const auto plan = make_plan(config_for(samples), device);
    ASSERT_TRUE(GetParam().named_by(plan->backend(), true)) << plan->backend();
    const auto queue = device->make_queue();
    auto got = run(*plan, *queue, samples, validity);
    auto expected = run_reference(samples, validity);
    ASSERT_EQ(got.counts, expected.counts) << what;
    const Sums<std::complex<double>> start(samples.extent(0), samples.extent(1));
    for (std::size_t c = 0; c < samples.extent(0); ++c) {
      std::vector<double> energy(samples.extent(1), 0.0);
      for (std::size_t i = 0; i < energy.size(); ++i)
        for (std::size_t t = 0; t < samples.extent(2); ++t)
          energy[i] += std::norm(value(samples(c, i, t)));
      for (std::size_t i = 0; i < energy.size(); ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          const std::size_t b = core::baseline_index(i, j);
          const double error =
              std::abs(got.visibility_view()(c, b) - expected.visibility_view()(c, b));
          // n sqrt(P_i P_j) is the geometric mean of the energies.
          ASSERT_LE(error, tolerance<Sample>() * std::sqrt(energy[i] * energy[j]))
              << what << " " << i << "," << j;
        }
    }
  }
};

TEST_P(Float, Complex32) {
  for (const std::size_t inputs : {1u, 2u, 3u, 19u, 33u, 64u})
    for (const std::size_t samples : {1u, 2u, 3u, 255u, 257u, 1000u}) {
      Data<std::complex<float>> data(2, inputs, samples);
      check(data.samples(), {}, std::to_string(inputs) + " x " + std::to_string(samples));
      if (HasFatalFailure()) return;
    }
}

TEST_P(Float, SixteenBits) {
  for (const std::size_t inputs : {2u, 17u}) {
    Data<core::ci16> data(2, inputs, 700);
    data.view()(0, 0, 0) = {-32768, -32768};
    check(data.samples(), {}, std::to_string(inputs) + " inputs");
  }
}

TEST_P(Float, Halves) {
  for (const std::size_t inputs : {1u, 2u, 19u, 130u})
    for (const std::size_t samples : {1u, 7u, 257u, 5000u}) {
      if (inputs * samples > 100000) continue;
      Data<core::cf16> data(2, inputs, samples);
      check(data.samples(), {}, std::to_string(inputs) + " x " + std::to_string(samples));
      if (HasFatalFailure()) return;
    }
}

TEST_P(Float, HalvesOfEverySizeAndInvalidOnes) {
  Data<core::cf16> data(2, 21, 400, {.time = 2, .after_row = 1});
  // Subnormal and largest halves, and NaN and infinity, which the mask hides.
  data.view()(0, 3, 7) = {core::Half{0x0001}, core::Half{0x83ff}};
  data.view()(1, 4, 8) = {core::Half{0x7bff}, core::Half{0xfbff}};
  data.view()(0, 2, 9) = {core::Half{0x7c00}, core::Half{0x7e01}};
  Masks masks(2, 21, 400);
  masks.randomise(0.3);
  for (std::size_t c = 0; c < 2; ++c) core::set_range(masks.row(c, 2), 9, 1, false);
  for (const auto& v : run(opened(GetParam()), data.samples(), masks.view()).visibilities)
    ASSERT_TRUE(std::isfinite(v.real()) && std::isfinite(v.imag()));
  data.view()(0, 2, 9) = {};
  check(data.samples(), masks.view(), "masked");
}

TEST_P(Float, SmallIntegersAreExact) {
  // Sums of chunks below 2^24 are exact in float, so results must be equal.
  Data<core::ci16> data(1, 20, 5000);
  for (auto& x : data.storage) x = {std::int16_t(x.re % 100), std::int16_t(x.im % 100)};
  const auto got = run(opened(GetParam()), data.samples());
  const auto expected = run_reference(data.samples());
  EXPECT_EQ(got.visibilities, expected.visibilities);
}

TEST_P(Float, MasksAndStrides) {
  Data<std::complex<float>> data(3, 21, 400, {.time = 2, .after_row = 1});
  Masks masks(3, 21, 400);
  masks.randomise(0.3);
  check(data.samples(), masks.view(), "cf32");
  Data<core::ci16> small(3, 21, 400, {.time = 1, .after_row = 3});
  check(small.samples(), masks.view(), "ci16");
}

TEST_P(Float, InvalidNanIsIgnored) {
  Data<std::complex<float>> data(1, 3, 100);
  data.view()(0, 1, 7) = {NAN, INFINITY};
  Masks masks(1, 3, 100);
  core::set_range(masks.row(0, 1), 7, 1, false);
  for (const auto& v : run(opened(GetParam()), data.samples(), masks.view()).visibilities)
    EXPECT_TRUE(std::isfinite(v.real()) && std::isfinite(v.imag()));
}

TEST_P(Float, LongSumsKeepTheirPrecision) {
  Data<std::complex<float>> data(1, 2, 200000);
  for (auto& x : data.storage) x += 1;  // a strong common signal, where float sums would drift
  check(data.samples(), {}, "200,000 samples");
}

TEST_P(Float, OneChannelOnManyThreads) {
  Data<std::complex<float>> data(1, 50, 600);
  check(data.samples(), {}, "4 threads", 4);
}

INSTANTIATE_TEST_SUITE_P(Backends, Float, ::testing::ValuesIn(kBackends), backend_name);

}  // namespace
}  // namespace tautline::stages::correlate::tests

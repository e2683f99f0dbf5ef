#include "tautline/device/cpu/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "tautline/core/error.h"
#include "tests/support/seed.h"

namespace tautline::device::cpu {
namespace {

class Fft : public ::testing::TestWithParam<bool> {};

TEST_P(Fft, EqualsTheDirectSum) {
  if (GetParam() && !fftw_available()) GTEST_SKIP() << "FFTW (libfftw3f.so.3) is not installed";
  auto random = tests::generator();
  std::normal_distribution<float> normal;
  for (const std::size_t n : {1u, 2u, 3u, 7u, 16u, 30u, 128u}) {
    const std::size_t batch = 3;
    const auto plan = make_fft(n, batch, GetParam());
    EXPECT_EQ(plan->library(), GetParam() ? "fftw" : "kissfft");
    const Buffer buffer(n * batch * sizeof(std::complex<float>));
    auto* data = buffer.as<std::complex<float>>();
    for (std::size_t k = 0; k < n * batch; ++k) data[k] = {normal(random), normal(random)};
    const std::vector<std::complex<float>> in(data, data + n * batch);
    plan->execute(data);
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t k = 0; k < n; ++k) {
        std::complex<double> sum = 0;
        for (std::size_t t = 0; t < n; ++t)
          sum += std::complex<double>(in[b * n + t]) *
                 std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * t % n) /
                                     static_cast<double>(n));
        EXPECT_NEAR(std::abs(sum - std::complex<double>(data[b * n + k])), 0, 2e-5) << n;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Libraries, Fft, ::testing::Bool(), [](const auto& info) {
  return info.param ? std::string("fftw") : std::string("kissfft");
});

TEST(Device, RefusesWhatItCannotRun) {
  EXPECT_THROW(parse_selection("gpu"), core::Error);
  EXPECT_THROW(parse_selection("cpu:sse9"), core::Error);
  EXPECT_EQ(parse_selection("cpu:portable").instruction_set, InstructionSet::portable);
  EXPECT_EQ(parse_selection("reference").api, Api::reference);
  EXPECT_THROW(make_fft(0, 1), core::Error);
}

TEST(Device, ParallelForCoversEverythingOnce) {
  const auto queue = open({}, {.threads = 3})->make_queue();
  std::vector<int> hits(1000, 0);
  queue->parallel_for(hits.size(), 7, [&](std::size_t first, std::size_t last, std::size_t worker) {
    EXPECT_LT(worker, queue->workers());
    for (std::size_t k = first; k < last; ++k) ++hits[k];
  });
  for (const int h : hits) EXPECT_EQ(h, 1);
  EXPECT_THROW(
      queue->parallel_for(
          10, 1, [](std::size_t, std::size_t, std::size_t) { throw std::runtime_error("x"); }),
      std::runtime_error);
}

}  // namespace
}  // namespace tautline::device::cpu

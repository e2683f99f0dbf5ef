// The integrator: sums and counts of whole integrations, the same bits however spectra are cut.
#include "tautline/pipeline/voltages/integrator.h"

#include <gtest/gtest.h>

#include <random>

#include "tautline/core/baseline.h"
#include "tautline/pipeline/voltages/visibilities_node.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kSumChannels = 3, kSumInputs = 5, kSumSpectra = 3000;

/// Spectra [channel][input][time] of one type, every seventh or so of them invalid.
template <class Sample>
struct RandomSpectra {
  RandomSpectra() : mask(kSumInputs, kSumSpectra) {
    auto random = tests::generator();
    std::normal_distribution<double> normal(0, 1000);
    samples.resize(kSumChannels * kSumInputs * kSumSpectra);
    for (Sample& x : samples) {
      if constexpr (std::is_same_v<Sample, std::complex<float>>)
        x = {static_cast<float>(normal(random)), static_cast<float>(normal(random))};
      else if constexpr (std::is_same_v<Sample, core::cf16>)
        x = {core::to_half(static_cast<float>(normal(random))),
             core::to_half(static_cast<float>(normal(random)))};
      else
        x = {static_cast<std::int16_t>(normal(random)), static_cast<std::int16_t>(normal(random))};
    }
    for (std::size_t i = 0; i < kSumInputs; ++i)
      for (std::size_t t = 0; t < kSumSpectra; ++t)
        if (random() % 7 == 0) mask.set(i, t, 1, false);
  }

  SpectraChunk chunk(std::size_t first, std::size_t count, core::ValidityMask& part) const {
    SpectraChunk c;
    c.spectra = count;
    c.first_spectrum = first;
    c.samples =
        core::View<const Sample, 3>(samples.data() + first, {kSumChannels, kSumInputs, count},
                                    {kSumInputs * kSumSpectra, kSumSpectra, 1});
    part = core::ValidityMask(kSumInputs, count);
    for (std::size_t i = 0; i < kSumInputs; ++i)
      core::copy_bits(mask.view().row(i), first, count, part.row(i), 0);
    c.valid = part.view();
    return c;
  }

  std::vector<Sample> samples;
  core::ValidityMask mask;
};

constexpr std::size_t kSumBaselines = core::baseline_count(kSumInputs);

/// An integration in memory that holds something else before.
struct Integration {
  std::vector<std::complex<double>> sums =
      std::vector<std::complex<double>>(kSumChannels * kSumBaselines, 1e30);
  std::vector<std::int64_t> sum_counts = std::vector<std::int64_t>(sums.size(), -7);
  std::vector<std::complex<float>> visibilities = std::vector<std::complex<float>>(sums.size(), 1);
  std::vector<std::int64_t> counts = std::vector<std::int64_t>(sums.size(), -7);

  static constexpr std::array<std::size_t, 2> extents{kSumChannels, kSumBaselines};
  void begin(Integrator& integrator) {
    EXPECT_EQ(integrator.sum_type(), core::SampleType::cf64);
    integrator.begin({sums.data(), extents}, {sum_counts.data(), extents});
  }
  void take_means(device::Queue& queue) {
    const SumsOfChannels from{{core::SampleView<2>(sums.data(), core::SampleType::cf64, extents)},
                              {{sum_counts.data(), extents}},
                              {}};
    EXPECT_EQ(means_of(queue, from, {visibilities.data(), extents}, {counts.data(), extents}), 0U);
  }
};

/// Two integrations, the first of 1,700 spectra, in chunks of these sizes in turn.
template <class Sample>
std::vector<Integration> integrate(const RandomSpectra<Sample>& spectra,
                                   const std::vector<std::size_t>& sizes) {
  const auto device = device::open({}, {.threads = 2});
  const auto queue = device->make_queue();
  Integrator integrator(device, {0, kSumChannels}, kSumChannels, kSumInputs,
                        std::is_same_v<Sample, core::ci16>   ? core::kCi16
                        : std::is_same_v<Sample, core::cf16> ? core::kCf16
                                                             : core::kCf32,
                        kSumSpectra);
  integrator.make_ready(*queue);
  std::vector<Integration> done;
  core::ValidityMask part;
  std::size_t k = 0, next = 0;
  for (const std::size_t end : {std::size_t{1700}, kSumSpectra}) {
    Integration& out = done.emplace_back();
    out.begin(integrator);
    for (; next < end; ++k) {
      const std::size_t count = std::min(sizes[k % sizes.size()], end - next);
      integrator.add(*queue, spectra.chunk(next, count, part));
      next += count;
    }
    integrator.finish(*queue);
    out.take_means(*queue);
  }
  return done;
}

template <class Sample>
void check() {
  const RandomSpectra<Sample> spectra;
  const auto whole = integrate(spectra, {kSumSpectra});
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{1}, {7, 300, 1}, {256}, {1024, 5}, {1699, 2}}) {
    const auto cut = integrate(spectra, sizes);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      EXPECT_EQ(cut[n].visibilities, whole[n].visibilities) << sizes.front();
      EXPECT_EQ(cut[n].counts, whole[n].counts) << sizes.front();
    }
  }
  // Against the plain sum.
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t c = 0; c < kSumChannels; ++c)
      for (std::size_t i = 0; i < kSumInputs; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          std::complex<double> sum = 0;
          std::int64_t count = 0;
          const auto valid = spectra.mask.view();
          for (std::size_t t = n == 0 ? 0 : 1700; t < (n == 0 ? 1700 : kSumSpectra); ++t) {
            if ((valid(i, t / 64) & valid(j, t / 64)) >> (t % 64) & 1) {
              const auto at = [&](std::size_t input) {
                const Sample& x = spectra.samples[(c * kSumInputs + input) * kSumSpectra + t];
                if constexpr (std::is_same_v<Sample, core::ci16>)
                  return std::complex<double>(x.re, x.im);
                else if constexpr (std::is_same_v<Sample, core::cf16>)
                  return std::complex<double>(core::to_float(x.re), core::to_float(x.im));
                else
                  return std::complex<double>(x);
              };
              sum += at(i) * std::conj(at(j));
              ++count;
            }
          }
          const std::size_t at = c * core::baseline_count(kSumInputs) + core::baseline_index(i, j);
          ASSERT_EQ(whole[n].counts[at], count);
          const std::complex<double> mean(whole[n].visibilities[at]);
          ASSERT_LT(std::abs(mean - sum / static_cast<double>(count)), 4e-6 * 2e6);
        }
}

TEST(Integrator, FloatsGiveTheSameBitsHoweverTheyAreCut) {
  check<std::complex<float>>();
}

TEST(Integrator, SixteenBitsToo) {
  check<core::ci16>();
}

TEST(Integrator, AndHalves) {
  check<core::cf16>();
}

// The integrator adds floats in groups that it puts together on the device.
class IntegratorOnGpu : public ::testing::TestWithParam<std::string> {};

TEST_P(IntegratorOnGpu, AgreesWithTheCpu) {
  SKIP_WITHOUT_GPU(GetParam());
  constexpr std::size_t kChannels = kSumChannels, kInputs = kSumInputs, kSpectra = 700;
  auto random = tests::generator();
  std::normal_distribution<float> normal;
  std::vector<std::complex<float>> samples(kChannels * kInputs * kSpectra);
  for (auto& x : samples) x = {normal(random), normal(random)};
  const auto integrate = [&](const std::shared_ptr<const device::Device>& where) {
    const auto own_queue = where->make_queue();
    Integrator integrator(where, {0, kChannels}, kChannels, kInputs, core::kCf32, kSpectra);
    core::ValidityMask valid(kInputs, kSpectra);
    valid.set(2, 100, 50, false);
    const device::Buffer memory = where->allocate(samples.size() * sizeof samples[0]);
    own_queue->copy(memory.data(), samples.data(), memory.bytes());
    core::ValidityMask part(kInputs, kSpectra);
    Integration out;
    const device::Buffer sums = where->allocate(out.sums.size() * sizeof out.sums[0]);
    const device::Buffer counts = where->allocate(out.counts.size() * sizeof out.counts[0]);
    integrator.make_ready(*own_queue);
    integrator.begin({sums.data(), core::SampleType::cf64, Integration::extents},
                     {counts.as<std::int64_t>(), Integration::extents});
    for (std::size_t first = 0; first < kSpectra;) {
      const std::size_t count = std::min<std::size_t>(first == 0 ? 300 : 260, kSpectra - first);
      SpectraChunk chunk;
      chunk.spectra = count, chunk.first_spectrum = first;
      chunk.samples = core::View<const std::complex<float>, 3>(
          memory.as<std::complex<float>>() + first, {kChannels, kInputs, count},
          {kInputs * kSpectra, kSpectra, 1});
      for (std::size_t i = 0; i < kInputs; ++i)
        core::copy_bits(valid.view().row(i), first, count, part.row(i), 0);
      chunk.valid = part.view();
      integrator.add(*own_queue, chunk);
      first += count;
    }
    integrator.finish(*own_queue);
    own_queue->copy(out.sums.data(), sums.data(), sums.bytes());
    own_queue->copy(out.sum_counts.data(), counts.data(), counts.bytes());
    own_queue->synchronise();
    out.take_means(*device::open({})->make_queue());
    return out;
  };
  const auto expected = integrate(device::open({}));
  const auto got = integrate(device::open(device::parse_selection(GetParam())));
  EXPECT_EQ(got.counts, expected.counts);
  ASSERT_EQ(got.visibilities.size(), expected.visibilities.size());
  for (std::size_t k = 0; k < got.visibilities.size(); ++k)
    ASSERT_LE(std::abs(got.visibilities[k] - expected.visibilities[k]), 2e-5F) << k;
}

INSTANTIATE_TEST_SUITE_P(Devices, IntegratorOnGpu, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::pipeline

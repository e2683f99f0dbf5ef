// The integrator: sums and counts of whole integrations, the same bits however spectra are cut.
#include "tautline/pipeline/voltages/integrator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
    const SumsOfChannels from{core::SampleView<2>(sums.data(), core::SampleType::cf64, extents),
                              {sum_counts.data(), extents},
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
  Integrator integrator(device, {0, kSumChannels}, kSumChannels, {kSumInputs, kSumInputs},
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
      const bool told = k % 2 == 0;  // that these are the last
      integrator.add(*queue, spectra.chunk(next, count, part), told && next + count == end);
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
    Integrator integrator(where, {0, kChannels}, kChannels, {kInputs, kInputs}, core::kCf32,
                          kSpectra);
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

// Sums of some inputs and of what those are with each other, on any device: of integers, so to the last bit.
class IntegratorOfGroups : public ::testing::TestWithParam<std::string> {};

TEST_P(IntegratorOfGroups, GivesThatPartOfTheTriangle) {
  if (GetParam() != "cpu") SKIP_WITHOUT_GPU(GetParam());
  constexpr std::size_t kChannels = 3, kInputs = 37, kSpectra = 500;
  auto random = tests::generator();
  std::uniform_int_distribution<int> values(-128, 127);
  std::vector<core::ci8> samples(kChannels * kInputs * kSpectra);
  for (core::ci8& x : samples)
    x = {static_cast<std::int8_t>(values(random)), static_cast<std::int8_t>(values(random))};
  core::ValidityMask valid(kInputs, kSpectra);
  for (std::size_t i = 0; i < kInputs; i += 3) valid.set(i, random() % 400, 50, false);
  const auto where = device::open(device::parse_selection(GetParam()));
  const auto queue = where->make_queue();
  const device::Buffer memory = where->allocate(samples.size() * sizeof samples[0]);
  queue->copy(memory.data(), samples.data(), memory.bytes());

  struct Result {
    std::vector<core::ci64> sums;
    std::vector<std::int64_t> counts;
  };
  // Two integrations, the second without a sample; the first masked or not, in two chunks or one.
  const auto integrate = [&](const InputGroups& groups, bool masked, std::size_t cut) {
    const std::array<std::size_t, 2> extents{groups.count() * kChannels,
                                             core::baseline_count(groups.size)};
    const std::size_t all = extents[0] * extents[1];
    Result result{std::vector<core::ci64>(all, {7, 7}), std::vector<std::int64_t>(all, 7)};
    const device::Buffer sums = where->allocate(all * sizeof(core::ci64));
    const device::Buffer counts = where->allocate(all * sizeof(std::int64_t));
    queue->copy(sums.data(), result.sums.data(), sums.bytes());
    queue->copy(counts.data(), result.counts.data(), counts.bytes());
    Integrator integrator(where, {0, kChannels}, kChannels, groups, core::kCi8, kSpectra);
    integrator.make_ready(*queue);
    for (const bool empty : {true, false}) {
      integrator.begin({sums.data(), core::SampleType::ci64, extents},
                       {counts.as<std::int64_t>(), extents});
      core::ValidityMask part(kInputs, kSpectra);
      for (std::size_t first = 0; first < kSpectra && !empty;) {
        const std::size_t count = first == 0 ? cut : kSpectra - first;
        SpectraChunk chunk;
        chunk.spectra = count, chunk.first_spectrum = first;
        chunk.samples = core::View<const core::ci8, 3>(memory.as<core::ci8>() + first,
                                                       {kChannels, kInputs, count},
                                                       {kInputs * kSpectra, kSpectra, 1});
        for (std::size_t i = 0; i < kInputs; ++i)
          core::copy_bits(valid.view().row(i), first, count, part.row(i), 0);
        if (masked) chunk.valid = part.view();
        integrator.add(*queue, chunk);
        first += count;
      }
      integrator.finish(*queue);
      queue->copy(result.sums.data(), sums.data(), sums.bytes());
      queue->copy(result.counts.data(), counts.data(), counts.bytes());
      queue->synchronise();
      if (empty) {
        EXPECT_EQ(std::count(result.counts.begin(), result.counts.end(), 0),
                  static_cast<std::ptrdiff_t>(all));
        EXPECT_TRUE(std::all_of(result.sums.begin(), result.sums.end(),
                                [](const core::ci64& v) { return v.re == 0 && v.im == 0; }));
      }
    }
    return result;
  };
  for (const bool masked : {false, true}) {
    const InputGroups every{kInputs, kInputs};
    const Result triangle = integrate(every, masked, kSpectra);
    // Kernels take long to compile.
    for (const std::size_t size : GetParam() == "cpu" ? std::vector<std::size_t>{1, 2, 16, 36}
                                                      : std::vector<std::size_t>{16}) {
      const InputGroups groups{kInputs, size};
      const Result some = integrate(groups, masked, 1 + random() % (kSpectra - 1));
      const std::size_t of_group = core::baseline_count(size);
      for (std::size_t i = 0; i < kInputs; ++i)
        for (std::size_t j = i - i % size; j <= i; ++j)
          for (std::size_t c = 0; c < kChannels; ++c) {
            const auto place = groups.place(i, j);
            const std::size_t at = (place.group * kChannels + c) * of_group + place.baseline;
            const std::size_t whole =
                c * core::baseline_count(kInputs) + core::baseline_index(i, j);
            ASSERT_EQ(some.counts[at], triangle.counts[whole]) << size << ": " << i << " " << j;
            ASSERT_EQ(some.sums[at].re, triangle.sums[whole].re) << size << ": " << i << " " << j;
            ASSERT_EQ(some.sums[at].im, triangle.sums[whole].im) << size << ": " << i << " " << j;
          }
    }
  }
}

std::vector<std::string> integrator_devices() {
  std::vector<std::string> names = tests::gpu_names();
  names.insert(names.begin(), "cpu");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Devices, IntegratorOfGroups, ::testing::ValuesIn(integrator_devices()),
                         [](const auto& info) { return tests::test_name(info.param); });

TEST(InputGroups, HaveEveryBaselineThatIsAskedFor) {
  const auto of_antennas = [](std::size_t inputs, std::size_t each) {
    std::vector<std::size_t> baselines;
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t j = i - i % each; j <= i; ++j)
        baselines.push_back(core::baseline_index(i, j));
    return baselines;
  };
  for (const std::size_t inputs : {2u, 16u, 18u, 40u, 256u, 258u}) {
    const auto baselines = of_antennas(inputs, 2);
    const auto pairs = pairs_of(baselines);
    ASSERT_EQ(pairs.size(), baselines.size());
    const InputGroups groups = choose_groups(inputs, baselines, 16);
    EXPECT_EQ(groups.count(), (inputs + 15) / 16);
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const auto [i, j] = pairs[k];
      EXPECT_EQ(core::baseline_index(i, j), baselines[k]);
      const auto place = groups.place(i, j);
      ASSERT_LT(place.group, groups.count());
      const std::size_t first = groups.first(place.group);
      EXPECT_LE(first + groups.size, inputs);
      EXPECT_GE(j, first);
      EXPECT_LT(i, first + groups.size);
      EXPECT_EQ(place.baseline, core::baseline_index(i - first, j - first));
    }
  }
  // An antenna whose inputs are far apart, inputs that few groups have, nothing asked for.
  EXPECT_EQ(choose_groups(40, std::vector{core::baseline_index(20, 3)}, 16).count(), 1u);
  EXPECT_EQ(choose_groups(45, of_antennas(45, 3), 16).count(), 1u);
  EXPECT_EQ(choose_groups(40, {}, 16).count(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Devices, IntegratorOnGpu, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::pipeline

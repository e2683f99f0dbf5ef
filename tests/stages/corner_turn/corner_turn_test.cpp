// Every backend of the corner turn against the reference to the bit, and the reference against
// values computed by hand.
#include "tautline/stages/corner_turn/corner_turn.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/requantise.h"
#include "tautline/stages/corner_turn/case.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::stages::corner_turn {
namespace {
using Complex = std::complex<float>;

// Gaps between rows and between elements of the buffers of one run.
struct Strides {
  std::size_t hole = 0;
  std::size_t element = 1;
};

template <class Sample>
struct Output {
  std::vector<Sample> samples;
  std::vector<std::uint64_t> clipped;
};

template <class Sample>
Sample poison() {
  Sample value;
  std::memset(static_cast<void*>(&value), 0xA7, sizeof value);
  return value;
}

template <class Sample>
Output<Sample> run(const std::string& device, const Case& c, const std::vector<Complex>& dense,
                   const std::vector<float>& gains, const core::ValidityView& validity,
                   const Strides& in, const Strides& out, std::size_t plan_spectra = 0,
                   bool one_call = false) {
  const auto opened = device::open(device::parse_selection(device), {.threads = 3});
  Config config = c.config();
  if (plan_spectra > 0) config.max_spectra = plan_spectra;
  const auto plan = make_plan(config, opened);
  const auto queue = opened->make_queue();

  const std::size_t in_row = c.channels * in.element + in.hole;
  std::vector<Complex> spectra(in_row * c.spectra * c.inputs, poison<Complex>());
  const Spectra spectra_view(
      spectra.data(), {c.inputs, c.spectra, c.channels},
      {static_cast<std::ptrdiff_t>(in_row * c.spectra), static_cast<std::ptrdiff_t>(in_row),
       static_cast<std::ptrdiff_t>(in.element)});
  for (std::size_t r = 0; r < c.inputs * c.spectra; ++r)
    for (std::size_t k = 0; k < c.channels; ++k)
      spectra[r * in_row + k * in.element] = dense[r * c.channels + k];

  const std::size_t out_row = (c.spectra + 5) * out.element + out.hole;
  Output<Sample> result;
  result.samples.assign(out_row * c.inputs * c.channels, poison<Sample>());
  result.clipped.assign(c.inputs, 1000);  // accumulated, not overwritten
  const Gains gains_view(gains.data(), {c.channels, c.inputs});
  const Clipped clipped(result.clipped.data(), {c.inputs});
  const core::View<Sample, 3> samples(
      result.samples.data(), {c.channels, c.inputs, c.spectra + 5},
      {static_cast<std::ptrdiff_t>(out_row * c.inputs), static_cast<std::ptrdiff_t>(out_row),
       static_cast<std::ptrdiff_t>(out.element)});
  if (one_call)
    corner_turn(spectra_view, validity, gains_view, samples, clipped,
                device::parse_selection(device));
  else
    plan->execute(*queue, spectra_view, validity, gains_view, samples, clipped);
  return result;
}

template <class Sample>
void compare(const std::string& device, const Case& c, bool masked, const Strides& in = {},
             const Strides& out = {}) {
  auto random = tests::generator();
  const auto spectra = make_spectra(c, random, true);
  const auto gains = make_gains(c, random);
  core::ValidityMask mask(c.inputs, c.spectra);
  if (masked)
    for (int k = 0; k < 6; ++k) {
      const std::size_t first = random() % c.spectra;
      mask.set(random() % c.inputs, first, 1 + random() % (c.spectra - first), random() % 3 == 0);
    }
  const core::ValidityView validity = masked ? mask.view() : core::ValidityView();
  const auto reference = run<Sample>("reference", c, spectra, gains, validity, in, out);
  const auto other = run<Sample>(device, c, spectra, gains, validity, in, out);
  const auto in_one_call = run<Sample>(device, c, spectra, gains, validity, in, out, 0, true);
  EXPECT_EQ(0, std::memcmp(reference.samples.data(), in_one_call.samples.data(),
                           reference.samples.size() * sizeof(Sample)));
  EXPECT_EQ(reference.clipped, in_one_call.clipped);
  EXPECT_EQ(0, std::memcmp(reference.samples.data(), other.samples.data(),
                           reference.samples.size() * sizeof(Sample)))
      << c.inputs << " x " << c.channels << " x " << c.spectra << " bits " << c.output_bits;
  EXPECT_EQ(reference.clipped, other.clipped);
}

void compare_bits(const std::string& device, Case c, int bits, bool masked, const Strides& in = {},
                  const Strides& out = {}) {
  c.output_bits = bits;
  if (bits == 8) compare<core::ci8>(device, c, masked, in, out);
  if (bits == 4) compare<core::ci4>(device, c, masked, in, out);
  if (bits == 32) compare<Complex>(device, c, masked, in, out);
}

class Backend : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_WITHOUT_DEVICE(std::string(GetParam())); }
};

TEST_P(Backend, IsTheOneThatWasForced) {
  const std::string name(GetParam());
  std::string expected = name.starts_with("cpu:") ? name.substr(4) : name;
  if (expected == "vnni" || expected == "amx") expected = "avx512";  // the next lower one with code
  const auto plan = make_plan({}, device::open(device::parse_selection(name)));
  EXPECT_EQ(plan->backend(), expected);
}

TEST_P(Backend, EqualsTheReferenceOnEverySize) {
  for (const int bits : {8, 4, 32})
    for (const std::size_t channels : {1u, 2u, 3u, 7u, 8u, 63u, 64u, 65u, 128u, 200u})
      for (const std::size_t spectra : {1u, 2u, 63u, 64u, 65u, 130u})
        compare_bits(GetParam(), {1 + (channels + spectra) % 3, channels, spectra, 8}, bits, false);
}

TEST_P(Backend, EqualsTheReferenceWithMasksAndHoles) {
  for (const int bits : {8, 4, 32}) {
    compare_bits(GetParam(), {3, 72, 200, 8}, bits, true);
    compare_bits(GetParam(), {3, 72, 200, 8}, bits, true, {.hole = 5}, {.hole = 3});
    compare_bits(GetParam(), {2, 70, 129, 8}, bits, true, {.hole = 1, .element = 2}, {});
    compare_bits(GetParam(), {2, 70, 129, 8}, bits, true, {}, {.hole = 2, .element = 3});
  }
}

TEST_P(Backend, SplitsGiveTheSameSamples) {
  auto random = tests::generator();
  const Case whole{2, 96, 150, 8};
  const auto spectra = make_spectra(whole, random, true);
  const auto gains = make_gains(whole, random);
  const auto once = run<core::ci8>(GetParam(), whole, spectra, gains, {}, {}, {});
  std::vector<std::uint64_t> clipped(2, 1000);
  for (std::size_t first = 0; first < 150; first += 47) {
    Case part = whole;
    part.spectra = std::min<std::size_t>(47, 150 - first);
    std::vector<Complex> piece;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto from = spectra.begin() + static_cast<std::ptrdiff_t>((i * 150 + first) * 96);
      piece.insert(piece.end(), from, from + static_cast<std::ptrdiff_t>(part.spectra * 96));
    }
    const auto out = run<core::ci8>(GetParam(), part, piece, gains, {}, {}, {}, 47);
    for (std::size_t r = 0; r < 96 * 2; ++r)
      for (std::size_t s = 0; s < part.spectra; ++s)
        ASSERT_EQ(out.samples[r * (part.spectra + 5) + s], once.samples[r * 155 + first + s]);
    for (std::size_t i = 0; i < 2; ++i) clipped[i] += out.clipped[i] - 1000;
  }
  EXPECT_EQ(clipped, once.clipped);
}

INSTANTIATE_TEST_SUITE_P(Devices, Backend,
                         ::testing::Values("reference", "cpu:portable", "cpu:avx2", "cpu:avx512",
                                           "cpu:vnni", "cpu:amx"),
                         [](const auto& info) {
                           std::string name(info.param);
                           for (char& c : name) c = c == ':' ? '_' : c;
                           return name;
                         });

TEST(Reference, TurnsScalesRoundsAndCounts) {
  const Case c{2, 3, 2, 8};
  // [input][spectrum][channel]
  std::vector<Complex> spectra(12);
  for (std::size_t k = 0; k < 12; ++k) spectra[k] = {static_cast<float>(k), -0.5f};
  spectra[0] = {200, -200};
  const std::vector<float> gains{1, 1, 1, 2, 1, 3};  // [channel][input]
  const auto out = run<core::ci8>("reference", c, spectra, gains, {}, {}, {});
  const auto at = [&](std::size_t channel, std::size_t input, std::size_t s) {
    return out.samples[(channel * 2 + input) * 7 + s];
  };
  EXPECT_EQ(at(0, 0, 0), (core::ci8{127, -127}));
  EXPECT_EQ(at(1, 0, 0), (core::ci8{1, 0}));    // -0.5 to even
  EXPECT_EQ(at(1, 1, 0), (core::ci8{14, -1}));  // gain 2
  EXPECT_EQ(at(2, 1, 1), (core::ci8{33, -2}));  // gain 3: -1.5 to even
  EXPECT_EQ(at(2, 1, 2), poison<core::ci8>());
  EXPECT_EQ(out.clipped, (std::vector<std::uint64_t>{1002, 1000}));
}

TEST(Config, RefusalsNameTheField) {
  const auto device = device::open({});
  const auto field_of = [&](const Config& config) {
    try {
      make_plan(config, device);
    } catch (const core::Error& error) {
      return error.field();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(field_of({0, 1, 1}), "corner_turn inputs");
  EXPECT_EQ(field_of({1, 0, 1}), "corner_turn channels");
  EXPECT_EQ(field_of({1, 1, 0}), "corner_turn max_spectra");
  EXPECT_EQ(field_of({1, 1, 1, core::SampleType::f64}), "corner_turn output_type");
  // Views of other shapes than the plan's.
  auto random = tests::generator();
  const Case c{2, 8, 16, 8};
  const auto spectra = make_spectra(c, random, false);
  const auto gains = make_gains(c, random);
  EXPECT_THROW(run<core::ci8>("auto", c, spectra, gains, {}, {}, {}, 15), core::Error);
  EXPECT_THROW(run<core::ci4>("auto", c, spectra, gains, {}, {}, {}), core::Error);
  const core::ValidityMask few(1, 16);
  EXPECT_THROW(run<core::ci8>("auto", c, spectra, gains, few.view(), {}, {}), core::Error);
}

}  // namespace
}  // namespace tautline::stages::corner_turn

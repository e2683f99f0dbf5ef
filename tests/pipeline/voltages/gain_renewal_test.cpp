// Gains before rounding that settle, follow the voltages or are chosen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tautline/core/error.h"
#include "tautline/core/requantise.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/pipeline/voltages/correlate_voltages.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/gains.h"
#include "tautline/stream/voltage_sequence.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kGainInputs = 4, kGainChannels = 16;
constexpr double kSpectrum_s = kGainChannels / 1.28e6;

// The written data, integration by integration.
struct Written {
  std::vector<double> first_gains;
  std::vector<std::vector<double>> gains;  // of each integration
  std::vector<std::complex<float>> visibilities;
  std::vector<std::int64_t> counts;
  std::vector<double> power;  // of each integration, over all autocorrelations
  bool operator==(const Written&) const = default;
};

class WritesIntegrations final : public formats::VisibilityWriter {
 public:
  WritesIntegrations(Written& written, const formats::VisibilityDescription& description)
      : written_(written) {
    written_.first_gains = description.requantisation_gains;
  }
  void write(const formats::Integration& one) override {
    written_.gains.emplace_back(one.gains.begin(), one.gains.end());
    double power = 0;
    for (std::size_t c = 0; c < one.visibilities.extent(0); ++c)
      for (std::size_t i = 0, b = 0; i < kGainInputs; ++i)
        for (std::size_t j = 0; j <= i; ++j, ++b) {
          written_.visibilities.push_back(one.visibilities(c, b));
          written_.counts.push_back(one.counts(c, b));
          if (i == j) power += one.visibilities(c, b).real();
        }
    written_.power.push_back(power);
  }
  void add_extra(const std::string&, const std::string&) override {}
  void finish() override {}

 private:
  Written& written_;
};

class GainRenewals : public ::testing::Test {
 protected:
  // Noise whose rms is `before` and, from a spectrum on, `after`; a different one for each input.
  void write_step(std::size_t spectra, std::size_t step, double before, double after) {
    tests::DadaFile file;
    file.payload_bytes = 0;
    std::string bytes = file.bytes();
    std::normal_distribution<double> noise;
    for (std::size_t t = 0; t < spectra * kGainChannels; ++t)
      for (std::size_t k = 0; k < 2 * kGainInputs; ++k) {
        const double rms =
            (t < step * kGainChannels ? before : after) * (1 + 0.2 * static_cast<double>(k / 2));
        bytes += static_cast<char>(
            static_cast<std::int8_t>(std::lround(std::clamp(rms * noise(random), -127.0, 127.0))));
      }
    tests::write_file(path, bytes);
  }
  // Zeros until a spectrum, of all inputs or of the last one.
  void write_late(std::size_t spectra, std::size_t late, bool all) {
    write_step(spectra, spectra, 10, 10);
    std::string bytes = tests::read_file(path);
    for (std::size_t t = 0; t <= late * kGainChannels; ++t)
      for (std::size_t k = all ? 0 : 2 * kGainInputs - 2; k < 2 * kGainInputs; ++k)
        bytes[bytes.size() - (spectra * kGainChannels - t) * 2 * kGainInputs + k] =
            t < late * kGainChannels ? 0 : 9;
    tests::write_file(path, bytes);
  }
  CorrelateConfig config(std::size_t integration_spectra) {
    CorrelateConfig c;
    c.inputs = {path};
    c.output = "none.uvh5";
    c.filter.channels = kGainChannels;
    c.integration_s = static_cast<double>(integration_spectra) * kSpectrum_s;
    return c;
  }
  Written run(CorrelateConfig c) {
    Written written;
    c.writer = [&](const formats::VisibilityDescription& description) {
      return std::make_unique<WritesIntegrations>(written, description);
    };
    correlate_voltages(c, {device::open(device::parse_selection("cpu"))});
    return written;
  }
  // [channel][input] from the plain loops: over these spectra of the file.
  std::vector<double> expected(const std::vector<std::pair<std::size_t, std::size_t>>& windows) {
    stream::VoltageSequence sequence({path}, {});
    const auto samples = static_cast<std::size_t>(sequence.total_samples());
    FilterConfig filter = config(1).filter;
    filter.output = stages::channelize::Output::spectra_float;
    const auto device = device::open(device::parse_selection("reference"));
    const auto queue = device->make_queue();
    FEngine engine(device, sequence.description(), sequence.layout(samples), filter, samples);
    core::RawBlock block;
    stream::SegmentPlace segment;
    sequence.read(samples, block, segment);
    engine.begin_segment(segment.start);
    engine.push(*queue, block);
    const SpectraChunk all = engine.take(*queue, engine.max_spectra());
    const auto spectra = all.samples.as<const std::complex<float>>();
    std::vector<double> gains;
    for (std::size_t c = 0; c < kGainChannels; ++c)
      for (std::size_t i = 0; i < kGainInputs; ++i) {
        double power = 0, count = 0;
        for (const auto& [first, last] : windows)
          for (std::size_t s = first; s < last; ++s, ++count) power += std::norm(spectra(i, s, c));
        gains.push_back(core::kRequantise8Rms / std::sqrt(power / count / 2));
      }
    return gains;
  }
  static void expect_near(const std::vector<double>& given, const std::vector<double>& expected) {
    ASSERT_EQ(given.size(), expected.size());
    for (std::size_t k = 0; k < given.size(); ++k)
      EXPECT_NEAR(given[k] / expected[k], 1, 1e-4) << k;
  }

  std::mt19937_64 random = tests::generator();
  tests::ScratchFolder scratch;
  std::string path = scratch / "in.dada";
};

TEST_F(GainRenewals, SettleAtAnEdgeAndStay) {
  write_step(11'000, 5000, 8, 25);
  const Written stays = run(config(2000));
  for (const auto& gains : stays.gains) EXPECT_TRUE(gains.empty());
  CorrelateConfig settles = config(2000);
  settles.settle_s = 3000 * kSpectrum_s;
  const Written given = run(settles);
  ASSERT_EQ(given.gains.size(), 6U);  // the last one is short
  EXPECT_EQ(given.first_gains, stays.first_gains);
  expect_near(given.first_gains, expected({{0, 1024}}));
  EXPECT_EQ(given.gains[0], given.first_gains);
  EXPECT_EQ(given.gains[1], given.first_gains);
  // At the first edge after 3,000 spectra, from the first 1,024 of each integration before it.
  EXPECT_NE(given.gains[2], given.first_gains);
  expect_near(given.gains[2], expected({{0, 1024}, {2000, 3024}}));
  for (std::size_t k = 3; k < 6; ++k) EXPECT_EQ(given.gains[k], given.gains[2]) << k;
  // The gains are divided out: before the step the power is the same, whichever they are.
  EXPECT_NEAR(given.power[0] / stays.power[0], 1, 1e-12);
  EXPECT_NEAR(given.power[1] / given.power[0], 1, 0.05);
}

TEST_F(GainRenewals, FollowTheVoltages) {
  write_step(12'000, 4000, 6, 24);
  CorrelateConfig follows = config(2000);
  follows.follow_gains = true;
  const Written given = run(follows);
  ASSERT_GE(given.gains.size(), 6U);
  expect_near(given.gains[1], expected({{0, 1024}}));
  expect_near(given.gains[2], expected({{2000, 3024}}));
  expect_near(given.gains[3], expected({{4000, 5024}}));
  expect_near(given.gains[5], expected({{8000, 9024}}));
  for (std::size_t k = 0; k < given.first_gains.size(); ++k)
    EXPECT_NEAR(given.first_gains[k] / given.gains[5][k], 4, 0.6);
  // Between the edges nothing is cut off that the gains before would have cut off for ever.
  EXPECT_NEAR(given.power[4] / given.power[0], 16, 2);
}

TEST_F(GainRenewals, OfInputsThatComeVeryLateAreTheirFirstSpectras) {
  const std::size_t late = kMostGainPeriods * kGainSpectra + random() % 3000;
  write_late(late + 3000, late, true);
  const std::vector<double> gains = run(config(1000)).first_gains;
  // Spectra across the end of the zeros are invalid.
  expect_near(gains, expected({{late, (late / kGainSpectra + 1) * kGainSpectra}}));
}

TEST_F(GainRenewals, OfAnInputThatComesVeryLateAreTheMedianOfTheOthers) {
  const std::size_t late = kMostGainPeriods * kGainSpectra + 10;
  write_late(late + 1000, late, false);
  const std::vector<double> gains = run(config(1000)).first_gains;
  ASSERT_EQ(gains.size(), kGainChannels * kGainInputs);
  for (auto of = gains.begin(); of != gains.end(); of += kGainInputs) {
    std::vector<double> others(of, of + kGainInputs - 1);
    std::ranges::sort(others);
    EXPECT_EQ(of[kGainInputs - 1], others[1]);
  }
}

// Integrations shorter than what is measured of each, a little longer, and much longer.
TEST_F(GainRenewals, DoNotDependOnBlocks) {
  write_step(9000, 3000 + random() % 3000, 10, 14);
  for (const std::size_t spectra :
       {std::size_t{1}, std::size_t{7}, std::size_t{700}, std::size_t{1024}, std::size_t{1031},
        std::size_t{1500}, std::size_t{3001}}) {
    if (spectra < 100) write_step(1500, 700, 10, 14);
    CorrelateConfig follows = config(spectra);
    follows.follow_gains = true;
    follows.settle_s = static_cast<double>(random() % 4) * 500 * kSpectrum_s;
    const Written whole = run(follows);
    for (const std::size_t mebibytes : {4, 9}) {
      follows.memory_bytes = mebibytes << 20;
      EXPECT_TRUE(run(follows) == whole) << spectra << " spectra, " << mebibytes << " MiB";
    }
    if (spectra == 7) write_step(9000, 3000 + random() % 3000, 10, 14);
  }
}

TEST_F(GainRenewals, AreChosen) {
  write_step(2500, 2500, 10, 10);
  CorrelateConfig chosen = config(1000);
  chosen.gains = "0.5";
  EXPECT_EQ(run(chosen).first_gains, std::vector<double>(kGainChannels * kGainInputs, 0.5));
  std::vector<float> values;
  for (std::size_t k = 0; k < kGainChannels * kGainInputs; ++k)
    values.push_back(0.01F * static_cast<float>(1 + random() % 100));
  chosen.gains = scratch / "gains.npy";
  formats::npy::ArrayWriter file(chosen.gains, "<f4", {kGainChannels, kGainInputs}, false);
  file.write(std::as_bytes(std::span(values)));
  file.finish();
  EXPECT_EQ(run(chosen).first_gains, std::vector<double>(values.begin(), values.end()));
  chosen.follow_gains = true;
  const Written follows = run(chosen);
  EXPECT_EQ(follows.gains[0], std::vector<double>(values.begin(), values.end()));
  expect_near(follows.gains[1], expected({{0, 1000}}));
  const auto refused = [&](const std::string& gains) {
    CorrelateConfig c = config(1000);
    c.gains = gains;
    try {
      run(c);
      ADD_FAILURE() << gains;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.field(), "gains") << error.what();
    }
  };
  for (const char* text : {"0", "-1", "nan", "inf", "half", "1 2", "1e99"}) refused(text);
  const std::string other = scratch / "other.npy";
  formats::npy::ArrayWriter narrow(other, "<f4", {kGainChannels, kGainInputs - 1}, false);
  narrow.write(std::as_bytes(std::span(values).first(kGainChannels * (kGainInputs - 1))));
  narrow.finish();
  refused(other);
}

TEST_F(GainRenewals, AreRefusedWhereNothingIsRounded) {
  write_step(2500, 2500, 10, 10);
  CorrelateConfig none = config(1000);
  none.requantise = Requantise::off;
  none.settle_s = 1;
  EXPECT_THROW(run(none), core::Error);
  none.settle_s = 0;
  none.gains = "1";
  EXPECT_THROW(run(none), core::Error);
  none.gains.clear();
  none.follow_gains = true;
  EXPECT_THROW(run(none), core::Error);
}

}  // namespace
}  // namespace tautline::pipeline

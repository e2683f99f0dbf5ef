// Simulated voltages, correlated, against their truth; and visibilities spoilt on purpose, which
// must not pass.
#include "tautline/pipeline/simulation/compare_truth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <utility>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/simulation/compare_candidates.h"
#include "tautline/pipeline/simulation/simulate_voltages.h"
#include "tautline/pipeline/voltages/correlate_voltages.h"
#include "tautline/pipeline/voltages/visibility_facts.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

const std::string kArray = TAUTLINE_SOURCE_DIR "/examples/demo/array.toml";

struct Case {
  bool real = false, lower = false;
  std::string phase_centre{};  // NAME=RA,DEC
  Requantise requantise = Requantise::bits8;
  double centre_hz = 154.88e6;
  double duration_s = 0.1, integration_s = 0.03;
  Reduction reduction{};
  int bits = 8;
};

// Some thousand differences are compared in every run: one of 5 sigma is found once in 100,000
// runs, one of 7 never. The faults of these tests are of 10 and more.
const TruthTolerance kTolerance{.sigmas = 7};

/// One simulated and correlated run.
class CorrelatedRun {
 public:
  explicit CorrelatedRun(const Case& which) {
    formats::scene::Scene scene;
    scene.start = core::parse_utc("2026-03-20-14:00:00");
    scene.lower_sideband = which.lower;
    scene.centre_hz = which.centre_hz;
    scene.sources.resize(2);
    scene.sources[0] = {
        .name = "bright", .horizontal = true, .azimuth_deg = 40, .elevation_deg = 75, .flux = 0.6};
    scene.sources[1] = {.name = "faint",
                        .horizontal = true,
                        .azimuth_deg = 230,
                        .elevation_deg = 60,
                        .flux = 0.2,
                        .spectral_index = -0.7,
                        .polarised_fraction = 0.5,
                        .polarisation_angle_deg = 30};
    SimulateConfig simulate;
    simulate.output = folder_ / "v.dada";
    simulate.duration_s = which.duration_s;
    simulate.real = which.real;
    simulate.bits = which.bits;
    simulate.seed = tests::generator()();
    formats::ArrayLayout array = formats::read_array_layout(kArray);
    truth_path = simulate_voltages(simulate, array, scene).truth_path;
    CorrelateConfig correlate;
    correlate.inputs = {simulate.output};
    correlate.output = folder_ / "v.uvh5";
    correlate.array_path = kArray;
    correlate.filter.channels = 64;
    correlate.integration_s = which.integration_s;
    correlate.reduction = which.reduction;
    correlate.phase_centre = which.phase_centre;
    correlate.requantise = which.requantise;
    correlate_voltages(correlate, {device::open({})});
    visibilities_path = correlate.output;
  }

  std::string visibilities_path, truth_path;

 private:
  tests::ScratchFolder folder_;
};

/// A file's visibilities, changed on the way.
class Spoilt : public formats::VisibilityReader {
 public:
  using Change = std::function<void(formats::VisibilityDescription&)>;
  using Spoil = std::function<std::complex<float>(std::complex<float>, std::size_t channel,
                                                  std::size_t i, std::size_t j)>;
  Spoilt(const std::string& path, Spoil spoil, const Change& change = {})
      : reader_(formats::open_visibilities(path)), spoil_(std::move(spoil)) {
    description_ = reader_->description();
    middles_ = reader_->middles();
    lengths_s_ = reader_->integration_lengths_s();
    allocate(path);
    if (change) change(description_);
  }

 private:
  void fill(std::size_t k) override {
    const formats::Integration integration = reader_->read(k);
    const auto& from = integration.visibilities;
    std::copy_n(integration.counts.data(), counts_.size(), counts_.begin());
    for (std::size_t c = 0; c < from.extent(0); ++c)
      for (std::size_t i = 0; i < description_.array.inputs.size(); ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          const std::size_t at = core::baseline_index(i, j);
          visibilities_[c * from.extent(1) + at] =
              i == j ? from(c, at) : spoil_(from(c, at), c, i, j);
        }
  }

  std::unique_ptr<formats::VisibilityReader> reader_;
  Spoil spoil_;
};

std::complex<float> as_it_is(std::complex<float> value, std::size_t, std::size_t, std::size_t) {
  return value;
}

/// Tests that write visibilities and read them back.
class CompareTruthOfRuns : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef TAUTLINE_HDF5
    GTEST_SKIP() << "this build has no HDF5";
#endif
  }
};

TEST_F(CompareTruthOfRuns, AgreesWithTheCorrelator) {
  for (const Case& which :
       {Case{}, Case{.lower = true}, Case{.real = true}, Case{.real = true, .lower = true},
        Case{.phase_centre = "somewhere=201.0,-30.0"}, Case{.requantise = Requantise::bits4}}) {
    SCOPED_TRACE(std::string(which.real ? "real" : "complex") + (which.lower ? " lower" : "") +
                 which.phase_centre + (which.requantise == Requantise::bits4 ? "4 bits" : ""));
    const CorrelatedRun run(which);
    const TruthComparison found = compare_truth(run.visibilities_path, run.truth_path, kTolerance);
    EXPECT_TRUE(found.agrees) << found.verdict;
    EXPECT_EQ(found.outside, 0U);
    EXPECT_EQ(found.visibilities.size(), 32U * 31);
    EXPECT_EQ(found.strong, found.visibilities.size());
    EXPECT_GT(found.closures.size(), 100U);
    // The noise is what it is expected to be: neither hidden by large errors nor more than they
    // say. (The sources' own noise is common to all baselines: it moves amplitudes together, and
    // cancels around triangles. Of a sources' power it is z / sqrt(128,000), half of a baseline's
    // sigma, so that rms is sqrt(1 + 0.25 z^2) or less: 4 is where |z| is 7.7.)
    for (double rms : {found.amplitude_rms_sigmas, found.phase_rms_sigmas}) {
      EXPECT_GT(rms, 0.5);
      EXPECT_LT(rms, 4);
    }
    EXPECT_GT(found.closure_rms_sigmas, 0.3);
    EXPECT_LT(found.closure_rms_sigmas, 1.5);
    EXPECT_NEAR(found.mean_amplitude_ratio, 1, 0.02);
    EXPECT_NEAR(found.power_ratio, 1, 0.02);
    for (std::size_t k = 1; k < found.visibilities.size(); ++k)
      EXPECT_GE(found.visibilities[k].length_m, found.visibilities[k - 1].length_m);
  }
}

// Recorders with few levels lose amplitude, which is known from the truth: 4 % of 4 bits.
TEST_F(CompareTruthOfRuns, WhatRoundingToFewBitsLosesIsPredicted) {
  for (const Case& which : {Case{.bits = 4}, Case{.real = true, .bits = 4},
                            Case{.requantise = Requantise::bits4, .bits = 4}, Case{.bits = 16}}) {
    SCOPED_TRACE(which.bits);
    const CorrelatedRun run(which);
    const TruthComparison found = compare_truth(run.visibilities_path, run.truth_path, kTolerance);
    EXPECT_TRUE(found.agrees) << found.verdict;
    // Seven times the scatter of 0.002 and 0.0008.
    EXPECT_NEAR(found.mean_amplitude_ratio, 1, 0.015);
    EXPECT_NEAR(found.power_ratio, 1, 0.006);
  }
}

// At 30 GHz the fringes turn by up to once in 0.1 s, which costs 9 % of the bright source's amplitude on average.
TEST_F(CompareTruthOfRuns, FringesThatAreRotatedAfterCorrelationLoseWhatIsPredicted) {
  Case which{.phase_centre = "bright=154.376,-14.754",
             .centre_hz = 30e9,
             .duration_s = 0.4,
             .integration_s = 0.1};
  const Reduction of_two{.average_channels = 2, .average_time = 2};
  for (const Reduction& reduction : {Reduction{}, of_two}) {
    SCOPED_TRACE(reduction.average_time);
    which.reduction = reduction;
    const CorrelatedRun run(which);
    const TruthComparison found = compare_truth(run.visibilities_path, run.truth_path, kTolerance);
    EXPECT_TRUE(found.agrees) << found.verdict;
    // The bright source's own noise is 1 / sqrt(512,000): seven times as much.
    EXPECT_NEAR(found.mean_amplitude_ratio, 1, 0.01);
    // As if the voltages had been delayed: too much is expected.
    Spoilt delayed(run.visibilities_path, as_it_is, [](formats::VisibilityDescription& d) {
      EXPECT_EQ(d.extra.erase(kFringesRotated), 1U);
    });
    const TruthComparison other =
        compare_truth(delayed, simulation::read_truth(run.truth_path), kTolerance);
    EXPECT_FALSE(other.agrees);
    EXPECT_LT(other.mean_amplitude_ratio, 0.96);
  }
}

TEST_F(CompareTruthOfRuns, FindsEveryFault) {
  const CorrelatedRun run({});
  const simulation::Truth truth = simulation::read_truth(run.truth_path);
  const auto verdict_of = [&](Spoilt::Spoil spoil, const Spoilt::Change& change = {}) {
    Spoilt reader(run.visibilities_path, std::move(spoil), change);
    return compare_truth(reader, truth, kTolerance);
  };
  EXPECT_TRUE(verdict_of(as_it_is).agrees);
  // The wrong sign of every phase.
  EXPECT_FALSE(
      verdict_of([](std::complex<float> v, auto, auto, auto) { return std::conj(v); }).agrees);
  // A tenth too much.
  const TruthComparison louder =
      verdict_of([](std::complex<float> v, auto, auto, auto) { return 1.1F * v; });
  EXPECT_FALSE(louder.agrees);
  EXPECT_NEAR(louder.mean_amplitude_ratio, 1.1, 0.02);
  // One antenna's cable: its visibilities are off, closure phases are not.
  const TruthComparison cable =
      verdict_of([](std::complex<float> v, auto, std::size_t i, std::size_t j) {
        const auto turn = std::polar(1.0F, 0.1F);
        return i / 2 == 7 ? v * turn : j / 2 == 7 ? v * std::conj(turn) : v;
      });
  EXPECT_FALSE(cable.agrees);
  EXPECT_LT(cable.closure_rms_sigmas, 1.6);
  EXPECT_LE(cable.outside, 2U * 31);
  EXPECT_GT(cable.outside, 31U);
  // Two antennas with each other's names.
  EXPECT_FALSE(verdict_of(as_it_is, [](formats::VisibilityDescription& d) {
                 std::swap(d.array.antennas[3].number, d.array.antennas[20].number);
               }).agrees);
  // The band upside down, and one channel off.
  EXPECT_FALSE(verdict_of(as_it_is, [](formats::VisibilityDescription& d) {
                 std::reverse(d.channel_hz.begin(), d.channel_hz.end());
               }).agrees);
  EXPECT_FALSE(verdict_of(as_it_is, [](formats::VisibilityDescription& d) {
                 for (double& hz : d.channel_hz) hz += 10 * d.channel_width_hz;
               }).agrees);
}

// A third of Gaussian noise is beyond one standard error: some of it passes by the rest of the tolerance alone.
TEST_F(CompareTruthOfRuns, SaysByWhichToleranceItAgrees) {
  const CorrelatedRun run({});
  const auto compared = [&](const TruthTolerance& tolerance) {
    return compare_truth(run.visibilities_path, run.truth_path, tolerance);
  };
  const TruthComparison wide = compared({.sigmas = 1, .amplitude_fraction = 0.2, .phase_deg = 10});
  EXPECT_TRUE(wide.agrees) << wide.verdict;
  EXPECT_GT(wide.beyond_noise, 20U);
  EXPECT_NE(
      wide.verdict.find("off by at most 1 standard errors plus 20 % of the amplitude or 10 deg"),
      std::string::npos)
      << wide.verdict;
  EXPECT_NE(wide.verdict.find(std::to_string(wide.beyond_noise) +
                              " of them by more than 1 standard errors alone"),
            std::string::npos)
      << wide.verdict;
  const TruthComparison noise = compared({.sigmas = 1000});
  EXPECT_EQ(noise.beyond_noise, 0U);
  EXPECT_TRUE(noise.verdict.ends_with("are off by at most 1000 standard errors")) << noise.verdict;
  const TruthComparison narrow = compared({.sigmas = 1, .amplitude_fraction = 0, .phase_deg = 0});
  EXPECT_FALSE(narrow.agrees);
  EXPECT_EQ(narrow.outside, narrow.beyond_noise);
}

// The powers of a few spectra fluctuate as their visibilities do: weights made of these alone took 18 % off amplitudes.
TEST_F(CompareTruthOfRuns, AgreesWithFewSpectra) {
  // Errors of few spectra are less certain: of 8 sigma there is one in 1e8 runs.
  const TruthTolerance tolerance{.sigmas = 8};
  for (const auto& [duration_s, runs] : {std::pair{0.0009, 9}, {0.002, 4}}) {
    double ratio = 0;
    for (int k = 0; k < runs; ++k) {
      const CorrelatedRun run({.duration_s = duration_s});
      const TruthComparison found = compare_truth(run.visibilities_path, run.truth_path, tolerance);
      EXPECT_TRUE(found.agrees) << found.verdict;
      ratio += found.mean_amplitude_ratio / runs;
    }
    // The sources' own noise moves the ratio of one run by 0.026 or 0.017, the mean by 0.0085: six times that.
    EXPECT_NEAR(ratio, 1, 0.06) << duration_s;
  }
}

TEST_F(CompareTruthOfRuns, SaysHowManyProductsHaveNoData) {
  const CorrelatedRun run({});
  const simulation::Truth truth = simulation::read_truth(run.truth_path);
  Spoilt whole(run.visibilities_path, as_it_is);
  const TruthComparison all = compare_truth(whole, truth, kTolerance);
  EXPECT_EQ(all.without_data, 0U);
  EXPECT_EQ(all.verdict.find("no data"), std::string::npos) << all.verdict;
  // Of the first input with all others of its feed.
  Spoilt lost(run.visibilities_path,
              [](std::complex<float> value, std::size_t, std::size_t, std::size_t j) {
                return j == 0 ? std::complex<float>(NAN, NAN) : value;
              });
  const TruthComparison found = compare_truth(lost, truth, kTolerance);
  EXPECT_TRUE(found.agrees) << found.verdict;
  EXPECT_EQ(found.without_data + found.visibilities.size(), all.visibilities.size());
  std::size_t of_first = 0;
  const int first = whole.description().array.antennas.front().number;
  for (const ComparedVisibility& one : all.visibilities)
    of_first +=
        one.feed == all.visibilities.front().feed && (one.ant_1 == first || one.ant_2 == first) ? 1
                                                                                                : 0;
  EXPECT_EQ(found.without_data, of_first);
  EXPECT_TRUE(found.verdict.ends_with("; " + std::to_string(of_first) + " of " +
                                      std::to_string(all.visibilities.size()) +
                                      " products have no data"))
      << found.verdict;
}

TEST_F(CompareTruthOfRuns, SaysWhenItCannotTell) {
  const CorrelatedRun run({});
  simulation::Truth truth = simulation::read_truth(run.truth_path);
  // A sky as faint as that is not what was measured, but a faint sky over the same noise is.
  for (auto& source : truth.sources) source.flux *= 1e-4;
  for (auto& [key, value] : truth.listed) value *= 1e-4;
  Spoilt faint(run.visibilities_path, [](std::complex<float>, auto, auto, auto) {
    return std::complex<float>(0.5F, -0.25F);
  });
  const TruthComparison found = compare_truth(faint, truth);
  EXPECT_EQ(found.strong, 0U);
  EXPECT_FALSE(found.agrees);

  truth.antenna_numbers.assign(truth.antenna_numbers.size(), -1);
  Spoilt strangers(run.visibilities_path, as_it_is);
  EXPECT_THROW(compare_truth(strangers, truth), core::Error);

  // Visibilities of another band: the message has both bands.
  Spoilt elsewhere(run.visibilities_path, as_it_is, [](formats::VisibilityDescription& d) {
    for (double& hz : d.channel_hz) hz += 100e6;
  });
  try {
    compare_truth(elsewhere, truth);
    ADD_FAILURE() << "other frequencies were compared";
  } catch (const core::Error& error) {
    const auto mhz = [](double hz) { return std::to_string(hz / 1e6); };
    for (const double hz :
         {elsewhere.description().channel_hz.front(), truth.centre_hz - truth.bandwidth_hz / 2,
          truth.centre_hz + truth.bandwidth_hz / 2})
      EXPECT_NE(std::string(error.what()).find(mhz(hz)), std::string::npos)
          << mhz(hz) << " in " << error.what();
  }
}

// Fringes are rotated with the file's positions, and so are those that it is compared with: phases agree with wrong ones.
TEST_F(CompareTruthOfRuns, NamesAntennasThatAreNotThoseOfTheTruth) {
  auto random = tests::generator();
  for (const char* phase_centre : {"", "somewhere=201.0,-30.0"}) {
    const CorrelatedRun run({.phase_centre = phase_centre});
    const simulation::Truth truth = simulation::read_truth(run.truth_path);
    const auto compared = [&](const Spoilt::Change& change, const simulation::Truth& with) {
      Spoilt reader(run.visibilities_path, as_it_is, change);
      return compare_truth(reader, with, kTolerance);
    };
    const std::size_t one = random() % truth.antenna_numbers.size();
    const auto move = [&](double metres) {
      return [&, metres](formats::VisibilityDescription& d) {
        d.array.antennas[one].ecef_m[2] += metres;
      };
    };
    const std::string number = std::to_string(truth.antenna_numbers[one]);
    EXPECT_TRUE(compared(move(0.002), truth).agrees);
    const TruthComparison moved = compared(move(0.02), truth);
    EXPECT_FALSE(moved.agrees);
    EXPECT_NE(moved.verdict.find("antenna " + number + " is 0.02 m from where it was simulated"),
              std::string::npos)
        << moved.verdict;
    const TruthComparison renamed = compared(
        [&](formats::VisibilityDescription& d) { d.array.antennas[one].name = "other"; }, truth);
    EXPECT_FALSE(renamed.agrees);
    EXPECT_NE(renamed.verdict.find("antenna " + number + " is called other, and " +
                                   truth.antenna_names[one] + " in the simulation"),
              std::string::npos)
        << renamed.verdict;
    const TruthComparison all = compared(
        [](formats::VisibilityDescription& d) {
          for (formats::Antenna& antenna : d.array.antennas) antenna.ecef_m[0] += 1;
        },
        truth);
    EXPECT_NE(all.verdict.find("; and 29 more"), std::string::npos) << all.verdict;
    simulation::Truth silent = truth;
    silent.antenna_names.clear();
    silent.antenna_ecef_m.clear();
    EXPECT_TRUE(compared(move(0.002), silent).agrees);
    EXPECT_TRUE(compared(move(0.02), silent).other_antennas.empty());
  }
}

// Antennas of the same numbers at other places are another array; a wrong position is one to be found.
TEST_F(CompareTruthOfRuns, RefusesTheTruthOfAnotherArray) {
  const CorrelatedRun run({});
  simulation::Truth truth = simulation::read_truth(run.truth_path);
  ASSERT_EQ(truth.antenna_ecef_m.size(), truth.antenna_numbers.size());
  truth.antenna_ecef_m.front()[0] += 0.5;
  Spoilt moved(run.visibilities_path, as_it_is);
  const TruthComparison other_place = compare_truth(moved, truth);
  EXPECT_FALSE(other_place.agrees);
  EXPECT_NE(other_place.verdict.find("does not agree: antenna " +
                                     std::to_string(truth.antenna_numbers.front()) +
                                     " is 0.5 m from where it was simulated"),
            std::string::npos)
      << other_place.verdict;
  for (auto& place : truth.antenna_ecef_m)
    for (double& metres : place) metres *= -3;
  Spoilt other(run.visibilities_path, as_it_is);
  EXPECT_THROW(compare_truth(other, truth), core::Error);
}

TEST(CompareTruth, RefusesWhatIsNoTruth) {
  const tests::ScratchFolder folder;
  const auto refused = [&](const std::string& text, core::ErrorKind kind) {
    const std::string path = folder / "x.truth.json";
    std::ofstream(path) << text;
    try {
      simulation::read_truth(path);
      ADD_FAILURE() << text;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), kind);
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
      EXPECT_EQ(std::string(error.what()).find("json.exception"), std::string::npos);
    }
  };
  refused("\x89HDF\r\n\x1a\n", core::ErrorKind::format);
  refused("[1, 2]", core::ErrorKind::format);
  refused("", core::ErrorKind::format);
  refused("{}", core::ErrorKind::format);
  refused(R"({"schema": "tautline.simulation.truth", "version": 2})", core::ErrorKind::format);
  refused(R"({"schema": "tautline.simulation.truth", "version": 1, "sampling": {}})",
          core::ErrorKind::format);
  EXPECT_THROW(simulation::read_truth(folder / "absent"), core::Error);
}

TEST(CompareCandidates, InjectedOnesAreNotFalse) {
  const tests::ScratchFolder folder;
  std::ofstream(folder / "x.truth.json")
      << R"({"schema": "tautline.simulation.filterbank", "tsamp_s": 1e-3, "fch1_mhz": 1500,
             "foff_mhz": -10, "nchans": 32, "dm_constant": 4148.808, "pulses":
             [{"dm": 20, "time_s": 1, "width_s": 2e-3, "snr": 20, "whole": true}]})";
  const std::string columns =
      "snr,time_s,sample,width_samples,width_s,dm,dm_index,members,first_sample,last_sample,mjd,"
      "mjd_inf,f_ref_mhz,beam,file,filled";
  const auto row = [](double time_s, const std::string& rest) {
    return "19," + std::to_string(time_s) + ",1000,2,0.002,20,2,9,999,1001,,,1500,0,a,b.fil,0" +
           rest + "\n";
  };
  std::ofstream(folder / "i.csv") << columns << ",injected\n"
                                  << row(1, ",0") << row(3, ",1") << row(4, ",1") << row(5, ",0");
  std::ofstream(folder / "c.csv") << columns << "\n" << row(1, "") << row(3, "");
  const auto compared = [&](const char* name) {
    return compare_candidates(folder / name, folder / "x.truth.json", 1);
  };
  const CandidateComparison with = compared("i.csv"), without = compared("c.csv");
  EXPECT_EQ(with.candidates, 4);
  EXPECT_EQ(with.found, 1);
  EXPECT_EQ(with.injected, 2);
  EXPECT_EQ(with.false_alarms, 1);
  EXPECT_EQ(without.injected, 0);
  EXPECT_EQ(without.false_alarms, 1);
}

TEST(CompareTruth, SpreadsRows) {
  EXPECT_EQ(spread_rows(0, 5), (std::vector<std::size_t>{}));
  EXPECT_EQ(spread_rows(3, 5), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(spread_rows(101, 3), (std::vector<std::size_t>{0, 50, 100}));
  EXPECT_EQ(spread_rows(9, 1), (std::vector<std::size_t>{0}));
}

}  // namespace
}  // namespace tautline::pipeline

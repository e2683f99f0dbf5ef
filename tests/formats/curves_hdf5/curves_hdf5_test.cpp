// HDF5 of all sensors: what is written comes back, and other files are refused by name.
#include "tautline/formats/curves_hdf5/curves_hdf5.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tautline/core/error.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats::curves {
namespace {

core::CorrelationCurves made_up(std::size_t sensors, std::size_t lags, bool cross, bool exact) {
  auto random = tests::generator();
  core::CorrelationCurves c;
  c.curves = sensors;
  c.lags = lags;
  c.cross = cross;
  c.bin_s = 1.6e-6;
  c.duration_s = 12;
  c.samples = 7'500'000;
  c.normalization = core::Normalization::global;
  c.detrended = cross;
  for (std::size_t l = 0; l < lags; ++l) {
    c.lag_samples.push_back(l * l);
    c.lag_s.push_back(static_cast<double>(l * l) * c.bin_s);
    c.counts.push_back(static_cast<std::int64_t>(c.samples - l));
  }
  const auto big = [&] { return static_cast<std::int64_t>(random() >> 2); };
  for (std::size_t k = 0; k < sensors * lags; ++k) {
    if (exact) {
      c.sums.push_back(big());
      c.lead_in.push_back(big());
      c.monitor_direct.push_back(big());
      c.monitor_delayed.push_back(big());
    } else {
      c.sums_float.push_back(static_cast<double>(big()));
      c.lead_in_float.push_back(0.125 + static_cast<double>(k));
      c.monitor_direct_float.push_back(0.25 + static_cast<double>(k));
      c.monitor_delayed_float.push_back(0.5 + static_cast<double>(k));
    }
    c.g.push_back(k % 17 == 3 ? std::nan("") : static_cast<double>(big()));
    c.standard_error.push_back(k % 19 == 5 ? std::nan("") : 1e-3 * static_cast<double>(k));
  }
  for (std::size_t k = 0; k < 2 * sensors; ++k) {
    if (exact)
      c.totals.push_back(big());
    else
      c.totals_float.push_back(0.75 + static_cast<double>(k));
  }
  c.segments = sensors % 3 == 1 ? 4 : 0;
  for (std::size_t k = 0; k < c.segments * sensors * lags; ++k)
    c.segment_g.push_back(static_cast<float>(k) * 0.5f);
  for (std::size_t k = 0; k < c.segments * lags; ++k) c.segment_counts.push_back(big());
  for (std::size_t s = 0; s < sensors; ++s) {
    core::CurveSignal signal;
    signal.label = "sensor " + std::to_string(s);
    signal.row = static_cast<std::int64_t>(s / 3);
    signal.column = static_cast<std::int64_t>(s % 3);
    signal.mean_rate_hz = 100.5 * static_cast<double>(s);
    signal.trace = {{0.5, 1.5}, {static_cast<double>(s), 2}};
    c.first.push_back(signal);
    if (cross) c.second.push_back(signal);
    c.mask.push_back(s % 2);
  }
  return c;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t n = 0; n < a.size(); ++n)
    if (a[n] != b[n] && !(std::isnan(a[n]) && std::isnan(b[n]))) return false;
  return true;
}

TEST(CurvesHdf5, ComesBackAsWritten) {
  const tests::ScratchFolder folder;
  int number = 0;
  for (const std::size_t sensors : {1u, 2u, 31u, 1000u})
    for (const bool exact : {true, false}) {
      const bool cross = sensors % 2 == 0;
      const auto c = made_up(sensors, 7, cross, exact);
      const std::string path = folder / (std::to_string(number++) + ".h5");
      curves_hdf5::write(path, c, {"who", {{"input", "x.npy"}, {"empty", ""}}}, false);
      CurvesFacts facts;
      const auto found = curves_hdf5::read(path, &facts);
      EXPECT_EQ(found.curves, sensors);
      EXPECT_EQ(found.lags, 7u);
      EXPECT_EQ(found.cross, cross);
      EXPECT_EQ(found.detrended, cross);
      EXPECT_EQ(found.bin_s, c.bin_s);
      EXPECT_EQ(found.duration_s, c.duration_s);
      EXPECT_EQ(found.samples, c.samples);
      EXPECT_EQ(found.normalization, c.normalization);
      EXPECT_EQ(found.lag_s, c.lag_s);
      EXPECT_EQ(found.lag_samples, c.lag_samples);
      EXPECT_EQ(found.counts, c.counts);
      EXPECT_EQ(found.sums, c.sums);
      EXPECT_EQ(found.lead_in, c.lead_in);
      EXPECT_EQ(found.totals, c.totals);
      EXPECT_EQ(found.lead_in_float, c.lead_in_float);
      EXPECT_EQ(found.totals_float, c.totals_float);
      EXPECT_EQ(found.monitor_direct, c.monitor_direct);
      EXPECT_EQ(found.monitor_delayed, c.monitor_delayed);
      EXPECT_EQ(found.sums_float, c.sums_float);
      EXPECT_EQ(found.monitor_delayed_float, c.monitor_delayed_float);
      EXPECT_TRUE(same(found.g, c.g));
      EXPECT_TRUE(same(found.standard_error, c.standard_error));
      EXPECT_EQ(found.mask, c.mask);
      EXPECT_EQ(found.segments, c.segments);
      EXPECT_EQ(found.segment_g, c.segment_g);
      EXPECT_EQ(found.segment_counts, c.segment_counts);
      ASSERT_EQ(found.first.size(), sensors);
      EXPECT_EQ(found.second.size(), cross ? sensors : 0);
      EXPECT_EQ(found.first.back().label, c.first.back().label);
      EXPECT_EQ(found.first.back().row, c.first.back().row);
      EXPECT_EQ(found.first.back().trace.rate_khz, c.first.back().trace.rate_khz);
      EXPECT_EQ(facts.history, "who");
      EXPECT_EQ(facts.extra.at("input"), "x.npy");
      EXPECT_THROW(curves_hdf5::write(path, c, {}, false), core::Error);
    }
}

TEST(CurvesHdf5, OtherFilesAreRefused) {
  const tests::ScratchFolder folder;
  std::ofstream(folder / "x.h5") << "not HDF5";
  EXPECT_THROW(curves_hdf5::read(folder / "x.h5", nullptr), core::Error);
  EXPECT_THROW(curves_hdf5::read(folder / "missing.h5", nullptr), core::Error);
  auto broken = made_up(3, 4, false, true);
  broken.g.pop_back();
  EXPECT_THROW(curves_hdf5::write(folder / "y.h5", broken, {}, false), core::Error);
  EXPECT_THROW(curves_hdf5::write(folder / "z.h5", core::CorrelationCurves{}, {}, false),
               core::Error);
}

}  // namespace
}  // namespace tautline::formats::curves

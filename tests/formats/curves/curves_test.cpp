// Curve files: CSV as PyCorrFit reads it, .zip, .SIN and .ASC of real correlators, nonsense.
#include "tautline/formats/curves/curves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include "tautline/core/error.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats::curves {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string data(const std::string& name) {
  return std::string(TAUTLINE_DATA_DIR) + "/fcs/" + name;
}

void save(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

core::CorrelationCurve made_up(bool cross) {
  auto random = tests::generator();
  core::CorrelationCurve curve;
  curve.cross = cross;
  curve.first.label = "sensor 7, hot";
  curve.second.label = "sensor 8";
  for (int k = 0; k < 40; ++k) {
    curve.lag_s.push_back(1e-6 * k);
    curve.g.push_back(static_cast<double>(random() % 100'000) * 1e-5 - 0.2);
    curve.standard_error.push_back(static_cast<double>(1 + random() % 1000) * 1e-5);
  }
  for (int k = 0; k < 9; ++k) {
    curve.first.trace.time_s.push_back(k + 0.5);
    curve.first.trace.rate_khz.push_back(20 + k);
    curve.second.trace.time_s.push_back(k + 0.5);
    curve.second.trace.rate_khz.push_back(40 - k);
  }
  curve.first.mean_rate_hz = 24'000;
  curve.second.mean_rate_hz = 36'000;
  curve.duration_s = 9;
  return curve;
}

TEST(CurveCsv, ComesBackAsWritten) {
  const tests::ScratchFolder folder;
  for (const bool cross : {false, true}) {
    const core::CorrelationCurve curve = made_up(cross);
    const std::string path = folder / (cross ? "cc.csv" : "ac.csv");
    write_csv(path, curve, {"tautline, a test", {}}, false);
    const CurveFile file = read(path);
    ASSERT_EQ(file.curves.size(), 1u);
    const core::CorrelationCurve& found = file.curves[0];
    EXPECT_EQ(found.cross, cross);
    ASSERT_EQ(found.lag_s.size(), 39u);  // without lag 0
    for (std::size_t l = 0; l < 39; ++l) {
      EXPECT_NEAR(found.lag_s[l], curve.lag_s[l + 1], 1e-15);
      EXPECT_NEAR(found.g[l], curve.g[l + 1], 1e-10);
      EXPECT_NEAR(found.standard_error[l], curve.standard_error[l + 1], 1e-12);
    }
    EXPECT_EQ(found.first.trace.rate_khz, curve.first.trace.rate_khz);
    EXPECT_EQ(found.first.mean_rate_hz, curve.first.mean_rate_hz);
    EXPECT_EQ(found.second.label, cross ? "sensor 8" : "");
    EXPECT_TRUE(std::filesystem::exists(folder / (cross ? "cc.trace.txt" : "ac.trace.txt")));
    EXPECT_EQ(found.second.trace.rate_khz.size(), cross ? 9u : 0u);
    EXPECT_EQ(found.duration_s, 9);
    EXPECT_THROW(write_csv(path, curve, {"", {}}, false), core::Error);  // it exists
  }
}

// Byte for byte what PyCorrFit's reader looks for.
TEST(CurveCsv, LayoutIsPyCorrFits) {
  core::CorrelationCurve curve;
  curve.lag_s = {0, 1e-6, 2e-6};
  curve.g = {5, 0.5, 0.25};
  curve.standard_error = {1, 0.01, 0.02};
  curve.first.trace = {{0.5, 1.5}, {10, 11}};
  const std::string text =
      csv_text(curve, "a,b",
               {"who --detectors 0,1 'a,\"b'", {{"device", "cpu:avx2"}, {"input", "a,b.npy"}}});
  EXPECT_NE(text.find("\n# Type AC/CC\tAutocorrelation\n"), std::string::npos);
  EXPECT_NE(text.find("Weights [standard error]\n1.0000000000e-06\t5.0000000000e-01\t"
                      "0.0000000000e+00\t0.0000000000e+00\t1.0000000000e-02\n"),
            std::string::npos);
  // One table: what is no number is a comment, and every row has the same columns.
  EXPECT_EQ(text.find("TRACE"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.starts_with('#') || std::count(line.begin(), line.end(), '\t') == 4) << line;
  EXPECT_NE(trace_text(curve, "a,b").find("# Time [s]\tIntensity [kHz]\n5.0000000000e-01\t"),
            std::string::npos);
  EXPECT_NE(text.find("\n# device\tcpu:avx2\n# input\ta,b.npy\n"), std::string::npos);
  EXPECT_NE(text.find("\n# who --detectors 0,1 'a,'b'\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n0.0"), std::string::npos);  // lag 0 is left out
  // For PyCorrFit that would begin a part of several lines.
  EXPECT_EQ(text.find('"'), std::string::npos);
}

TEST(CurveCsv, UndefinedLagsAndErrors) {
  core::CorrelationCurve curve;
  curve.lag_s = {1, 2, 3, 4};
  curve.g = {0.5, kNan, -1, 0.1};
  curve.standard_error = {0.1, 0.1, 0, kNan};
  curve.counts = {100, 100, 100, 100};
  curve.monitor_direct = {10, 10, 10, 10};
  curve.monitor_delayed = {20, 20, 20, 20};
  const tests::ScratchFolder folder;
  write_csv(folder / "x.csv", curve, {"", {}}, false);
  const core::CorrelationCurve found = read(folder / "x.csv").curves[0];
  EXPECT_EQ(found.lag_s, (std::vector<double>{1, 3}));
  // No coincidence at lag 3: as uncertain as one would make it.
  EXPECT_EQ(found.standard_error, (std::vector<double>{0.1, 0.5}));
  curve.standard_error.clear();
  write_csv(folder / "y.csv", curve, {"", {}}, false);
  const core::CorrelationCurve plain = read(folder / "y.csv").curves[0];
  EXPECT_EQ(plain.lag_s, (std::vector<double>{1, 3, 4}));
  EXPECT_TRUE(plain.standard_error.empty());
}

TEST(CurveCsv, ATableHasAHeadingAndEveryLag) {
  const tests::ScratchFolder folder;
  core::CorrelationCurve curve = made_up(true);
  curve.g[5] = curve.standard_error[5] = curve.standard_error[7] = kNan;
  const std::string path = folder / "g.table.csv";
  for (const bool errors : {true, false}) {
    if (!errors) curve.standard_error.clear();
    write_csv(path, curve, {"tautline, a test: 1,2", {{"input", "a,b.npy"}}}, true);
    std::vector<std::string> rows;
    std::istringstream lines(load(path));
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with('#')) rows.push_back(line);
    ASSERT_EQ(rows.size(), 41u);
    EXPECT_EQ(rows[0], errors ? "lag_s,g,standard_error" : "lag_s,g");
    for (const std::string& row : rows)
      EXPECT_EQ(std::count(row.begin(), row.end(), ','), errors ? 2 : 1) << row;
    const CurveFile file = read(path);
    EXPECT_EQ(file.format, "CSV table");
    EXPECT_EQ(file.facts.at("input"), "a,b.npy");
    ASSERT_EQ(file.curves.size(), 1u);
    const core::CorrelationCurve& found = file.curves[0];
    EXPECT_TRUE(found.cross);
    EXPECT_EQ(found.second.label, "sensor 8");
    EXPECT_EQ(found.first.trace.rate_khz, curve.first.trace.rate_khz);
    ASSERT_EQ(found.lag_s.size(), curve.lag_s.size());
    ASSERT_EQ(found.standard_error.size(), curve.standard_error.size());
    const auto same = [](double a, double b) {
      return std::isnan(b) ? std::isnan(a) : std::fabs(a - b) <= 1e-10 * std::fabs(b);
    };
    for (std::size_t l = 0; l < curve.lag_s.size(); ++l) {
      EXPECT_TRUE(same(found.lag_s[l], curve.lag_s[l])) << l;
      EXPECT_TRUE(same(found.g[l], curve.g[l])) << l;
      if (errors) {
        EXPECT_TRUE(same(found.standard_error[l], curve.standard_error[l])) << l;
      }
    }
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "g.table.trace.txt"));
  // A heading stands before the numbers.
  save(path, "1e-6,0.5\nlag_s,g\n");
  EXPECT_THROW(read(path), core::Error);
}

// PyCorrFit passes over lines of nan, and fails on a file without any line.
TEST(CurveCsv, UndefinedAtEveryLag) {
  const tests::ScratchFolder folder;
  for (const bool with_trace : {false, true}) {
    core::CorrelationCurve curve = made_up(false);
    curve.g.assign(curve.g.size(), kNan);
    if (!with_trace) curve.first.trace = {};
    const std::string path = folder / (with_trace ? "dark.csv" : "empty.csv");
    write_csv(path, curve, {"", {}}, false);
    EXPECT_NE(load(path).find("\n1.0000000000e-06\tnan\n"), std::string::npos);
    const core::CorrelationCurve found = read(path).curves[0];
    ASSERT_EQ(found.lag_s.size(), 39u);  // without lag 0
    for (const double g : found.g) EXPECT_TRUE(std::isnan(g));
    EXPECT_TRUE(found.standard_error.empty());
    EXPECT_EQ(found.first.trace.time_s.size(), with_trace ? 9u : 0u);
  }
}

// A standard error that no written lag has makes no column of weights, which would leave no line.
TEST(CurveCsv, ErrorsOfLagsThatAreNotWritten) {
  core::CorrelationCurve curve;
  curve.lag_s = {0, 1, 2, 3};
  curve.g = {5, 0.5, kNan, 0.25};
  curve.standard_error = {0.1, kNan, 0.1, kNan};
  const tests::ScratchFolder folder;
  write_csv(folder / "x.csv", curve, {"", {}}, false);
  const core::CorrelationCurve found = read(folder / "x.csv").curves[0];
  EXPECT_EQ(found.lag_s, (std::vector<double>{1, 3}));
  EXPECT_EQ(found.g, (std::vector<double>{0.5, 0.25}));
  EXPECT_TRUE(found.standard_error.empty());
}

TEST(CurveCsv, LagZeroAloneIsRefused) {
  core::CorrelationCurve curve;
  curve.lag_s = {0};
  curve.g = {1};
  EXPECT_THROW(csv_text(curve, "", {"", {}}), core::Error);
}

TEST(CurveCsv, PyCorrFitsOwnFile) {
  const std::string path = data("PyCorrFit_CC_A488_withVariance.csv");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const CurveFile file = read(path);
  const core::CorrelationCurve& curve = file.curves.at(0);
  EXPECT_TRUE(curve.cross);
  EXPECT_EQ(curve.lag_s.front(), 2e-7);
  EXPECT_EQ(curve.g.front(), 1.5649271e-01);
  EXPECT_EQ(curve.standard_error.front(), 8.0729478907e-03);
  EXPECT_EQ(curve.standard_error.size(), curve.g.size());
  EXPECT_EQ(curve.duration_s, 119.76);
}

TEST(CurveCsv, NonsenseIsRefused) {
  const tests::ScratchFolder folder;
  for (const std::string text :
       {"", "# only a comment\n", "1 2\nthree four\n", "1\n2\n", "\x01\x02\n"}) {
    save(folder / "x.csv", text);
    EXPECT_THROW(read(folder / "x.csv"), core::Error) << text;
  }
  save(folder / "z.csv", std::string("1 2\n\0", 5));
  EXPECT_THROW(read(folder / "z.csv"), core::Error);
  EXPECT_THROW(read(folder / "missing.csv"), core::Error);
  EXPECT_THROW(read(folder / "x.txt"), core::Error);
}

TEST(CurveCsv, NamesOfColumnsOfOtherProgramsAreRefusedWithAdvice) {
  const tests::ScratchFolder scratch;
  for (const std::string heading : {"Lag time [s],G", "tau;G", "tau\tG\tG err"}) {
    save(scratch / "x.csv", heading + "\n1e-6,0.5\n");
    try {
      read(scratch / "x.csv");
      ADD_FAILURE() << heading;
    } catch (const core::Error& error) {
      EXPECT_NE(std::string(error.what()).find("names of columns stand behind #"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(CurveCsv, DecimalCommasAreRefused) {
  const tests::ScratchFolder scratch;
  for (const std::string line : {"1,000000e-06\t0,498306", "0,000001;0,498306", "1e-6 0,5",
                                 "0,000001,0,498306", "1\t-0,25"}) {
    save(scratch / "comma.csv", "# lag\n" + line + "\n");
    try {
      read(scratch / "comma.csv");
      ADD_FAILURE() << line;
    } catch (const core::Error& error) {
      EXPECT_NE(std::string(error.what()).find("line 2: " + line), std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find("decimal commas"), std::string::npos)
          << error.what();
    }
  }
  for (const std::string line :
       {"0.001,0.5", "1,2", "1e-6, 0.25", "1e-6;0.25", "1, 0", "0,0.5,0", "1e-06,0"}) {
    save(scratch / "comma.csv", line + "\n");
    EXPECT_EQ(read(scratch / "comma.csv").curves.at(0).lag_s.size(), 1u) << line;
  }
}

TEST(CurveSin, NormalisationFollowsFromItsOwnColumns) {
  const std::string path = data("Correlator.com_Integer-Mode.SIN");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const CurveFile file = read(path);
  ASSERT_EQ(file.curves.size(), 4u);
  EXPECT_EQ(file.curves[0].first.label, "input 2");
  EXPECT_EQ(file.curves[0].second.label, "input 3");
  std::size_t compared = 0;
  for (const core::CorrelationCurve& curve : file.curves) {
    EXPECT_TRUE(curve.cross);
    EXPECT_EQ(curve.duration_s, 60);
    ASSERT_EQ(curve.sums.size(), curve.g.size());
    for (std::size_t l = 0; l < curve.g.size(); ++l) {
      if (curve.monitor_direct[l] == 0 || curve.monitor_delayed[l] == 0) {
        EXPECT_TRUE(std::isnan(curve.g[l]));
        continue;
      }
      const double g2 =
          curve.sums[l] * curve.counts[l] / (curve.monitor_direct[l] * curve.monitor_delayed[l]);
      // Seven digits are printed of g2 and of what it is made of.
      EXPECT_NEAR(g2, curve.g[l] + 1, 1.5e-6 * g2 + 1e-12) << curve.lag_s[l];
      ++compared;
    }
  }
  EXPECT_GT(compared, 4 * 200u);
  EXPECT_EQ(file.curves[0].lag_s[0], 1.25e-8);
  EXPECT_EQ(file.curves[0].sums[0], 87);
  EXPECT_EQ(file.curves[0].first.trace.time_s.size(), 287u);
  EXPECT_NEAR(file.curves[0].first.trace.rate_khz[0], 9.412765625, 1e-9);
}

TEST(CurveAsc, RealFile) {
  const std::string path = data("ALV-7004.ASC");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const CurveFile file = read(path);
  ASSERT_EQ(file.curves.size(), 1u);
  const core::CorrelationCurve& curve = file.curves[0];
  EXPECT_FALSE(curve.cross);
  EXPECT_NEAR(curve.lag_s[0], 2.5e-8, 1e-20);
  EXPECT_EQ(curve.g[1], 4.07452e-1);
  EXPECT_EQ(curve.duration_s, 135);
  EXPECT_EQ(curve.first.label, "channel 0");
  EXPECT_EQ(curve.first.trace.rate_khz[0], 50.77723);
  EXPECT_NEAR(curve.first.mean_rate_hz, 60'776.29, 600);
}

class ChangedCurveFile : public ::testing::TestWithParam<const char*> {};

TEST_P(ChangedCurveFile, IsRefusedOrRead) {
  const std::string path = data(GetParam());
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const tests::ScratchFolder folder;
  auto random = tests::generator();
  const std::string whole = load(path);
  for (int round = 0; round < 60; ++round) {
    std::string changed = whole.substr(0, round % 3 == 0 ? random() % whole.size() : whole.size());
    for (int flip = 0; flip < 20 && !changed.empty(); ++flip)
      changed[random() % std::min<std::size_t>(changed.size(), 3000)] =
          static_cast<char>(32 + random() % 96);
    save(folder / GetParam(), changed);
    try {
      const CurveFile file = read(folder / GetParam());
      for (const core::CorrelationCurve& curve : file.curves)
        EXPECT_EQ(curve.lag_s.size(), curve.g.size());
    } catch (const core::Error&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Correlators, ChangedCurveFile,
                         ::testing::Values("Correlator.com_Integer-Mode.SIN", "ALV-7004.ASC"),
                         [](const auto& info) { return info.index == 0 ? "SIN" : "ASC"; });

#ifdef TAUTLINE_ZIP
TEST(CurveZip, HoldsOneCsvForEachCurve) {
  const tests::ScratchFolder folder;
  const std::string path = folder / "x.zip";
  write_zip(path, {made_up(false), made_up(true)}, {"", {}}, false);
  const std::string bytes = load(path);
  EXPECT_EQ(bytes.substr(0, 4), "PK\3\4");
  EXPECT_NE(bytes.find("00000_sensor_7__hot.csv"), std::string::npos);
  EXPECT_NE(bytes.find("00001_sensor_7__hot_x_sensor_8.csv"), std::string::npos);
  EXPECT_NE(bytes.find("00000_sensor_7__hot.trace.txt"), std::string::npos);
  EXPECT_THROW(write_zip(path, {made_up(false)}, {"", {}}, false), core::Error);
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

// CSVs leave out lags that are undefined: the set has all of them.
TEST(CurveZip, ComesBackAsASet) {
  const tests::ScratchFolder folder;
  const std::string path = folder / "x.zip";
  core::CorrelationCurve one = made_up(false), other = made_up(true);
  one.g[5] = kNan;
  other.g[7] = kNan;
  write_zip(path, {one, other}, {"", {}}, false);
  const core::CorrelationCurves set = read_set(path);
  ASSERT_EQ(set.curves, 2u);
  ASSERT_EQ(set.lags, 39u);  // without lag 0
  EXPECT_TRUE(set.cross);
  EXPECT_EQ(set.second[1].label, "sensor 8");
  EXPECT_EQ(set.first[1].trace.rate_khz, other.first.trace.rate_khz);
  EXPECT_EQ(set.second[1].trace.rate_khz, other.second.trace.rate_khz);
  EXPECT_EQ(set.first[0].mean_rate_hz, one.first.mean_rate_hz);
  for (std::size_t l = 0; l < set.lags; ++l) {
    EXPECT_NEAR(set.lag_s[l], one.lag_s[l + 1], 1e-15);
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const core::CorrelationCurve& from = k == 0 ? one : other;
      const double g = set.g[k * set.lags + l];
      EXPECT_EQ(std::isnan(g), std::isnan(from.g[l + 1]));
      if (std::isnan(g)) continue;
      EXPECT_NEAR(g, from.g[l + 1], 1e-10);
      EXPECT_NEAR(set.standard_error[k * set.lags + l], from.standard_error[l + 1], 1e-12);
    }
  }
  // Several files are one set, each curve led by its file's name.
  write_csv(folder / "a.csv", one, {"", {}}, false);
  const core::CorrelationCurves all = read_sets({folder / "a.csv", path});
  ASSERT_EQ(all.curves, 3u);
  EXPECT_EQ(all.first[0].label, "a: sensor 7, hot");
}

TEST(CurveZip, DamageIsRefused) {
  const tests::ScratchFolder folder;
  write_zip(folder / "x.zip", {made_up(false)}, {"", {}}, false);
  const std::string whole = load(folder / "x.zip");
  auto random = tests::generator();
  const std::size_t cut = random() % whole.size();
  for (const std::string& bytes :
       {whole.substr(0, cut), std::string(), std::string("PK\3\4"), std::string("text")}) {
    save(folder / "y.zip", bytes);
    EXPECT_THROW(read(folder / "y.zip"), core::Error) << bytes.size() << " bytes";
  }
  std::string changed = whole;
  for (std::size_t at = 60; at < 200; ++at) changed[at] = static_cast<char>(random());
  save(folder / "y.zip", changed);
  EXPECT_THROW(read(folder / "y.zip"), core::Error);
}
#endif

}  // namespace
}  // namespace tautline::formats::curves

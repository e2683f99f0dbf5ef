// Ordinary bad days of photon counting: what the command says of counts and time tags, and how it
// exits.
#include "tests/end_to_end/bad_photons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "tautline/formats/spc/spc.h"
#include "tests/formats/spc/records.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

TEST_F(BadPhotons, SensorsThatDoNotDivideTheFile) {
  const CommandResult result = raw(std::string(1001, '\3'), {"--sensors", "10", "--levels", "1"});
  EXPECT_EQ(result.status, kWrongUsage) << "ten curves fit no CSV: " << result.err;
  const auto some = [&](std::vector<std::string> more) {
    write_file(scratch / "x.u8", std::string(1001, '\3'));
    std::vector<std::string> arguments{"autocorrelate",
                                       scratch / "x.u8",
                                       "-o",
                                       scratch / "out.zip",
                                       "--overwrite",
                                       "--dtype",
                                       "u8",
                                       "--levels",
                                       "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  expect_said(some({"--bin", "1e-6", "--sensors", "10"}), kDamaged, "1 byte, from byte 1000");
  EXPECT_EQ(some({"--bin", "1e-6", "--sensors", "10", "--strict"}).status, kFailed);
  expect_said(some({"--bin", "1e-6"}), kWrongUsage, "--sensors");
  expect_said(some({"--sensors", "10"}), kWrongUsage, "--bin");
  expect_said(some({"--bin", "1e-6", "--sensors", "10", "--shape", "3x4"}), kWrongUsage, "--shape");
}

// Curves of known formats are text, which would pass for small counts.
TEST_F(BadPhotons, CurvesAreNoRawCounts) {
  auto random = generator();
  std::string alv = "ALV-7004/FAST Data\r\nDate :\t\"1/1/2020\"\r\n";
  for (int k = 0; k < 2000; ++k) alv += std::to_string(random() % 1000) + "\t";
  write_file(scratch / "x.ASC", alv);
  const std::vector<std::string> options{"--dtype", "u8", "--sensors", "1", "--bin", "1us"};
  expect_said(autocorrelate("x.ASC", options), kFailed, "this is a correlation curve (ALV)");
  write_file(scratch / "x.SIN", "[CorrelatorInfo]\n[CorrelationFunction]\n" + alv.substr(20));
  expect_said(autocorrelate("x.SIN", options), kFailed,
              "this is a correlation curve (Correlator.com)");
  // Counts may look like text.
  std::string counts;
  for (int k = 0; k < 3000; ++k) counts += static_cast<char>(65 + random() % 20);
  EXPECT_EQ(raw(counts, {"--sensors", "1"}).status, kDone);
}

// Time is the last axis of dedispersed series, and the first of counts.
TEST_F(BadPhotons, DedispersedSeriesWithoutTheirRecordAreNotTakenInSilence) {
  const auto written = [&](const std::string& name, const std::string& type, std::size_t rows,
                           std::size_t columns, const std::string& bytes) {
    std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" +
                         std::to_string(rows) + ", " + std::to_string(columns) + "), }";
    header.resize(117, ' ');
    write_file(scratch / name, std::string("\x93NUMPY\1\0\x76\0", 10) + header + "\n" + bytes);
  };
  auto random = generator();
  const auto values = [&](std::size_t count, auto draw) {
    std::string bytes;
    for (std::size_t k = 0; k < count; ++k) {
      const auto value = draw();
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    return bytes;
  };
  const auto whole = [&] { return static_cast<std::int32_t>(random() % 900); };
  const auto fraction = [&] { return static_cast<float>(random() % 900) + 0.25F; };
  const std::vector<std::string> options{"--bin",    "1us",    "--levels", "2",          "--lags",
                                         "standard", "--bins", "4",        "--segments", "1"};
  const auto correlated = [&](const std::string& name) {
    std::vector<std::string> words{"autocorrelate", scratch / name, "-o", scratch / "out.zip",
                                   "--overwrite"};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  };
  const std::string turned =
      "x.npy: taken for photon counts [time][sensor], 30 times of 31 sensors";
  written("x.npy", "<i4", 30, 31, values(30 * 31, whole));
  expect_said(correlated("x.npy"), kDone, turned);
  written("x.npy", "<f4", 30, 31, values(30 * 31, fraction));
  const CommandResult both = correlated("x.npy");
  expect_said(both, kDone, turned);
  expect_said(both, kDone, "at time 0, sensor 0): taken as intensities [time][sensor]");
  written("x.npy", "<i4", 31, 31, values(31 * 31, whole));
  EXPECT_EQ(correlated("x.npy").err.find("taken "), std::string::npos);
  const auto floats = [&] { return static_cast<float>(random() % 9); };
  written("x.npy", "<f4", 31, 31, values(31 * 31, floats));
  EXPECT_EQ(correlated("x.npy").err.find("taken "), std::string::npos);
}

TEST_F(BadPhotons, NothingNoCountsAndOneCountForever) {
  expect_said(raw("", {"--sensors", "1"}), kDone, "undefined (NaN)");
  EXPECT_EQ(values_written(), 0u);
  EXPECT_EQ(lags_written(true), 319u);  // 320 but for lag 0
  expect_said(raw(std::string(3000, '\0'), {"--sensors", "1"}), kDone, "undefined (NaN)");
  EXPECT_EQ(values_written(), 0u);
  EXPECT_EQ(lags_written(true), 319u);
  expect_said(raw(std::string(3000, '\7'), {"--sensors", "1"}), kDone, "never change");
}

TEST_F(BadPhotons, LagsLongerThanTheData) {
  auto random = generator();
  std::string counts;
  for (int i = 0; i < 100; ++i) counts += static_cast<char>(random() % 8);
  const CommandResult result = raw(counts, {"--sensors", "1", "--lags", "standard", "--bins", "8",
                                            "--levels", "6", "--segments", "1"});
  // 1 to 8, 10 to 16, 20 to 32, 40 to 64; of 80 to 128 the first; of 160 to 256 none.
  expect_said(result, kDone, "of 29 lags are longer than the data");
  EXPECT_GE(values_written(), 20u);
  EXPECT_LE(values_written(), 21u);
}

// An array of doubles as NumPy writes it.
std::string npy(const std::vector<double>& values) {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ", 1), }";
  header.resize(117, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00\x76\x00", 10);
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  return file;
}

TEST_F(BadPhotons, CountsThatTheTypeCannotHold) {
  for (const double bad : {300., -3., 1.5}) {
    write_file(scratch / "x.npy", npy({1, bad, 2}));
    const CommandResult result =
        autocorrelate("x.npy", {"--dtype", "u8", "--bin", "1e-6", "--levels", "1"});
    expect_said(result, kFailed, "time 1, sensor 0");
    EXPECT_FALSE(std::filesystem::exists(scratch / "out.csv"));
  }
  write_file(scratch / "x.npy", npy({1, 300, 2}));
  EXPECT_EQ(autocorrelate("x.npy", {"--dtype", "u16", "--bin", "1e-6", "--levels", "1"}).status,
            kDone);
}

TEST_F(BadPhotons, NumbersThatAreNoCounts) {
  const std::pair<double, const char*> bad[] = {
      {std::nan(""), "nan"}, {std::numeric_limits<double>::infinity(), "inf"}, {-0.5, "-0.5"}};
  for (const auto& [value, words] : bad) {
    write_file(scratch / "x.npy", npy({1, 2.5, value, 2}));
    const CommandResult result = autocorrelate("x.npy", {"--bin", "1e-6", "--levels", "1"});
    expect_said(result, kFailed, std::string("time 2, sensor 0: ") + words);
    const auto single = static_cast<float>(value);
    std::string floats(8, '\0');
    floats.append(reinterpret_cast<const char*>(&single), sizeof single);
    write_file(scratch / "x.f32", floats);
    expect_said(autocorrelate("x.f32", {"--dtype", "f32", "--sensors", "1", "--bin", "1e-6",
                                        "--levels", "1"}),
                kFailed, std::string("time 2, sensor 0: ") + words);
  }
  write_file(scratch / "x.npy", npy({1, 2.5, 0, 2}));
  EXPECT_EQ(autocorrelate("x.npy", {"--bin", "1e-6", "--levels", "1"}).status, kDone);
}

TEST_F(BadPhotons, SumsAreNotDetrendedAndNotFitted) {
  auto random = generator();
  std::string counts;
  for (int i = 0; i < 3000; ++i) counts += static_cast<char>(random() % 8);
  expect_said(raw(counts, {"--sensors", "1", "--detrend", "--normalize", "none"}), kWrongUsage,
              "--detrend: with --normalize none");
  write_file(scratch / "x.u8", counts);
  std::vector<std::string> outputs{"g.csv"};
#ifdef TAUTLINE_HDF5
  outputs.push_back("g.h5");
#endif
  for (const std::string& output : outputs) {
    ASSERT_EQ(run({"autocorrelate", scratch / "x.u8", "-o", scratch / output, "--dtype", "u8",
                   "--sensors", "1", "--bin", "1e-6", "--normalize", "none"})
                  .status,
              kDone);
#ifdef TAUTLINE_FIT
    expect_said(run({"fit", scratch / output, "-o", scratch / "fit.csv", "--model", "3d"}),
                kWrongUsage, output + ": normalization: none");
#endif
  }
}

#ifdef TAUTLINE_FIT
// Curves without standard errors: what comes out is not called ok, unless the user asks for no judgement.
TEST_F(BadPhotons, AFitWithoutErrorsIsNotJudged) {
  auto random = generator();
  std::poisson_distribution<int> bright(6), dim(1);
  std::string counts;
  for (int k = 0; k < 100'000; ++k)
    counts += static_cast<char>((k / 40) % 2 == 0 ? bright(random) : dim(random));
  expect_said(raw(counts, {"--sensors", "1", "--segments", "1", "--lags", "standard"}), kDone, "");
  const std::vector<std::string> fit{
      "fit",        scratch / "out.csv", "-o",        scratch / "fit.csv", "--model",
      "cumulants1", "--range",           "1e-6:2e-5", "--overwrite"};
  const CommandResult result = run(fit);
  expect_said(result, kDamaged,
              "no curve was found ok: not judged: fitted without standard errors; see");
  EXPECT_NE(result.out.find("not judged: fitted without standard errors"), std::string::npos)
      << result.out;
  auto unweighted = fit;
  unweighted.push_back("--unweighted");
  EXPECT_EQ(run(unweighted).status, kDone);
  EXPECT_NE(read_file(scratch / "fit.csv").find("# 0 good, 1 not judged, "), std::string::npos);
}
#endif

// The .set file of an .spc file has the unit of its microtimes.
TEST_F(BadPhotons, GatesWithoutTheSettingsNameTheirFile) {
  std::vector<std::uint32_t> words{formats::spc::kHeader};
  for (std::uint32_t k = 1; k < 4000; ++k)
    words.push_back(formats::spc::photon_word(k, 0, 4095 - k % 1000));
  const std::string spc = scratch / "x.spc", settings = scratch / "x.set";
  write_file(spc, formats::spc::bytes_of(words));
  const std::vector<std::string> gate{"autocorrelate", spc,       "-o",     scratch / "x.csv",
                                      "--bin",         "1.25e-6", "--gate", "0.1ns:2ns"};
  expect_said(run(gate), kWrongUsage,
              settings +
                  ", which has the unit of the microtimes, is missing; put the .set file "
                  "that was saved with the measurement there");
  const std::vector<std::string> histogram{"inspect", spc, "--tcspc", scratch / "h.csv"};
  expect_said(run(histogram), kWrongUsage,
              "put the .set file that was saved with the measurement at " + settings);
  write_file(settings, "#SP [SP_TAC_R,F,5.0e-008]\n#SP [SP_TAC_G,I,4]\n");
  EXPECT_EQ(run(gate).status, kDone);
  EXPECT_EQ(run(histogram).status, kDone);
  // Such a file says no length.
  EXPECT_EQ(run({"inspect", spc}).out.find("the header says"), std::string::npos);
}

// A detector that stopped bends its curve: whoever fits it or looks at it is told again.
TEST_F(BadPhotons, StopsAreSaidOfTheCurvesToo) {
  auto random = generator();
  std::poisson_distribution<int> draw(3);
  std::string counts;
  for (int k = 0; k < 100'000; ++k) counts += static_cast<char>(draw(random));
  const std::string dark = "counts stop, or never change: sensor 0 for ";
  for (const bool stops : {false, true}) {
    if (stops) counts.replace(40'000, 15'000, std::string(15'000, '\0'));
    write_file(scratch / "x.u8", counts);
    std::vector<std::string> names{"x.csv", "x.zip"};
#ifdef TAUTLINE_HDF5
    names.push_back("x.h5");
#endif
    std::vector<std::string> fit{"fit"};
    for (const std::string& name : names) {
      const CommandResult made =
          run({"autocorrelate", scratch / "x.u8", "-o", scratch / name, "--overwrite", "--dtype",
               "u8", "--sensors", "1", "--bin", "1e-6", "--lags", "standard", "--levels", "6"});
      expect_said(made, kDone, stops ? dark : "");
      const CommandResult seen = run({"inspect", scratch / name});
      EXPECT_EQ(seen.status, kDone) << seen.err;
      EXPECT_EQ(seen.out.find(dark) != std::string::npos, stops) << seen.out;
      fit.push_back(scratch / name);
    }
#ifdef TAUTLINE_FIT
    for (const std::size_t files : {std::size_t{1}, names.size()}) {
      std::vector<std::string> all(fit.begin(),
                                   fit.begin() + 1 + static_cast<std::ptrdiff_t>(files));
      all.insert(all.end(), {"-o", scratch / "fit.csv", "--model", "3d", "--overwrite"});
      const CommandResult fitted = run(all);
      std::size_t said = 0;
      for (std::size_t at = 0; (at = fitted.err.find(dark, at)) != std::string::npos; ++at) ++said;
      EXPECT_EQ(said, stops ? files : 0) << fitted.err;
      const std::string table = read_file(scratch / "fit.csv");
      EXPECT_EQ(table.find("\"counts stop, which bends the curve") != std::string::npos, stops)
          << table;
      if (!stops) continue;
      EXPECT_NE(table.find("# 0 good, "), std::string::npos) << table;
      EXPECT_EQ(fitted.status, kDamaged);
    }
#endif
  }
}

// One of two sensors, again and again: fits of its curve, and of that of both, are not "ok", from whatever file.
TEST_F(BadPhotons, StopsOfOneSensorAreSaidOfTheCurvesToo) {
  auto random = generator();
  std::poisson_distribution<int> draw(3);
  const std::size_t phase = random() % 1000;
  std::string counts;
  for (std::size_t k = 0; k < 200'000; ++k)
    counts += static_cast<char>(k % 2 == 1 && (k / 2 + phase) % 2000 < 100 ? 0 : draw(random));
  write_file(scratch / "x.u8", counts);
  std::vector<std::pair<std::string, std::string>> outputs{
      {"x.csv", "0x1"}, {"x.table.csv", "1x1"}, {"x.zip", "0x0,1x1"}};
#ifdef TAUTLINE_HDF5
  outputs.emplace_back("x.h5", "0x0,1x1");
#endif
  const std::string dark = "counts stop, or never change: sensor 1 ";
  for (const auto& [name, pairs] : outputs) {
    const CommandResult made =
        run({"autocorrelate", scratch / "x.u8", "-o", scratch / name, "--dtype", "u8", "--sensors",
             "2", "--pairs", pairs, "--bin", "1e-3", "--lags", "standard", "--levels", "6"});
    expect_said(made, kDone, dark);
    const CommandResult seen = run({"inspect", scratch / name});
    EXPECT_NE(seen.out.find(dark), std::string::npos) << seen.out;
#ifdef TAUTLINE_FIT
    const CommandResult fitted =
        run({"fit", scratch / name, "-o", scratch / "fit.csv", "--model", "3d", "--overwrite"});
    EXPECT_NE(fitted.err.find(dark), std::string::npos) << fitted.err;
    std::istringstream lines(read_file(scratch / "fit.csv"));
    std::size_t doubted = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('#') || line.starts_with("sensor")) continue;
      const bool stops = line.find("counts stop, which bends the curve") != std::string::npos;
      EXPECT_EQ(stops, line.find("sensor 1") != std::string::npos) << name << ": " << line;
      doubted += stops ? 1 : 0;
    }
    EXPECT_EQ(doubted, 1u) << name;
#endif
  }
}

}  // namespace
}  // namespace tautline::tests

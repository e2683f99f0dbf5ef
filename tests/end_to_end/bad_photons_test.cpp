// Ordinary bad days of photon counting: what the command says of counts and time tags, and how it
// exits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "tautline/formats/spc/spc.h"
#include "tests/end_to_end/command_test.h"
#include "tests/formats/spc/records.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

class BadPhotons : public CommandTest {
 protected:
  CommandResult autocorrelate(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"autocorrelate", scratch / name, "-o", scratch / "out.csv",
                                       "--overwrite"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  CommandResult raw(const std::string& bytes, const std::vector<std::string>& more) {
    write_file(scratch / "x.u8", bytes);
    std::vector<std::string> arguments{"--dtype", "u8", "--bin", "1e-6"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return autocorrelate("x.u8", arguments);
  }
  static void expect_said(const CommandResult& result, int status, const std::string& words) {
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << "not said: " << words << "\n"
                                                         << result.err;
  }
  // One curve's numbers: lines without a mark, and with "nan" or without.
  std::size_t lags_written(bool undefined) const {
    std::istringstream lines(read_file(scratch / "out.csv"));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line) && line.find("TRACE") == std::string::npos;)
      if (!line.empty() && line[0] != '#' && line.ends_with("nan") == undefined) ++count;
    return count;
  }
  std::size_t values_written() const { return lags_written(false); }
};

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

// A recording of half a second, and its records to be tampered with.
class BadTags : public BadPhotons, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    const CommandResult made = run({"simulate", "photons", "--duration", "0.3", "--tags",
                                    GetParam(), "--seed", std::to_string(generator()()), "--model",
                                    "diffusion:n=2,tau=2e-4,rate=2e4", "-o", scratch / "x.ptu"});
    ASSERT_EQ(made.status, kDone) << made.err;
    const std::string file = read_file(scratch / "x.ptu");
    const std::size_t end = file.find("Header_End") + 48;
    header_ = file.substr(0, end);
    records_.resize((file.size() - end) / 4);
    std::memcpy(records_.data(), file.data() + end, 4 * records_.size());
    // Two photons with no overflow between, less than half of one apart: a longer step back would
    // be a lost overflow's.
    const std::uint32_t overflow = std::string(GetParam()) == "t2" ? 33554432 : 1024;
    const auto step = [&](std::size_t at) {
      return (records_[at + 1] - records_[at]) & (overflow - 1);
    };
    while (special(photon_) || special(photon_ + 1) || step(photon_) == 0 ||
           step(photon_) >= overflow / 2)
      ++photon_;
    while (!special(overflow_)) ++overflow_;
  }
  bool special(std::size_t record) const { return records_[record] >> 31 != 0; }
  CommandResult correlate(const std::string& records, std::vector<std::string> more = {}) {
    write_file(scratch / "bad.ptu", header_ + records);
    more.insert(more.end(),
                {"--bin", "1e-6", "--lags", "standard", "--bins", "8", "--levels", "8"});
    return autocorrelate("bad.ptu", more);
  }
  std::string bytes() const {
    return {reinterpret_cast<const char*>(records_.data()), 4 * records_.size()};
  }

  std::string header_;
  std::vector<std::uint32_t> records_;
  std::size_t photon_ = 200, overflow_ = 1000;
};

TEST_P(BadTags, CountsThatAreTooNarrowNameTheOptions) {
  // Hundreds of photons in 30 ms.
  expect_said(autocorrelate("x.ptu", {"--bin", "3e-2"}), kFailed,
              "choose a shorter --bin or wider counts, --dtype u16");
  EXPECT_EQ(autocorrelate("x.ptu", {"--bin", "3e-2", "--dtype", "u16"}).status, kDone);
}

// However they are correlated, bins or one by one.
TEST_P(BadTags, SayWhatIsWrongAndGoOn) {
  for (const char* method : {"bins", "direct"}) {
    const std::vector<std::string> more{"--tags", method};
    EXPECT_EQ(correlate(bytes(), more).status, kDone);
    expect_said(correlate(bytes().substr(0, bytes().size() / 2 / 4 * 4 + 2), more), kDamaged,
                "cut short at byte");
    std::swap(records_[photon_], records_[photon_ + 1]);
    expect_said(correlate(bytes(), more), kDamaged, "the time tags go backwards");
    std::swap(records_[photon_], records_[photon_ + 1]);
    const std::uint32_t kept = records_[photon_];
    records_[photon_] = 0x80000000u | 40u << 25;
    expect_said(correlate(bytes(), more), kDamaged, "unknown record");
    EXPECT_EQ(correlate(bytes(), {"--tags", method, "--strict"}).status, kFailed);
    records_[photon_] = kept;
    std::vector<std::uint32_t> whole = records_;
    records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(overflow_));
    expect_said(correlate(bytes(), more), kDamaged, "bad.ptu");
    records_ = whole;
  }
}

// Of both methods, the same curve; with shifted records none.
TEST_P(BadTags, RecordsThatWereLostAreNoPhotonsAndCutTheRun) {
  const std::string whole = bytes();
  for (const std::uint32_t value : {0u, 0xFFFFFFFFu}) {
    std::fill_n(records_.begin() + static_cast<std::ptrdiff_t>(records_.size() / 2), 300, value);
    std::string curves[2];
    for (const char* method : {"bins", "direct"}) {
      const CommandResult result = correlate(bytes(), {"--tags", method});
      expect_said(result, kDamaged, "records that were never written (all bits 0, or all 1)");
      expect_said(result, kDamaged, "300 that were never written in 1 place");
      EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 5) << result.err;
      std::istringstream lines(read_file(scratch / "out.csv"));
      for (std::string line; std::getline(lines, line);)
        if (line.empty() || line[0] != '#') curves[method[0] == 'd'] += line + "\n";
      EXPECT_EQ(correlate(bytes(), {"--tags", method, "--strict"}).status, kFailed);
    }
    EXPECT_FALSE(curves[0].empty());
    EXPECT_EQ(curves[0], curves[1]);
    // inspect has no such options, and says whose they are.
    const CommandResult inspected = run({"inspect", scratch / "bad.ptu"});
    expect_said(inspected, kDamaged,
                "autocorrelate takes the part before with --start and --duration");
  }
  for (std::size_t shift = 1; shift < 4; ++shift) {
    std::filesystem::remove(scratch / "out.csv");
    expect_said(correlate(whole.substr(shift)), kFailed,
                "the records are shifted by some bytes, are of another type than the header says");
    EXPECT_FALSE(std::filesystem::exists(scratch / "out.csv"));
  }
}

// Records that were written over read as overflows, which set the clock far ahead.
TEST_P(BadTags, ClocksThatRunFarBeyondTheHeadersLengthAreDamage) {
  constexpr std::size_t kRecords = 1000;
  for (std::size_t k = 0; k < kRecords; ++k) records_[photon_ + k] = 0xFFFFFFFE;
  // So long a run of T2 has no bins to hold; the warning is of whoever reads all.
  write_file(scratch / "bad.ptu", header_ + bytes());
  const CommandResult seen = run({"inspect", scratch / "bad.ptu"});
  expect_said(seen, kDamaged, "expected the 0.3 s of the header");
  if (std::string(GetParam()) == "t2") return;
  for (const char* method : {"bins", "direct"})
    expect_said(correlate(bytes(), {"--tags", method}), kDamaged,
                "expected the 0.3 s of the header");
}

// Without the overflow between them the clock of the next photon is more than half its range below
// that of the one before.
TEST_P(BadTags, OverflowRecordsMissing) {
  const bool t2 = std::string(GetParam()) == "t2";
  const std::uint32_t wrap = t2 ? 33554432 : 1024;
  const auto clock = [&](std::size_t record) { return records_[record] & (wrap - 1); };
  std::size_t at = 1;
  while (at + 1 < records_.size() &&
         !(special(at) && clock(at) == 1 && !special(at - 1) && !special(at + 1) &&
           clock(at - 1) > clock(at + 1) && clock(at - 1) - clock(at + 1) > wrap / 2))
    ++at;
  ASSERT_LT(at + 1, records_.size()) << "no such overflow in the recording";
  const std::uint32_t step = clock(at - 1) - clock(at + 1);
  records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(at));
  for (const char* method : {"bins", "direct"}) {
    const CommandResult result = correlate(bytes(), {"--tags", method});
    expect_said(result, kDamaged, "an overflow record is missing, record " + std::to_string(at));
    expect_said(result, kDamaged, "the clock steps back by " + std::to_string(step));
  }
}

TEST_P(BadTags, BinsShorterThanTheClockAndDetectorsThatAreNot) {
  write_file(scratch / "x2.ptu", header_ + bytes());
  const CommandResult result = autocorrelate("x2.ptu", {"--bin", "1e-13"});
  expect_said(result, kWrongUsage, std::string(GetParam()) == "t3" ? "sync period" : "tick");
  if (std::string(GetParam()) == "t2") {
    expect_said(autocorrelate("x2.ptu", {"--bin", "1e-6", "--gate", "1e-9:2e-9"}), kWrongUsage,
                "gate");
  } else {
    expect_said(autocorrelate("x2.ptu", {"--bin", "1e-6", "--gate", "0:12"}), kWrongUsage,
                "--gate: 0:12, which keeps every photon, expected a part of the microtimes, 0 to ");
    EXPECT_EQ(autocorrelate("x2.ptu", {"--bin", "1e-6", "--gate", "1ns:1us"}).status, kDone);
  }
  expect_said(autocorrelate("x2.ptu", {"--bin", "1e-6", "--detectors", "9"}), kWrongUsage,
              "--detectors: 9, expected detectors with photons in " + scratch / "x2.ptu" + ": 0");
  EXPECT_EQ(autocorrelate("x2.ptu", {"--bin", "1e-6", "--detectors", "0"}).status, kDone);
  // Half a second in one bin holds more than a byte; one by one there is no such limit.
  expect_said(autocorrelate("x2.ptu", {"--bin", "0.1", "--levels", "1", "--tags", "bins"}), kFailed,
              "more than 255");
  EXPECT_EQ(autocorrelate("x2.ptu", {"--bin", "0.1", "--levels", "1", "--tags", "direct"}).status,
            kDone);
  expect_said(autocorrelate("x2.ptu", {"--bin", "1e-6", "--coarsen", "first", "--tags", "direct"}),
              kWrongUsage, "--tags");
}

TEST_P(BadTags, DirectCurvesAreThoseOfBins) {
  std::string curves[2];
  for (const char* method : {"bins", "direct"}) {
    ASSERT_EQ(correlate(bytes(), {"--tags", method}).status, kDone);
    std::string text = read_file(scratch / "out.csv"), numbers;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (line.empty() || line[0] != '#') numbers += line + "\n";
    curves[method[0] == 'd'] = numbers;
  }
  EXPECT_FALSE(curves[0].empty());
  EXPECT_EQ(curves[0], curves[1]);
}

INSTANTIATE_TEST_SUITE_P(Modes, BadTags, ::testing::Values("t2", "t3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tautline::tests

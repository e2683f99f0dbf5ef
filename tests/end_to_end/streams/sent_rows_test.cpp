// `send` of filterbanks and counts to runs that receive their packets, and of any file through a pipe.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/npy/header.h"
#include "tests/end_to_end/live_run.h"
#include "tests/end_to_end/search/search_files.h"

namespace tautline::tests {
namespace {

class SentRows : public LiveRun {
 protected:
  void SetUp() override {  // needs no HDF5
    for (const char* name : {"run", "send", "other"})
      std::filesystem::create_directory(scratch / name);
  }
  CommandResult command(const std::vector<std::string>& words) const {
    std::vector<std::string> all{"--device", "cpu"};
    all.insert(all.end(), words.begin(), words.end());
    return run_command(all, scratch / "other");
  }
  void simulate_filterbank() {
    const CommandResult made =
        command({"simulate", "filterbank", "--nchans", "64", "--fch1", "1465", "--foff", "-1",
                 "--duration", "4", "--tsamp", "256us", "--pulse", "time=2,dm=30,snr=40,width=2ms",
                 "--seed", std::to_string(random() % 1'000'000), "-o", scratch / "sky.fil"});
    ASSERT_EQ(made.status, kDone) << made.err;
  }
  // A shell's line, in which TAUTLINE is the command.
  CommandResult shell(std::string line) {
    for (std::size_t at = 0; (at = line.find("TAUTLINE")) != std::string::npos;)
      line.replace(at, 8, command_path());
    return run_program("/bin/sh", {"-c", line}, scratch / "send");
  }
  std::string quoted(const std::string& name) const { return "'" + (scratch / name) + "'"; }
  nlohmann::json send(const std::vector<std::string>& words) {
    std::vector<std::string> all{"--json", "send"};
    all.insert(all.end(), words.begin(), words.end());
    const CommandResult result = run_command(all, scratch / "send");
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out);
  }
};

// Candidates, without the column that names the file.
std::vector<std::string> rows_of(const std::string& csv) {
  std::vector<std::string> rows;
  std::istringstream text(csv);
  for (std::string line; std::getline(text, line);)
    if (!line.starts_with('#')) rows.push_back(without_file(line));
  return rows;
}

TEST_F(SentRows, ASearchOfPacketsFindsThePulseOfTheFile) {
  simulate_filterbank();
  const auto pipeline = [&](const std::string& name, const std::string& source) {
    write_file(scratch / name,
               "[filterbank]\ntype = \"live_filterbank\"\n" + source +
                   "[pulses]\ntype = \"search\"\ninputs = \"filterbank\"\n"
                   "dms.range = \"0:60:1\"\nmax_width_s = 0.02\nthreshold = 8\n"
                   "[list]\ntype = \"candidate_file\"\ninputs = \"pulses\"\npath = \"" +
                   (scratch / "list.csv") + "\"\n");
  };
  pipeline("live.toml", "path = \"udp://127.0.0.1:0\"\nheader = \"" + (scratch / "sky.fil") +
                            "\"\nsilence_s = 2\nfirst_count = 0\n");
  pipeline("pipe.toml", "path = \"-\"\nduration_s = " + std::to_string(15'616 * 256e-6) + "\n");
  const auto search = [&](const std::string& impair) {
    nlohmann::json sent, counters;
    CommandResult result;
    // A busy machine loses packets itself, which it counts: they are sent again.
    for (int tries = 0; tries < 5; ++tries) {
      start_pipeline(scratch / "live.toml", {}, {"--overwrite"});
      const auto to = listens_at();
      EXPECT_EQ(to.size(), 1u);
      std::vector<std::string> words{
          scratch / "sky.fil", "--layout", "filterbank", "--rate", "2", "--to", to.at(0)};
      if (!impair.empty()) words.insert(words.end(), {"--impair", impair});
      sent = send(words);
      result = end_run();
      counters = nlohmann::json::parse(result.out).at("counters");
      if (counters.at("filterbank.dropped_by_kernel") == 0) break;
    }
    EXPECT_EQ(counters.at("filterbank.accepted").get<int>() +
                  counters.at("filterbank.missing").get<int>(),
              4 * (15'625 / 64))
        << result.err;
    if (impair.empty()) {
      EXPECT_EQ(result.status, kDone) << result.err;
    } else {
      EXPECT_EQ(result.status, kDamaged) << result.err;
      EXPECT_NE(result.err.find("packets did not come, or too late"), std::string::npos)
          << result.err;
      EXPECT_GE(counters.at("filterbank.missing"), sent.at("lost"));
      EXPECT_GT(counters.at("filterbank.lost_samples"), 0);
    }
    return read_file(scratch / "list.csv");
  };
  const std::string found = search("");
  // The same list as by a pipe.
  const CommandResult piped =
      shell("TAUTLINE --quiet send " + quoted("sky.fil") +
            " --to - --rate 0 | TAUTLINE --device cpu " + "run --overwrite " + quoted("pipe.toml"));
  EXPECT_EQ(piped.status, kDone) << piped.err;
  EXPECT_EQ(rows_of(found), rows_of(read_file(scratch / "list.csv")));
  EXPECT_GE(rows_of(found).size(), 2u);
  // With losses the pulse alone is found: what is lost has the noise of its channels, and no steps.
  const auto with_losses =
      rows_of(search("loss=0.02,seed=" + std::to_string(random() % 1'000'000)));
  EXPECT_GE(with_losses.size(), 2u);
  EXPECT_LE(with_losses.size(), rows_of(found).size() + 3);  // of some 20 packets that are lost
}

// The time at which an observation ends is heard while its source waits for the first packets.
TEST_F(SentRows, AnObservationEndsBeforeItsFirstPacket) {
  simulate_filterbank();
  const auto end = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) +
                   std::chrono::seconds(4);
  write_file(scratch / "live.toml",
             "[filterbank]\ntype = \"live_filterbank\"\npath = \"udp://127.0.0.1:0\"\nheader = \"" +
                 (scratch / "sky.fil") +
                 "\"\nwait_s = 100\nfill_gaps = true\n[trials]\ntype = \"dedisperse\"\ninputs = "
                 "\"filterbank\"\n"
                 "dms.range = \"0:60:10\"\n[series]\ntype = \"trial_files\"\n"
                 "inputs = \"trials\"\npath = \"" +
                 (scratch / "x.npy") + "\"\n[[observation]]\nstop = \"" +
                 core::to_iso({.seconds = end.time_since_epoch().count()}) + "\"\n");
  const auto began = std::chrono::steady_clock::now();
  const CommandResult result = command({"run", scratch / "live.toml"});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_EQ(result.status, kFailed) << result.err;
  EXPECT_NE(result.err.find("run: over; too little had come"), std::string::npos) << result.err;
  EXPECT_LT(took.count(), 60);
  EXPECT_FALSE(std::filesystem::exists(scratch / "x.npy"));
}

// Of counts that never change all values of g are 0, if bins that did not come take no part.
TEST_F(SentRows, CurvesLeaveOutWhatDidNotCome) {
  constexpr int kBins = 128 * 400;
  std::string counts;
  for (int k = 0; k < 2 * kBins; ++k) counts += std::string("\5\0", 2);
  write_file(scratch / "counts.raw", counts);
  write_file(scratch / "live.toml",
             "[counts]\ntype = \"count_file\"\npath = \"udp://127.0.0.1:0\"\nsensors = 2\n"
             "bin_s = \"50us\"\nsilence_s = 2\nkeep_constant = true\nfirst_count = 0\n"
             "[curves]\ntype = \"autocorrelator\"\ninputs = \"counts\"\n"
             "[file]\ntype = \"curve_file\"\ninputs = \"curves\"\npath = \"" +
                 (scratch / "live.zip") + "\"\n");
  for (const bool loses : {false, true}) {
    start_pipeline(scratch / "live.toml", {}, {"--overwrite"});
    const auto to = listens_at();
    ASSERT_EQ(to.size(), 1u);
    std::vector<std::string> words{scratch / "counts.raw",
                                   "--layout",
                                   "counts",
                                   "--bin",
                                   "50us",
                                   "--dtype",
                                   "u16",
                                   "--sensors",
                                   "2",
                                   "--to",
                                   to[0]};
    if (loses)
      words.insert(words.end(),
                   {"--impair", "loss=0.05,seed=" + std::to_string(random() % 1'000'000)});
    const nlohmann::json sent = send(words);
    const CommandResult result = end_run();
    const auto counters = nlohmann::json::parse(result.out).at("counters");
    const auto missing = counters.at("counts.missing").get<std::uint64_t>();
    EXPECT_LE(missing, sent.at("lost").get<std::uint64_t>() +
                           counters.at("counts.dropped_by_kernel").get<std::uint64_t>() +
                           counters.at("counts.late").get<std::uint64_t>());
    EXPECT_EQ(result.status, missing > 0 ? kDamaged : kDone) << result.err;
    const auto curves = formats::curves::read_set(scratch / "live.zip");
    EXPECT_EQ(result.err.find("packets were lost in") != std::string::npos, missing > 0)
        << result.err;
    for (const double g : curves.g) ASSERT_TRUE(std::isnan(g) || std::abs(g) < 1e-12) << g;
    if (!loses && missing > 0) {  // the machine was too busy
      EXPECT_GT(counters.at("counts.dropped_by_kernel").get<std::uint64_t>() +
                    counters.at("counts.late").get<std::uint64_t>(),
                0u);
    }
  }
}

// A sender pauses for 128 * 50 bins, and the run ends before the second one does.
TEST_F(SentRows, CurvesInPartsSayWhatTheyLost) {
  constexpr std::uint64_t kFirst = 128 * 100, kAgain = 128 * 150, kEnd = 40'000, kPart = 5'000;
  write_file(scratch / "first.raw", std::string(kFirst * 2, '\5'));
  write_file(scratch / "again.raw", std::string(2 * kFirst * 2, '\5'));
  write_file(scratch / "live.toml",
             "[counts]\ntype = \"count_file\"\npath = \"udp://127.0.0.1:0\"\nsensors = 2\n"
             "bin_s = \"50us\"\nsilence_s = 10\nkeep_constant = true\nfirst_count = 0\n"
             "duration_s = 2\n[curves]\ntype = \"autocorrelator\"\ninputs = \"counts\"\n"
             "[file]\ntype = \"curve_file\"\ninputs = \"curves\"\neach_s = 0.25\npath = \"" +
                 (scratch / "live.zip") + "\"\n");
  start_pipeline(scratch / "live.toml", {});
  const auto to = listens_at();
  ASSERT_EQ(to.size(), 1u);
  for (const bool again : {false, true})
    send({scratch / (again ? "again.raw" : "first.raw"), "--layout", "counts", "--bin", "50us",
          "--dtype", "u8", "--sensors", "2", "--first-count", std::to_string(again ? kAgain : 0),
          "--to", to[0]});
  const CommandResult result = end_run();
  EXPECT_EQ(result.status, kDamaged) << result.err;
  const auto counters = nlohmann::json::parse(result.out).at("counters");
  EXPECT_GE(counters.at("counts.lost_samples").get<std::uint64_t>(), (kAgain - kFirst) * 2);
  const bool others = counters.at("counts.dropped_by_kernel").get<std::uint64_t>() +
                          counters.at("counts.late").get<std::uint64_t>() >
                      0;
  for (std::uint64_t part = 1; part <= kEnd / kPart; ++part) {
    const std::string file = scratch / ("live-000" + std::to_string(part) + ".zip");
    formats::curves::CurvesFacts facts;
    (void)formats::curves::read_set(file, &facts);
    const std::uint64_t first = (part - 1) * kPart, end = part * kPart;
    const std::uint64_t lost = std::clamp(kAgain, first, end) - std::clamp(kFirst, first, end);
    const bool said =
        result.err.find(file + ": udp://127.0.0.1:0: packets were lost in 1 place,") !=
        std::string::npos;
    if (others) continue;
    EXPECT_EQ(facts.extra.at("samples"), std::to_string(kPart - lost)) << part;
    EXPECT_EQ(said, lost > 0) << part << result.err;
  }
}

// Bins that did not come, and no others, are left out: no pair spans them. By plain loops, of the shortest lags.
TEST_F(SentRows, CurvesOfAPauseAreThoseOfItsParts) {
#ifndef TAUTLINE_HDF5
  GTEST_SKIP() << "a build without HDF5";
#endif
  constexpr std::uint64_t kFirst = 128 * 100, kAgain = 128 * 150;
  std::vector<std::string> parts(2, std::string(kFirst * 2, '\0'));
  for (std::size_t k = 0; k < parts.size(); ++k) {
    for (char& count : parts[k]) count = static_cast<char>(random() % 9);
    write_file(scratch / (std::to_string(k) + ".raw"), parts[k]);
  }
  write_file(scratch / "live.toml",
             "[counts]\ntype = \"count_file\"\npath = \"udp://127.0.0.1:0\"\nsensors = 2\n"
             "bin_s = \"50us\"\nsilence_s = 5\nfirst_count = 0\n"
             "[curves]\ntype = \"autocorrelator\"\ninputs = \"counts\"\n"
             "[file]\ntype = \"curve_file\"\ninputs = \"curves\"\npath = \"" +
                 (scratch / "live.h5") + "\"\n");
  start_pipeline(scratch / "live.toml", {});
  const auto to = listens_at();
  ASSERT_EQ(to.size(), 1u);
  for (std::size_t k = 0; k < parts.size(); ++k)
    send({scratch / (std::to_string(k) + ".raw"), "--layout", "counts", "--bin", "50us", "--dtype",
          "u8", "--sensors", "2", "--first-count", std::to_string(k * kAgain), "--to", to[0]});
  const CommandResult result = end_run();
  EXPECT_EQ(result.status, kDamaged) << result.err;
  const auto counters = nlohmann::json::parse(result.out).at("counters");
  const auto lost = counters.at("counts.lost_samples").get<std::uint64_t>();
  ASSERT_GE(lost, (kAgain - kFirst) * 2);
  if (lost > (kAgain - kFirst) * 2)
    GTEST_SKIP() << "this machine itself has lost packets: " << counters;
  const auto live = formats::curves::read_set(scratch / "live.h5");
  EXPECT_EQ(live.samples, 2 * kFirst);
  constexpr std::size_t kLags = 32;  // of one bin
  ASSERT_GE(live.lag_samples.size(), kLags);
  for (std::size_t sensor = 0; sensor < 2; ++sensor)
    for (std::size_t lag = 0; lag < kLags; ++lag) {
      ASSERT_EQ(live.lag_samples[lag], lag);
      double pairs = 0, products = 0, before = 0, after = 0;
      for (const std::string& part : parts)
        for (std::size_t t = lag; t < kFirst; ++t, ++pairs) {
          const double now = part[2 * t + sensor], earlier = part[2 * (t - lag) + sensor];
          products += now * earlier;
          after += now;
          before += earlier;
        }
      EXPECT_NEAR(live.g[sensor * live.lag_samples.size() + lag],
                  products * pairs / (before * after) - 1, 1e-12)
          << sensor << " " << lag;
    }
}

// A pause of 128 * 50 bins, or 4 s of a filterbank, that is longer than the longest gap, or shorter.
TEST_F(SentRows, ALongGapEndsTheRun) {
  constexpr std::uint64_t kFirst = 128 * 100, kAgain = 128 * 150, kSpectra = 64 * 244;
  simulate_filterbank();
  write_file(scratch / "counts.raw", std::string(kFirst * 2, '\5'));
  write_file(scratch / "counts.toml",
             "[rows]\ntype = \"count_file\"\npath = \"udp://127.0.0.1:0\"\nsensors = 2\n"
             "bin_s = \"50us\"\nsilence_s = 5\nkeep_constant = true\nfirst_count = 0\n"
             "[curves]\ntype = \"autocorrelator\"\ninputs = \"rows\"\n"
             "[file]\ntype = \"curve_file\"\ninputs = \"curves\"\npath = \"" +
                 (scratch / "live.zip") + "\"\n");
  write_file(
      scratch / "power.toml",
      "[rows]\ntype = \"live_filterbank\"\npath = \"udp://127.0.0.1:0\"\nheader = \"" +
          (scratch / "sky.fil") +
          "\"\nsilence_s = 5\nfirst_count = 0\nfill_gaps = true\n[trials]\ntype = \"dedisperse\"\n"
          "inputs = \"rows\"\ndms.range = \"0:10:5\"\n[series]\ntype = \"trial_files\"\n"
          "inputs = \"trials\"\npath = \"" +
          (scratch / "live.npy") + "\"\n");
  for (const bool counts : {true, false})
    for (const bool ends : {true, false}) {
      SCOPED_TRACE((counts ? "counts " : "power ") + std::to_string(ends));
      const std::string most = ends ? "0.1" : "10";
      start_pipeline(scratch / (counts ? "counts.toml" : "power.toml"),
                     {"rows.longest_gap_s=" + most}, {"--overwrite"});
      const auto to = listens_at();
      ASSERT_EQ(to.size(), 1u);
      for (const std::uint64_t first : {std::uint64_t{0}, counts ? kAgain : 2 * kSpectra}) {
        std::vector<std::string> words{scratch / (counts ? "counts.raw" : "sky.fil"),
                                       "--layout",
                                       counts ? "counts" : "filterbank",
                                       "--rate",
                                       counts ? "1" : "8",
                                       "--first-count",
                                       std::to_string(first),
                                       "--to",
                                       to[0]};
        if (counts) words.insert(words.end(), {"--bin", "50us", "--dtype", "u8", "--sensors", "2"});
        send(words);
      }
      const CommandResult result = end_run();
      EXPECT_EQ(result.status, kDamaged) << result.err;
      EXPECT_EQ(result.err.find("gaps of at most 0.1 s are filled; the stream is left there") !=
                    std::string::npos,
                ends)
          << result.err;
      const auto lost = nlohmann::json::parse(result.out)
                            .at("counters")
                            .at("rows.lost_samples")
                            .get<std::uint64_t>();
      const std::uint64_t gap = counts ? 2 * (kAgain - kFirst) : kSpectra;
      if (ends)
        EXPECT_LT(lost, gap);
      else
        EXPECT_GE(lost, gap);
    }
}

TEST_F(SentRows, APipeGetsTheFilesBytesAtItsRate) {
  simulate_filterbank();
  const auto began = std::chrono::steady_clock::now();
  const CommandResult result =
      shell("TAUTLINE send " + quoted("sky.fil") + " --to - --rate 4 > " + quoted("copy.fil"));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_TRUE(read_file(scratch / "copy.fil") == read_file(scratch / "sky.fil"));
  EXPECT_GE(took.count(), 0.99);
  EXPECT_NE(result.err.find("standard output: "), std::string::npos) << result.err;
  // Counts and a named pipe.
  write_file(scratch / "counts.raw", std::string(200'000, '\3'));
  ASSERT_EQ(mkfifo((scratch / "fifo").c_str(), 0600), 0);
  const CommandResult named =
      shell("TAUTLINE send " + quoted("counts.raw") +
            " --dtype u8 --sensors 1 --bin 10us --rate 20 --to " + quoted("fifo") + " & cat " +
            quoted("fifo") + " > " + quoted("copy.raw") + "; wait");
  EXPECT_EQ(named.status, kDone) << named.err;
  EXPECT_TRUE(read_file(scratch / "copy.raw") == read_file(scratch / "counts.raw"));
}

// Which says nothing of its bins, unless a record beside it does.
TEST_F(SentRows, APipeGetsAnArrayOfCounts) {
  const std::string array = formats::npy::format_header("|u1", {5000, 2}) + std::string(10'000, 3);
  write_file(scratch / "counts.npy", array);
  const std::string line = "TAUTLINE --quiet send " + quoted("counts.npy") + " --to - --rate 0";
  const CommandResult unknown = shell(line + " > " + quoted("copy.npy"));
  EXPECT_EQ(unknown.status, kWrongUsage) << unknown.err;
  EXPECT_NE(unknown.err.find("--bin: not given, expected the length of the counts' bins"),
            std::string::npos)
      << unknown.err;
  EXPECT_NE(unknown.err.find("of an array of voltages give --rate-hz"), std::string::npos)
      << unknown.err;
  for (const char* option : {" --bin 10us", " --rate-hz 1e6"}) {
    const CommandResult given = shell(line + option + " > " + quoted("copy.npy"));
    EXPECT_EQ(given.status, kDone) << given.err;
    EXPECT_TRUE(read_file(scratch / "copy.npy") == array) << option;
  }
  // Numbers with a sign are no counts.
  write_file(scratch / "counts.npy",
             formats::npy::format_header("|i1", {5000, 2}) + std::string(10'000, 3));
  const CommandResult voltages = shell(line + " > " + quoted("copy.npy"));
  EXPECT_NE(voltages.err.find("--rate-hz"), std::string::npos) << voltages.err;
}

// A part of a filterbank is one of its own.
TEST_F(SentRows, APipeGetsAPartOfAFilterbank) {
  simulate_filterbank();
  const CommandResult result =
      shell("TAUTLINE --quiet send " + quoted("sky.fil") +
            " --to - --rate 0 --start 1.024 --duration 0.512 > " + quoted("part.fil"));
  EXPECT_EQ(result.status, kDone) << result.err;
  const std::string whole = read_file(scratch / "sky.fil"), part = read_file(scratch / "part.fil");
  const std::size_t header = whole.size() - 15'625 * 64, bytes = 2000 * 64;
  ASSERT_GT(part.size(), bytes);
  EXPECT_TRUE(part.substr(part.size() - bytes) == whole.substr(header + 4000 * 64, bytes));
  const CommandResult inspected = command({"--json", "inspect", scratch / "part.fil"});
  EXPECT_EQ(inspected.status, kDone) << inspected.err;
}

TEST_F(SentRows, SaysWhatIsWrong) {
  simulate_filterbank();
  const auto refused = [&](const std::vector<std::string>& words, const std::string& text) {
    std::vector<std::string> all{"send", scratch / "sky.fil"};
    all.insert(all.end(), words.begin(), words.end());
    const CommandResult result = run_command(all, scratch / "send");
    EXPECT_NE(result.status, kDone);
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  refused({"--to", "-", "--impair", "loss=0.1"}, "--impair");
  refused({"--to", "-", "--to", "udp://127.0.0.1:9"}, "one pipe");
  refused({"--to", "udp://127.0.0.1:9", "--layout", "meerkat-f"}, "u8, u16 or f32");
  refused({"--to", "udp://127.0.0.1:9", "--layout", "counts", "--impair", "loss=2"}, "loss");
  // A reader that ends first.
  const CommandResult closed =
      shell("{ TAUTLINE send " + quoted("sky.fil") + " --to - --rate 0; echo $? > " +
            quoted("status") + "; } | head -c 100 > /dev/null");
  EXPECT_EQ(read_file(scratch / "status"), "1\n") << closed.err;
  EXPECT_NE(closed.err.find("its reader has ended"), std::string::npos) << closed.err;
}

}  // namespace
}  // namespace tautline::tests

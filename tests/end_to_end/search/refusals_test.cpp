// Inputs and options that dedisperse and search refuse because the result would be wrong.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "tests/end_to_end/interrupted.h"
#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class Refusals : public ::testing::Test {
 protected:
  CommandResult run(const std::vector<std::string>& arguments) {
    return run_command(arguments, scratch_.path().string());
  }
  void expect_refused(const std::vector<std::string>& arguments, int status,
                      const std::vector<std::string>& words) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, status) << result.err;
    for (const std::string& word : words)
      EXPECT_NE(result.err.find(word), std::string::npos) << word << ": " << result.err;
    for (const char* name : {"c.csv", "c.csv.json", "s.npy", "s.npy.json"})
      EXPECT_FALSE(std::filesystem::exists(scratch_ / name)) << name;
  }
  // A filterbank with a pulse at DM 40.
  std::string filterbank() {
    SigprocShape shape;
    shape.nchans = 32;
    shape.fch1 = 1500;
    shape.foff = -8;
    shape.tsamp = 1e-3;
    const std::string path = scratch_ / "in.fil";
    write_filterbank(path, shape, noise_with_pulses(shape, 8000, {{40, 2400, 30}}, random_));
    return path;
  }

  ScratchFolder scratch_;
  std::mt19937_64 random_ = generator();
};

// Its samples are those of one DM: under another one they would be the same, and wrongly named.
TEST_F(Refusals, TrialsForASeriesThatIsDedispersedAlready) {
  const std::string fil = filterbank();
  write_file(scratch_ / "dms.txt", "10 20\n");
  for (const std::string name : {"x.dat", "x.tim"}) {
    const std::string series = scratch_ / name;
    ASSERT_EQ(run({"dedisperse", fil, "-o", series, "--dms", "40"}).status, 0);
    for (const std::vector<std::string>& trials : {std::vector<std::string>{"--dms", "0:100:50"},
                                                   {"--dms", "40"},
                                                   {"--dms", "0:100"},
                                                   {"--dm-list", scratch_ / "dms.txt"}}) {
      std::vector<std::string> search{"search", series, "-o", scratch_ / "c.csv"};
      search.insert(search.end(), trials.begin(), trials.end());
      expect_refused(search, 2, {"--dms", name, "dedispersed already", "leave"});
      std::vector<std::string> dedisperse{"dedisperse", series, "-o", scratch_ / "s.npy"};
      dedisperse.insert(dedisperse.end(), trials.begin(), trials.end());
      expect_refused(dedisperse, 2, {name, "dedispersed already", "search"});
    }
    expect_refused({"dedisperse", series, "-o", scratch_ / "s.npy"}, 2, {"dedispersed already"});
    // As it is, under the DM that it says.
    const CommandResult found =
        run({"--json", "search", series, "-o", scratch_ / "found.csv", "--overwrite"});
    ASSERT_EQ(found.status, 0) << found.err;
    const auto lines = json_lines(found.out);
    ASSERT_GE(lines.size(), 2u);
    EXPECT_NEAR(lines[0]["dm"].get<double>(), 40, 1e-9);
    EXPECT_NEAR(lines[0]["sample"].get<double>(), 2400, 5);
  }
  expect_refused({"dedisperse", fil, "-o", scratch_ / "s.npy"}, 2, {"--dms", "not given"});
  expect_refused({"search", fil, "-o", scratch_ / "c.csv"}, 2, {"--dms", "not given"});
}

// It has one channel: a mean over channels is the series itself, and no other option finds channels to work on.
TEST_F(Refusals, OptionsForChannelsOfASeries) {
  const std::string fil = filterbank();
  for (const std::string name : {"x.dat", "x.tim"}) {
    const std::string series = scratch_ / name;
    ASSERT_EQ(run({"dedisperse", fil, "-o", series, "--dms", "40"}).status, 0);
    for (const std::vector<std::string>& option : {std::vector<std::string>{"--zero-dm"},
                                                   {"--flag-channels"},
                                                   {"--bandpass"},
                                                   {"--iqrm"},
                                                   {"--ignorechan", "0"},
                                                   {"--method", "subband"},
                                                   {"--max-loss", "5"},
                                                   {"--ifs", "0"},
                                                   {"--dm-tolerance", "1.2"},
                                                   {"--pulse-width", "100"},
                                                   {"--downsample-tolerance", "1.2"}}) {
      std::vector<std::string> search{"search", series, "-o", scratch_ / "c.csv"};
      search.insert(search.end(), option.begin(), option.end());
      expect_refused(
          search, kWrongUsage,
          {option.front() + ": given for " + series, "have no channels", "leave it out"});
    }
  }
}

TEST_F(Refusals, SeriesOfAnImpossibleDm) {
  const std::string series = scratch_ / "x.dat", inf = scratch_ / "x.inf";
  ASSERT_EQ(run({"dedisperse", filterbank(), "-o", series, "--dms", "40"}).status, 0);
  const std::string text = read_file(inf), label = "Dispersion measure (cm-3 pc)";
  const std::size_t from = text.find('=', text.find(label)) + 1, to = text.find('\n', from);
  for (const std::string dm : {"-10", "1e7"}) {
    write_file(inf, text.substr(0, from) + "  " + dm + text.substr(to));
    expect_refused({"search", series, "-o", scratch_ / "c.csv"}, 1,
                   {"x.dat", "dispersion measure", "0 to 1e6"});
  }
  for (const std::string dm : {"nan", "high", ""}) {
    write_file(inf, text.substr(0, from) + "  " + dm + text.substr(to));
    expect_refused({"search", series, "-o", scratch_ / "c.csv"}, 1, {"x.inf", label});
  }
}

TEST_F(Refusals, ADatWithoutItsInf) {
  const std::string series = scratch_ / "x.dat";
  ASSERT_EQ(run({"dedisperse", filterbank(), "-o", series, "--dms", "40"}).status, 0);
  std::filesystem::remove(scratch_ / "x.inf");
  expect_refused({"search", series, "-o", scratch_ / "c.csv"}, 1, {series, "x.inf is missing"});
}

// Trials of one observation are searched together; parts of series of several DMs are not.
TEST_F(Refusals, SeriesOfSeveralDmsThatDoNotBeginTogether) {
  const std::string fil = filterbank();
  for (const std::string format : {"dat", "tim"}) {
    const std::filesystem::path folder = scratch_ / format;
    ASSERT_EQ(run({"dedisperse", fil, "-o", folder, "--dms", "0:10:10", "--format", format}).status,
              0);
    const std::string late = scratch_ / ("late." + format);
    ASSERT_EQ(run({"dedisperse", fil, "-o", late, "--dms", "10", "--start", "0.1"}).status, 0);
    expect_refused({"search", folder / ("in_DM0.00." + format), late, "-o", scratch_ / "c.csv"}, 1,
                   {"late." + format, "DM", "search each by itself"});
    expect_refused({"search", folder / ("in_DM0.00." + format), folder / ("in_DM10.00." + format),
                    late, "-o", scratch_ / "c.csv"},
                   1, {"late." + format, "start", "trials of one observation"});
  }
}

// Neither the list nor an empty file of events. What is left while pictures are drawn: cutouts_test.cpp.
TEST_F(Refusals, NothingIsLeftOfInterruptedSearches) {
  const std::string fil = filterbank(), events = scratch_ / "e.jsonl";
  const auto interrupted = [&](const std::vector<std::string>& words, const std::string& begun,
                               int signal) {
    const pid_t pid = start_command(words, scratch_.path().string());
    for (int wait = 0; wait < 60'000 && !std::filesystem::exists(begun); ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(std::filesystem::exists(begun)) << begun;
    double took_s = 0;
    const CommandResult result = interrupt(pid, signal, scratch_.path().string(), took_s);
    EXPECT_EQ(result.status, 128 + signal) << result.err;
    EXPECT_NE(result.err.find("interrupted; nothing was kept"), std::string::npos) << result.err;
    EXPECT_LT(took_s, EndsWithinASecond::kMost_s);
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path()))
      left.push_back(entry.path().filename().string());
    std::sort(left.begin(), left.end());
    return left;
  };
  const std::vector<std::string> inputs{"err", "in.fil", "out"};
  // A file of zeros, which take no room.
  std::filesystem::resize_file(fil, std::uintmax_t{1} << 36);
  for (const int signal : {SIGINT, SIGTERM})
    EXPECT_EQ(interrupted({"search", fil, "-o", scratch_ / "c.csv", "--dms", "0:100:1",
                           "--keep-constant", "--threshold", "100", "--events", events},
                          events, signal),
              inputs);
}

// The largest that is named is taken, as is the default of short data.
TEST_F(Refusals, ABoxcarThatIsLongerThanTheData) {
  const std::string fil = filterbank();  // 8 s
  const auto search = [&](const std::string& dms, const std::vector<std::string>& more) {
    std::vector<std::string> words{"search", fil, "-o", scratch_ / "c.csv", "--dms", dms};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect_refused(search("0:40:10", {"--max-width", "20"}), kWrongUsage,
                 {"--max-width: 20 s, expected at most the 8 s of data", "give 8 or less"});
  // The lowest trial's delay is no data: 0.4 s at DM 500.
  const CommandResult delayed = run(search("500:600:50", {"--max-width", "7.9"}));
  EXPECT_EQ(delayed.status, kWrongUsage) << delayed.err;
  const std::string word = "give ";
  const std::string largest = delayed.err.substr(delayed.err.find(word) + word.size(), 5);
  EXPECT_NEAR(std::stod(largest), 7.6, 0.1) << delayed.err;
  expect_refused(search("0:40:10", {"--max-width", "2", "--start", "1", "--duration", "1.5"}),
                 kWrongUsage, {"at most the 1.5 s of data"});
  EXPECT_EQ(run(search("0", {"--duration", "0.09"})).status, kDone);
  EXPECT_EQ(run(search("0:40:10", {"--max-width", "8", "--overwrite"})).status, kDone);
  EXPECT_EQ(run(search("500:600:50", {"--max-width", largest, "--overwrite"})).status, kDone);
}

// The fields of packets have no effect on a pipe.
TEST_F(Refusals, WhatIsOfPacketsForAPipe) {
  const auto live = [&](const std::string& field) {
    write_file(scratch_ / "live.toml",
               "[filterbank]\ntype = \"live_filterbank\"\npath = \"-\"\n" + field +
                   "\n[pulses]\ntype = \"search\"\ninputs = \"filterbank\"\n" +
                   "dms.range = \"0:60:1\"\nmax_width_s = 0.02\nlatency_s = 2\n[list]\ntype = "
                   "\"candidate_file\"\n" +
                   "inputs = \"pulses\"\npath = \"" + (scratch_ / "c.csv") + "\"\n");
    return run_shell(
        command_line({"--device", "cpu", "run", scratch_ / "live.toml"}) + " < " + filterbank(),
        scratch_.path().string());
  };
  for (const std::string field :
       {"header = \"in.fil\"", "layout = \"counts\"", "interface = \"127.0.0.1\"",
        "first_count = 0", "window_samples = 100", "silence_s = 2", "longest_gap_s = 1"}) {
    const CommandResult refused = live(field);
    EXPECT_EQ(refused.status, kWrongUsage) << refused.err;
    const std::string text =
        field.substr(0, field.find(' ')) + " (line 4): of packets; path is a pipe";
    EXPECT_NE(refused.err.find(text), std::string::npos) << text << ": " << refused.err;
  }
  EXPECT_EQ(live("").status, kDone);
}

// Before the source waits for what nobody sends.
TEST_F(Refusals, SettingsOfLivePipelinesAreCheckedFirst) {
  const std::string pipe = scratch_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  write_file(scratch_ / "live.toml",
             "[filterbank]\ntype = \"live_filterbank\"\npath = \"" + pipe +
                 "\"\nwait_s = 0.2\n"
                 "[pulses]\ntype = \"search\"\ninputs = \"filterbank\"\ndms.range = \"0:100\"\n"
                 "[list]\ntype = \"candidate_file\"\ninputs = \"pulses\"\npath = \"c.csv\"\n");
  expect_refused({"run", scratch_ / "live.toml", "--set", "pulses.threshold=-5"}, kWrongUsage,
                 {"pulses.threshold: -5, expected "});
}

// A folder that a refused run made is gone again, one that was there stays.
TEST_F(Refusals, LeaveNoFolder) {
  const std::string fil = filterbank(), folder = scratch_ / "new/pictures";
  const std::vector<std::string> search{"search", fil, "-o", scratch_ / "c.csv"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = search;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::vector<std::string> too_far{"--dms", "0:1e6:1e5", "--plot", folder};
  expect_refused(with(too_far), 2, {"--dms"});
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "new"));
  std::filesystem::create_directory(scratch_ / "new");
  expect_refused(with(too_far), 2, {"--dms"});
  EXPECT_TRUE(std::filesystem::is_empty(scratch_ / "new"));
  expect_refused(with({"--dms", "0:10:1", "--plot", fil}), 1, {"--plot", fil + " is a file"});
  expect_refused(with({"--dms", "0:10:1", "--plot", fil + "/below"}), 1, {"--plot", "folder"});
  expect_refused({"dedisperse", fil, "-o", fil, "--format", "dat", "--dms", "0:10:1"}, 1,
                 {"-o: " + fil + " is a file"});
  EXPECT_EQ(run(with({"--dms", "0:10:1", "--plot", folder})).status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder + "/candidates.html"));
}

// The memory that is asked for is enough, and a MiB less is not.
TEST_F(Refusals, TooLittleMemoryWithWhatWouldDo) {
  const std::string fil = filterbank();
  for (const std::string command : {"search", "dedisperse"}) {
    const std::string output = scratch_ / (command == "search" ? "c.csv" : "s.npy");
    const auto with = [&](const std::string& bytes) {
      return std::vector<std::string>{"--device", "cpu",   command,   fil,        "-o",
                                      output,     "--dms", "0:100:1", "--memory", bytes};
    };
    const std::string refusal = run(with("1K")).err, words = "expected at least ";
    ASSERT_NE(refusal.find("--memory: 1K, " + words), std::string::npos) << refusal;
    const std::size_t mebibytes = std::stoull(refusal.substr(refusal.find(words) + words.size()));
    const std::string needed = std::to_string(mebibytes) + "M";
    // On one core it can be a single one, and 0 is no size.
    const std::string too_few = mebibytes > 1 ? std::to_string(mebibytes - 1) + "M" : "1K";
    expect_refused(with(too_few), 2, {"--memory", words + needed});
    const CommandResult enough = run(with(needed));
    EXPECT_EQ(enough.status, 0) << enough.err;
    std::filesystem::remove(output);
    std::filesystem::remove(output + ".json");
  }
}

TEST_F(Refusals, ArraysOfSeveralTrialsWithTrialsOrCutShort) {
  const std::string array = scratch_ / "x.npy";
  ASSERT_EQ(run({"dedisperse", filterbank(), "-o", array, "--dms", "0:40:1"}).status, 0);
  expect_refused({"search", array, "-o", scratch_ / "c.csv", "--dms", "0:40:1"}, 2,
                 {"x.npy", "dedispersed already", "--dms"});
  std::filesystem::resize_file(array, std::filesystem::file_size(array) - 1);
  expect_refused({"search", array, "-o", scratch_ / "c.csv"}, 1,
                 {"x.npy", "expected 41 x ", "cut short", "dedisperse"});
}

}  // namespace
}  // namespace tautline::tests

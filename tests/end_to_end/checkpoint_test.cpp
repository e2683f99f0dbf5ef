// Runs with a checkpoint that are interrupted or killed go on, and their files are those of a run that was not, byte
// for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tautline/core/hash.h"
#include "tests/end_to_end/command_test.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class Checkpoints : public CommandTest {
 protected:
  void SetUp() override {
#ifndef TAUTLINE_HDF5
    GTEST_SKIP() << "a build without HDF5";
#endif
    fs::create_directory(scratch / "night");
    write_file(scratch / "array.toml",
               "latitude_deg = 52.9\nlongitude_deg = 6.6\n[[antenna]]\nenu_m = [0, 0, 0]\n"
               "[[antenna]]\nenu_m = [30, 10, 0]\n");
  }

  // Two files with a gap between them, and a stretch in which nothing comes that is longer than a block.
  void write_voltages(const std::string& channels) {
    constexpr std::size_t kTimes = 1'280'000;  // a second
    DadaFile file;
    file.nchan = channels;
    const std::size_t time_bytes = 8 * std::stoul(channels);
    file.tsamp = channels == "1" ? "0.78125" : "3.125";
    file.payload_bytes = time_bytes * kTimes / std::stoul(channels);
    std::string bytes = file.bytes();
    const std::size_t first = random() % (file.payload_bytes / 2);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(4096 + first), 300'000, '\0');
    write_file(scratch / "a.dada", bytes);
    file.utc = "2026-03-20-14:00:02";
    write_file(scratch / "b.dada", file.bytes());
  }
  void write_pipeline(const std::string& filter, const std::string& sums,
                      const std::string& file = "each_s = 0.05\n") {
    write_file(scratch / "night.toml",
               "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "a.dada") +
                   "\", \"" + (scratch / "b.dada") +
                   "\"]\nblock_samples = 7777\n[f]\ntype = \"filter_bank\"\ninputs = "
                   "\"voltages\"\n" +
                   filter + "[x]\ntype = \"correlator\"\ninputs = \"f\"\nintegration_s = 0.0123\n" +
                   sums + "[visibilities]\ntype = \"visibility_file\"\ninputs = \"x\"\npath = \"" +
                   (scratch / "night/night.uvh5") + "\"\n" + file);
  }
  void write_spectra_pipeline(const std::string& filter, const std::string& file) {
    write_file(scratch / "night.toml",
               "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "a.dada") +
                   "\", \"" + (scratch / "b.dada") +
                   "\"]\nblock_samples = 7777\n[f]\ntype = \"filter_bank\"\ninputs = "
                   "\"voltages\"\n" +
                   filter + "[spectra]\ntype = \"spectra_file\"\ninputs = \"f\"\npath = \"" +
                   (scratch / "night/night.") + ending + "\"\n" + file);
  }
  // As if live, so that there is time to stop it.
  std::vector<std::string> words(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"--device",     "cpu",
                                 "run",          scratch / "night.toml",
                                 "--checkpoint", scratch / "night.checkpoint",
                                 "--as-live",    pace};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(scratch / "night"))
      all[entry.path().filename().string()] = read_file(entry.path().string());
    return all;
  }
  std::map<std::string, std::string> take_files() {
    auto all = files();
    fs::remove_all(scratch / "night");
    fs::remove(scratch / "night.checkpoint");
    fs::create_directory(scratch / "night");
    return all;
  }
  std::string file(std::size_t number) const {
    return scratch / ("night/night-" + std::string(number < 10 ? "000" : "00") +
                      std::to_string(number) + "." + ending);
  }
  // Some time after this file has its name; how it ended.
  CommandResult stop_after(std::size_t number, const std::vector<std::string>& arguments,
                           int signal) {
    const pid_t pid = start_command(arguments, scratch.path().string());
    for (int k = 0; k < 10'000 && !fs::exists(file(number)) && kill(pid, 0) == 0; ++k)
      std::this_thread::sleep_for(2ms);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    kill(pid, signal);
    return finish_command(pid, scratch.path().string());
  }
  static void expect_equal(const std::map<std::string, std::string>& files,
                           const std::map<std::string, std::string>& expected) {
    EXPECT_EQ(files.size(), expected.size());
    for (const auto& [name, bytes] : expected) {
      const auto found = files.find(name);
      ASSERT_NE(found, files.end()) << name;
      EXPECT_TRUE(found->second == bytes) << name;
    }
  }

  // The run's files are those of one that was interrupted and killed, and went on.
  void expect_that_it_goes_on(std::size_t least_files) {
    const std::vector<std::string> arguments = words();
    const CommandResult plain = run(arguments);
    ASSERT_TRUE(plain.status == kDone || plain.status == kDamaged) << plain.err;
    const auto expected = take_files();
    const auto all = static_cast<std::size_t>(std::ranges::count_if(
        expected, [&](const auto& one) { return one.first.ends_with(ending); }));
    ASSERT_GE(all, least_files);

    std::size_t behind = 0;
    for (const int signal : {SIGINT, SIGKILL, SIGTERM, SIGKILL}) {
      const std::size_t next = behind + 1 + random() % 6;
      const CommandResult stopped = stop_after(next, arguments, signal);
      // Stopped before, it may come to its end before a busy machine sends the signal.
      if (behind > 0 && fs::exists(file(all))) break;
      EXPECT_EQ(stopped.status, signal == SIGKILL ? 1000 + SIGKILL : 128 + signal) << stopped.err;
      if (signal != SIGKILL) {
        EXPECT_NE(stopped.err.find("the same command goes on"), std::string::npos) << stopped.err;
      }
      EXPECT_TRUE(fs::exists(file(next)));
      EXPECT_FALSE(fs::exists(file(all)));  // it was stopped in its midst
      while (fs::exists(file(behind + 1))) ++behind;
    }
    const bool ended = fs::exists(file(all));
    const CommandResult last = run(arguments);
    if (!ended) {
      EXPECT_EQ(last.status, plain.status) << last.err;
      EXPECT_NE(last.err.find("goes on behind file"), std::string::npos) << last.err;
    }
    expect_equal(files(), expected);
    const CommandResult again = run(arguments);
    EXPECT_EQ(again.status, kDone);
    EXPECT_NE(again.err.find("nothing to do"), std::string::npos) << again.err;
    expect_equal(take_files(), expected);
  }

  std::mt19937_64 random = generator();
  std::string ending = "uvh5", pace = "4";
};

TEST_F(Checkpoints, InterruptedAndKilledRunsGoOnToTheBit) {
  struct Case {
    std::string channels, filter, sums;
  };
  for (const Case& one :
       {Case{"1", "channels = 32\ntaps = 4\n", ""},
        Case{"1", "channels = 32\ntaps = 4\nrequantise = \"off\"\n", "average_time = 2\n"},
        Case{"1", "channels = 16\n",
             "array_path = \"" + (scratch / "array.toml") +
                 "\"\nphase_centre = \"Cas=350.85,58.815\"\n"},
        Case{"4", "", ""}}) {
    SCOPED_TRACE(one.channels + " " + one.filter + one.sums);
    write_voltages(one.channels);
    write_pipeline(one.filter, one.sums);
    expect_that_it_goes_on(35);
  }
}

// With a second without data between the two files: filled, so that files begin and end in it, or the end of a file.
TEST_F(Checkpoints, OfSpectraGoOnToTheBit) {
  struct Case {
    std::string ending, channels, filter, file;
  };
  for (const Case& one : {Case{"dada", "1", "channels = 32\ntaps = 4\n", "each_s = 0.05\n"},
                          Case{"npy", "1", "channels = 32\nrequantise = \"off\"\n",
                               "each_bytes = 2000000\nlongest_gap_s = 0.5\n"},
                          Case{"fil", "1", "channels = 32\ntaps = 4\nrequantise = \"off\"\n",
                               "each_s = 0.05\nintegrate = 3\nlongest_gap_s = 0\n"},
                          Case{"fil", "1", "channels = 64\nrequantise = \"off\"\n",
                               "each_s = 0.05\nintegrate = 7\nstokes = \"IQUV\"\n"},
                          Case{"dada", "4", "", "each_s = 0.05\n"}}) {
    SCOPED_TRACE(one.ending + " " + one.channels + " " + one.filter + one.file);
    ending = one.ending;
    pace = "2";
    write_voltages(one.channels);
    write_spectra_pipeline(one.filter, one.file);
    expect_that_it_goes_on(35);
  }
}

// Killed when all files had their names, and only a spectrum was left, which is too little for a sample of power.
TEST_F(Checkpoints, OfSpectraEndWhereNoFileIsLeft) {
  constexpr std::size_t kFiles = 24, kSpectra = 3333;
  static_assert(kFiles / 2 * kSpectra == 1'280'000 / 32 - 3 - 1);  // of 4 taps
  ending = "fil";
  pace = "1";  // so that it is stopped in its midst on a busy machine, too
  write_voltages("1");
  write_spectra_pipeline("channels = 32\ntaps = 4\nrequantise = \"off\"\n",
                         "each_s = 0.083325\nintegrate = 3\nlongest_gap_s = 0\n");
  const CommandResult plain = run(words());
  ASSERT_TRUE(plain.status == kDone || plain.status == kDamaged) << plain.err;
  EXPECT_TRUE(fs::exists(file(kFiles)));
  EXPECT_FALSE(fs::exists(file(kFiles + 1)));
  take_files();
  stop_after(kFiles / 2 + 2 + random() % 5, words(), SIGKILL);
  const std::string checkpoint = scratch / "night.checkpoint", text = read_file(checkpoint);
  constexpr std::size_t kChecksum = 17;
  const std::size_t line = text.find('\n') + 1;
  auto json = nlohmann::ordered_json::parse(text.substr(line, text.size() - line - kChecksum));
  EXPECT_GT(json.at("files"), kFiles / 2);
  EXPECT_EQ(json.at("next").at("sample"),
            (json.at("files").get<std::size_t>() - kFiles / 2) * kSpectra * 32);
  json["files"] = kFiles;
  json["next"]["sample"] = kFiles / 2 * kSpectra * 32;
  const std::string later = text.substr(0, line) + json.dump() + "\n";
  write_file(checkpoint, later + core::hash_name(core::hash(later)) + "\n");
  const auto before = files();
  const CommandResult result = run(words());
  EXPECT_EQ(result.status, plain.status) << result.err;
  expect_equal(files(), before);
  const CommandResult again = run(words());
  EXPECT_NE(again.err.find("nothing to do: all 24 files are whole"), std::string::npos)
      << again.err;
}

// As a run leaves it that is killed between a file and what the checkpoint says of it.
TEST_F(Checkpoints, AFileThatTheCheckpointDoesNotKnowIsMadeAgain) {
  pace = "0.5";  // 10 files a second: a busy machine stops the first run before the thirteenth
  write_voltages("1");
  write_pipeline("channels = 32\n", "");
  ASSERT_TRUE(fs::create_directory(scratch / "kept"));
  const std::vector<std::string> arguments = words();
  const CommandResult plain = run(arguments);
  ASSERT_TRUE(plain.status == kDone || plain.status == kDamaged) << plain.err;
  const auto expected = take_files();
  const std::string checkpoint = scratch / "night.checkpoint";
  stop_after(1 + random() % 4, arguments, SIGKILL);
  const std::string before = read_file(checkpoint);
  stop_after(14 + random() % 8, arguments, SIGKILL);
  ASSERT_NE(before, read_file(checkpoint));
  write_file(checkpoint, before);
  write_file(file(13), "not what is to be there");
  EXPECT_EQ(run(arguments).status, plain.status);
  expect_equal(files(), expected);
}

TEST_F(Checkpoints, AnotherRunIsRefused) {
  write_voltages("1");
  const std::string filter = "channels = 32\n";
  write_pipeline(filter, "");
  stop_after(2 + random() % 8, words(), SIGKILL);
  const std::string checkpoint = read_file(scratch / "night.checkpoint");
  const auto before = files();
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& said) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_TRUE(read_file(scratch / "night.checkpoint") == checkpoint);
    expect_equal(files(), before);
  };
  refused(words({"--set", "f.taps=4"}), "f.taps: 4, expected not given, as in the run");
  refused(words({"--set", "visibilities.each_s=0.1"}), "visibilities.each_s: 0.1, expected 0.05");
  refused(words({"--set", "x.keep_edge=true"}), "x.keep_edge: true");
  refused({"--device", "reference", "run", scratch / "night.toml", "--checkpoint",
           scratch / "night.checkpoint"},
          "device: ");
  const auto modified = fs::last_write_time(scratch / "b.dada");
  fs::last_write_time(scratch / "b.dada", modified + 1s);
  refused(words(), scratch / "b.dada");
  fs::last_write_time(scratch / "b.dada", modified);
  fs::rename(scratch / "a.dada", scratch / "c.dada");
  EXPECT_EQ(run(words()).status, kWrongUsage);
  fs::rename(scratch / "c.dada", scratch / "a.dada");
  EXPECT_NE(run(words()).status, kWrongUsage);
}

TEST_F(Checkpoints, DamagedOnesAreRefused) {
  write_voltages("1");
  write_pipeline("channels = 32\n", "");
  stop_after(1 + random() % 8, words(), SIGKILL);
  const std::string whole = read_file(scratch / "night.checkpoint");
  const auto before = files();
  ASSERT_GT(whole.size(), 100U);
  for (int k = 0; k < 24; ++k) {
    std::string damaged = whole;
    const std::size_t at = random() % whole.size();
    if (k % 3 == 0)
      damaged.resize(at);
    else
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    write_file(scratch / "night.checkpoint", damaged);
    const CommandResult result = run(words());
    EXPECT_EQ(result.status, kFailed) << result.err;
    EXPECT_NE(result.err.find("expected a whole checkpoint"), std::string::npos) << result.err;
    EXPECT_TRUE(read_file(scratch / "night.checkpoint") == damaged);
  }
  expect_equal(files(), before);
}

TEST_F(Checkpoints, OfRunsThatCannotGoOnAreRefused) {
  write_voltages("1");
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& said) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(scratch / "night.checkpoint"));
    EXPECT_TRUE(files().empty());
  };
  write_pipeline("channels = 32\n", "", "");
  refused(words(), "each_s");
  write_pipeline("channels = 32\nsettle_s = 0.1\n", "");
  refused(words(), "settle_s");
  write_pipeline("channels = 32\noversample = \"4/3\"\nrequantise = \"off\"\n", "");
  refused(words(), "sampled critically");
  write_pipeline("channels = 32\npolicy = \"drop_oldest\"\n", "");
  refused(words(), "drops blocks");
  write_pipeline("channels = 32\n", "");
  refused({"--device", "cpu", "run", scratch / "night.toml", "--checkpoint",
           (scratch / "missing/night.checkpoint")},
          "checkpoint");
  write_file(scratch / "page.toml", read_file(scratch / "night.toml") +
                                        "[page]\ntype = \"visibility_page\"\ninputs = \"x\"\n"
                                        "path = \"" +
                                        (scratch / "night/page.html") + "\"\n");
  refused({"--device", "cpu", "run", scratch / "page.toml", "--checkpoint",
           scratch / "night.checkpoint"},
          "1 of type visibility_page");
  write_file(scratch / "schedule.toml",
             read_file(scratch / "night.toml") + "[[observation]]\nset.voltages.start_s = 0.1\n");
  refused({"--device", "cpu", "run", scratch / "schedule.toml", "--checkpoint",
           scratch / "night.checkpoint"},
          "[[observation]]");
  auto timed = words();
  timed.insert(timed.end(), {"--set", "visibilities.path=" + (scratch / "night/{utc}.uvh5")});
  refused(timed, "a name with {utc}");
  // Spectra: in one file, of gains that change, beside visibilities.
  ending = "dada";
  write_spectra_pipeline("channels = 32\n", "");
  refused(words(), "each_s");
  write_spectra_pipeline("channels = 32\nsettle_s = 0.1\n", "each_s = 0.1\n");
  refused(words(), "settle_s");
  write_spectra_pipeline("channels = 32\n", "each_s = 0.1\n");
  write_file(scratch / "night.toml",
             read_file(scratch / "night.toml") +
                 "[x]\ntype = \"correlator\"\ninputs = \"f\"\n[visibilities]\ntype = "
                 "\"visibility_file\"\ninputs = \"x\"\neach_s = 0.1\npath = \"" +
                 (scratch / "night/night.uvh5") + "\"\n");
  refused(words(), "given for 5 nodes");
}

}  // namespace
}  // namespace tautline::tests

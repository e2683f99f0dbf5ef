// Cut-outs of candidates from the command: how many, under which names, and what is refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

#ifdef TAUTLINE_HDF5
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Cutouts : public ::testing::Test {
 protected:
  void SetUp() override {
    const CommandResult made = run({"simulate",   "filterbank",
                                    "--nchans",   "64",
                                    "--fch1",     "1500",
                                    "--foff",     "-4",
                                    "--tsamp",    "512e-6",
                                    "--duration", "8",
                                    "--pulse",    "dm=80,time=3,width=0.004,snr=60",
                                    "--pulse",    "dm=20,time=6,width=0.002,snr=25",
                                    "--seed",     std::to_string(generator()()),
                                    "-o",         fil_});
    ASSERT_EQ(made.status, 0) << made.err;
  }
  CommandResult run(std::vector<std::string> words) {
    return run_command(words, folder_.path().string());
  }
  std::vector<std::string> search(const std::string& input) {
    return {"--json", "search", input, "-o", folder_ / "c.csv", "--overwrite", "--cutouts", cut_};
  }
  CommandResult search(const std::string& input, std::vector<std::string> more) {
    std::vector<std::string> words = search(input);
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  // Of thousands of candidates in noise.
  pid_t start_drawing() {
    std::vector<std::string> words = search(fil_);
    words.erase(words.begin());  // --json
    words.insert(words.end(), {"--dms", "0:400:1", "--threshold", "4", "--max-cutouts", "1000000"});
    return start_command(words, folder_.path().string());
  }
  bool has_cutouts() const {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(cut_, none))
      if (entry.path().extension() == ".h5") return true;
    return false;
  }
  // Until it has made a cut-out, or has ended.
  bool begins(pid_t pid) const {
    siginfo_t gone{};
    while (!has_cutouts() &&
           waitid(P_PID, static_cast<id_t>(pid), &gone, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           gone.si_pid == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return has_cutouts();
  }

  const ScratchFolder folder_;
  const std::string fil_ = folder_ / "obs.fil", cut_ = folder_ / "cut/outs";
};

// A limit of the size of files stands for a full disk: a cut-out is larger, the list is not.
TEST_F(Cutouts, OnAFullDiskAreMissedAndTheListIsSaidToBeKept) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 100'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const CommandResult result = search(fil_, {"--dms", "0:100:10"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(result.status, kFailed) << result.err;
  EXPECT_NE(result.err.find("the list of candidates was kept"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("nothing was left"), std::string::npos) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "c.csv"));
}

TEST_F(Cutouts, TheBestComeFirstAndTheSummarySaysHowMany) {
  const CommandResult found = search(fil_, {"--dms", "0:120:1", "--max-cutouts", "1"});
  ASSERT_EQ(found.status, 0) << found.err;
  const auto lines = json_lines(found.out);
  ASSERT_GE(lines.size(), 3u) << found.out;
  EXPECT_EQ(lines.back()["cutouts"], 1);
  const auto names = names_in(cut_);
  ASSERT_EQ(names.size(), 1u);
  char dm[40];
  std::snprintf(dm, sizeof dm, "_dm_%.5f_", lines[0]["dm"].get<double>());
  EXPECT_NE(names[0].find(dm), std::string::npos) << names[0] << lines[0];
  EXPECT_TRUE(names[0].starts_with("cand_tstart_")) << names[0];
}

TEST_F(Cutouts, AFolderThatHoldsSomeIsRefusedBeforeTheSearch) {
  std::filesystem::create_directories(cut_);
  write_file(cut_ + "/cand_tstart_1_old.h5", "old");
  std::vector<std::string> words{"search", fil_,      "-o",        folder_ / "n.csv",
                                 "--dms",  "0:120:1", "--cutouts", cut_};
  const CommandResult refused = run(words);
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_NE(refused.err.find("--cutouts"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("give another name, or move the cut-outs away"), std::string::npos)
      << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "n.csv"));
  // It is of no list here: --overwrite neither mixes it with others nor removes it.
  words.push_back("--overwrite");
  const CommandResult mixed = run(words);
  EXPECT_EQ(mixed.status, 1) << mixed.err;
  EXPECT_NE(mixed.err.find("n.csv.json names, and is not older than: those of two searches"),
            std::string::npos)
      << mixed.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "n.csv"));
  EXPECT_EQ(read_file(cut_ + "/cand_tstart_1_old.h5"), "old");
  // Nor does another program's file in the place of a record name it.
  write_file(folder_ / "n.csv.json", "{\"schema\": 3}");
  EXPECT_EQ(run(words).err, mixed.err);
}

TEST_F(Cutouts, OfTheListThatIsReplacedAreRemoved) {
  ASSERT_EQ(search(fil_, {"--dms", "0:120:1"}).status, 0);
  const auto all = names_in(cut_);
  ASSERT_GE(all.size(), 2u);
  const auto record = nlohmann::json::parse(read_file(folder_ / "c.csv.json"));
  EXPECT_EQ(record["cutout_files"]["folder"], "cut/outs");
  EXPECT_EQ(record["cutout_files"]["files"].size(), all.size());
  write_file(cut_ + "/mine.h5", "mine");
  const CommandResult present =
      run({"search", fil_, "-o", folder_ / "c.csv", "--cutouts", cut_, "--dms", "0:120:1"});
  EXPECT_NE(present.err.find("give --overwrite"), std::string::npos) << present.err;
  // Nothing is removed for a search that is refused, or has another list.
  EXPECT_NE(search(fil_, {"--dms", "0:1e6:1e5"}).status, 0);
  EXPECT_NE(run({"search", fil_, "-o", folder_ / "n.csv", "--overwrite", "--cutouts", cut_, "--dms",
                 "0:120:1"})
                .status,
            0);
  EXPECT_EQ(names_in(cut_).size(), all.size() + 1);
  const CommandResult fewer = search(fil_, {"--dms", "0:120:1", "--max-cutouts", "1"});
  ASSERT_EQ(fewer.status, 0) << fewer.err;
  EXPECT_EQ(names_in(cut_).size(), 2u);
  EXPECT_EQ(read_file(cut_ + "/mine.h5"), "mine");
  // As seen from another folder, and moved together with the list.
  std::filesystem::create_directory(folder_ / "moved");
  for (const char* name : {"c.csv", "c.csv.json", "cut"})
    std::filesystem::rename(folder_ / name, folder_ / (std::string("moved/") + name));
  const CommandResult again = run_program(
      "/bin/sh",
      {"-c", "cd " + (folder_ / "moved") + " && exec " + command_path() +
                 " search ../obs.fil -o c.csv --overwrite --cutouts cut/outs --dms 0:120:1"},
      folder_.path().string());
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(names_in(folder_ / "moved/cut/outs").size(), all.size() + 1);
}

TEST_F(Cutouts, ASeriesHasNone) {
  const std::string dat = folder_ / "s.dat";
  ASSERT_EQ(run({"dedisperse", fil_, "-o", dat, "--dms", "80"}).status, 0);
  const CommandResult refused = search(dat, {});
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_NE(refused.err.find("--cutouts"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cut"));
}

TEST_F(Cutouts, ThoseThatMemoryIsTooShortForAreRefusedByName) {
  const CommandResult refused =
      search(fil_, {"--dms", "0:3000:100", "--max-width", "2", "--memory", "60M"});
  EXPECT_NE(refused.status, 0);
  EXPECT_NE(refused.err.find("--cutouts"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cut"));
}

// The list is there before them, and stays.
TEST_F(Cutouts, ThatAreInterruptedLeaveTheListAndThoseThatAreWhole) {
  const pid_t pid = start_drawing();
  begins(pid);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "c.csv"));
  kill(pid, SIGINT);
  const CommandResult result = finish_command(pid, folder_.path().string());
  EXPECT_EQ(result.status, kInterrupted) << result.err << result.out;
  EXPECT_NE(result.err.find("the list of candidates was kept"), std::string::npos) << result.err;
  const std::string list = read_file(folder_ / "c.csv");
  EXPECT_GT(std::count(list.begin(), list.end(), '\n'), 100) << list;
  const auto names = names_in(cut_);
  EXPECT_GE(names.size(), 1u);
  for (const std::string& name : names) {
    EXPECT_TRUE(name.ends_with(".h5")) << name;
    const CommandResult one = run({"inspect", cut_ + "/" + name});
    EXPECT_EQ(one.status, kDone) << one.err;
  }
  const auto record = nlohmann::json::parse(read_file(folder_ / "c.csv.json"));
  EXPECT_TRUE(record["cutouts"].is_null() || record["cutouts"] == names.size()) << names.size();
}

// A second search to the list of one that still draws: its record stays, and it cannot have the same folder.
TEST_F(Cutouts, OfASearchWhoseListIsReplacedMeanwhileLeaveTheNewRecord) {
  const pid_t first = start_drawing();
  ASSERT_TRUE(begins(first));
  kill(first, SIGSTOP);
  std::filesystem::create_directory(folder_ / "second");
  const auto second = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"search", fil_, "-o", folder_ / "c.csv", "--overwrite", "--dms", "0:120:1"});
    return run_command(more, folder_ / "second");
  };
  const CommandResult shared = second({"--cutouts", cut_});
  EXPECT_EQ(shared.status, 1) << shared.err;
  EXPECT_NE(shared.err.find("another run writes into it"), std::string::npos) << shared.err;
  const CommandResult own = second({});
  EXPECT_EQ(own.status, 0) << own.err;
  const std::string record = read_file(folder_ / "c.csv.json");
  kill(first, SIGCONT);
  kill(first, SIGINT);
  const CommandResult result = finish_command(first, folder_.path().string());
  EXPECT_EQ(result.status, kInterrupted) << result.err;
  EXPECT_EQ(read_file(folder_ / "c.csv.json"), record);
}

// It ends as always, and the second search, which still runs, writes the list.
TEST_F(Cutouts, OfASearchWhoseListIsAboutToBeReplacedEndAsAlways) {
  const std::string pipe = folder_ / "pipe.fil", list = folder_ / "c.csv";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const pid_t first = start_drawing();
  ASSERT_TRUE(begins(first));
  kill(first, SIGSTOP);
  std::filesystem::create_directory(folder_ / "second");
  const pid_t second = start_command(
      {"search", pipe, "-o", list, "--overwrite", "--dms", "0:120:1"}, folder_ / "second");
  const int out = open(pipe.c_str(), O_WRONLY);
  const std::string bytes = read_file(fil_);
  const std::size_t half = bytes.size() / 2;
  EXPECT_EQ(write(out, bytes.data(), half), static_cast<ssize_t>(half));
  const auto begin = std::chrono::steady_clock::now();
  while (!std::filesystem::exists(list + ".partial") &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(first, SIGINT);
  kill(first, SIGCONT);
  const CommandResult interrupted = finish_command(first, folder_.path().string());
  EXPECT_EQ(interrupted.status, kInterrupted) << interrupted.err;
  EXPECT_EQ(interrupted.err.find("another run"), std::string::npos) << interrupted.err;
  EXPECT_EQ(write(out, bytes.data() + half, bytes.size() - half),
            static_cast<ssize_t>(bytes.size() - half));
  close(out);
  const CommandResult result = finish_command(second, folder_ / "second");
  EXPECT_EQ(result.status, kDone) << result.err;
  const auto record = nlohmann::json::parse(read_file(list + ".json"));
  EXPECT_EQ(record["dms"].size(), 121u);
}

TEST_F(Cutouts, BeamsHaveTheirNumbersInTheNames) {
  const std::string other = folder_ / "other.fil";
  std::filesystem::copy_file(fil_, other);
  const CommandResult found = search(fil_, {other, "--beams", "--dms", "0:120:1"});
  ASSERT_EQ(found.status, 0) << found.err;
  std::size_t second = 0;
  for (const std::string& name : names_in(cut_)) second += name.ends_with("_beam_1.h5") ? 1 : 0;
  EXPECT_GE(second, 2u);
  EXPECT_EQ(2 * second, names_in(cut_).size());
}
#endif

}  // namespace
}  // namespace tautline::tests

// search --pictures: one of each candidate.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/end_to_end/run_command.h"
#include "tests/formats/picture/pixels.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

TEST(SearchPictures, OfEachCandidateHaveItsPulseInTheMiddle) {
  const ScratchFolder scratch;
  const auto run = [&](const std::vector<std::string>& arguments) {
    return run_command(arguments, scratch.path().string());
  };
  const CommandResult made = run({"simulate",   "filterbank",
                                  "--nchans",   "64",
                                  "--fch1",     "1450",
                                  "--foff",     "-4",
                                  "--tsamp",    "1e-3",
                                  "--nbits",    "8",
                                  "--duration", "6",
                                  "--seed",     std::to_string(generator()() % 99999),
                                  "--pulse",    "dm=60,time=2.1,width=0.02,snr=120",
                                  "--pulse",    "dm=30,time=4.6,width=0.02,snr=60",
                                  "-o",         scratch / "a.fil"});
  ASSERT_EQ(made.status, kDone) << made.err;
  std::vector<std::string> search{"search",     scratch / "a.fil", "-o",          scratch / "c.csv",
                                  "--dms",      "0:100:1",         "--threshold", "20",
                                  "--pictures", scratch / "drawn"};
  const CommandResult found = run(search);
  ASSERT_EQ(found.status, kDone) << found.err;
  const std::string list = read_file(scratch / "c.csv");
  const auto candidates = std::count(list.begin(), list.end(), '\n') - 1;
  ASSERT_GE(candidates, 2);
  const std::filesystem::directory_iterator files(scratch / "drawn");
  EXPECT_EQ(std::distance(begin(files), end(files)), candidates);
  for (const char* name : {"drawn/candidate_0001.png", "drawn/candidate_0002.png"}) {
    const Pixels pixels(scratch / name);
    const Pixels::Box line = pixels.box_of(kBlue);
    Pixels::Box top;
    for (int x = line.left; x <= line.right; ++x) {
      const auto value = pixels.values[static_cast<std::size_t>((line.top + 6) * pixels.width + x)];
      if ((value & 255) < 150 || (value >> 16) > 120) continue;
      top.left = std::min(top.left, x);
      top.right = std::max(top.right, x);
    }
    ASSERT_LE(top.left, top.right) << name;
    EXPECT_NEAR((top.x() - line.left) / (line.right - line.left), 0.5, 0.03) << name;
  }
  // Existing files are not replaced, and the search is not run.
  search[3] = scratch / "other.csv";
  const CommandResult again = run(search);
  EXPECT_EQ(again.status, kFailed) << again.err;
  EXPECT_NE(again.err.find("candidate_0001.png"), std::string::npos) << again.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "other.csv"));
  // Those of another list are refused, whichever of them is there, and whatever may be overwritten.
  std::filesystem::remove(scratch / "drawn/candidate_0001.png");
  for (const bool overwrite : {false, true}) {
    if (overwrite) search.push_back("--overwrite");
    const CommandResult mixed = run(search);
    EXPECT_EQ(mixed.status, kFailed) << mixed.err;
    EXPECT_NE(mixed.err.find("--pictures: "), std::string::npos) << mixed.err;
    EXPECT_NE(mixed.err.find("candidate_0002.png"), std::string::npos) << mixed.err;
    EXPECT_FALSE(std::filesystem::exists(scratch / "other.csv"));
  }
  // Those of the list that is replaced are gone, but not what somebody else put there.
  write_file(scratch / "drawn/mine.png", "mine");
  search[3] = scratch / "c.csv";
  search[7] = "70";
  const CommandResult fewer = run(search);
  ASSERT_EQ(fewer.status, kDone) << fewer.err;
  const std::string now = read_file(scratch / "c.csv");
  const auto left = std::count(now.begin(), now.end(), '\n') - 1;
  EXPECT_LT(left, candidates);
  const std::filesystem::directory_iterator those(scratch / "drawn");
  EXPECT_EQ(std::distance(begin(those), end(those)), left + 1);
  EXPECT_EQ(read_file(scratch / "drawn/mine.png"), "mine");
}

// Pictures have the same names whatever the list: a record does not stand for those that were drawn after it.
TEST(SearchPictures, OfAnotherListInTheSameFolderStay) {
  const ScratchFolder scratch;
  const auto run = [&](const std::vector<std::string>& arguments) {
    return run_command(arguments, scratch.path().string());
  };
  const std::string seed = std::to_string(generator()() % 99999);
  for (const auto& [name, pulse] : {std::pair("a.fil", "dm=60,time=2.1,width=0.02,snr=120"),
                                    std::pair("b.fil", "dm=30,time=3.6,width=0.02,snr=90")}) {
    const CommandResult made =
        run({"simulate",   "filterbank", "--nchans", "64",      "--fch1", "1450",        "--foff",
             "-4",         "--tsamp",    "1e-3",     "--nbits", "8",      "--seed",      seed,
             "--duration", "6",          "--pulse",  pulse,     "-o",     scratch / name});
    ASSERT_EQ(made.status, kDone) << made.err;
  }
  const auto search = [&](const std::string& input, const std::string& list) {
    return run({"search", scratch / input, "-o", scratch / list, "--dms", "0:100:1", "--threshold",
                "20", "--overwrite", "--pictures", scratch / "drawn"});
  };
  ASSERT_EQ(search("a.fil", "c.csv").status, kDone);
  std::filesystem::rename(scratch / "drawn", scratch / "old");
  ASSERT_EQ(search("b.fil", "d.csv").status, kDone);
  const std::string drawn = read_file(scratch / "drawn/candidate_0001.png");
  const std::string list = read_file(scratch / "c.csv");
  const CommandResult mixed = search("a.fil", "c.csv");
  EXPECT_EQ(mixed.status, kFailed) << mixed.err;
  EXPECT_NE(mixed.err.find("those of two searches would mix"), std::string::npos) << mixed.err;
  EXPECT_EQ(read_file(scratch / "drawn/candidate_0001.png"), drawn);
  EXPECT_EQ(read_file(scratch / "c.csv"), list);
  // Its own are replaced.
  EXPECT_EQ(search("b.fil", "d.csv").status, kDone);
}

}  // namespace
}  // namespace tautline::tests

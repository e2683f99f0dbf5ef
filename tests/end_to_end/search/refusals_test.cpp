// What dedisperse and search refuse since the answer would be a wrong one.
#include <gtest/gtest.h>

#include <filesystem>

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
    // An .inf file has the DM with PRESTO's dispersion constant.
    EXPECT_NEAR(lines[0]["dm"].get<double>(), name == "x.dat" ? 40 * 4148.808 * 2.41e-4 : 40, 1e-6);
    EXPECT_NEAR(lines[0]["sample"].get<double>(), 2400, 5);
  }
  expect_refused({"dedisperse", fil, "-o", scratch_ / "s.npy"}, 2, {"--dms", "not given"});
  expect_refused({"search", fil, "-o", scratch_ / "c.csv"}, 2, {"--dms", "not given"});
}

TEST_F(Refusals, ArraysAreOutputOnly) {
  const std::string array = scratch_ / "x.npy";
  ASSERT_EQ(run({"dedisperse", filterbank(), "-o", array, "--dms", "0:40:1"}).status, 0);
  expect_refused({"search", array, "-o", scratch_ / "c.csv", "--dms", "0:40:1"}, 1,
                 {"x.npy", "written, not read", ".dat"});
}

}  // namespace
}  // namespace tautline::tests

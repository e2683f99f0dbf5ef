// A series that dedisperse wrote as an array is searched as one that it wrote for PRESTO.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

TEST(ArraySeriesSearch, FindsWhatASearchOfTheOtherFormsFinds) {
  const ScratchFolder scratch;
  auto random = generator();
  SigprocShape shape;
  shape.nchans = 32;
  shape.fch1 = 1500;
  shape.foff = -8;
  shape.tsamp = 1e-3;
  write_filterbank(scratch / "x.fil", shape,
                   noise_with_pulses(shape, 12000, {{50, 3000, 40}, {50, 9000, 30}}, random));
  const auto run = [&](const std::vector<std::string>& words) {
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return result;
  };
  std::vector<nlohmann::json> found[2];
  for (const auto& [k, name] : {std::pair{0, "s.npy"}, {1, "s.tim"}}) {
    run({"dedisperse", scratch / "x.fil", "-o", scratch / name, "--dms", "50"});
    found[k] = json_lines(
        run({"--json", "search", scratch / name, "-o", scratch / (std::string(name) + ".csv")})
            .out);
    found[k].pop_back();  // the summary
  }
  ASSERT_GE(found[0].size(), 2u);
  ASSERT_EQ(found[0].size(), found[1].size());
  for (std::size_t k = 0; k < found[0].size(); ++k)
    for (const char* key : {"snr", "sample", "time_s", "width_samples", "dm", "f_ref_mhz"})
      EXPECT_NEAR(found[0][k][key].get<double>(), found[1][k][key].get<double>(), 1e-4) << key;
  EXPECT_NEAR(found[0][0]["dm"].get<double>(), 50, 1e-9);
  // Trials of a series have their DM already.
  const CommandResult refused =
      run_command({"search", scratch / "s.npy", "-o", scratch / "o.csv", "--dms", "0:10"},
                  scratch.path().string());
  EXPECT_EQ(refused.status, kWrongUsage);
  EXPECT_NE(refused.err.find("which is dedispersed already"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "o.csv"));
}

// A filterbank, the series of its trials in one array and in folders, and what searches of these find.
class SeveralTrials : public ::testing::Test {
 protected:
  void SetUp() override {
    auto random = generator();
    SigprocShape shape;
    shape.nchans = 32;
    shape.fch1 = 1500;
    shape.foff = -8;
    shape.tsamp = 1e-3;
    // Series of 80 samples less have as many whole pieces of baseline (606 samples) and of noise (16,384).
    const std::size_t times = 33 * 606 + 90 + random() % 500;
    write_filterbank(scratch / "x.fil", shape,
                     noise_with_pulses(
                         shape, times,
                         {{50, 3000, 40}, {20, 9000, 30}, {80, 15000, 25}, {0, 6000, 35}}, random));
    run({"dedisperse", scratch / "x.fil", "-o", scratch / "x.npy", "--dms", kTrials});
    run({"dedisperse", scratch / "x.fil", "-o", scratch / "dat", "--dms", kTrials});
    run({"dedisperse", scratch / "x.fil", "-o", scratch / "tim", "--dms", kTrials, "--format",
         "tim"});
    expected = search({scratch / "x.fil", "--dms", kTrials});
    ASSERT_GE(expected.size(), 5u);
    ASSERT_EQ(expected.back()["passes"], 1);
  }
  CommandResult run(const std::vector<std::string>& words) {
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return result;
  }
  // Candidates, and the summary.
  std::vector<nlohmann::json> search(std::vector<std::string> words) {
    words.insert(words.begin(), {"--json", "search"});
    words.insert(words.end(), {"-o", scratch / "c.csv", "--overwrite", "--baseline", "20"});
    auto lines = json_lines(run(words).out);
    for (nlohmann::json& line : lines) line.erase("file"), line.erase("filled");
    return lines;
  }
  static constexpr const char* kTrials = "0:100:2.5";
  ScratchFolder scratch;
  std::vector<nlohmann::json> expected;
};

TEST_F(SeveralTrials, InOneArrayGiveTheListOfTheFilterbank) {
  for (const char* memory : {"512M", "4M"}) {
    const auto found = search({scratch / "x.npy", "--memory", memory});
    ASSERT_EQ(found.size(), expected.size()) << memory;
    for (std::size_t k = 0; k + 1 < found.size(); ++k) EXPECT_EQ(found[k], expected[k]) << memory;
    EXPECT_EQ(found.back()["trials"], 41);
    EXPECT_EQ(found.back()["passes"] == 1, std::string(memory) == "512M") << found.back()["passes"];
  }
  const auto record = nlohmann::json::parse(read_file(scratch / "c.csv.json"));
  EXPECT_EQ(record["dms"].size(), 41u);
  // Pictures of the trial that a candidate was found in.
  search({scratch / "x.npy", "--plot", scratch / "page"});
  EXPECT_NE(read_file(scratch / "page/candidates.html").find("x.npy"), std::string::npos);
}

// Numbers of PRESTO's and sigproc's series are floats, whose noise is measured without filling steps; sigproc's do not
// say which channels they were summed over.
TEST_F(SeveralTrials, InFoldersGiveTheSamePulses) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "dat"))
    if (entry.path().extension() == ".dat") files.push_back(entry.path().string());
  ASSERT_EQ(files.size(), 41u);
  for (const auto& inputs : {std::vector{scratch / "dat"}, std::vector{scratch / "tim"}, files}) {
    auto found = search(inputs);
    EXPECT_EQ(found.back()["trials"], 41);
    ASSERT_GE(found.size(), 5u);
    // Of two that are nearly as bright either may be first.
    const auto by_time = [](const auto& a, const auto& b) { return a["sample"] < b["sample"]; };
    std::sort(found.begin(), found.begin() + 4, by_time);
    std::sort(expected.begin(), expected.begin() + 4, by_time);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(found[k]["snr"].get<double>(), expected[k]["snr"].get<double>(),
                  0.02 * expected[k]["snr"].get<double>());
      for (const char* key : {"sample", "width_samples", "dm_index"})
        EXPECT_EQ(found[k][key], expected[k][key]) << key << " of " << inputs.front();
      // Where noise that is a little louder or quieter passes the threshold.
      EXPECT_NEAR(found[k]["first_sample"].get<double>(), expected[k]["first_sample"].get<double>(),
                  32);
      EXPECT_NEAR(found[k]["dm"].get<double>(), expected[k]["dm"].get<double>(), 1e-6);
    }
  }
}

// `inspect` and `plot` show a folder as the array; PRESTO's series have an even number of samples.
TEST_F(SeveralTrials, InFoldersAreShownAsTheArray) {
  const auto json = [&](const char* command, const std::string& input) {
    std::vector<std::string> words{"--json", command, scratch / input};
    if (std::string(command) == "plot")
      words.insert(words.end(), {"-o", scratch / (input + ".html")});
    return nlohmann::json::parse(run(words).out);
  };
  const auto held = json("inspect", "x.npy"), drawn = json("plot", "x.npy");
  for (const char* folder : {"dat", "tim"}) {
    const auto found = json("inspect", folder);
    const bool presto = std::string(folder) == "dat";
    const auto samples = held["samples"].get<std::uint64_t>();
    EXPECT_EQ(found["samples"], samples - (presto ? samples % 2 : 0)) << folder;
    for (const char* key : {"schema", "trials", "tsamp_s"})
      EXPECT_EQ(found[key], held[key]) << folder << " " << key;
    ASSERT_EQ(found["dms"].size(), 41u) << folder;
    for (std::size_t k = 0; k < 41; ++k)
      EXPECT_NEAR(found["dms"][k].get<double>(), held["dms"][k].get<double>(), 1e-6) << folder;
    const auto figure = json("plot", folder);
    ASSERT_EQ(figure["panels"].size(), 3u) << folder;
    ASSERT_EQ(drawn["panels"].size(), 3u) << folder;
    if (presto) continue;  // a sample less may be a cell less, and decide between two trials
    for (std::size_t k = 0; k < 3; ++k) {
      const auto &one = figure["panels"][k], &other = drawn["panels"][k];
      for (const char* key : {"title", "x", "rows", "columns"})
        EXPECT_EQ(one.value(key, nlohmann::json()), other.value(key, nlohmann::json()))
            << folder << " " << key;
    }
    EXPECT_EQ(figure["notes"], drawn["notes"]) << folder;
  }
}

// Of a folder of several kinds those that are left out are counted.
TEST_F(SeveralTrials, InAFolderOfSeveralKindsSayWhichAreLeftOut) {
  const auto said = [&] {
    return run({"search", scratch / "dat", "-o", scratch / "c.csv", "--overwrite"}).err;
  };
  EXPECT_EQ(said().find("left out: "), std::string::npos);
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "tim"))
    if (entry.path().extension() == ".tim") std::filesystem::copy(entry.path(), scratch / "dat");
  std::filesystem::copy(scratch / "x.fil", scratch / "dat");
  const std::string text = said();
  EXPECT_NE(text.find((scratch / "dat") +
                      ": read: 41 .dat files; left out: 1 .fil file, 41 .tim files. "),
            std::string::npos)
      << text;
}

TEST_F(SeveralTrials, RefuseWhatIsForFilterbanks) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& why) {
    std::vector<std::string> words{"search", scratch / "x.npy", "-o", scratch / "o.csv"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, kWrongUsage);
    EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(scratch / "o.csv"));
  };
  refused({"--dms", "0:10"}, "which is dedispersed already");
  for (const char* option : {"--zero-dm", "--flag-channels", "--iqrm"})
    refused({option}, std::string(option) + ": given for ");
  refused({"--ignorechan", "1"}, "series that are dedispersed already have no channels");
  const CommandResult again =
      run_command({"dedisperse", scratch / "x.npy", "-o", scratch / "y.npy", "--dms", "0:10"},
                  scratch.path().string());
  EXPECT_NE(again.err.find("is dedispersed already"), std::string::npos) << again.err;
  // Series of another observation, or the same series twice.
  std::filesystem::create_directory(scratch / "none");
  const CommandResult none =
      run_command({"search", scratch / "none", "-o", scratch / "o.csv"}, scratch.path().string());
  EXPECT_NE(none.err.find("a folder without dedispersed series"), std::string::npos) << none.err;
  std::filesystem::copy(scratch / "tim/x_DM0.00.tim", scratch / "tim/y.tim");
  const CommandResult twice =
      run_command({"search", scratch / "tim", "-o", scratch / "o.csv"}, scratch.path().string());
  EXPECT_NE(twice.err.find("expected a DM that no other series has"), std::string::npos)
      << twice.err;
  for (const char* name : {"x.npy"})
    EXPECT_NE(run({"inspect", scratch / name}).out.find("dedispersed series"), std::string::npos);
}

}  // namespace
}  // namespace tautline::tests

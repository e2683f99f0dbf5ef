// Lists of candidates beside the simulator's truth: the status says whether enough pulses were found.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class CompareCandidates : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string seed = std::to_string(generator()() % 1'000'000);
    std::vector<std::string> words{"simulate", "filterbank", "--nchans",   "32",  "--fch1", "1500",
                                   "--foff",   "-8",         "--tsamp",    "1ms", "--seed", seed,
                                   "-o",       fil_,         "--duration", "20"};
    for (const std::string at : {"3", "9", "15"})
      words.insert(words.end(), {"--pulse", "dm=40,time=" + at + ",width=0.005,snr=30"});
    ASSERT_EQ(run(words).status, kDone);
    ASSERT_EQ(run({"search", fil_, "-o", list_, "--dms", "0:80:2"}).status, kDone);
  }
  CommandResult run(const std::vector<std::string>& words) {
    return run_command(words, scratch_.path().string());
  }
  nlohmann::json compare(int status, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"--json", "compare", list_, truth_};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, status) << result.out << result.err;
    const auto json = documented_in(result.out, "tautline.compare.candidates");
    EXPECT_EQ(json["agrees"], status == kDone) << json;
    return json;
  }
  void change_truth(const std::function<void(nlohmann::json&)>& change) {
    auto truth = nlohmann::json::parse(read_file(truth_));
    change(truth);
    write_file(truth_, truth.dump());
  }

  ScratchFolder scratch_;
  std::string fil_ = scratch_ / "x.fil", truth_ = scratch_ / "x.truth.json",
              list_ = scratch_ / "c.csv";
};

TEST_F(CompareCandidates, EndsWithStatusOneWhereTooFewPulsesWereFound) {
  const auto all = compare(kDone);
  EXPECT_EQ(all["found"], 3);
  EXPECT_EQ(all["recall"], 1);
  // The heading and the best.
  std::istringstream lines(read_file(list_));
  std::string heading, best;
  std::getline(lines, heading);
  std::getline(lines, best);
  write_file(list_, heading + "\n" + best + "\n");
  const auto one = compare(kFailed);
  EXPECT_EQ(one["found"], 1);
  EXPECT_EQ(one["verdict"],
            "does not agree: 1 of 3 pulses found, recall 0.3333, expected 0.9 or more");
  compare(kDone, {"--recall", "0.3"});
  compare(kFailed, {"--recall", "0.4"});
  const CommandResult text = run({"compare", list_, truth_});
  EXPECT_EQ(text.status, kFailed);
  EXPECT_NE(text.out.find(one["verdict"].get<std::string>() + "\n"), std::string::npos) << text.out;
}

// As of pulses of which a part was left out: half of the S/N is expected of the median.
TEST_F(CompareCandidates, DoNotAgreeWherePulsesAreTooFaint) {
  compare(kDone);
  const auto brighten = [&](std::size_t pulses, double factor) {
    change_truth([&](nlohmann::json& truth) {
      for (std::size_t k = 0; k < pulses; ++k)
        truth["pulses"][k]["snr"] = factor * truth["pulses"][k]["snr"].get<double>();
    });
  };
  brighten(1, 10);
  compare(kDone);
  brighten(3, 10);
  const auto faint = compare(kFailed, {"--recall", "0"});
  EXPECT_EQ(faint["found"], 3);
  const auto verdict = faint["verdict"].get<std::string>();
  EXPECT_TRUE(verdict.starts_with("does not agree: 3 of 3 pulses found")) << verdict;
  EXPECT_NE(verdict.find("; their S/N is 0."), std::string::npos) << verdict;
  EXPECT_TRUE(verdict.ends_with(" of the truth's (median), expected 0.5 or more")) << verdict;
}

TEST_F(CompareCandidates, OfAnotherFileAreToldWhereNoneIsFound) {
  const auto later = [&](const std::string& file) {
    change_truth([&](nlohmann::json& truth) {
      truth["file"] = file;
      for (auto& pulse : truth["pulses"]) pulse["time_s"] = pulse["time_s"].get<double>() + 100;
    });
    return compare(kFailed)["verdict"].get<std::string>();
  };
  const std::string same = "does not agree: 0 of 3 pulses found, recall 0, expected 0.9 or more";
  EXPECT_EQ(later("x.fil"), same);
  EXPECT_EQ(later("other.fil"), same + "; the candidates are of x.fil, the truth of other.fil");
}

TEST_F(CompareCandidates, WithoutPulsesNoneIsMissedButWithoutWholeOnesNoneIsFound) {
  change_truth([](nlohmann::json& truth) {
    for (auto& pulse : truth["pulses"]) pulse["whole"] = false;
  });
  const auto cut = compare(kFailed, {"--recall", "0"});
  EXPECT_EQ(cut["recall"], nullptr);
  EXPECT_EQ(cut["pulses"], 0);
  change_truth([](nlohmann::json& truth) { truth["pulses"] = nlohmann::json::array(); });
  EXPECT_EQ(compare(kDone)["recall"], nullptr);
}

TEST_F(CompareCandidates, RecallIsAFractionAndOfCandidatesAlone) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& text) {
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  refused({"compare", list_, truth_, "--recall", "90"}, "--recall: 90, expected 0 to 1");
  write_file(scratch_ / "v.uvh5", "\x89HDF\r\n\x1a\n");
  refused({"compare", scratch_ / "v.uvh5", truth_, "--recall", "0.5"},
          "v.uvh5, expected only for candidates");
}

}  // namespace
}  // namespace tautline::tests

// `search --plan`: what a search would do, without the search.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

class SearchPlanned : public ::testing::Test {
 protected:
  void SetUp() override {
    const CommandResult made = run({"simulate", "filterbank", "--nchans", "64", "--fch1", "1500",
                                    "--foff", "-4", "--tsamp", "512e-6", "--duration", "4",
                                    "--seed", std::to_string(generator()()), "-o", fil_});
    ASSERT_EQ(made.status, 0) << made.err;
  }
  CommandResult run(std::vector<std::string> words) {
    return run_command(words, folder_.path().string());
  }

  const ScratchFolder folder_;
  const std::string fil_ = folder_ / "obs.fil";
};

TEST_F(SearchPlanned, SaysAllThatASearchDoesAndDoesNothing) {
  const CommandResult told = run({"search", fil_, "--dms", "0:300", "--plan"});
  ASSERT_EQ(told.status, 0) << told.err;
  for (const char* said : {" trials, DM 0 to 300", "boxcars of 1 to", "loss: at most ",
                           "memory: ", "expected: ", " x real time"})
    EXPECT_NE(told.out.find(said), std::string::npos) << said << "\n" << told.out;
  EXPECT_EQ(told.err, "");
  const auto entries = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      count += entry.path().filename() == "out" || entry.path().filename() == "err" ? 0 : 1;
    return count;
  };
  EXPECT_EQ(entries(), 2u);  // the filterbank and its truth
  const CommandResult named =
      run({"search", fil_, "--dms", "0:300", "--plan", "-o", folder_ / "c.csv"});
  EXPECT_EQ(named.status, 0);
  EXPECT_EQ(entries(), 2u);
}

// As many as the memory makes them; a line each would fill screens.
TEST_F(SearchPlanned, SaysOfManyPassesTheFirstAndTheLast) {
  std::size_t most = 0;
  for (const char* memory : {"3M", "4M", "5M", "6M", "8M", "12M"}) {
    const std::vector<std::string> words{"search", fil_,       "--dms", "0:300:0.1",
                                         "--plan", "--memory", memory};
    std::vector<std::string> json = words;
    json.insert(json.begin(), "--json");
    const CommandResult recorded = run(json);
    if (recorded.status != 0) continue;  // too little on this processor
    const std::size_t passes =
        documented_in(recorded.out, "tautline.search.plan")["passes"].get<std::size_t>();
    most = std::max(most, passes);
    const CommandResult told = run(words);
    ASSERT_EQ(told.status, 0) << told.err;
    const std::string between = "... and " + std::to_string(passes - 4) + " more passes like these";
    EXPECT_EQ(told.out.find(between) != std::string::npos, passes > 5) << passes << told.out;
    EXPECT_LE(std::count(told.out.begin(), told.out.end(), '\n'), 12) << told.out;
    EXPECT_NE(told.out.find("DM 0 to "), std::string::npos) << told.out;
    EXPECT_NE(told.out.find(" to 300: "), std::string::npos) << told.out;
  }
  EXPECT_GT(most, 5U);
}

TEST_F(SearchPlanned, SaysThatTheRangesEndIsNoTrial) {
  const std::string remark = " is no trial, as steps of ";
  for (const auto& [range, said] : std::vector<std::pair<std::string, std::string>>{
           {"0:10:3", "4 trials, DM 0 to 9 in steps of 3; 10" + remark + "3 do not divide"},
           {"5:6:3", "1 trial, DM 5; 6" + remark + "3 do not divide"},
           {"0:9:3", "4 trials, DM 0 to 9 in steps of 3\n"},
           {"0:0.1",
            "2 trials, DM 0 to 0.1 in steps of 0.1; the range is narrower than one step of trials "
            "for such a pulse (--pulse-width)"},
           {"0:0.3:0.1", "4 trials, DM 0 to 0.3 in steps of 0.1\n"},
           {"0:300:0.1", "3001 trials, DM 0 to 300 in steps of 0.1\n"},
           {"7", "1 trial, DM 7\n"}}) {
    const CommandResult searched = run({"search", fil_, "--dms", range, "--plan"});
    EXPECT_EQ(searched.out.find(said), 0U) << range << "\n" << searched.out;
    const CommandResult series =
        run({"dedisperse", fil_, "-o", folder_ / "s.npy", "--dms", range, "--overwrite"});
    EXPECT_EQ(series.status, 0) << series.err;
    EXPECT_NE(series.err.find(said), std::string::npos) << range << "\n" << series.err;
  }
}

// Of wider pulses than the widest boxcar the plan's losses would not be true.
TEST_F(SearchPlanned, PulsesAreNoWiderThanTheWidestBoxcar) {
  const auto plan = [&](const std::string& pulse, const std::string& widest) {
    return run({"search", fil_, "--dms", "0:300", "--plan", "--pulse-width", pulse, "--max-width",
                widest});
  };
  const CommandResult told = plan("2ms", "20ms");
  EXPECT_EQ(told.status, kDone) << told.err;
  EXPECT_NE(told.out.find("; of any width from 2 to 19.968 ms at most "), std::string::npos)
      << told.out;
  EXPECT_EQ(plan("20ms", "20ms").status, kDone);
  const CommandResult refused = plan("21ms", "20ms");
  EXPECT_EQ(refused.status, kWrongUsage);
  EXPECT_NE(refused.err.find("--pulse-width: "), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("(--max-width)"), std::string::npos) << refused.err;
}

TEST_F(SearchPlanned, FrequenciesInGhzAreWarnedOf) {
  const std::string words = "correct the header if it has GHz";
  ScratchFolder other;
  auto random = generator();
  SigprocShape shape;
  shape.fch1 = 1.5;
  shape.foff = -0.002;
  write_filterbank(other / "ghz.fil", shape, noise_with_pulses(shape, 2000, {}, random));
  const CommandResult told = run({"inspect", other / "ghz.fil"});
  EXPECT_NE((told.out + told.err).find(words), std::string::npos) << told.out << told.err;
  const CommandResult usual = run({"inspect", fil_});
  EXPECT_EQ((usual.out + usual.err).find(words), std::string::npos) << usual.out << usual.err;
}

TEST_F(SearchPlanned, FieldsOfExamplesThatAreMisnamedAreSuggestedFromTheirNode) {
  const CommandResult result = run({"run", source_folder() + "/examples/pipelines/search.toml",
                                    "--set", "filterbank.path=x.fil"});
  EXPECT_EQ(result.status, kWrongUsage);
  EXPECT_NE(result.err.find("; did you mean files"), std::string::npos) << result.err;
}

TEST_F(SearchPlanned, TheJsonIsWhatTheSearchThenRecords) {
  const CommandResult told = run({"--json", "search", fil_, "--dms", "0:300", "--plan"});
  ASSERT_EQ(told.status, 0) << told.err;
  const nlohmann::json plan = documented_in(told.out, "tautline.search.plan");
  const std::string csv = folder_ / "c.csv";
  const CommandResult searched = run({"search", fil_, "--dms", "0:300", "-o", csv});
  ASSERT_EQ(searched.status, 0) << searched.err;
  const auto record = nlohmann::json::parse(read_file(csv + ".json"));
  for (const char* name : {"widths_samples", "passes", "methods", "kernels", "search_kernels",
                           "loss_of_snr", "loss_of_snr_by_spacing", "bytes", "dm_constant"})
    EXPECT_EQ(plan[name], record[name]) << name;
  const std::vector<double> dms = record["dms"];
  EXPECT_EQ(plan["trials"], dms.size());
  EXPECT_EQ(plan["low_dm"], dms.front());
  EXPECT_EQ(plan["high_dm"], dms.back());
  double least = 1e9, most = 0;
  for (std::size_t k = 1; k < dms.size(); ++k) {
    least = std::min(least, dms[k] - dms[k - 1]);
    most = std::max(most, dms[k] - dms[k - 1]);
  }
  EXPECT_EQ(plan["least_dm_step"], least);
  EXPECT_EQ(plan["greatest_dm_step"], most);
  // Every width up to the widest, against every boxcar.
  const std::vector<double> boxcars = plan["widths_samples"];
  double worst = 1;
  for (double width = 1; width <= boxcars.back(); ++width) {
    double best = 0;
    for (const double boxcar : boxcars)
      best = std::max(best, std::min(boxcar, width) / std::sqrt(boxcar * width));
    worst = std::min(worst, best);
  }
  EXPECT_NEAR(plan["loss_of_snr_by_widths"], 1 - worst, 1e-12);
  EXPECT_GT(worst, 0.9);
  const double whole = 1 - (1 - plan["loss_of_snr"].get<double>()) *
                               (1 - plan["loss_of_snr_by_spacing"].get<double>()) * worst;
  EXPECT_NEAR(plan["loss_of_snr_whole"], whole, 1e-12);
  EXPECT_GT(plan["expected_s"], 0);
  EXPECT_NEAR(plan["expected_real_time_factor"].get<double>() * plan["expected_s"].get<double>(),
              plan["data_s"], 1e-6 * plan["data_s"].get<double>());
}

TEST_F(SearchPlanned, WithoutItTheListNeedsAName) {
  const CommandResult refused = run({"search", fil_, "--dms", "0:300"});
  EXPECT_EQ(refused.status, kWrongUsage);
  EXPECT_NE(refused.err.find("--output: not given"), std::string::npos) << refused.err;
  const CommandResult range = run({"search", fil_, "--plan"});
  EXPECT_EQ(range.status, kWrongUsage);
  EXPECT_NE(range.err.find("--dms"), std::string::npos) << range.err;
}

}  // namespace
}  // namespace tautline::tests

// `search --inject`: what is put in is found again, marked and counted, and the rest of the list stays.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kSpectra = 100'000;
// Of some 65 that are put in: each may lie in one of the six pulses that were there, and one of 1,000 is lost in noise.
constexpr double kMostMissed = 10;

class SearchInjection : public ::testing::Test {
 protected:
  SearchInjection() {
    shape_.nchans = 32;
    shape_.fch1 = 1500;
    shape_.foff = -8;
    shape_.tsamp = 1e-3;
    write_filterbank(scratch_ / "in.fil", shape_,
                     noise_with_pulses(shape_, kSpectra,
                                       {{40, 20'000, 40},
                                        {60, 50'000, 30},
                                        {20, 90'000, 50},
                                        {30, 35'000, 40},
                                        {50, 65'000, 40},
                                        {10, 80'000, 40}},
                                       random_));
  }
  std::vector<nlohmann::json> search(const std::string& list, std::vector<std::string> more) {
    more.insert(more.begin(), {"--json", "search", scratch_ / "in.fil", "-o", scratch_ / list,
                               "--dms", "0:100:1", "--max-width", "0.03"});
    const CommandResult result = run_command(more, scratch_.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    plan_ = result.err;
    return json_lines(result.out);
  }

  SigprocShape shape_;
  ScratchFolder scratch_;
  std::mt19937_64 random_ = generator();
  std::string plan_;
};

TEST_F(SearchInjection, FindsWhatWasPutInAndLeavesTheRest) {
  const auto before = search("plain.csv", {});
  const std::string pulses =
      "every=1.5,dm=5:95,width=0.003:0.012,snr=10,seed=" + std::to_string(random_() % 1'000'000);
  const auto after = search("c.csv", {"--inject", pulses});
  EXPECT_NE(plan_.find("injected pulses: " + pulses), std::string::npos) << plan_;
  const nlohmann::json& summary = after.back();
  const auto injected = summary["injected"].get<double>();
  EXPECT_GE(injected, 60);
  // Of pulses of S/N 10, 999 of 1,000 are found (docs/maths/detect.md), with 0.943 x 1.01 of their S/N; a tenth of
  // that is one's scatter.
  EXPECT_GE(summary["recalled"].get<double>(), injected - kMostMissed);
  EXPECT_NEAR(summary["snr_ratio"].get<double>(), 0.952, 0.02 + 4 * 0.1 / std::sqrt(injected));
  EXPECT_EQ(summary["clipped_samples"], 0);
  const auto record = nlohmann::json::parse(read_file(scratch_ / "c.csv.json"));
  EXPECT_EQ(record["injection"]["injected"], summary["injected"]);
  EXPECT_EQ(record["injection"]["pulses"], pulses);

  // Candidates that nobody put in are where they were, with the S/N that they had.
  const auto truth = nlohmann::json::parse(read_file(scratch_ / "c.injected.truth.json"));
  std::size_t marked = 0, same = 0;
  for (const nlohmann::json& line : after)
    marked += line["schema"] == "tautline.candidate" && line["injected"] == true;
  EXPECT_GE(static_cast<double>(marked), injected - kMostMissed);
  for (const nlohmann::json& was : before) {
    if (was["schema"] != "tautline.candidate") continue;
    bool apart = true;  // by more than the delay of the highest trial, and the widths
    for (const nlohmann::json& pulse : truth["pulses"])
      apart = apart && std::fabs(pulse["time_s"].get<double>() - was["time_s"].get<double>()) > 0.1;
    if (!apart) continue;
    for (const nlohmann::json& is : after)
      if (is["schema"] == "tautline.candidate" && is["sample"] == was["sample"] &&
          is["dm"] == was["dm"] && is["injected"] == false) {
        EXPECT_NEAR(is["snr"].get<double>(), was["snr"].get<double>(),
                    0.05 * was["snr"].get<double>());
        ++same;
      }
  }
  EXPECT_GE(same, 1u);

  const CommandResult compared =
      run_command({"--json", "compare", scratch_ / "c.csv", scratch_ / "c.injected.truth.json",
                   "--recall", "0.5"},
                  scratch_.path().string());
  ASSERT_EQ(compared.status, kDone) << compared.err;
  const auto comparison = nlohmann::json::parse(compared.out);
  EXPECT_NEAR(comparison["recall"].get<double>(), summary["recalled"].get<double>() / injected,
              1e-9);
}

// The node of a pipeline does what the option of `search` does; of data that come by a pipe, too, each line says what it
// is of.
TEST_F(SearchInjection, OfThePipelinesNodeIsTheCommands) {
  const std::string pulses =
      "every=1.5,dm=5:95,width=0.003:0.012,snr=10,seed=" + std::to_string(random_() % 1'000'000);
  const auto run = [&](const std::string& source, const std::string& more) {
    write_file(scratch_ / "inject.toml",
               "[filterbank]\n" + source + "[injected]\ntype = \"inject\"\n" +
                   "inputs = \"filterbank\"\npulses = \"" + pulses +
                   "\"\n[search]\ntype = \"search\"\ninputs = \"injected\"\n" +
                   "dms.range = \"0:100:1\"\nmax_width_s = 0.03\nlatency_s = 2\n[list]\n" +
                   "type = \"candidate_file\"\ninputs = \"search\"\npath = \"" +
                   (scratch_ / "run.csv") + "\"\n" + more);
    const CommandResult result = run_shell(
        command_line({"--device", "cpu", "run", "--overwrite", scratch_ / "inject.toml"}) + " < " +
            (scratch_ / "in.fil"),
        scratch_.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(read_file(scratch_ / "run.csv.json"));
  };
  search("c.csv", {"--inject", pulses, "--device", "cpu", "--latency", "2"});
  const auto expected = nlohmann::json::parse(read_file(scratch_ / "c.csv.json"))["injection"];
  const auto of_file =
      run("type = \"filterbank_files\"\nfiles = \"" + (scratch_ / "in.fil") + "\"\n", "");
  EXPECT_EQ(of_file["injection"], expected);
  EXPECT_EQ(read_file(scratch_ / "run.csv"), read_file(scratch_ / "c.csv"));

  const auto live = run("type = \"live_filterbank\"\npath = \"-\"\n",
                        "[events]\ntype = \"candidate_events\"\ninputs = \"search\"\npath = \"" +
                            (scratch_ / "events.jsonl") + "\"\n")["injection"];
  EXPECT_EQ(live["pulses"], pulses);
  EXPECT_EQ(live["injected"], expected["injected"]);
  EXPECT_GE(live["recalled"].get<double>(), live["injected"].get<double>() - kMostMissed);
  double marked = 0, others = 0;
  for (const nlohmann::json& line : json_lines(read_file(scratch_ / "events.jsonl")))
    ++(line["injected"] == true ? marked : others);
  EXPECT_GE(marked, live["recalled"].get<double>());
  EXPECT_GE(others, 3);  // of the six pulses that nobody put in
}

// Before the search: pulses that it could not find would count as missed.
TEST_F(SearchInjection, BeyondTheTrialsOrTheDataIsRefused) {
  const auto run = [&](const std::string& dms, const std::string& pulses) {
    return run_command({"search", scratch_ / "in.fil", "--dms", dms, "-o", scratch_ / "c.csv",
                        "--inject", pulses, "--overwrite"},
                       scratch_.path().string());
  };
  const auto refuse = [&](const std::string& dms, const std::string& pulses,
                          const std::string& text) {
    const CommandResult result = run(dms, pulses);
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "c.csv"));
  };
  refuse("0:60:1", "every=2,dm=5:900,width=0.01", "dm: 5:900, expected DMs of the trials, 0:60");
  refuse("0:60:1", "every=2,dm=5:900,width=0.01", "give dm=5:60, or more trials");
  refuse("0:60:1", "every=2,dm=5:60,width=1:20",
         "width: 1:20 s, expected widths up to that of the widest boxcar, 0.1 s; numbers without a "
         "unit are seconds");
  refuse("30:60:1", "every=2,width=0.01", "dm: 0, expected DMs of the trials, 30:60");
  // 100 s of data: the first pulse is at 75 to 225 s.
  std::string seed;
  for (std::size_t k = 0; seed.empty(); ++k) {
    // The time of the first pulse is random: a seed with one behind the data.
    const CommandResult result =
        run("0:60:1", "every=300,dm=30,width=0.01,seed=" + std::to_string(k));
    if (result.status == kWrongUsage) seed = std::to_string(k);
    ASSERT_LT(k, 60u);
    for (const char* name : {"c.csv", "c.csv.json", "c.injected.truth.json"})
      std::filesystem::remove(scratch_ / name);
  }
  refuse("0:60:1", "every=300,dm=30,width=0.01,seed=" + seed, "every: 300 s, expected a time in");
  // What the refusal names is taken, and the printed table marks what is found.
  const CommandResult found = run("0:60:1", "every=5,dm=5:60,width=0.01,snr=100");
  ASSERT_EQ(found.status, kDone) << found.err;
  EXPECT_NE((found.out + found.err).find("  injected\n"), std::string::npos) << found.out;
}

// The same of pipelines, whoever reads the search.
TEST_F(SearchInjection, BeyondTheTrialsOfAPipelineIsRefused) {
  for (const bool live : {false, true}) {
    const std::string list = scratch_ / "run.csv", events = scratch_ / "events.jsonl";
    const std::string source =
        live ? "type = \"live_filterbank\"\npath = \"-\"\n"
             : "type = \"filterbank_files\"\nfiles = \"" + (scratch_ / "in.fil") + "\"\n";
    for (const auto& [type, path] :
         {std::pair("candidate_file", list), std::pair("candidate_events", events)}) {
      write_file(scratch_ / "inject.toml",
                 "[filterbank]\n" + source + "[injected]\ntype = \"inject\"\n" +
                     "inputs = \"filterbank\"\npulses = \"every=2,dm=5:900,width=0.01\"\n" +
                     "[search]\ntype = \"search\"\ninputs = \"injected\"\n" +
                     "dms.range = \"0:60:1\"\nmax_width_s = 0.03\nlatency_s = 2\n[sink]\n" +
                     "type = \"" + type + "\"\ninputs = \"search\"\npath = \"" + path + "\"\n");
      const CommandResult result =
          run_shell(command_line({"--device", "cpu", "run", scratch_ / "inject.toml"}) + " < " +
                        (scratch_ / "in.fil"),
                    scratch_.path().string());
      EXPECT_EQ(result.status, kWrongUsage) << result.err;
      EXPECT_NE(result.err.find("dm: 5:900, expected DMs of the trials, 0:60"), std::string::npos)
          << result.err;
      EXPECT_FALSE(std::filesystem::exists(path));
    }
  }
}

TEST_F(SearchInjection, IsRefusedWhereItCouldNotBeSaid) {
  const auto refuse = [&](const std::vector<std::string>& more, const std::string& text,
                          int status = kWrongUsage) {
    std::vector<std::string> words{"search", scratch_ / "in.fil", "--dms", "0:10"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch_.path().string());
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  refuse({"-o", scratch_ / "c.cand", "--inject", "every=2,width=0.01"}, "a .csv");
  refuse({"-o", scratch_ / "c.csv", "--inject", "every=2"}, "width");
  for (const char* every : {"0.5", "1e-9", "1e-300"})
    refuse({"-o", scratch_ / "c.csv", "--inject", std::string("every=") + every + ",width=0.01"},
           "expected 1.024 s or more");
  // What cannot have pulses is said first.
  const std::string other = scratch_ / "in2.fil";
  std::filesystem::copy_file(scratch_ / "in.fil", other);
  refuse({other, "--beams", "-o", scratch_ / "c.csv", "--inject", "every=2,dm=900,width=0.01"},
         "2 beams");
  const CommandResult series =
      run_command({"dedisperse", scratch_ / "in.fil", "--dms", "8", "-o", scratch_ / "s.dat"},
                  scratch_.path().string());
  ASSERT_EQ(series.status, kDone) << series.err;
  const CommandResult of_series =
      run_command({"search", scratch_ / "s.dat", "-o", scratch_ / "c.csv", "--inject",
                   "every=2,dm=900,width=0.01"},
                  scratch_.path().string());
  EXPECT_EQ(of_series.status, kWrongUsage) << of_series.err;
  EXPECT_NE(of_series.err.find("dedispersed already"), std::string::npos) << of_series.err;
  write_file(scratch_ / "c.injected.truth.json", "mine");
  refuse({"-o", scratch_ / "c.csv", "--inject", "every=2,width=0.01"}, "c.injected.truth.json",
         kFailed);
  EXPECT_EQ(read_file(scratch_ / "c.injected.truth.json"), "mine");
}

}  // namespace
}  // namespace tautline::tests

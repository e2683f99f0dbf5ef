// A series that dedisperse wrote as an array is searched as one that it wrote for PRESTO.
#include <gtest/gtest.h>

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
  // Trials of a series have their DM already; several trials are for the filterbank.
  const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_NE(result.status, kDone);
    EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(scratch / "o.csv"));
  };
  refused({"search", scratch / "s.npy", "-o", scratch / "o.csv", "--dms", "0:10"},
          "which is dedispersed already");
  run({"dedisperse", scratch / "x.fil", "-o", scratch / "many.npy", "--dms", "0:20:5"});
  refused({"search", scratch / "many.npy", "-o", scratch / "o.csv"},
          "an array of 5 trials, expected a filterbank, or a series of one trial; search the "
          "filterbank, or dedisperse it into a folder");
  for (const char* name : {"s.npy", "many.npy"})
    EXPECT_NE(run({"inspect", scratch / name}).out.find("dedispersed series"), std::string::npos);
}

}  // namespace
}  // namespace tautline::tests

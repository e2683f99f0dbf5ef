// Where visibilities point, as inspect says it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class PhaseCentre : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(scratch / "in.dada", DadaFile().bytes());
    write_file(scratch / "array.toml",
               "latitude_deg = 52.9\nlongitude_deg = 6.6\n[[antenna]]\nenu_m = [0, 0, 0]\n"
               "[[antenna]]\nenu_m = [30, 10, 0]\n");
  }
  CommandResult run(const std::vector<std::string>& words) {
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return result;
  }
  void correlate(const std::string& output, const std::vector<std::string>& more) {
    std::vector<std::string> words{"correlate",      scratch / "in.dada",   "-o",
                                   scratch / output, "--channels",          "16",
                                   "--array",        scratch / "array.toml"};
    words.insert(words.end(), more.begin(), more.end());
    run(words);
  }
  ScratchFolder scratch;
};

TEST_F(PhaseCentre, HasItsCoordinates) {
  correlate("plain.uvh5", {});
  const std::string plain = run({"inspect", scratch / "plain.uvh5"}).out;
  EXPECT_NE(plain.find("points at   unprojected\n"), std::string::npos) << plain;
  correlate("phased.uvh5", {"--phase-center", "Cas=350.85,58.815"});
  const std::string text = run({"inspect", scratch / "phased.uvh5"}).out;
  EXPECT_NE(text.find("points at   Cas, 350.850000 +58.815000 degrees (ICRS)\n"), std::string::npos)
      << text;
  const auto json = nlohmann::json::parse(run({"--json", "inspect", scratch / "phased.uvh5"}).out);
  EXPECT_NEAR(json["ra_deg"].get<double>(), 350.85, 1e-9);
  EXPECT_NEAR(json["dec_deg"].get<double>(), 58.815, 1e-9);
}

TEST_F(PhaseCentre, HasItsCoordinatesInAMeasurementSet) {
  const CommandResult made =
      run_command({"correlate", scratch / "in.dada", "-o", scratch / "phased.ms", "--channels",
                   "16", "--array", scratch / "array.toml", "--phase-center", "Cas=350.85,-58.815"},
                  scratch.path().string());
  if (made.err.find("casacore") != std::string::npos)
    GTEST_SKIP() << "this build writes no Measurement Sets: " << made.err;
  ASSERT_EQ(made.status, kDone) << made.err;
  const std::string text = run({"inspect", scratch / "phased.ms"}).out;
  EXPECT_NE(text.find("points at   Cas, 350.850000 -58.815000 degrees (ICRS)\n"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace tautline::tests

// Where visibilities point, as inspect says it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>

#include "tautline/formats/npy/header.h"
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

// 20,000 samples of 0.78125 us: 15.625 ms.
TEST_F(PhaseCentre, DelaysThatLeaveNoDataAreRefusedAndLongOnesSaid) {
  const auto with_delay = [&](const std::string& delay_s) {
    std::string delays = "phase_centre = \"Zenith\"\nra_deg = 0\ndec_deg = 0\n";
    for (const int antenna : {0, 1})
      delays += "[[delay]]\nantenna = " + std::to_string(antenna) +
                "\npiece = [{ start = \"2026-03-20T13:00:00\", delay_s = " +
                (antenna == 1 ? delay_s : "0") + " }]\n";
    write_file(scratch / "delays.toml", delays);
    write_file(scratch / "p.toml",
               correlate_pipeline(scratch / "in.dada", scratch / "v.uvh5",
                                  "channels = 16\ndelays_path = \"" + (scratch / "delays.toml") +
                                      "\"\narray_path = \"" + (scratch / "array.toml") + "\"\n",
                                  "integration_s = 0.01\n"));
    const std::vector<std::string> command{"correlate",  scratch / "in.dada",
                                           "-o",         scratch / "v.uvh5",
                                           "--array",    scratch / "array.toml",
                                           "--delays",   scratch / "delays.toml",
                                           "--channels", "16",
                                           "--overwrite"};
    return std::vector{
        run_command(command, scratch.path().string()),
        run_command({"run", scratch / "p.toml", "--overwrite"}, scratch.path().string())};
  };
  for (const char* delay_s : {"50", "-0.0157"})
    for (const CommandResult& refused : with_delay(delay_s)) {
      EXPECT_EQ(refused.status, kWrongUsage) << refused.err;
      const std::string words = std::string("a delay of ") + delay_s + " s of input 1x";
      EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
      EXPECT_FALSE(std::filesystem::exists(scratch / "v.uvh5"));
    }
  const std::string words =
      "delays leave 2 inputs without data for more than a hundredth of the "
      "0.015625 s: the longest is 0.001 s of input 1x";
  for (const CommandResult& said : with_delay("0.001")) {
    EXPECT_EQ(said.status, kDone) << said.err;
    EXPECT_NE(said.err.find(words), std::string::npos) << said.err;
  }
  for (const CommandResult& silent : with_delay("0.0001"))
    EXPECT_EQ(silent.err.find("delays leave"), std::string::npos) << silent.err;
}

// 10 ms integrations and channels of 80 kHz; the highest channel is at 155.44 MHz.
TEST_F(PhaseCentre, FringesThatLoseAmplitudeBeforeTheyAreRotatedAreSaid) {
  auto random = generator();
  const std::string lost = "have lost amplitude before: up to ";
  const auto with_delay = [&](double rate, double delay_s, const std::vector<std::string>& more) {
    std::string delays = "phase_centre = \"Zenith\"\nra_deg = 0\ndec_deg = 0\n";
    for (const int antenna : {0, 1}) {
      std::ostringstream piece;
      piece << std::setprecision(15) << "\n[[delay]]\nantenna = " << antenna
            << "\npiece = [{ start = \"2026-03-20T14:00:00\", delay_s = " << antenna * delay_s
            << ", delay_rate = " << antenna * rate << " }]\n";
      delays += piece.str();
    }
    write_file(scratch / "delays.toml", delays);
    std::vector<std::string> words{"correlate",  scratch / "in.dada",
                                   "-o",         scratch / "v.uvh5",
                                   "--array",    scratch / "array.toml",
                                   "--delays",   scratch / "delays.toml",
                                   "--channels", "16",
                                   "--overwrite"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words).err;
  };
  const std::vector<std::string> after{"--phase-center", "Zenith", "--integration", "0.01"};
  const double turn = 1 / (155.44e6 * 0.01), across = 1 / 80e3;
  for (const std::string& silent :
       {with_delay(0, 0, after), with_delay(0.2 * turn, 0.2 * across, after),
        with_delay(0.9 * turn, 0.2 * across, {"--integration", "0.01"}),
        with_delay(0.9 * turn, 0,
                   {"--phase-center", "Zenith", "--integration", "0.001", "--average-time", "10"})})
    EXPECT_EQ(silent.find(lost), std::string::npos) << silent;
  const auto per_cent = [](double turns) {
    return 100 * (1 - std::sin(std::numbers::pi * turns) / (std::numbers::pi * turns));
  };
  const double turns = 0.3 + 0.001 * static_cast<double>(random() % 600);
  std::vector<std::string> paged = after;
  paged.insert(paged.end(), {"--report", scratch / "page.html"});
  const std::string in_time = with_delay(turns * turn, 0, paged);
  const std::size_t at = in_time.find(lost);
  ASSERT_NE(at, std::string::npos) << in_time;
  EXPECT_EQ(in_time.find(lost, at + 1), std::string::npos) << in_time;
  EXPECT_NEAR(std::stod(in_time.substr(at + lost.size())), per_cent(turns), 0.51) << in_time;
  EXPECT_NE(in_time.find("% within an integration of 0.01 s, in which those of baseline 0x-1x turn "
                         "0."),
            std::string::npos)
      << in_time;
  EXPECT_NE(in_time.find("(--delays) lose none of it; a shorter --integration with --average-time "
                         "loses less"),
            std::string::npos)
      << in_time;
  EXPECT_EQ(in_time.find("--channels loses"), std::string::npos) << in_time;
  EXPECT_NE(read_file(scratch / "page.html").find(lost), std::string::npos);
  const std::string in_channel = with_delay(0, -turns * across, after);
  const std::size_t there = in_channel.find(lost);
  ASSERT_NE(there, std::string::npos) << in_channel;
  EXPECT_NEAR(std::stod(in_channel.substr(there + lost.size())), per_cent(turns), 0.51)
      << in_channel;
  EXPECT_NE(in_channel.find("% across a channel of 80 kHz"), std::string::npos) << in_channel;
  EXPECT_NE(in_channel.find("; a larger number of --channels loses less"), std::string::npos)
      << in_channel;
  // A pipeline says it, too.
  write_file(
      scratch / "p.toml",
      correlate_pipeline(scratch / "in.dada", scratch / "w.uvh5", "channels = 16\n",
                         "integration_s = 0.01\nphase_centre = \"Zenith\"\ndelays_path = \"" +
                             (scratch / "delays.toml") + "\"\narray_path = \"" +
                             (scratch / "array.toml") + "\"\n"));
  const std::string pipeline = run({"run", scratch / "p.toml"}).err;
  EXPECT_NE(pipeline.find(lost), std::string::npos) << pipeline;
  EXPECT_NE(pipeline.find("(delays_path)"), std::string::npos) << pipeline;
}

// Nothing stops them: a source at the zenith of latitude 52.9 moves to the west, by the earth's rotation times the
// cosine of the latitude.
TEST_F(PhaseCentre, FringesThatNothingStopsAndTheirLossAreSaid) {
  auto random = generator();
  const std::string lost = "those of a source at the zenith lose up to ";
  const double turn_m = 299'792'458 / (7.292115e-5 * std::cos(52.9 * std::numbers::pi / 180)) /
                        (155.44e6 * 0.01);  // a fringe turns once in 10 ms
  const auto said = [&](double east_m, double north_m, const std::vector<std::string>& more) {
    std::ostringstream array;
    array << std::setprecision(15)
          << "latitude_deg = 52.9\nlongitude_deg = 6.6\n[[antenna]]\nenu_m = [" << -east_m / 2
          << ", 0, 0]\n[[antenna]]\nenu_m = [" << east_m / 2 << ", " << north_m << ", 0]\n";
    write_file(scratch / "wide.toml", array.str());
    std::vector<std::string> words{
        "correlate",           scratch / "in.dada", "-o", scratch / "v.uvh5", "--array",
        scratch / "wide.toml", "--channels",        "16", "--overwrite"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words).err;
  };
  const std::vector<std::string> long_ones{"--integration", "0.01"};
  const double turns = 0.3 + 0.001 * static_cast<double>(random() % 600);
  const double per_cent =
      100 * (1 - std::sin(std::numbers::pi * turns) / (std::numbers::pi * turns));
  for (const std::vector<std::string>& more :
       {long_ones, std::vector<std::string>{"--integration", "0.001", "--average-time", "10"}}) {
    const std::string text = said(turns * turn_m, 0, more);
    const std::size_t at = text.find(lost);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_NEAR(std::stod(text.substr(at + lost.size())), per_cent, 0.51) << text;
    EXPECT_NE(text.find("% within 0.01 s, in which those of baseline 0x-1x turn 0."),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("A shorter --integration loses less"), std::string::npos) << text;
  }
  for (const std::string& silent :
       {said(0.2 * turn_m, 0, long_ones), said(0, turn_m, long_ones),
        said(turns * turn_m, 0, {"--integration", "0.001"}),
        said(turns * turn_m, 0, {"--integration", "0.01", "--autos-only"}),
        said(turns * turn_m, 0, {"--integration", "0.01", "--phase-center", "Cas=350.85,58.815"})})
    EXPECT_EQ(silent.find(lost), std::string::npos) << silent;
}

// The sky turns: fringes of data that do not say when they began cannot be rotated.
TEST_F(PhaseCentre, OfArraysNeedsTheTimeOfTheirBegin) {
  write_file(scratch / "x.npy",
             formats::npy::format_header("<f4", {2, 40'000}) + std::string(320'000, '\1'));
  const auto words = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{"correlate",
                                 scratch / "x.npy",
                                 "-o",
                                 scratch / "v.uvh5",
                                 "--rate-hz",
                                 "1e6",
                                 "--channels",
                                 "16",
                                 "--keep-constant",
                                 "--array",
                                 scratch / "array.toml",
                                 "--integration",
                                 "0.01"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--start", "0.01"}}) {
    std::vector<std::string> place{"--phase-center", "Cas=350.85,58.815"};
    place.insert(place.end(), more.begin(), more.end());
    const CommandResult refused = run_command(words(place), scratch.path().string());
    EXPECT_EQ(refused.status, kWrongUsage) << refused.err;
    EXPECT_NE(refused.err.find("tautline: --utc-start: not given, expected the UTC of the first "
                               "sample"),
              std::string::npos)
        << refused.err;
    EXPECT_NE(refused.err.find("--phase-center turns with the sky"), std::string::npos)
        << refused.err;
    EXPECT_FALSE(std::filesystem::exists(scratch / "v.uvh5"));
    place.insert(place.end(), {"--utc-start", "2026-03-20-14:00:00", "--overwrite"});
    run(words(place));
    std::filesystem::remove(scratch / "v.uvh5");
  }
  run(words({}));
  write_file(scratch / "p.toml", "[v]\ntype = \"voltage_files\"\nfiles = \"" + (scratch / "x.npy") +
                                     "\"\nrate_hz = 1e6\nkeep_constant = true\n"
                                     "[f]\ntype = \"filter_bank\"\ninputs = \"v\"\nchannels = 16\n"
                                     "[x]\ntype = \"correlator\"\ninputs = \"f\"\n"
                                     "integration_s = 0.01\narray_path = \"" +
                                     (scratch / "array.toml") +
                                     "\"\nphase_centre = \"Cas=350.85,58.815\"\n"
                                     "[o]\ntype = \"visibility_file\"\ninputs = \"x\"\npath = \"" +
                                     (scratch / "w.uvh5") + "\"\n");
  const CommandResult graph = run_command({"run", scratch / "p.toml"}, scratch.path().string());
  EXPECT_EQ(graph.status, kWrongUsage) << graph.err;
  EXPECT_NE(graph.err.find("utc_start"), std::string::npos) << graph.err;
  run({"run", scratch / "p.toml", "--set", "v.utc_start=2026-03-20-14:00:00"});
}

}  // namespace
}  // namespace tautline::tests

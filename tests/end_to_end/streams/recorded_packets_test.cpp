// Packets of spectra that `channelize` rounded, whose record has what packets do not carry.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/streams/live_packets.h"

namespace tautline::tests {
namespace {

// The guide's example: start and gains come from the record.
TEST_F(LivePackets, OfRoundedSpectraWithTheirRecordAreTheSimulatedSky) {
  const std::string folder = scratch.path().string();
  write_file(scratch / "array.toml",
             "name = \"three\"\nlatitude_deg = -26.7\nlongitude_deg = 116.67\naltitude_m = 377.0\n"
             "[[antenna]]\nenu_m = [0, 0, 0]\n[[antenna]]\nenu_m = [40, 310, 1]\n"
             "[[antenna]]\nenu_m = [520, -60, 0]\n[[antenna]]\nenu_m = [-730, 420, 2]\n");
  write_file(scratch / "scene.toml",
             "name = \"one\"\nstart = \"2026-03-20-14:00:00\"\ncentre_hz = 1420.4e6\n"
             "bandwidth_hz = 320e3\n[[source]]\nname = \"target\"\nra_deg = 170.0\n"
             "dec_deg = -20.0\nflux = 0.5\n");
  // 40 packets of 256 spectra.
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"simulate", "voltages", "--array", scratch / "array.toml",
                                 "--scene", scratch / "scene.toml", "--duration", "2.0494s", "-o",
                                 scratch / "sky.dada"},
        {"channelize", scratch / "sky.dada", "--channels", "64", "--requantize", "8", "-o",
         scratch / "spectra.dada"}}) {
    const CommandResult made = run_command(words, folder);
    ASSERT_EQ(made.status, kDone) << made.err;
  }
  files = {scratch / "spectra.dada"};
  correlate_words = {"--integration", "1"};
  pipeline = source_folder() + "/examples/pipelines/packets-live.toml";
  const Outcome outcome = run_and_send(
      {"--layout", "meerkat-f", "--rate", "1"}, 1,
      {"visibilities.path=" + (scratch / "live.uvh5"), "packets.listen=udp://127.0.0.1:0",
       "packets.silence_s=2", "packets.record=" + (scratch / "spectra.dada.json")});
  expect_the_files(outcome);
  const CommandResult compared =
      run_command({"compare", scratch / "live.uvh5", scratch / "sky.truth.json"}, folder);
  EXPECT_EQ(compared.status, kDone) << compared.out << compared.err;
  // More antennas, or fewer channels, than the record has: the field is named.
  for (const std::string set : {"packets.antennas=5", "packets.channels=32"}) {
    const CommandResult other = run_command({"run", pipeline, "--check", "--set", set, "--set",
                                             "packets.record=" + (scratch / "spectra.dada.json")},
                                            folder);
    EXPECT_EQ(other.status, kWrongUsage) << other.err;
    const std::size_t equals = set.find('=');
    for (const std::string& words : {set.substr(0, equals), set.substr(equals + 1) + ", expected "})
      EXPECT_NE(other.err.find(words), std::string::npos) << words << " in " << other.err;
    EXPECT_EQ(other.err.find("channelize again"), std::string::npos) << other.err;
  }
  // A file of another kind is no record.
  const CommandResult refused = run_command(
      {"run", pipeline, "--check", "--set", "packets.record=" + (scratch / "sky.truth.json")},
      folder);
  EXPECT_EQ(refused.status, kWrongUsage) << refused.err;
  EXPECT_NE(refused.err.find("the record that"), std::string::npos) << refused.err;
  // A record without frequencies: the advice is that of packets, too.
  write_file(scratch / "part.dada.json",
             R"({"schema": "tautline.channelize.record", "rate_hz": [5000, 1]})");
  const CommandResult part = run_command(
      {"run", pipeline, "--check", "--set", "packets.record=" + (scratch / "part.dada.json")},
      folder);
  EXPECT_NE(part.status, kDone) << part.out;
  EXPECT_NE(part.err.find("part.dada.json"), std::string::npos) << part.err;
  EXPECT_NE(part.err.find("do without the record"), std::string::npos) << part.err;
}

}  // namespace
}  // namespace tautline::tests

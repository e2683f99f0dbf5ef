// Files as if their samples came now: pipelines give what they give of files that are read at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/command_test.h"

namespace tautline::tests {
namespace {

class AsLive : public CommandTest {
 protected:
  // Once at once and once at `rate`, which takes so long at least; both write `output`.
  void expect_same(const std::vector<std::string>& arguments, const std::string& source,
                   const std::string& rate, double least_s, const std::string& output) {
    const CommandResult at_once = run(arguments);
    ASSERT_EQ(at_once.status, kDone) << at_once.err;
    EXPECT_TRUE(nlohmann::json::parse(at_once.out).at("behind_s").empty());
    const std::string expected = read_file(output);
    std::vector<std::string> paced = arguments;
    paced.insert(paced.end(), {"--overwrite", "--as-live", rate});
    const auto begun = std::chrono::steady_clock::now();
    const CommandResult result = run(paced);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun;
    ASSERT_EQ(result.status, kDone) << result.err;
    const auto summary = nlohmann::json::parse(result.out);
    EXPECT_GE(summary.at("behind_s").at(source).get<double>(), 0);
    EXPECT_EQ(summary.at("behind_s").size(), 1u);
    EXPECT_EQ(summary.at("counters"), nlohmann::json::parse(at_once.out).at("counters"));
    EXPECT_GE(elapsed.count(), least_s);  // none comes before its time
    EXPECT_GT(expected.size(), 100u);
    EXPECT_TRUE(without_history(read_file(output)) == without_history(expected)) << output;
  }
  // Curves as text say the command line.
  static std::string without_history(const std::string& text) {
    const std::size_t begin = text.find("# tautline ");
    if (begin == std::string::npos) return text;
    return text.substr(0, begin) + text.substr(text.find('\n', begin));
  }
  std::vector<std::string> example(const std::string& name, const std::vector<std::string>& sets) {
    std::vector<std::string> words{"--device", "cpu", "--json", "run",
                                   TAUTLINE_SOURCE_DIR "/examples/pipelines/" + name};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    return words;
  }
};

TEST_F(AsLive, SpectraAreThoseOfTheFileToTheBit) {
  DadaFile file;
  file.payload_bytes = 8 * 400'000;  // 0.3125 s
  write_file(scratch / "in.dada", file.bytes());
  write_file(scratch / "spectra.toml",
             "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "in.dada") +
                 "\"]\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 16\n"
                 "[file]\ntype = \"spectra_file\"\ninputs = \"f\"\npath = \"" +
                 (scratch / "out.npy") + "\"\n");
  expect_same({"--device", "cpu", "--json", "run", scratch / "spectra.toml"}, "voltages", "2",
              0.3125 / 2, scratch / "out.npy");
}

TEST_F(AsLive, PulsesBehindAMaskOfNowAreThoseOfTheFile) {
  ASSERT_EQ(run({"simulate", "filterbank", "--nchans", "32", "--fch1", "1500", "--foff", "-8",
                 "--tsamp", "512e-6", "--duration", "6", "--seed", std::to_string(seed() % 1000000),
                 "--pulse", "dm=40,time=4,width=0.004,snr=40", "-o", scratch / "night.fil"})
                .status,
            kDone);
  write_file(scratch / "search.toml",
             "[filterbank]\ntype = \"filterbank_files\"\nfiles = [\"" + (scratch / "night.fil") +
                 "\"]\n[masks]\ntype = \"iqrm\"\ninputs = \"filterbank\"\n[pulses]\n"
                 "type = \"search\"\ninputs = \"masks\"\ndms.range = \"0:100:2\"\n[candidates]\n"
                 "type = \"candidate_file\"\ninputs = \"pulses\"\npath = \"" +
                 (scratch / "out.csv") + "\"\n");
  expect_same({"--device", "cpu", "--json", "run", scratch / "search.toml"}, "filterbank", "20",
              6.0 / 20, scratch / "out.csv");
}

TEST_F(AsLive, CurvesAreThoseOfTheFileToTheBit) {
  ASSERT_EQ(run({"simulate", "photons", "--sensors", "1", "--duration", "0.5s", "--bin", "10us",
                 "--model", "diffusion:n=2,tau=2e-4,rate=1e5", "--seed",
                 std::to_string(seed() % 1000000), "-o", scratch / "counts.npy"})
                .status,
            kDone);
  expect_same(
      example("autocorrelate.toml", {"counts.path=" + (scratch / "counts.npy"), "counts.bin_s=1e-5",
                                     "file.path=" + (scratch / "out.csv")}),
      "counts", "4", 0.5 / 4, scratch / "out.csv");
}

TEST_F(AsLive, IsRefusedWhereItCannotBe) {
  ASSERT_EQ(run({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-8",
                 "--tsamp", "1e-3", "--duration", "2", "-o", scratch / "a.fil"})
                .status,
            kDone);
  const auto refused = [&](std::vector<std::string> words, const std::string& rate,
                           const std::string& said) {
    words.insert(words.end(), {"--as-live", rate});
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
  };
  const auto search = example(
      "search.toml", {"filterbank.files=" + (scratch / "a.fil"), "filterbank.beams=true",
                      "pulses.dms.range=0:100:2", "candidates.path=" + (scratch / "out.csv")});
  refused(search, "1", "beams");
  refused(search, "0", "--as-live: 0, expected 0.001 to 1");
  refused(search, "-1", "--as-live");
  refused(example("packets-live.toml",
                  {"visibilities.path=" + (scratch / "out.uvh5"),
                   "packets.listen=udp://127.0.0.1:0", "packets.utc_start=2026-03-20-14:00:00"}),
          "1", "its sources are live");
  EXPECT_FALSE(std::filesystem::exists(scratch / "out.csv"));
  const auto piped = example("correlate.toml", {"voltages.files=-", "f.channels=16",
                                                "visibilities.path=" + (scratch / "out.uvh5")});
  refused(piped, "1", "give no rate");
  std::vector<std::string> with_rate = piped;
  with_rate.insert(with_rate.end(), {"--set", "voltages.rate=2"});
  const CommandResult result = run(with_rate);
  EXPECT_EQ(result.status, kWrongUsage) << result.err;
  EXPECT_NE(result.err.find("give no rate"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace tautline::tests

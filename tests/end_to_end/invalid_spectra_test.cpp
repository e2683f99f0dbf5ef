// Spectra that `channelize` could not make are zeros in its file: the record beside it lists them, and whatever reads
// the file gives them no weight, as `correlate` does that makes them itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

/// Complex noise of 8 bits from four inputs, as it comes.
class InvalidSpectra : public ::testing::Test {
 protected:
  static constexpr std::size_t kTimes = 120'000, kInputs = 4, kChannels = 64, kTaps = 4;

  InvalidSpectra() {
    DadaFile dada;
    dada.payload_bytes = kTimes * kInputs * 2;
    bytes = dada.bytes();
  }
  void hold(std::size_t input, std::size_t first, std::size_t samples) {
    for (std::size_t t = first; t < first + samples; ++t)
      bytes.replace(4096 + (t * kInputs + input) * 2, 2, 2, '\5');
    for (const std::size_t beside : {first - 1, first + samples})
      if (beside < kTimes) bytes[4096 + (beside * kInputs + input) * 2] = 99;
  }
  // The summary of a command; `result` has the rest.
  nlohmann::json run(std::vector<std::string> words, int status) {
    words.insert(words.begin(), "--json");
    words.emplace_back("--overwrite");
    result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, status) << result.err;
    return nlohmann::json::parse(result.out.substr(0, result.out.find('\n')));
  }
  nlohmann::json channelize(const std::string& output, int status,
                            const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{
        "channelize", scratch / "x.dada", "-o", scratch / output, "--channels",
        "64",         "--taps",           "4"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words, status);
  }
  nlohmann::json correlate_spectra(const std::string& input, int status) {
    return run({"correlate", scratch / input, "-o", scratch / "spectra.uvh5", "--integration",
                "0.02", "--report", scratch / "page.html"},
               status);
  }
  // The visibilities that `correlate` makes of the voltages.
  FileVisibilities expected(int status) {
    run({"correlate", scratch / "x.dada", "-o", scratch / "expected.uvh5", "--integration", "0.02",
         "--channels", "64", "--taps", "4", "--requantize", "off"},
        status);
    return visibilities_in(scratch / "expected.uvh5");
  }
  static void expect_equal(const FileVisibilities& is, const FileVisibilities& should) {
    ASSERT_GT(should.middles.size(), 3u);
    EXPECT_EQ(is.counts, should.counts);
    EXPECT_EQ(is.middles, should.middles);
    ASSERT_EQ(is.values.size(), should.values.size());
    float largest = 0, apart = 0;
    for (std::size_t k = 0; k < is.values.size(); ++k) {
      largest = std::max(largest, std::abs(should.values[k]));
      apart = std::max(apart, std::abs(is.values[k] - should.values[k]));
    }
    EXPECT_LT(apart, 1e-5f * largest);
  }
  static std::int64_t sum(const FileVisibilities& visibilities) {
    return std::accumulate(visibilities.counts.begin(), visibilities.counts.end(), std::int64_t{0});
  }

  std::mt19937_64 random = generator();
  ScratchFolder scratch;
  std::string bytes;
  CommandResult result;
};

TEST_F(InvalidSpectra, OfLostSamplesStayLost) {
  auto spans = nlohmann::json::array();
  for (const std::size_t most : {1, 1, 40, 40, 200, 200, 1'000, 20'000}) {
    nlohmann::json input;
    if (random() % 3 > 0) input = random() % kInputs;
    const std::size_t samples = 1 + random() % most, first = random() % (kTimes - samples);
    spans.push_back({{"input", input}, {"first_sample", first}, {"samples", samples}});
  }
  write_file(scratch / "x.dada", bytes);
  write_file(
      scratch / "x.dada.json",
      nlohmann::json(
          {{"schema", "tautline.record"}, {"version", 1}, {"samples", kTimes}, {"invalid", spans}})
          .dump());
  const FileVisibilities should = expected(kDamaged);
  const auto invalid = channelize("s.npy", kDamaged)["invalid_spectra"];
  EXPECT_EQ(channelize("s.dada", kDamaged, {"--memory", "8M"})["invalid_spectra"], invalid);
  write_file(
      scratch / "p.toml",
      "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "x.dada") +
          "\"]\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 64\ntaps = "
          "4\nrequantise = \"off\"\n[s]\ntype = \"spectra_file\"\ninputs = \"f\"\npath = \"" +
          (scratch / "p.npy") + "\"\n");
  run({"run", scratch / "p.toml"}, kDamaged);
  for (const std::string file : {"s.npy", "s.dada", "p.npy"}) {
    EXPECT_EQ(correlate_spectra(file, kDamaged)["lost_samples"], invalid) << file << spans;
    EXPECT_NE(result.err.find(file + ".json: lists "), std::string::npos) << result.err;
    expect_equal(visibilities_in(scratch / "spectra.uvh5"), should);
    // Without the list they are zeros, which may be found: of four spectra or more in all channels.
    auto record = nlohmann::json::parse(read_file(scratch / (file + ".json")));
    record.erase("invalid");
    write_file(scratch / (file + ".json"), record.dump());
    correlate_spectra(file, kDone);
    EXPECT_GE(sum(visibilities_in(scratch / "spectra.uvh5")), sum(should)) << file;
  }
}

TEST_F(InvalidSpectra, OfInputsThatDoNotChangeAreNoDamage) {
  const std::size_t samples = 480 + random() % 100;
  hold(3, 1 + random() % (kTimes / 2), samples);
  hold(1, kTimes / 2 + random() % 1'000, 20'000);
  hold(2, 0, kTimes);
  write_file(scratch / "x.dada", bytes);
  const FileVisibilities should = expected(kDone);
  for (const std::string file : {"s.npy", "s.dada"}) {
    const auto invalid = channelize(file, kDone)["invalid_spectra"];
    const auto record = nlohmann::json::parse(read_file(scratch / (file + ".json")));
    ASSERT_EQ(record["invalid"].size(), 3u) << record["invalid"];
    std::uint64_t listed = 0, short_one = 0;
    for (const auto& span : record["invalid"]) {
      listed += span["samples"].get<std::uint64_t>();
      if (span["input"] == 3) short_one = span["samples"];
    }
    EXPECT_EQ(listed, invalid);
    EXPECT_GT(short_one, 0u);
    EXPECT_LT(short_one, 16u);
    const nlohmann::json summary = correlate_spectra(file, kDone);
    EXPECT_EQ(summary["lost_samples"], 0);
    EXPECT_EQ(summary["empty_spectra"], invalid);
    const std::string said =
        "by the record beside the file: " + invalid.dump() + " (times x inputs)";
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
    EXPECT_NE(read_file(scratch / "page.html").find(said), std::string::npos);
    expect_equal(visibilities_in(scratch / "spectra.uvh5"), should);
  }
  // A second filter bank gives no weight to spectra that need one of these.
  const auto again = run(
      {"channelize", scratch / "s.npy", "-o", scratch / "again.npy", "--fine", "4", "--taps", "2"},
      kDone)["invalid_spectra"];
  const auto record = nlohmann::json::parse(read_file(scratch / "s.npy.json"));
  std::uint64_t touched = 0;
  for (const auto& span : record["invalid"]) {
    const auto first = span["first_sample"].get<std::uint64_t>(),
               end = first + span["samples"].get<std::uint64_t>();
    for (std::uint64_t s = 0; s + 8 <= record["spectra"].get<std::uint64_t>(); s += 4)
      touched += s < end && s + 8 > first ? 1 : 0;
  }
  EXPECT_EQ(again, touched);
}

}  // namespace
}  // namespace tautline::tests

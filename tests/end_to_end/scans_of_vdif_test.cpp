// VDIF of two scans: the commands keep both, and name the gap between them.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/end_to_end/mistakes.h"
#include "tests/formats/vdif/vdif_frames.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kPerSecond = 10, kFirst_s = 4, kSecond_s = 3, kThreads = 2;

// Of 4 s and 3 s; the second one begins so many seconds after the first one.
std::string write_scans(const std::string& file, std::uint32_t apart_s, std::mt19937_64& random) {
  formats::vdif::FrameSpec spec;
  spec.bits = 8;
  std::vector<char> bytes;
  for (const std::size_t seconds : {kFirst_s, kSecond_s}) {
    const auto scan =
        formats::vdif::Recording(spec, kThreads, seconds * kPerSecond, kPerSecond, 32, random)
            .bytes();
    bytes.insert(bytes.end(), scan.begin(), scan.end());
    spec.seconds += apart_s;
  }
  write_bytes(file, bytes);
  return file;
}

std::vector<std::string> correlate(const std::string& file, const std::string& output,
                                   const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"--json", "correlate",     file,  "-o",
                                 output,   "--channels",    "16",  "--centre-hz",
                                 "1e9",    "--integration", "0.5", "--overwrite"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(Mistakes, ScansOfVdifAreKeptWithTheGapBetweenThem) {
  std::mt19937_64 random = generator();
  const auto apart_s = static_cast<std::uint32_t>(600 + random() % 400);
  const std::string file = write_scans(scratch / "scans.vdif", apart_s, random);
  const std::uint64_t rate = 1'280, samples = (apart_s + kSecond_s) * rate,
                      lost = (apart_s - kFirst_s) * rate * kThreads;
  const std::string gap = "no frames for " + std::to_string(apart_s - kFirst_s) +
                          " s, from 4 s to " + std::to_string(apart_s) + " s behind its begin";
  const CommandResult inspected = run({"--json", "inspect", file});
  EXPECT_EQ(inspected.status, kDamaged) << inspected.err;
  const auto told = nlohmann::json::parse(inspected.out);
  EXPECT_EQ(told["samples"], samples);
  EXPECT_NE(told["damage"].dump().find(gap), std::string::npos) << told;
  const CommandResult correlated = run(correlate(file, scratch / "scans.uvh5"));
  EXPECT_EQ(correlated.status, kDamaged) << correlated.err;
  EXPECT_NE(correlated.err.find(gap), std::string::npos) << correlated.err;
  const auto summary = nlohmann::json::parse(correlated.out);
  EXPECT_EQ(summary["samples"], samples) << summary;
  EXPECT_EQ(summary["lost_samples"], lost) << summary;
  const CommandResult drawn =
      run({"plot", scratch / "scans.uvh5", "-o", scratch / "scans.html", "--overwrite"});
  EXPECT_EQ(drawn.status, kDone) << drawn.err;
}

TEST_F(Mistakes, ScansOfVdifAYearApartAreNamedAndReadOneByOne) {
  std::mt19937_64 random = generator();
  const std::string file = write_scans(scratch / "years.vdif", 365 * 86'400, random);
  const CommandResult inspected = run({"inspect", file});
  EXPECT_EQ(inspected.status, kDamaged) << inspected.err;
  EXPECT_NE(inspected.err.find("too long to be read through"), std::string::npos) << inspected.err;
  const CommandResult whole = run(correlate(file, scratch / "years.uvh5"));
  EXPECT_EQ(whole.status, kFailed) << whole.err;
  EXPECT_NE(whole.err.find("between data from 0 to 4 s behind the begin and data from 31536000 s "
                           "on, expected gaps of at most 86400 s; take the data before the gap "
                           "with --duration of 4, those behind it with --start of 31536000"),
            std::string::npos)
      << whole.err;
  const auto expect_part = [&](const std::vector<std::string>& part, std::size_t seconds) {
    const CommandResult result = run(correlate(file, scratch / "part.uvh5", part));
    EXPECT_EQ(result.status, kDone) << result.err;
    const auto summary = nlohmann::json::parse(result.out);
    EXPECT_EQ(summary["samples"], seconds * 1'280) << summary;
    EXPECT_EQ(summary["lost_samples"], 0) << summary;
  };
  expect_part({"--duration", "4"}, kFirst_s);
  expect_part({"--start", "31536000"}, kSecond_s);
}

}  // namespace
}  // namespace tautline::tests

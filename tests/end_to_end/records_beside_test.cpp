// Records beside spectra: one of another file tells neither the rate nor the edges of the band, and one that is no
// JSON is refused.
#include <complex>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tautline/formats/npy/header.h"
#include "tests/end_to_end/mistakes.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

TEST_F(Mistakes, RecordsOfOtherFilesAreNotUsedAndBrokenOnesRefused) {
  constexpr std::size_t kTimes = 40'000;
  std::mt19937_64 random = generator();
  std::normal_distribution<float> normal;
  std::string bytes = formats::npy::format_header("<c8", {2, kTimes});
  for (std::size_t k = 0; k < 2 * kTimes; ++k) {
    const std::complex<float> value(normal(random), normal(random));
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  write_file(scratch / "x.npy", bytes);
  const std::string spectra = scratch / "s.npy", record = spectra + ".json";
  const CommandResult made = run({"channelize", scratch / "x.npy", "-o", spectra, "--channels",
                                  "32", "--rate-hz", "1e6", "--centre-hz", "1e9"});
  ASSERT_EQ(made.status, kDone) << made.err;
  std::vector<std::string> words{"--json",           "correlate",     spectra, "-o",
                                 scratch / "v.uvh5", "--integration", "0.01",  "--overwrite"};
  const auto correlate = [&](int status) {
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, status) << result.err;
    return result;
  };
  EXPECT_EQ(nlohmann::json::parse(correlate(kDone).out)["edge_channels"], nlohmann::json({0}));
  auto told = nlohmann::json::parse(read_file(record));
  const auto count = told["spectra"].get<std::uint64_t>();
  told["spectra"] = count - 1;
  write_file(record, told.dump());
  const std::string other = record + ": of a file of " + std::to_string(count - 1) +
                            " samples, expected " + std::to_string(count) + ": not used";
  refused(words, kFailed, other);
  words.insert(words.end(), {"--rate-hz", "31250", "--centre-hz", "1e9"});
  const CommandResult without = correlate(kDamaged);
  EXPECT_NE(without.err.find(other), std::string::npos) << without.err;
  EXPECT_TRUE(nlohmann::json::parse(without.out)["edge_channels"].empty()) << without.out;
  write_file(record, "{\"schema\": ");
  refused(words, kFailed, record + ": no JSON at byte ");
  refused({"inspect", spectra}, kFailed, record + ": no JSON at byte ");
}

}  // namespace
}  // namespace tautline::tests

// GUPPI RAW whose frequency changes inside the file: the commands name the change, and take the part before it.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/end_to_end/mistakes.h"
#include "tests/formats/guppi/recording.h"

namespace tautline::tests {
namespace {

TEST_F(Mistakes, AHeaderThatChangesInsideAFileIsNamed) {
  constexpr std::size_t kBlocks = 400, kTimes = 64;
  std::mt19937_64 random = generator();
  formats::guppi::Recording recording({1, 4, 2, kTimes, 0, 8}, kBlocks, random);
  const std::size_t changed = kBlocks / 4 + random() % (kBlocks / 2);
  std::vector<char> bytes;
  for (std::size_t k = 0; k < kBlocks; ++k) {
    if (k == changed) formats::guppi::put_card(recording.cards(), "OBSFREQ", "1420.5");
    const std::vector<char> block = recording.block_bytes(k);
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  const std::string file = scratch / "x.raw",
                    said = "OBSFREQ in the header at byte " +
                           std::to_string(bytes.size() / kBlocks * changed) +
                           ": 1420.5, expected 1378.125 as in the headers before it; split the "
                           "file at byte ";
  write_bytes(file, bytes);
  std::vector<std::string> words{"--json",           "correlate",     file,    "-o",
                                 scratch / "v.uvh5", "--integration", "0.0001"};
  refused(words, kFailed, said);
  const CommandResult inspected = run({"inspect", file});
  EXPECT_EQ(inspected.status, kDamaged) << inspected.err;
  EXPECT_NE(inspected.err.find(said), std::string::npos) << inspected.err;
  words.insert(words.end(), {"--duration", std::to_string(changed * kTimes * 320) + "ns"});
  const CommandResult part = run(words);
  EXPECT_EQ(part.status, kDone) << part.err;
  EXPECT_EQ(nlohmann::json::parse(part.out)["samples"], changed * kTimes) << part.out;
}

}  // namespace
}  // namespace tautline::tests

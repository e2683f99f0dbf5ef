// `inspect` of damaged voltages: the damage that sizes and the headers at a file's end tell is named, and the exit
// status is that of damaged input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/complex_int.h"
#include "tautline/formats/mwa32t/writer.h"
#include "tests/end_to_end/run_command.h"
#include "tests/formats/guppi/recording.h"
#include "tests/formats/vdif/vdif_frames.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class InspectDamage : public ::testing::Test {
 protected:
  CommandResult run(const std::vector<std::string>& words, int status) {
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, status) << result.err;
    return result;
  }
  nlohmann::json whole(const std::string& file) {
    const auto told = nlohmann::json::parse(run({"--json", "inspect", file}, kDone).out);
    EXPECT_TRUE(told["damage"].empty()) << told;
    return told;
  }
  nlohmann::json damaged(const std::string& file, const std::string& said) {
    const auto told = nlohmann::json::parse(run({"--json", "inspect", file}, kDamaged).out);
    EXPECT_EQ(told["damage"].size(), 1u) << told;
    const CommandResult text = run({"inspect", "--strict", file}, kFailed);
    for (const std::string& words : {told["damage"].dump(), text.err})
      EXPECT_NE(words.find(said), std::string::npos) << words;
    return told;
  }

  std::mt19937_64 random = generator();
  ScratchFolder scratch;
};

TEST_F(InspectDamage, OfGuppiFilesThatAreCutShortIsCounted) {
  constexpr std::size_t kTimes = 64, kRowBytes = kTimes * 4;
  const formats::guppi::Recording recording({1, 4, 2, kTimes, 0, 8}, 40, random);
  const std::string file = scratch / "x.raw";
  auto bytes = recording.bytes();
  write_bytes(file, bytes);
  EXPECT_EQ(whole(file)["samples"], 40 * kTimes);
  const std::size_t left = 1 + random() % (kTimes - 1);  // times of the last block's last channel
  bytes.resize(bytes.size() - kRowBytes + left * 4);
  write_bytes(file, bytes);
  const auto told = damaged(file, std::to_string(left) + " of its 64 times are whole");
  EXPECT_EQ(told["samples"], 39 * kTimes + left);
  const auto summary = nlohmann::json::parse(
      run({"--json", "correlate", file, "-o", scratch / "x.uvh5", "--integration", "0.0001"},
          kDamaged)
          .out);
  EXPECT_EQ(summary["samples"], 39 * kTimes + left);
  EXPECT_EQ(summary["lost_samples"], (kTimes - left) * 2);
}

TEST_F(InspectDamage, OfVdifFilesThatLackFramesIsCounted) {
  formats::vdif::Recording recording({}, 2, 50, 10, 8, random);
  const std::string file = scratch / "x.vdif";
  write_bytes(file, recording.bytes());
  const auto told = whole(file);
  auto& order = recording.order();
  const auto lost = static_cast<std::ptrdiff_t>(4 + random() % (order.size() - 8));
  order.erase(order.begin() + lost);
  write_bytes(file, recording.bytes());
  const std::size_t held = order.size() * recording.samples_per_frame();
  EXPECT_EQ(damaged(file, std::to_string(held) + " samples, expected " +
                              std::to_string(held + recording.samples_per_frame()))["samples"],
            told["samples"]);
}

TEST_F(InspectDamage, OfReceiversThatLackRecordsIsCountedAndTheirLengthIsRight) {
  constexpr std::size_t kTimes = 20'000;
  std::vector<core::ci8> samples(kTimes * formats::mwa32t::kInputsPerReceiver);
  for (core::ci8& sample : samples)
    sample = {static_cast<std::int8_t>(random() % 32 - 16),
              static_cast<std::int8_t>(random() % 32 - 16)};
  const std::string file = scratch / "x.mwa32t";
  for (const std::uint64_t gap : {std::uint64_t{0}, 1 + random() % 60'000}) {
    formats::mwa32t::Writer writer(file, formats::mwa32t::Mode::two_byte,
                                   static_cast<std::uint16_t>(random()), true);
    writer.write(samples);
    writer.skip(gap);
    writer.write(samples);
    writer.finish();
    const auto told =
        gap == 0 ? whole(file) : damaged(file, std::to_string(gap) + " samples are missing");
    EXPECT_EQ(told["samples"], 2 * kTimes + gap);
    EXPECT_DOUBLE_EQ(told["duration_s"].get<double>(),
                     static_cast<double>(2 * kTimes + gap) / 1.28e6);
  }
}

}  // namespace
}  // namespace tautline::tests

// Lost, reordered and repeated packets of a whole run, from `send` to visibilities: every packet is counted once, and
// each visibility has what came of its antennas, to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tests/end_to_end/streams/live_packets.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kGridPayload = 256, kPacketChannels = 8, kPackets = 39 * 3 * 2 * 2;

// With integrations of one payload a baseline has none of an integration where either of its antennas lost it, else
// all.
class PacketGrid : public LivePackets {
 protected:
  void SetUp() override {
    LivePackets::SetUp();
    if (IsSkipped()) return;
    write_voltages(kFEngines);
    correlate_words = {"--integration", "0.0064"};
    whole = from_files();
    ASSERT_EQ(whole.middles.size(), kFEngines.samples / kGridPayload);
  }

  // Returns the packets whose data are in no visibility.
  std::uint64_t run_with(const std::string& faults) {
    write_pipeline(fields_of(kFEngines));
    Outcome outcome;
    // Where all packets of the first or the last payload are lost, nobody can count them: again, then.
    for (int tries = 0; tries < 3 && outcome.live.middles.size() < whole.middles.size(); ++tries) {
      const std::string impair = faults + ",seed=" + std::to_string(random() % 99'999);
      std::cout << impair << std::endl;
      outcome = run_and_send({"--layout", "meerkat-f", "--rate", "1", "--impair", impair}, 1,
                             {"x.integration_s=0.0064"});
      if (HasFailure()) return 0;
    }
    const auto sent = [&](const char* name) { return outcome.sent.at(name).get<std::uint64_t>(); };
    const auto of = [&](const char* name) {
      return outcome.counters.at(name).get<std::uint64_t>();
    };
    EXPECT_EQ(sent("records") + sent("lost"), kPackets + sent("duplicated"));
    EXPECT_EQ(of("accepted") + of("missing") + of("late"), kPackets);
    EXPECT_EQ(of("missing"), sent("lost"));
    EXPECT_EQ(of("duplicate"), sent("duplicated"));
    EXPECT_EQ(of("early") + of("malformed") + of("foreign"), 0u);
    const std::uint64_t without = of("missing") + of("late");
    EXPECT_EQ(outcome.status, without > 0 ? kDamaged : kDone);
    expect_what_came(outcome.live, without);
    return without;
  }
  void expect_what_came(const FileVisibilities& live, std::uint64_t without) const {
    ASSERT_EQ(live.counts.size(), whole.counts.size());
    EXPECT_TRUE(live.middles == whole.middles);
    constexpr std::size_t kInputs = 6, kBaselines = kInputs * (kInputs + 1) / 2;
    std::uint64_t lost_packets = 0, wrong_autos = 0, wrong_crosses = 0, changed = 0;
    for (std::size_t begin = 0; begin < whole.counts.size(); begin += kBaselines) {
      const auto count = [&](std::size_t i, std::size_t j) {
        return static_cast<std::size_t>(live.counts[begin + i * (i + 1) / 2 + j]);
      };
      const bool first_of_packet = begin / kBaselines % kPacketChannels == 0;
      const auto is_lost = [&](std::size_t i) { return count(i, i) == 0; };
      for (std::size_t i = 0; i < kInputs; ++i) {
        lost_packets += first_of_packet && i % 2 == 0 && is_lost(i) ? 1 : 0;
        wrong_autos += is_lost(i) || count(i, i) == kGridPayload ? 0 : 1;
        wrong_autos += is_lost(i) == is_lost(i ^ 1) ? 0 : 1;
        for (std::size_t j = 0; j < i; ++j)
          wrong_crosses += count(i, j) == (is_lost(i) || is_lost(j) ? 0 : kGridPayload) ? 0 : 1;
      }
      for (std::size_t b = begin; b < begin + kBaselines; ++b)
        changed += live.counts[b] == 0 || live.values[b] == whole.values[b] ? 0 : 1;
    }
    EXPECT_EQ(lost_packets, without);
    EXPECT_EQ(wrong_autos, 0u);
    EXPECT_EQ(wrong_crosses, 0u);
    EXPECT_EQ(changed, 0u);
  }

  FileVisibilities whole;
};

TEST_F(PacketGrid, LostPacketsAreMissingInExactlyTheBaselinesOfTheirAntennas) {
  EXPECT_GT(run_with("loss=0.3"), 50u);
}

// Some cells of the grid that tests/stream runs through captures; all of them with TAUTLINE_FULL.
TEST_F(PacketGrid, EveryVisibilityHasWhatCame) {
  constexpr const char *kLoss[] = {"0", "0.0001", "0.001", "0.01", "0.1", "0.5"},
                       *kReorder[] = {"0", "0.01", "0.1"}, *kDuplicate[] = {"0", "0.01"};
  constexpr std::size_t kCells = 36, kSample = 3;
  std::vector<std::size_t> cells(kCells);
  std::iota(cells.begin(), cells.end(), 0);
  std::ranges::shuffle(cells, random);
  if (std::getenv("TAUTLINE_FULL") == nullptr) cells.resize(kSample);
  for (const std::size_t cell : cells) {
    const std::string faults = std::string("loss=") + kLoss[cell % 6] +
                               ",reorder=" + kReorder[cell / 6 % 3] +
                               ",duplicate=" + kDuplicate[cell / 18];
    SCOPED_TRACE(faults);
    run_with(faults);
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace tautline::tests

// VDIF whose first frames have damaged headers: the file is what its other frames agree about.
#include <cstdint>
#include <set>

#include "tests/formats/cut_feed.h"
#include "tests/formats/vdif/vdif_frames.h"

namespace tautline::formats::vdif {
namespace {

// Of a header: bits of a word.
struct Field {
  const char* name;
  std::size_t word;
  unsigned first_bit, bits;
};
constexpr Field kInvalid{"invalid", 0, 31, 1}, kSeconds{"seconds", 0, 0, 30},
    kFrame{"frame number", 1, 0, 24}, kThread{"thread", 3, 16, 10};
constexpr Field kFields[] = {kInvalid,
                             {"legacy", 0, 30, 1},
                             kSeconds,
                             {"epoch", 1, 24, 6},
                             kFrame,
                             {"version", 2, 29, 3},
                             {"channels", 2, 24, 5},
                             {"length", 2, 0, 24},
                             {"complex", 3, 31, 1},
                             {"bits", 3, 26, 5},
                             kThread,
                             {"station", 3, 0, 16},
                             {"extended data", 4, 0, 32}};

std::uint32_t word_of(const std::vector<char>& frame, std::size_t word) {
  std::uint32_t value = 0;
  std::memcpy(&value, frame.data() + 4 * word, 4);
  return value;
}

std::uint32_t value_of(const std::vector<char>& frame, const Field& field) {
  const std::uint32_t mask = field.bits == 32 ? ~0U : (1U << field.bits) - 1;
  return word_of(frame, field.word) >> field.first_bit & mask;
}

class VdifFirstFrames : public Vdif {
 protected:
  static constexpr std::uint32_t kPerSecond = 10;

  static std::int64_t number_of(const std::vector<char>& frame) {
    return std::int64_t{value_of(frame, kSeconds)} * kPerSecond + value_of(frame, kFrame);
  }
  // Times that are wrong by a frame or two may be those of lost frames, and threads may be another's.
  static bool is_clear(const std::vector<char>& before, const std::vector<char>& after) {
    const std::set<std::uint32_t> threads{0, 3, 6};
    if (value_of(after, kThread) != value_of(before, kThread))
      return !threads.contains(value_of(after, kThread));
    return value_of(after, kFrame) >= kPerSecond || number_of(after) == number_of(before) ||
           std::abs(number_of(after) - number_of(before)) > 2;
  }
  // The bits that change, one or some.
  std::uint32_t change_of(const Field& field) {
    std::uint32_t bits = 0;
    while (bits == 0)
      bits = random_() % 2 == 0 ? 1U << random_() % field.bits
                                : static_cast<std::uint32_t>(random_() >> 32 >> (32 - field.bits));
    return bits << field.first_bit;
  }
  // The first `count` frames, all in the same way or each in its own.
  void damage(Recording& recording, const Field& field, std::size_t count) {
    const bool alike = random_() % 2 == 0;
    for (;;) {
      std::vector<std::vector<char>> frames;
      std::uint32_t change = change_of(field);
      bool clear = true;
      for (std::size_t k = 0; k < count; ++k, change = alike ? change : change_of(field)) {
        frames.push_back(recording.bytes_of(k));
        const std::uint32_t word = word_of(frames[k], field.word) ^ change;
        std::memcpy(frames[k].data() + 4 * field.word, &word, 4);
        clear = clear && is_clear(recording.bytes_of(k), frames[k]);
      }
      if (!clear) continue;
      for (std::size_t k = 0; k < count; ++k) recording.bytes_of(k) = frames[k];
      return;
    }
  }
};

TEST_F(VdifFirstFrames, DamagedOnesAreLostAndTheOthersWhole) {
  for (const Field& field : kFields)
    for (const std::size_t threads : {1u, 2u, 3u})
      for (const std::size_t count : {1u, 2u}) {
        SCOPED_TRACE(testing::Message()
                     << field.name << " of " << count << " frames, " << threads << " threads");
        FrameSpec spec;
        spec.frame = static_cast<std::uint32_t>(random_() % kPerSecond);
        spec.bits = 1 << random_() % 4;
        spec.complex = random_() % 2 == 0;
        spec.legacy = field.word < 4 && random_() % 4 == 0;
        if (!spec.legacy && random_() % 2 == 0) spec.extended = 3;
        Recording recording(spec, threads, 60, kPerSecond, 8, random_);
        // Extended version 3: the rate in kHz that the frames have is none.
        if (spec.extended == 3)
          for (const std::size_t k : recording.order()) {
            const std::uint32_t word = 2U << 24;  // no rate
            std::memcpy(recording.bytes_of(k).data() + 16, &word, 4);
          }
        const auto whole = open_bytes(recording.bytes());
        damage(recording, field, count);
        const auto bytes = recording.bytes();
        const auto reader = open_bytes(bytes);
        const auto &d = reader->description(), &w = whole->description();
        EXPECT_EQ(d.rate_hz, w.rate_hz);
        EXPECT_EQ(d.format.complex, w.format.complex);
        EXPECT_EQ(d.channels, w.channels);
        ASSERT_EQ(d.inputs(), w.inputs());
        // The time of damaged frames before all others is not known.
        const std::int64_t late = core::samples_between(w.start, d.start, w.rate_hz);
        const auto frame = static_cast<std::int64_t>(recording.samples_per_frame());
        ASSERT_EQ(late % frame, 0);
        ASSERT_LE(late / frame, static_cast<std::int64_t>(count / threads));
        ASSERT_GE(late, 0);
        std::vector<std::size_t> lost;
        if (std::string(field.name) != "extended data")
          for (std::size_t k = 0; k < count; ++k) lost.push_back(k);
        const Stream stream = read_all(*reader, 1 + random_() % 500);
        recording.expect(stream, lost, static_cast<std::size_t>(late));
        const bool dropped = !lost.empty() && field.name != kInvalid.name;
        EXPECT_EQ(reader->damage().dropped_samples,
                  dropped ? count * recording.samples_per_frame() : 0u);
        EXPECT_EQ(reader->damage().any(), !lost.empty());

        // By a pipe, which has no name that tells the format.
        const auto piped = open_voltages(tests::in_order("-", bytes, random_), {});
        EXPECT_EQ(piped->description().start, d.start);
        recording.expect(read_all(*piped, 100), lost, static_cast<std::size_t>(late));
        EXPECT_EQ(piped->damage().dropped_samples, reader->damage().dropped_samples);
        EXPECT_EQ(piped->damage().lost_samples, reader->damage().lost_samples);
      }
}

// Of two frames of one time and thread, one has a damaged header: none of the values may be wrong.
TEST_F(VdifFirstFrames, AThreadThatIsAnothersIsNotBelieved) {
  for (const std::size_t bad : {0u, 1u, 2u}) {
    Recording recording = record(3, 40);
    const std::size_t other = (bad + 1 + random_() % 2) % 3;
    recording.bytes_of(bad)[14] = static_cast<char>(3 * other);
    const auto reader = open_bytes(recording.bytes());
    recording.expect(read_all(*reader, 64), {bad, other});
    EXPECT_EQ(reader->damage().lost_samples, 2 * recording.samples_per_frame());
    EXPECT_EQ(reader->damage().dropped_samples, recording.samples_per_frame());
  }
}

// Payloads that repeat themselves look like headers that agree.
TEST_F(VdifFirstFrames, EqualPayloadsAreNoHeaders) {
  for (const int value : {0x01, 0x03, 0x11, 0x80}) {
    Recording recording({}, 1, 80, kPerSecond, 512, random_);
    for (const std::size_t k : recording.order())
      std::fill(recording.bytes_of(k).begin() + 32, recording.bytes_of(k).end(),
                static_cast<char>(value));
    recording.bytes_of(0)[8] ^= 0x18;
    const auto reader = open_bytes(recording.bytes());
    EXPECT_EQ(reader->description().rate_hz,
              core::make_rational(
                  static_cast<std::int64_t>(kPerSecond * recording.samples_per_frame()), 1));
    EXPECT_EQ(read_all(*reader, 10'000).samples(), 79 * recording.samples_per_frame());
  }
}

}  // namespace
}  // namespace tautline::formats::vdif

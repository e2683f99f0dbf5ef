// Damaged numbers among the last frames of a VDIF file, behind which no other frames tell their place.
#include "tests/formats/vdif/vdif_frames.h"

namespace tautline::formats::vdif {
namespace {

// A number that is larger by one may as well follow a frame that was lost.
TEST_F(Vdif, DamagedNumbersOfTheLastFramesMakeTheFileNoLonger) {
  ReaderOptions options;
  options.assumed.rate_hz = core::make_rational(12'800'000, 1);
  for (int turn = 0; turn < 60; ++turn) {
    const std::size_t threads = 1 + random_() % 4, frames = 60 + random_() % 60;
    Recording recording({}, threads, frames, 100'000, 8, random_);
    const std::size_t last = recording.order().size() - 1,
                      bad = last - random_() % std::min<std::size_t>(2 * threads + 2, last);
    const std::size_t number = bad / threads, more = 2 + random_() % 62;
    auto& bytes = recording.bytes_of(bad);
    const std::uint32_t damaged = static_cast<std::uint32_t>(number + more);
    bytes[4] = static_cast<char>(damaged & 255);
    bytes[5] = static_cast<char>(damaged >> 8 & 255);
    // Of one thread the place before the end is that of the frame that would have been next.
    const bool cut = threads == 1 && bad == last;
    const auto reader = open_bytes(recording.bytes(), options);
    const std::size_t expected = recording.total() - (cut ? recording.samples_per_frame() : 0);
    EXPECT_EQ(reader->total_samples(), expected)
        << threads << " threads, frame " << bad << " of " << last + 1 << ", by " << more;
    const Stream stream = read_all(*reader, 50 + random_() % 500);
    EXPECT_EQ(stream.samples(), expected);
    EXPECT_EQ(reader->damage().dropped_samples, recording.samples_per_frame());
    if (!cut) recording.expect(stream, {bad});
  }
}

TEST_F(Vdif, ALostFrameBeforeTheLastOneKeepsItsPlace) {
  for (const std::size_t threads : {1u, 2u, 3u}) {
    Recording recording = record(threads, 50);
    std::vector<std::size_t> lost;
    for (std::size_t t = 0; t < threads; ++t) lost.push_back(recording.index(48, t));
    auto& order = recording.order();
    for (const std::size_t k : lost) order.erase(std::find(order.begin(), order.end(), k));
    const auto reader = open_bytes(recording.bytes());
    EXPECT_EQ(reader->total_samples(), recording.total());
    recording.expect(read_all(*reader, 100), lost);
    EXPECT_EQ(reader->damage().dropped_samples, 0u);
  }
}

// The last frame in time may come before others of the file.
TEST_F(Vdif, TheLastFrameMayComeEarly) {
  for (const std::size_t threads : {1u, 2u}) {
    Recording recording = record(threads, 50);
    auto& order = recording.order();
    std::rotate(order.end() - 1 - static_cast<std::ptrdiff_t>(1 + random_() % 6), order.end() - 1,
                order.end());
    const auto reader = open_bytes(recording.bytes());
    EXPECT_EQ(reader->total_samples(), recording.total());
    recording.expect(read_all(*reader, 100));
    EXPECT_FALSE(reader->damage().any());
  }
}

}  // namespace
}  // namespace tautline::formats::vdif

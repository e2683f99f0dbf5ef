// VDIF of several scans with gaps between them, of any length: all are kept, and the gaps are lost samples.
#include <cstdint>

#include "tautline/core/error.h"
#include "tests/formats/cut_feed.h"
#include "tests/formats/in_order_check.h"
#include "tests/formats/vdif/vdif_frames.h"
#include "tests/support/error_of.h"

namespace tautline::formats::vdif {
namespace {

constexpr std::size_t kPerSecond = 10;
constexpr std::size_t kYear_s = 365 * 86'400;

struct Scan {
  std::size_t begin;  ///< the number of its first frame
  Recording recording;
};

class VdifScans : public Vdif {
 protected:
  std::size_t between(std::size_t least, std::size_t most) {
    return least + random_() % (most - least + 1);
  }
  // Of 32 samples a frame.
  Scan scan(std::size_t threads, std::size_t begin, std::size_t frames, std::uint32_t epoch = 28,
            std::uint32_t seconds = 1'000) {
    FrameSpec spec;
    spec.epoch = epoch;
    spec.seconds = seconds + static_cast<std::uint32_t>(begin / kPerSecond);
    spec.frame = static_cast<std::uint32_t>(begin % kPerSecond);
    return {begin, Recording(spec, threads, frames, kPerSecond, 2, random_)};
  }
  static std::vector<char> bytes_of(const std::vector<Scan>& scans) {
    std::vector<char> bytes;
    for (const Scan& one : scans) {
      const auto more = one.recording.bytes();
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    return bytes;
  }
  // The sample of the file at which a scan begins, if the file begins with the first one.
  static std::size_t sample_of(const std::vector<Scan>& scans, std::size_t k) {
    return (scans[k].begin - scans[0].begin) * scans[k].recording.samples_per_frame();
  }
  static void expect_scans(const Stream& stream, const std::vector<Scan>& scans,
                           std::size_t threads,
                           const std::vector<std::vector<std::size_t>>& lost = {}) {
    const std::size_t last = scans.size() - 1;
    ASSERT_EQ(stream.samples(), sample_of(scans, last) + scans[last].recording.total());
    std::size_t held = 0;
    for (std::size_t k = 0; k < scans.size(); ++k) {
      SCOPED_TRACE(testing::Message() << "scan " << k);
      const auto none = lost.empty() ? std::vector<std::size_t>{} : lost[k];
      scans[k].recording.expect_values(stream, none, 0, sample_of(scans, k));
      held += scans[k].recording.total() * threads -
              none.size() * scans[k].recording.samples_per_frame();
    }
    EXPECT_EQ(stream.invalid_samples(), stream.samples() * threads - held);
  }
};

TEST_F(VdifScans, OfAnyLengthsWithAnyGapsAreKept) {
  for (int trial = 0; trial < 20; ++trial) {
    const std::size_t threads = between(1, 3), count = between(2, 3);
    std::vector<Scan> scans;
    std::size_t begin = random_() % 100, gap_s = 0;
    testing::Message trace;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t frames = random_() % 2 == 0 ? between(12, 40) : between(100, 500);
      scans.push_back(scan(threads, begin, frames));
      trace << frames << " frames at " << begin << ", ";
      gap_s = random_() % 2 == 0 ? between(15, 100) : between(500, 2'000);
      begin += frames + gap_s * kPerSecond + random_() % kPerSecond;
    }
    SCOPED_TRACE(trace << threads << " threads");
    const auto bytes = bytes_of(scans);
    const auto reader = open_bytes(bytes);
    EXPECT_EQ(reader->description().inputs(), threads);
    const std::size_t samples = sample_of(scans, count - 1) + scans.back().recording.total();
    EXPECT_EQ(reader->total_samples(), samples);
    const Damage foreseen = reader->foreseen_damage();
    const Stream stream = read_all(*reader, 1 + random_() % 100'000);
    expect_scans(stream, scans, threads);
    EXPECT_EQ(reader->damage().dropped_samples, 0u);
    EXPECT_EQ(reader->damage().lost_samples, stream.invalid_samples());
    EXPECT_EQ(foreseen.lost_samples, stream.invalid_samples());
    // The reader and who looks at headers alone name the same gaps.
    for (std::size_t k = 1; k < count; ++k) {
      std::size_t named = 0;
      for (const std::string& one : foreseen.messages)
        for (const std::string& other : reader->damage().messages)
          named += one == other && one.find(": no frames for ") != std::string::npos ? 1 : 0;
      EXPECT_EQ(named, count - 1);
    }
    const auto piped = open(InputFile(tests::in_order(path_, bytes, random_)), ReaderOptions{});
    expect_scans(read_all(*piped, 1 + random_() % 100'000), scans, threads);
    // From inside the last scan.
    const auto late = open_bytes(bytes);
    const std::size_t within = random_() % scans.back().recording.total();
    late->seek(sample_of(scans, count - 1) + within);
    scans.back().recording.expect(read_all(*late, 1'000), {}, within);
    EXPECT_FALSE(late->damage().any());
  }
}

TEST_F(VdifScans, AreKeptWhereTheEpochChangesBetweenThemOrInside) {
  struct HalfYear {
    std::uint32_t epoch, seconds;
  };
  // The first half of 2014, and that of 2012 with a leap second.
  for (const HalfYear half : {HalfYear{28, 181 * 86'400}, HalfYear{24, 182 * 86'400 + 1}})
    for (const std::size_t before : {4u, 19u, 60u, 300u}) {  // frames of the old epoch
      SCOPED_TRACE(testing::Message() << half.epoch << ", " << before << " frames before");
      const std::size_t threads = between(1, 2);
      const std::uint32_t start =
          half.seconds - static_cast<std::uint32_t>(before / kPerSecond) - 1;
      std::vector<Scan> scans;
      scans.push_back(scan(threads, (kPerSecond - before % kPerSecond) % kPerSecond, 200,
                           half.epoch, start + (before % kPerSecond == 0 ? 1 : 0)));
      scans.push_back(scan(threads, scans[0].begin + 200 + 20'000, 150, half.epoch,
                           start + (before % kPerSecond == 0 ? 1 : 0)));
      const auto start_utc = open_bytes(bytes_of(scans))->description().start;
      for (Scan& one : scans)
        for (const std::size_t k : one.recording.order()) {
          auto& frame = one.recording.bytes_of(k);
          std::uint32_t seconds = 0;
          std::memcpy(&seconds, frame.data(), 4);
          if (seconds < half.seconds) continue;
          seconds -= half.seconds;
          std::memcpy(frame.data(), &seconds, 4);
          frame[7] = static_cast<char>(half.epoch + 1);
        }
      const auto reader = open_bytes(bytes_of(scans));
      EXPECT_EQ(reader->description().start, start_utc);
      expect_scans(read_all(*reader, 5'000), scans, threads);
      EXPECT_EQ(reader->damage().dropped_samples, 0u);
    }
}

// Seconds of up to five frames, with the same wrong bit, and single bits of any header.
TEST_F(VdifScans, DamageBesideThemIsNoScan) {
  constexpr std::size_t kFrames = 240, kApart = 30;
  for (int trial = 0; trial < 30; ++trial) {
    const std::size_t threads = between(1, 2);
    std::vector<Scan> scans;
    scans.push_back(scan(threads, random_() % 100, kFrames));
    scans.push_back(scan(threads, scans[0].begin + kFrames + 10 * between(20, 2'000), kFrames));
    std::vector<std::vector<std::size_t>> lost(2);
    std::size_t dropped = 0;
    testing::Message trace;
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t frame = kApart; frame + kApart < kFrames; frame += kApart) {
        Recording& recording = scans[k].recording;
        const bool of_seconds = random_() % 2 == 0;
        const std::size_t run = of_seconds ? between(1, 5) : 1;
        // A bit that moves the time by more than the frames that may come late, or of the length, or of the format.
        constexpr std::size_t kOthers[] = {64 + 3, 64 + 20, 64 + 29, 96 + 27, 96 + 31};
        const std::size_t bit = of_seconds ? between(4, 29) : kOthers[random_() % 5];
        trace << "scan " << k << " frame " << frame << " run " << run << " bit " << bit << "; ";
        for (std::size_t n = 0; n < run; ++n) {
          const std::size_t at = recording.index(frame, 0) + n;
          recording.bytes_of(at)[bit / 8] ^= static_cast<char>(1 << bit % 8);
          lost[k].push_back(at);
          dropped += recording.samples_per_frame();
        }
      }
    SCOPED_TRACE(trace);
    const auto reader = open_bytes(bytes_of(scans));
    EXPECT_EQ(reader->total_samples(), sample_of(scans, 1) + scans[1].recording.total());
    expect_scans(read_all(*reader, 10'000), scans, threads, lost);
    EXPECT_EQ(reader->damage().dropped_samples, dropped);
  }
}

// Headers alone, whose single ones may be damaged, tell the gap.
TEST_F(VdifScans, WrongTimesAreNoGaps) {
  for (int trial = 0; trial < 20; ++trial) {
    const std::size_t threads = between(1, 3);
    Scan one = scan(threads, 0, 600);
    for (const std::size_t k : one.recording.order())
      if ((k > 3 * threads && random_() % 200 == 0) || k + 1 == 600 * threads)
        one.recording.bytes_of(k)[between(1, 2)] ^= static_cast<char>(1 + random_() % 255);
    const auto reader = open_bytes(one.recording.bytes());
    EXPECT_LE(reader->total_samples(), one.recording.total());
    EXPECT_GE(reader->total_samples() + 4 * one.recording.samples_per_frame(),
              one.recording.total());
    for (const std::string& message : reader->foreseen_damage().messages)
      EXPECT_EQ(message.find("no frames for"), std::string::npos) << message;
  }
}

TEST_F(VdifScans, AYearApartAreReadOneByOne) {
  const std::size_t threads = between(1, 2);
  std::vector<Scan> scans;
  scans.push_back(scan(threads, random_() % 10, 10 * between(3, 30)));
  scans.push_back(scan(threads, scans[0].begin + kYear_s * kPerSecond, between(30, 300)));
  const auto bytes = bytes_of(scans);
  const std::size_t first = scans[0].recording.total(), second = sample_of(scans, 1);
  const auto reader = open_bytes(bytes);
  EXPECT_EQ(reader->total_samples(), second + scans[1].recording.total());
  EXPECT_NE(reader->foreseen_damage().messages.back().find("too long to be read through"),
            std::string::npos);
  const auto expect_named = [&](const core::Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("between data from 0 to " +
                        std::to_string(first / scans[0].recording.samples_per_frame() / 10) +
                        " s behind the begin and data from 31536000 s on"),
              std::string::npos)
        << what;
    EXPECT_NE(what.find("`start_s` of 31536000"), std::string::npos) << what;
  };
  expect_named(tests::error_of([&] { reader->require_readable(0, reader->total_samples()); }));
  // Who reads on nevertheless comes to an end.
  core::RawBlock through;
  expect_named(tests::error_of([&] {
    while (reader->read(1'000'000, through) > 0) continue;
  }));
  const auto early = open_bytes(bytes);
  early->require_readable(0, first);
  core::RawBlock block;
  Stream stream(1, threads);
  ASSERT_EQ(early->read(first, block), first);
  stream.append(block);
  scans[0].recording.expect(stream);
  const auto late = open_bytes(bytes);
  late->require_readable(second, scans[1].recording.total());
  late->seek(second);
  scans[1].recording.expect(read_all(*late, 700));
}

}  // namespace
}  // namespace tautline::formats::vdif

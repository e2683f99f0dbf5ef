// VDIF: every number of bits, real and complex, channels, threads in any order, lost, late, repeated, flagged, damaged
// and cut frames, seeking.
#include "tautline/core/error.h"
#include "tests/formats/vdif/vdif_frames.h"
#include "tests/support/error_of.h"

namespace tautline::formats::vdif {
namespace {

TEST_F(Vdif, EveryNumberOfBitsRealAndComplexWithChannels) {
  for (int bits = 1; bits <= 32; ++bits)
    for (const bool complex : {false, true})
      for (const std::uint32_t log2_channels : {0u, 1u, 3u, 5u}) {
        SCOPED_TRACE(testing::Message()
                     << bits << " bits, complex " << complex << ", channels 2^" << log2_channels);
        FrameSpec spec;
        spec.bits = bits;
        spec.complex = complex;
        spec.log2_channels = log2_channels;
        const Recording recording(spec, 2, 3, 2, 128, random_);
        const auto reader = open_bytes(recording.bytes());
        const core::VoltageDescription& d = reader->description();
        ASSERT_EQ(d.channels, std::size_t{1} << log2_channels);
        EXPECT_EQ(d.format.complex, complex);
        EXPECT_EQ(d.format.bits, bits <= 8 ? 8 : bits <= 16 ? 16 : 32);
        EXPECT_EQ(d.rate_hz, core::make_rational(
                                 static_cast<std::int64_t>(2 * recording.samples_per_frame()), 1));
        EXPECT_EQ(d.bandwidth_hz,
                  d.rate_hz.value() * static_cast<double>(d.channels) / (complex ? 1 : 2));
        recording.expect(read_all(*reader, 1 + random_() % (2 * recording.samples_per_frame())));
        EXPECT_FALSE(reader->damage().any());
      }
}

TEST_F(Vdif, ThreadsInAnyOrderAndLegacyHeaders) {
  for (const bool legacy : {false, true}) {
    FrameSpec spec;
    spec.legacy = legacy;
    spec.frame = 7;
    Recording recording = record(4, 40, spec);
    auto& order = recording.order();
    for (std::size_t n = 0; n < 40; ++n)
      std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(4 * n),
                   order.begin() + static_cast<std::ptrdiff_t>(4 * n + 4), random_);
    const auto reader = open_bytes(recording.bytes());
    EXPECT_EQ(reader->description().inputs(), 4u);
    EXPECT_EQ(reader->description().start,
              core::advance(core::parse_utc("2014-01-01-00:16:40"), 7, core::make_rational(10, 1)));
    EXPECT_EQ(reader->total_samples(), recording.total());
    EXPECT_FALSE(reader->foreseen_damage().any());
    recording.expect(read_all(*reader, 77));
    EXPECT_FALSE(reader->damage().any());
  }
}

TEST_F(Vdif, SecondsOfAnOldEpochCountLeapSeconds) {
  FrameSpec spec;
  spec.epoch = 0;
  // From 2000 to 2016-04-01 there were 5,935 days and leap seconds in 2005, 2008, 2012 and 2015.
  spec.seconds = 5'935 * 86'400 + 4;
  const auto reader = open_bytes(record(1, 40, spec).bytes());
  EXPECT_EQ(reader->description().start, core::parse_utc("2016-04-01-00:00:00"));
}

TEST_F(Vdif, LostFramesKeepTheirPlaceAndAreCounted) {
  Recording recording = record(3, 50);
  const std::vector<std::size_t> lost{recording.index(4, 1),  recording.index(20, 0),
                                      recording.index(20, 1), recording.index(20, 2),
                                      recording.index(21, 2), recording.index(48, 0)};
  auto& order = recording.order();
  for (const std::size_t k : lost) order.erase(std::find(order.begin(), order.end(), k));
  const auto reader = open_bytes(recording.bytes());
  EXPECT_EQ(reader->total_samples(), recording.total());
  EXPECT_EQ(reader->foreseen_damage().lost_samples, lost.size() * recording.samples_per_frame());
  recording.expect(read_all(*reader, 100), lost);
  EXPECT_EQ(reader->damage().lost_samples, lost.size() * recording.samples_per_frame());
  EXPECT_TRUE(reader->damage().any());
}

// One message, however many.
TEST_F(Vdif, LostFramesAreOneMessage) {
  Recording recording = record(2, 400);
  auto& order = recording.order();
  std::vector<std::size_t> lost;
  for (std::size_t n = 3; n < 390; n += 2 + random_() % 3)
    lost.push_back(recording.index(n, n % 2));
  for (const std::size_t k : lost) order.erase(std::find(order.begin(), order.end(), k));
  for (const std::size_t block : {7, 100, 100'000}) {
    const auto reader = open_bytes(recording.bytes());
    recording.expect(read_all(*reader, block), lost);
    ASSERT_EQ(reader->damage().messages.size(), 1u) << block;
    const std::string& message = reader->damage().messages.front();
    EXPECT_NE(
        message.find(std::to_string(lost.size()) + " frames are missing: the first of thread "),
        std::string::npos)
        << message;
    EXPECT_NE(message.find("at sample " + std::to_string(3 * recording.samples_per_frame()) + ";"),
              std::string::npos)
        << message;
  }
}

// A recorder that sets its file's size beforehand leaves zeros.
TEST_F(Vdif, PaddingBehindTheLastFrameIsNoTime) {
  for (const std::size_t padding : {1, 3, 40, 1'000}) {
    Recording recording = record(3, 50);
    auto bytes = recording.bytes();
    const std::size_t whole = bytes.size();
    bytes.resize(bytes.size() + padding * bytes.size() / recording.order().size());
    const auto reader = open_bytes(bytes);
    EXPECT_EQ(reader->total_samples(), recording.total()) << padding;
    EXPECT_EQ(reader->foreseen_damage().trailing_bytes, bytes.size() - whole);
    EXPECT_EQ(reader->foreseen_damage().lost_samples, 0u);
    recording.expect(read_all(*reader, 100));
    EXPECT_TRUE(reader->damage().any());
  }
}

TEST_F(Vdif, LongGapsOfAllThreads) {
  Recording recording = record(2, 600);
  std::vector<std::size_t> lost;
  for (std::size_t n = 100; n < 400; ++n)
    for (std::size_t t = 0; t < 2; ++t) lost.push_back(recording.index(n, t));
  auto& order = recording.order();
  order.erase(order.begin() + 200, order.begin() + 800);
  const auto reader = open_bytes(recording.bytes());
  recording.expect(read_all(*reader, 1'000), lost);
  EXPECT_EQ(reader->damage().lost_samples, lost.size() * recording.samples_per_frame());
}

TEST_F(Vdif, ReorderedFramesWithinTheWindowAreWhole) {
  Recording recording = record(2, 60);
  auto& order = recording.order();
  for (int swaps = 0; swaps < 200; ++swaps) {
    const std::size_t a = random_() % order.size();
    const std::size_t b = std::min(order.size() - 1, a + random_() % 10);
    std::swap(order[a], order[b]);
  }
  const auto reader = open_bytes(recording.bytes());
  recording.expect(read_all(*reader, 64));
  EXPECT_FALSE(reader->damage().any());
}

TEST_F(Vdif, RepeatedFramesAreDroppedAndCounted) {
  Recording recording = record(2, 30);
  auto& order = recording.order();
  order.insert(order.begin() + 11, order[10]);
  order.insert(order.begin() + 30, order[2]);
  const auto reader = open_bytes(recording.bytes());
  recording.expect(read_all(*reader, 64));
  EXPECT_EQ(reader->damage().dropped_samples, 2 * recording.samples_per_frame());
  EXPECT_EQ(reader->damage().lost_samples, 0u);
}

TEST_F(Vdif, FramesMarkedInvalidAreLost) {
  Recording recording = record(2, 30);
  const std::size_t bad = recording.index(12, 1);
  recording.bytes_of(bad)[3] = static_cast<char>(recording.bytes_of(bad)[3] | 0x80);
  const auto reader = open_bytes(recording.bytes());
  recording.expect(read_all(*reader, 64), {bad});
  EXPECT_EQ(reader->damage().lost_samples, recording.samples_per_frame());
  EXPECT_EQ(reader->damage().messages.size(), 1u);
}

// Recorders fill frames whose data they lack, behind headers that are like the others'.
TEST_F(Vdif, FramesOfTheFillPatternAreLost) {
  Recording recording = record(2, 30);
  std::vector<std::size_t> bad;
  for (const std::size_t frame : {3, 12, 13, 29})
    bad.push_back(recording.index(frame, random_() % 2));
  for (const std::size_t index : bad) {
    auto& bytes = recording.bytes_of(index);
    for (std::size_t k = 0; k < 32; ++k)
      bytes[bytes.size() - 32 + k] =
          static_cast<char>(0x11 * (index == bad.back() ? 1 + k % 4 : 4 - k % 4));
  }
  for (const std::size_t block : {7, 64, 100'000}) {
    const auto reader = open_bytes(recording.bytes());
    recording.expect(read_all(*reader, block), bad);
    EXPECT_EQ(reader->damage().lost_samples, bad.size() * recording.samples_per_frame());
    ASSERT_EQ(reader->damage().messages.size(), 1u);
    EXPECT_NE(reader->damage().messages.front().find("fill pattern 0x11223344"), std::string::npos)
        << reader->damage().messages.front();
  }
  // All words but one are data.
  Recording other = record(1, 20);
  auto& bytes = other.bytes_of(5);
  for (std::size_t k = 0; k < 28; ++k)
    bytes[bytes.size() - 32 + k] = static_cast<char>(0x11 * (4 - k % 4));
  bytes.back() = bytes.back() == '\x11' ? '\x12' : bytes.back();
  const auto reader = open_bytes(other.bytes());
  EXPECT_EQ(read_all(*reader, 64).invalid_samples(), 0u);
  EXPECT_FALSE(reader->damage().any());
}

// Three messages, and one of all others.
TEST_F(Vdif, ManyDamagedHeadersAreFewMessages) {
  Recording recording = record(1, 400);
  std::vector<std::size_t> bad;
  for (std::size_t n = 20; n < 380; n += 2 + random_() % 3) bad.push_back(n);
  for (const std::size_t n : bad) recording.bytes_of(n)[8] ^= 1;
  const auto reader = open_bytes(recording.bytes());
  recording.expect(read_all(*reader, 64), bad);
  EXPECT_EQ(reader->damage().dropped_samples, bad.size() * recording.samples_per_frame());
  const std::vector<std::string>& messages = reader->damage().messages;
  ASSERT_EQ(messages.size(), 5u);  // the first of the missing frames
  const std::size_t bytes = recording.bytes_of(0).size();
  EXPECT_TRUE(messages.back().ends_with(
      ": headers unlike the others' at " + std::to_string(bad.size() - 3) +
      " more places, from byte " + std::to_string(bad[3] * bytes) + " to byte " +
      std::to_string(bad.back() * bytes)))
      << messages.back();
}

TEST_F(Vdif, DamagedHeadersCostTheirFrame) {
  for (const std::size_t byte : {3u, 5u, 8u, 11u, 15u}) {
    SCOPED_TRACE(byte);
    Recording recording = record(2, 30);
    const std::size_t bad = recording.index(12, 1);
    recording.bytes_of(bad)[byte] ^= 0x14;
    const auto reader = open_bytes(recording.bytes());
    recording.expect(read_all(*reader, 64), {bad});
    EXPECT_EQ(reader->damage().lost_samples, recording.samples_per_frame());
    EXPECT_EQ(reader->damage().dropped_samples, recording.samples_per_frame());
    EXPECT_TRUE(reader->damage().any());
    for (const std::string& message : reader->damage().messages)
      EXPECT_EQ(message.find("1 channels"), std::string::npos) << message;
  }
}

// Recordings of any length, however few frames there are to compare.
TEST_F(Vdif, DamagedThreadNumbersMakeNoAntennas) {
  for (const std::size_t frames : {4u, 11u, 60u})
    for (const std::size_t threads : {1u, 2u, 3u}) {
      SCOPED_TRACE(testing::Message() << frames << " frames of " << threads);
      Recording recording({}, threads, frames, frames - 1, 8, random_);
      std::vector<std::size_t> bad;
      for (std::size_t n = 1; n + 1 < frames; n += 2 + random_() % 7) {
        bad.push_back(recording.index(n, random_() % threads));
        recording.bytes_of(bad.back())[12] = static_cast<char>(100 + n);  // station
        recording.bytes_of(bad.back())[14] = static_cast<char>(20 + n);   // thread
      }
      const auto reader = open_bytes(recording.bytes());
      EXPECT_EQ(reader->description().inputs(), threads);
      recording.expect(read_all(*reader, 64), bad);
      EXPECT_EQ(reader->damage().dropped_samples, bad.size() * recording.samples_per_frame());
    }
  Recording recording = record(1, 25);
  for (std::size_t n = 0; n < 25; ++n) recording.bytes_of(n)[12] = static_cast<char>(n);
  EXPECT_THROW(open_bytes(recording.bytes()), core::Error);
}

// Fewer frames of the last time than of those before it.
TEST_F(Vdif, AFileThatEndsBetweenThreadsHasAllOfThem) {
  for (const std::size_t left : {1u, 2u, 3u, 4u}) {
    Recording recording({}, 4, 2, 1, 8, random_);
    auto bytes = recording.bytes();
    bytes.resize(bytes.size() / 8 * (4 + left));
    EXPECT_EQ(open_bytes(bytes)->description().inputs(), 4u) << left;
  }
}

TEST_F(Vdif, LostBoundariesCostTheFrameThatWasCut) {
  for (const int change : {-3, -20, +5, +1'000}) {
    Recording recording = record(2, 30);
    const std::size_t bad = recording.index(12, 1);
    auto& frame = recording.bytes_of(bad);
    if (change < 0)
      frame.erase(frame.begin() + 40, frame.begin() + 40 - change);
    else
      frame.insert(frame.begin() + 40, static_cast<std::size_t>(change), 'x');
    const auto reader = open_bytes(recording.bytes());
    recording.expect(read_all(*reader, 64), {bad});
    EXPECT_EQ(reader->damage().lost_samples, recording.samples_per_frame());
  }
}

TEST_F(Vdif, TruncatedTailsKeepWholeSamples) {
  Recording recording = record(1, 25);
  auto bytes = recording.bytes();
  bytes.resize(bytes.size() - 10);  // two words and a half of eight
  const auto reader = open_bytes(bytes);
  EXPECT_EQ(reader->foreseen_damage().lost_samples, 0u);
  EXPECT_GT(reader->foreseen_damage().trailing_bytes, 0u);
  const Stream stream = read_all(*reader, 64);
  EXPECT_EQ(stream.samples(), recording.total() - 3 * 16);
  EXPECT_EQ(reader->total_samples(), stream.samples());
  EXPECT_EQ(stream.invalid_samples(), 0u);
  EXPECT_EQ(reader->damage().trailing_bytes, 2u);
  EXPECT_TRUE(reader->damage().any());

  bytes.resize(bytes.size() - 22 - 5);  // the last header is cut, too
  const auto shorter = open_bytes(bytes);
  EXPECT_EQ(read_all(*shorter, 64).samples(), recording.total() - 8 * 16);
  EXPECT_EQ(shorter->damage().trailing_bytes, 27u);
}

TEST_F(Vdif, ACutFrameOfOneThreadLeavesTheOthersWhole) {
  Recording recording = record(2, 25);
  auto bytes = recording.bytes();
  bytes.resize(bytes.size() - 4);
  const auto reader = open_bytes(bytes);
  EXPECT_EQ(reader->foreseen_damage().lost_samples, 16u);
  const Stream stream = read_all(*reader, 64);
  ASSERT_EQ(stream.samples(), recording.total());
  EXPECT_TRUE(stream.valid(0, recording.total() - 1));
  EXPECT_FALSE(stream.valid(1, recording.total() - 1));
  EXPECT_TRUE(stream.valid(1, recording.total() - 17));
  EXPECT_EQ(reader->damage().lost_samples, 16u);
}

TEST_F(Vdif, SeekLandsOnTheSampleAndSkipsInSilence) {
  Recording recording = record(2, 500);
  const std::size_t lost = recording.index(3, 1);
  auto& order = recording.order();
  order.erase(std::find(order.begin(), order.end(), lost));
  const auto bytes = recording.bytes();
  for (const std::size_t to : {0u, 1u, 127u, 128u, 5'000u, 40'001u, 63'999u}) {
    const auto reader = open_bytes(bytes);
    reader->seek(to);
    const Stream stream = read_all(*reader, 1'000);
    EXPECT_EQ(stream.first_sample(), to);
    recording.expect(stream, {lost}, to);
    EXPECT_EQ(reader->damage().any(), to < 4 * recording.samples_per_frame());
  }
  const auto reader = open_bytes(bytes);
  reader->seek(~std::uint64_t{0});
  EXPECT_EQ(read_all(*reader, 10).samples(), 0u);
}

TEST_F(Vdif, HeadersThatLieAreRefusedByName) {
  const auto expect_refused = [&](std::vector<char> bytes, const char* field) {
    const core::Error error = tests::error_of([&] { open_bytes(bytes); });
    EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("test.vdif"), std::string::npos) << error.what();
  };
  const auto good = record(1, 20).bytes();
  const auto with = [&](std::size_t byte, char value) {
    Recording recording = record(1, 20);
    for (std::size_t k = 0; k < 20; ++k) recording.bytes_of(k)[byte] = value;
    return recording.bytes();
  };
  const auto zero = with(8, 0), huge = with(10, 0x7f), channels = with(11, 31 | 1 << 5),
             mark5b = with(19, static_cast<char>(0xab));
  expect_refused({}, "an empty file");
  expect_refused({good.begin(), good.begin() + 31}, "file size");
  expect_refused(zero, "frame length");
  expect_refused(huge, "frame length");
  expect_refused(channels, "channels");
  expect_refused(mark5b, "0xab");
  expect_refused({good.begin(), good.begin() + 50}, "frame length");
  EXPECT_THROW(open(folder_ / "absent.vdif", {}), core::Error);
}

TEST_F(Vdif, IsRecognised) {
  const auto bytes = record(2, 20).bytes();
  tests::write_bytes(folder_ / "unnamed", bytes);
  EXPECT_EQ(open_voltages(folder_ / "unnamed")->description().instrument, "VDIF");
  EXPECT_TRUE(recognise(std::as_bytes(std::span(bytes)), "data"));
  EXPECT_FALSE(recognise(std::as_bytes(std::span(bytes).first(40)), "data"));
  EXPECT_TRUE(recognise({}, "data.VDIF"));
  Recording damaged = record(2, 20);
  for (const std::size_t k : {0u, 1u}) damaged.bytes_of(k)[8] ^= 0x20;
  const auto damaged_bytes = damaged.bytes();
  EXPECT_TRUE(recognise(std::as_bytes(std::span(damaged_bytes)), "data"));
  const std::vector<char> zeros(1'000, 0), text(1'000, 'A');
  EXPECT_FALSE(recognise(std::as_bytes(std::span(zeros)), "data"));
  EXPECT_FALSE(recognise(std::as_bytes(std::span(text)), "data"));
}

TEST_F(Vdif, RandomMutationsNeverBreakTheReader) {
  FrameSpec spec;
  spec.log2_channels = 1;
  spec.bits = 4;
  const auto good = record(2, 40, spec).bytes();
  ReaderOptions options;
  for (int trial = 0; trial < 1'000; ++trial) {
    try {
      const auto reader = open_bytes(tests::mutate(good, random_), options);
      const std::size_t block = 1 + random_() % 500;
      if (reader->block_bytes(block) > 10'000'000) continue;
      EXPECT_LT(reader->total_samples(), std::uint64_t{1} << 40);
      EXPECT_LT(reader->foreseen_damage().lost_samples, std::uint64_t{1} << 40);
      if (random_() % 4 == 0) reader->seek(random_() % 2'000);
      core::RawBlock raw;
      std::uint64_t samples = 0;
      while (const std::size_t got = reader->read(block, raw)) samples += got;
      EXPECT_LT(samples, std::uint64_t{1} << 32);
    } catch (const core::Error& error) {
      EXPECT_NE(error.kind(), core::ErrorKind::io) << error.what();
    }
  }
}

}  // namespace
}  // namespace tautline::formats::vdif

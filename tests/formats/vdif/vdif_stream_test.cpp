// VDIF that comes in order, as by a pipe: what a file of the same bytes gives, with bounded memory.
#include "tautline/core/error.h"
#include "tests/formats/cut_feed.h"
#include "tests/formats/in_order_check.h"
#include "tests/formats/vdif/vdif_frames.h"
#include "tests/support/error_of.h"

namespace tautline::formats::vdif {
namespace {

class VdifStream : public Vdif {
 protected:
  std::vector<char> noise(std::size_t count) {
    std::vector<char> bytes(count);
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  // Frames lost, moved, repeated, marked invalid, of an unknown thread; headers damaged; bytes lost and added.
  std::vector<char> damaged(Recording& recording, std::size_t frames, std::size_t count) {
    auto& order = recording.order();
    std::vector<std::size_t> cut;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t at = random_() % order.size();
      std::vector<char>& frame = recording.bytes_of(random_() % frames);
      switch (random_() % 7) {
        case 0:
          order.erase(order.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 1:
          std::swap(order[at], order[std::min(order.size() - 1, at + random_() % 40)]);
          break;
        case 2:
          order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), order[at]);
          break;
        case 3:
          frame[3] = static_cast<char>(frame[3] | '\x80');
          break;
        case 4:
          frame[14] = static_cast<char>(random_());  // the thread's number
          break;
        case 5:
          frame[random_() % 16] = static_cast<char>(random_());
          break;
        default:
          cut.push_back(20 + random_() % 980);
      }
    }
    std::vector<char> bytes = recording.bytes();
    for (const std::size_t place : cut) {
      const auto at = static_cast<std::ptrdiff_t>(bytes.size() / 1000 * place);
      if (random_() % 2 == 0) {
        bytes.erase(bytes.begin() + at, bytes.begin() + at + 1 + random_() % 20);
      } else {
        const auto more = noise(1 + random_() % 300);
        bytes.insert(bytes.begin() + at, more.begin(), more.end());
      }
    }
    if (random_() % 3 == 0) bytes.resize(bytes.size() - random_() % 400);
    return bytes;
  }
  // Blocks of both, and their damage.
  void expect_equal(VoltageReader& file, VoltageReader& stream, std::size_t block,
                    const ForwardBytes* kept = nullptr, std::size_t most = 0) {
    tests::expect_equal_samples(file, stream, block, times_, kept, most);
    if (!skipped_damage_) tests::expect_equal_damage(file.damage(), stream.damage());
  }
  std::uint64_t times_ = 0;
  bool skipped_damage_ =
      false;  // a file is read from its begin where frames are not in their places
};

TEST_F(VdifStream, GivesWhatAFileOfItsBytesGives) {
  constexpr int kTrials = 150;
  int refused = 0, hurt = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial);
    FrameSpec spec;
    spec.legacy = random_() % 4 == 0;
    spec.complex = random_() % 2 == 0;
    spec.log2_channels = random_() % 2;
    spec.bits = 1 << random_() % 4;
    spec.frame = random_() % 10;
    const std::size_t threads = 1 + random_() % 4, frames = 40 + random_() % 200;
    Recording recording = record(threads, frames, spec);
    const std::vector<char> bytes = trial % 3 == 0
                                        ? recording.bytes()
                                        : damaged(recording, threads * frames, 1 + random_() % 20);
    ReaderOptions options;
    options.decoding_pieces = 1 + random_() % 4;
    auto both = tests::open_both(
        [&] { return open_bytes(bytes); },
        [&] { return open(InputFile(tests::in_order(path_, bytes, random_)), options); });
    if (!both) {
      ++refused;
      continue;
    }
    skipped_damage_ = trial % 5 == 0 && trial % 3 != 0;
    if (trial % 5 == 0) both->seek(random_() % (both->file->total_samples() + 1));
    expect_equal(*both->file, *both->stream, 1 + random_() % 300);
    hurt += both->file->damage().any() ? 1 : 0;
  }
  EXPECT_LT(refused, kTrials / 4);
  EXPECT_GT(hurt, kTrials / 4);
  EXPECT_GT(times_, 100u * kTrials);
}

// 19 MiB, of which 4 are kept: the threads and the rate are told by the first 2 MiB. Frames of another thread come
// later.
TEST_F(VdifStream, ALongStreamIsReadWithBoundedMemory) {
  constexpr std::size_t kThreads = 3, kFrames = 800, kWords = 2000, kMost = 4u << 20;
  FrameSpec spec;
  spec.bits = 32;  // few samples
  for (const bool late_thread : {false, true}) {
    Recording recording(spec, kThreads, kFrames, 10, kWords, random_);
    auto& order = recording.order();
    for (int k = 0; k < 20; ++k) {
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(random_() % order.size()));
      const std::size_t at = random_() % (order.size() - 10);
      std::swap(order[at], order[at + random_() % 10]);
    }
    if (late_thread)
      for (std::size_t frame = kFrames - kFrames / 8; frame < kFrames; ++frame)
        recording.bytes_of(recording.index(frame, kThreads - 1))[14] = 99;
    const std::vector<char> bytes = recording.bytes();
    ASSERT_GT(bytes.size(), 4 * kMost);
    for (const std::uint64_t first : {std::uint64_t{0}, 500 * recording.samples_per_frame() + 17}) {
      const auto kept = tests::in_order(path_, bytes, random_, kMost);
      const auto file = open_bytes(bytes);
      ReaderOptions options;
      options.decoding_pieces = 2;
      const auto stream = open(InputFile(kept), options);
      EXPECT_LE(kept->kept_bytes(), kMost + (1u << 20));
      if (first > 0) {
        file->seek(first);
        stream->seek(first);
      }
      // Of one frame and of many.
      expect_equal(*file, *stream, random_() % 2 == 0 ? 1'300 : 70'000, kept.get(), kMost);
    }
  }
}

// Of zeros, or of noise, behind the frames of all threads.
TEST_F(VdifStream, LongPaddingIsPassedWithBoundedMemory) {
  constexpr std::size_t kThreads = 2, kFrames = 200, kWords = 2000, kMost = 4u << 20;
  FrameSpec spec;
  spec.bits = 32;
  for (const bool zeros : {true, false})
    for (const bool at_end : {true, false}) {
      Recording recording(spec, kThreads, kFrames, 10, kWords, random_);
      std::vector<char> bytes = recording.bytes();
      const std::size_t frame = recording.bytes_of(0).size(), all = kThreads * kFrames,
                        before = at_end ? all : kThreads * (50 + random_() % 100);
      const std::vector<char> padding =
          zeros ? std::vector<char>(600 * frame) : noise(2400 * frame);
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(before * frame), padding.begin(),
                   padding.end());
      const auto kept = tests::in_order(path_, bytes, random_, kMost);
      const auto file = open_bytes(bytes), stream = open(InputFile(kept), ReaderOptions{});
      expect_equal(*file, *stream, random_() % 2 == 0 ? 1'300 : 70'000, kept.get(), kMost);
      EXPECT_EQ(stream->damage().trailing_bytes, at_end ? padding.size() : 0);
    }
}

// Two frames whose times agree with each other, and with no other's. The stream's end is not known when it is opened.
TEST_F(VdifStream, ForgedTimesFarAheadAreDamage) {
  constexpr std::size_t kFrames = 1200, kWords = 2000;
  FrameSpec spec;
  spec.bits = 32;
  Recording recording(spec, 1, kFrames, 10, kWords, random_);
  const std::size_t forged = 700 + random_() % 100;
  const auto ahead_s = static_cast<std::uint32_t>(2'000 + random_() % 80'000);
  for (const std::size_t k : {forged, forged + 1}) {
    std::uint32_t seconds = 0;
    std::memcpy(&seconds, recording.bytes_of(k).data(), sizeof seconds);
    seconds += ahead_s;
    std::memcpy(recording.bytes_of(k).data(), &seconds, sizeof seconds);
  }
  const auto stream =
      open(InputFile(tests::in_order(path_, recording.bytes(), random_)), ReaderOptions{});
  recording.expect(read_all(*stream, 10'000), {forged, forged + 1});
  EXPECT_EQ(stream->damage().dropped_samples, 2 * recording.samples_per_frame());
}

// All threads change their station: nothing that comes later is among the first frames'.
TEST_F(VdifStream, FramesOfOtherThreadsDoNotFillTheMemory) {
  constexpr std::size_t kSame = 250, kFrames = 2000, kWords = 2000;
  Recording recording(FrameSpec{}, 1, kFrames, 10, kWords, random_);
  for (std::size_t k = kSame; k < kFrames; ++k) recording.bytes_of(k)[12] = 8;
  const auto stream =
      open(InputFile(tests::in_order(path_, recording.bytes(), random_)), ReaderOptions{});
  EXPECT_EQ(stream->description().inputs(), 1u);
  core::RawBlock block;
  std::uint64_t times = 0;
  while (const std::size_t got = stream->read(50'000, block)) times += got;
  EXPECT_EQ(times, kSame * recording.samples_per_frame());
  EXPECT_EQ(stream->damage().dropped_samples, (kFrames - kSame) * recording.samples_per_frame());
}

TEST_F(VdifStream, FramesThatCannotBeKeptAreRefused) {
  const Recording recording(FrameSpec{}, 2, 12, 3, 50'000, random_);  // 200 kB each
  const std::vector<char> bytes = recording.bytes();
  const auto open_stream = [&](std::size_t most) {
    return open(InputFile(tests::in_order(path_, bytes, random_, most)), ReaderOptions{});
  };
  const core::Error error = tests::error_of([&] { open_stream(4u << 20); });
  EXPECT_EQ(error.kind(), core::ErrorKind::memory);
  EXPECT_NE(std::string(error.what()).find("for frames of 200032 bytes"), std::string::npos)
      << error.what();
  expect_equal(*open_bytes(bytes), *open_stream(6u << 20), 1'000'000);
}

TEST_F(VdifStream, AnUnknownRateIsAskedForWhereNoSecondEndsInWhatCanBeKept) {
  FrameSpec spec;
  spec.bits = 32;
  const Recording recording(spec, 1, 1200, 1000, 2000, random_);
  const std::vector<char> bytes = recording.bytes();
  open_bytes(bytes);  // the second ends behind 8 MB
  const auto open_stream = [&](const ReaderOptions& options) {
    return open(InputFile(tests::in_order(path_, bytes, random_)), options);
  };
  const std::string said = tests::error_of([&] { open_stream({}); }).what();
  EXPECT_NE(said.find("no second ends in the first 2 MiB"), std::string::npos) << said;
  EXPECT_NE(said.find("give it (`rate_hz`)"), std::string::npos) << said;
  ReaderOptions options;
  options.assumed.rate_hz = {static_cast<std::int64_t>(1000 * recording.samples_per_frame()), 1};
  expect_equal(*open_bytes(bytes, options), *open_stream(options), 7'000);
}

}  // namespace
}  // namespace tautline::formats::vdif

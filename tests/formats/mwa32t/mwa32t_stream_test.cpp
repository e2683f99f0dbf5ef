// A receiver's records that come in order, as by a pipe: what a file of the same bytes gives, with bounded memory.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tautline/formats/mwa32t/mwa32t.h"
#include "tests/formats/cut_feed.h"
#include "tests/formats/in_order_check.h"
#include "tests/support/seed.h"

namespace tautline::formats::mwa32t {
namespace {

class Mwa32tStream : public testing::Test {
 protected:
  std::vector<char> records(Mode mode, std::size_t count) {
    std::vector<char> bytes;
    auto counter = static_cast<std::uint16_t>(random_());
    for (std::size_t n = 0; n < count; ++n, ++counter) {
      bytes.push_back(static_cast<char>(counter & 255));
      bytes.push_back(static_cast<char>(counter >> 8));
      for (std::size_t k = 2; k < record_bytes(mode); ++k)
        bytes.push_back(static_cast<char>(random_()));
    }
    return bytes;
  }
  void expect_equal(VoltageReader& file, VoltageReader& stream, std::size_t block,
                    const ForwardBytes* kept = nullptr, std::size_t most = 0) {
    tests::expect_equal_samples(file, stream, block, times_, kept, most);
    tests::expect_equal_damage(file.damage(), stream.damage());
  }

  tests::Folder folder_;
  const std::string path_ = folder_ / "x";
  std::mt19937_64 random_ = tests::generator();
  std::uint64_t times_ = 0;
};

TEST_F(Mwa32tStream, GivesWhatAFileOfItsBytesGives) {
  constexpr int kTrials = 300;
  int refused = 0, hurt = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial);
    const Mode mode = trial % 2 == 0 ? Mode::two_byte : Mode::one_byte;
    std::vector<char> bytes = records(mode, 200 + random_() % 400);
    for (int k = trial % 3; k > 0; --k) bytes = tests::mutate(bytes, random_);
    tests::write_bytes(path_, bytes);
    auto both = tests::open_both(
        [&] { return open(path_, {}); },
        [&] { return open_in_order(InputFile(tests::in_order(path_, bytes, random_)), {}); });
    if (!both) {
      ++refused;
      continue;
    }
    if (trial % 5 == 0) both->seek(random_() % 400);
    expect_equal(*both->file, *both->stream, 1 + random_() % 300);
    hurt += both->file->damage().any() ? 1 : 0;
  }
  EXPECT_LT(refused, kTrials / 4);
  EXPECT_GT(hurt, kTrials / 5);
  EXPECT_GT(times_, 100u * kTrials);
}

// Some 10 MB, of which 4 MiB are kept, with records and bytes that are missing.
TEST_F(Mwa32tStream, ALongStreamIsReadWithBoundedMemory) {
  constexpr std::size_t kRecords = 300'000, kMost = std::size_t{4} << 20;
  std::vector<char> bytes = records(Mode::two_byte, kRecords);
  for (int k = 0; k < 20; ++k) {
    const auto at = static_cast<std::ptrdiff_t>(random_() % (bytes.size() - 10'000));
    const std::size_t lost =
        k % 2 == 0 ? record_bytes(Mode::two_byte) * (1 + random_() % 100) : 1 + random_() % 100;
    bytes.erase(bytes.begin() + at, bytes.begin() + at + static_cast<std::ptrdiff_t>(lost));
  }
  tests::write_bytes(path_, bytes);
  for (const std::uint64_t first : {0, 250'000}) {
    const auto kept = tests::in_order(path_, bytes, random_, kMost);
    const auto file = open(path_, {}), stream = open_in_order(InputFile(kept), {});
    if (first > 0) {
      file->seek(first);
      stream->seek(first);
    }
    expect_equal(*file, *stream, 10'000, kept.get(), kMost);
  }
}

// Padding of zeros that is longer than what is kept, in the middle and at the end.
TEST_F(Mwa32tStream, LongPaddingIsPassedWithBoundedMemory) {
  constexpr std::size_t kMost = std::size_t{4} << 20;
  for (const Mode mode : {Mode::two_byte, Mode::one_byte})
    for (const bool at_end : {false, true}) {
      const std::size_t count = 100'000, before = at_end ? count : 1 + random_() % (count - 100);
      std::vector<char> bytes = records(mode, count);
      const std::size_t padding = 4 * kMost / record_bytes(mode) + random_() % 100'000;
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(before * record_bytes(mode)),
                   padding * record_bytes(mode), '\0');
      const auto kept = tests::in_order(path_, bytes, random_, kMost);
      const auto stream = open_in_order(InputFile(kept), {});
      core::RawBlock block;
      std::uint64_t valid = 0;
      while (const std::size_t got = stream->read(10'000, block)) {
        valid += got;
        for (const auto& part : block.invalid) valid -= part.samples;  // of all inputs
        EXPECT_LE(kept->kept_bytes(), kMost + (1u << 20));
      }
      EXPECT_EQ(valid, count) << testing::PrintToString(stream->damage().messages);
      EXPECT_EQ(stream->damage().dropped_samples, at_end ? 0 : padding * kInputsPerReceiver);
      EXPECT_EQ(stream->damage().trailing_bytes, at_end ? padding * record_bytes(mode) : 0);
    }
}

}  // namespace
}  // namespace tautline::formats::mwa32t

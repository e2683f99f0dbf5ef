// TIFF stacks: each type, either byte order, damage.
#include "tautline/formats/tiff/tiff.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <vector>

#include "tautline/core/error.h"
#include "tests/formats/tiff/stack_file.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats::tiff {
namespace {

std::vector<std::uint32_t> random_values(const Stack& s) {
  auto random = tests::generator();
  std::vector<std::uint32_t> values(s.columns * s.rows * s.frames);
  for (std::uint32_t& value : values) {
    value = static_cast<std::uint32_t>(random()) >> (32 - s.bits + (s.format == 2 ? 1 : 0));
    const float number = 0.25f * static_cast<float>(random() % 1000);
    if (s.format == 3) std::memcpy(&value, &number, 4);
  }
  return values;
}

void save(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::uint32_t> read_all(CountReader& reader, std::size_t times) {
  const std::size_t bytes = core::bytes_of(reader.description().type);
  std::vector<std::byte> block(times * reader.description().sensors * bytes, std::byte{0xAA});
  std::vector<std::uint32_t> all;
  while (const std::size_t got = reader.read(block))
    for (std::size_t k = 0; k < got * reader.description().sensors; ++k) {
      std::uint32_t value = 0;
      std::memcpy(&value, block.data() + k * bytes, bytes);
      all.push_back(value);
    }
  return all;
}

#ifdef TAUTLINE_TIFF

TEST(Tiff, EveryTypeAndByteOrder) {
  const tests::ScratchFolder folder;
  for (const bool big : {false, true})
    for (const auto& [bits, format] :
         {std::pair{8, 1}, {16, 1}, {32, 1}, {8, 2}, {16, 2}, {32, 3}}) {
      Stack stack{5, 3, 4, bits, format, big};
      const auto values = random_values(stack);
      save(folder / "x.tif", file_of(stack, values));
      const auto reader = open_counts(folder / "x.tif", {});
      EXPECT_EQ(reader->description().rows, 3u);
      EXPECT_EQ(reader->description().columns, 5u);
      EXPECT_EQ(reader->description().sensors, 15u);
      EXPECT_EQ(reader->total_samples(), 4u);
      EXPECT_EQ(read_all(*reader, 3), values) << bits << " " << format << " " << big;
      EXPECT_FALSE(reader->damage().any());
      const auto later = open(folder / "x.tif");
      later->seek(2);
      EXPECT_EQ(read_all(*later, 1), std::vector<std::uint32_t>(values.begin() + 30, values.end()));
    }
}

// Frames that were read, that were passed over, and that are new.
TEST(Tiff, SeeksToAndFro) {
  const tests::ScratchFolder folder;
  auto random = tests::generator();
  const Stack stack{.frames = 50};
  const auto values = random_values(stack);
  save(folder / "x.tif", file_of(stack, values));
  const auto reader = open(folder / "x.tif");
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t frame = random() % 50, count = 1 + random() % (50 - frame);
    std::vector<std::byte> block(count * 15);
    reader->seek(frame);
    ASSERT_EQ(reader->read(block), count) << frame;
    for (std::size_t k = 0; k < block.size(); ++k)
      ASSERT_EQ(std::to_integer<std::uint32_t>(block[k]), values[frame * 15 + k]) << frame;
  }
  reader->seek(50);
  EXPECT_TRUE(read_all(*reader, 1).empty());
  reader->seek(49);
  EXPECT_EQ(read_all(*reader, 2).size(), 15u);
  EXPECT_FALSE(reader->damage().any());
}

TEST(Tiff, DamageIsCountedAndNonsenseRefused) {
  const tests::ScratchFolder folder;
  Stack stack;
  stack.frames = 20;
  const auto values = random_values(stack);
  const std::string whole = file_of(stack, values);
  auto random = tests::generator();
  std::size_t refused = 0, damaged = 0;
  for (int round = 0; round < 100; ++round) {
    std::string bytes = whole.substr(0, 4 + random() % (whole.size() - 4));
    if (round % 2 == 0) {
      bytes = whole;
      for (int flip = 0; flip < 3; ++flip)
        bytes[4 + random() % (whole.size() - 4)] ^= static_cast<char>(1 + random() % 255);
    }
    save(folder / "x.tif", bytes);
    try {
      const auto reader = open(folder / "x.tif");
      const auto found = read_all(*reader, 2);
      if (found.size() < reader->total_samples() * reader->description().sensors) {
        EXPECT_TRUE(reader->damage().any());
      }
      damaged += reader->damage().any() ? 1 : 0;
    } catch (const core::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused + damaged, 20u);
  stack.bits = 16;
  stack.format = 2;
  save(folder / "negative.tif", file_of(stack, std::vector<std::uint32_t>(300, 0xFFFF)));
  const auto negative = open(folder / "negative.tif");
  EXPECT_THROW(read_all(*negative, 1), core::Error);
}

// Of the last frame's pixels five bytes are in the file.
TEST(Tiff, PixelsCutShortNameNoRowThatIsNone) {
  const tests::ScratchFolder folder;
  const Stack stack;
  std::string bytes = file_of(stack, random_values(stack));
  constexpr std::size_t kDirectoryBytes = 2 + 9 * 12 + 4, kStripOffset = 2 + 5 * 12 + 8;
  const auto late = static_cast<std::uint32_t>(bytes.size() - 5);
  std::memcpy(bytes.data() + bytes.size() - kDirectoryBytes + kStripOffset, &late, sizeof late);
  save(folder / "x.tif", bytes);
  const auto reader = open(folder / "x.tif");
  EXPECT_EQ(read_all(*reader, 2).size(), 3u * 15);
  ASSERT_EQ(reader->damage().messages.size(), 1u);
  const std::string& said = reader->damage().messages.front();
  EXPECT_NE(said.find("frame 3: its pixels cannot be read (Read error; got 5 bytes"),
            std::string::npos)
      << said;
}

// Of each whole directory the frame counts.
TEST(Tiff, AChainOfDirectoriesThatBreaksOffIsDamage) {
  const tests::ScratchFolder folder;
  auto random = tests::generator();
  const Stack stack{.frames = 12};
  const auto values = random_values(stack);
  const std::string whole = file_of(stack, values);
  const std::size_t frame_bytes = (whole.size() - 8) / stack.frames;
  for (int round = 0; round < 30; ++round) {
    const std::size_t kept = 8 + frame_bytes + random() % (whole.size() - 9 - frame_bytes);
    save(folder / "x.tif", whole.substr(0, kept));
    const auto reader = open(folder / "x.tif");
    const std::size_t frames = (kept - 8) / frame_bytes;
    const auto found = read_all(*reader, 5);
    EXPECT_EQ(found.size(), frames * 15) << kept;
    EXPECT_TRUE(std::equal(found.begin(), found.end(), values.begin()));
    ASSERT_FALSE(reader->damage().messages.empty()) << kept;
    EXPECT_NE(reader->damage().messages.front().find("frame " + std::to_string(frames)),
              std::string::npos)
        << reader->damage().messages.front();
  }
}

// Frames behind one directory are read as those of a chain are.
TEST(Tiff, StacksOfImageJ) {
  const tests::ScratchFolder folder;
  auto random = tests::generator();
  for (const bool big : {false, true})
    for (const auto& [bits, format] : {std::pair{8, 1}, {16, 1}, {16, 2}, {32, 3}}) {
      const Stack stack{5, 3, 7, bits, format, big};
      const auto values = random_values(stack);
      for (const bool chain : {false, true}) {
        SCOPED_TRACE(testing::Message() << bits << " " << format << " " << big << " " << chain);
        save(folder / "x.tif", imagej_file_of(stack, values, 7, chain));
        const auto reader = open(folder / "x.tif");
        EXPECT_EQ(reader->total_samples(), 7u);
        EXPECT_EQ(read_all(*reader, 3), values);
        const std::size_t from = random() % 7;
        reader->seek(from);
        EXPECT_EQ(read_all(*reader, 2),
                  std::vector<std::uint32_t>(
                      values.begin() + static_cast<std::ptrdiff_t>(from * 15), values.end()));
        EXPECT_FALSE(reader->damage().any());
      }
    }
}

// The other directories are lost first, then frames.
TEST(Tiff, StacksOfImageJThatAreCutShortAreDamage) {
  const tests::ScratchFolder folder;
  auto random = tests::generator();
  const Stack stack{5, 3, 9, 16, 1, true};
  const auto values = random_values(stack);
  for (const bool chain : {false, true}) {
    const std::string whole = imagej_file_of(stack, values, 9, chain);
    const std::size_t first = imagej_file_of(stack, values, 9, false).size() - 9 * 30;
    for (int round = 0; round < 20; ++round) {
      const std::size_t kept = first + 30 + random() % (9 * 30 - 31);
      SCOPED_TRACE(testing::Message() << chain << " " << kept);
      save(folder / "x.tif", whole.substr(0, kept));
      const auto reader = open(folder / "x.tif");
      const std::size_t frames = (kept - first) / 30;
      EXPECT_EQ(reader->total_samples(), frames);
      const auto found = read_all(*reader, 2);
      ASSERT_EQ(found.size(), frames * 15);
      EXPECT_TRUE(std::equal(found.begin(), found.end(), values.begin()));
      EXPECT_EQ(reader->damage().lost_samples, (9 - frames) * 15);
      ASSERT_EQ(reader->damage().messages.size(), 1u);
      EXPECT_NE(reader->damage().messages.front().find("images=9, but the file has " +
                                                       std::to_string(frames)),
                std::string::npos)
          << reader->damage().messages.front();
    }
  }
  // All frames, but not their directories.
  const std::string whole = imagej_file_of(stack, values, 9, true);
  save(folder / "x.tif", whole.substr(0, whole.size() - 200));
  const auto reader = open(folder / "x.tif");
  EXPECT_EQ(read_all(*reader, 2), values);
  EXPECT_FALSE(reader->damage().any());
}

// Frames of a chain that is whole are what the file has, whatever a description says that was copied with one of them.
TEST(Tiff, DescriptionsOfImageJThatAreOld) {
  const tests::ScratchFolder folder;
  const Stack stack{5, 3, 4, 16, 1, false};
  const auto values = random_values(stack);
  save(folder / "x.tif", imagej_file_of(stack, values, 90, true));
  const auto reader = open(folder / "x.tif");
  EXPECT_EQ(read_all(*reader, 3), values);
  EXPECT_FALSE(reader->damage().any());
}

TEST(Tiff, NumbersThatAreNoCountsAreRefused) {
  const tests::ScratchFolder folder;
  const Stack stack{5, 3, 4, 32, 3, false};
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -0.25f}) {
    auto values = random_values(stack);
    std::memcpy(&values[2 * 15 + 7], &bad, 4);
    save(folder / "x.tif", file_of(stack, values));
    const auto reader = open(folder / "x.tif");
    try {
      read_all(*reader, 3);
      ADD_FAILURE() << bad << " was taken for a count";
    } catch (const core::Error& error) {
      EXPECT_NE(std::string(error.what()).find("time 2, sensor 7"), std::string::npos)
          << error.what();
    }
  }
}

#else

TEST(Tiff, ABuildWithoutItSaysSo) {
  const tests::ScratchFolder folder;
  save(folder / "x.tif", file_of({}, random_values({})));
  EXPECT_THROW(open(folder / "x.tif"), core::Error);
}

#endif

}  // namespace
}  // namespace tautline::formats::tiff

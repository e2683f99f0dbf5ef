#include "tautline/formats/input_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/filterbank_reader.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats {
namespace {

// Lengths on both sides of a piece, of what is read past the caches, and of the file's end.
TEST(InputFile, GivesTheFilesBytes) {
  auto random = tests::generator();
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "x";
  constexpr std::size_t kPiece = std::size_t{2} << 20, kLong = std::size_t{32} << 20;
  std::vector<std::uint64_t> words((kLong + kPiece) / 8 + 12'501);
  std::generate(words.begin(), words.end(), [&] { return random(); });
  const auto bytes = std::as_bytes(std::span(words));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const InputFile file(path);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, kPiece - 1, 2 * kPiece, 5 * kPiece + 7,
        kLong - 1, kLong, kLong + 3, bytes.size(), bytes.size() + kPiece}) {
    const std::size_t offset = random() % 3000;
    std::vector<std::byte> got(size + 1 + random() % 64, std::byte{0xA5});
    const auto room = std::span(got).last(size);  // at any alignment
    const std::size_t expected = std::min(size, bytes.size() - offset);
    EXPECT_EQ(file.read(offset, room), expected) << size << " from " << offset;
    EXPECT_TRUE(std::equal(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(expected),
                           bytes.data() + offset));
    EXPECT_TRUE(expected == size || room[expected] == std::byte{0xA5});
    EXPECT_EQ(got.front(), std::byte{0xA5});
  }
}

TEST(InputFile, SaysWhatAFolderIs) {
  const tests::ScratchFolder scratch;
  std::filesystem::create_directories(scratch / "sky.ms");
  const auto said = [](const std::string& path) {
    return std::string(tests::error_of([&] { const InputFile file(path); }).what());
  };
  EXPECT_NE(said(scratch / "sky.ms").find("kind of file: a folder"), std::string::npos);
  std::ofstream(scratch / "sky.ms/table.dat") << "x";
  EXPECT_NE(said(scratch / "sky.ms").find("a Measurement Set"), std::string::npos);
  const core::Error error = tests::error_of([&] { open_filterbank({scratch / "sky.ms"}, {}); });
  EXPECT_NE(std::string(error.what()).find("a Measurement Set"), std::string::npos) << error.what();
}

TEST(InputFile, NamesItsEndWhereItBecameShorter) {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "x";
  std::ofstream(path, std::ios::binary) << "0123456789";
  const InputFile file(path);
  std::vector<std::byte> bytes(6);
  file.read_whole(4, bytes);
  EXPECT_EQ(bytes.back(), std::byte{'9'});
  std::filesystem::resize_file(path, 9);
  const core::Error error = tests::error_of([&] { file.read_whole(4, bytes); });
  EXPECT_EQ(error.kind(), core::ErrorKind::io);
  EXPECT_EQ(std::string(error.what()),
            path + ": ended while it was read, expected 10 bytes as when it was opened");
}

}  // namespace
}  // namespace tautline::formats

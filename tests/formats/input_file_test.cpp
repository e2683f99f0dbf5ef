#include "tautline/formats/input_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats {
namespace {

TEST(InputFile, GivesTheSameBytesWhateverTheThreads) {
  auto random = tests::generator();
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "x";
  std::vector<char> bytes(100'003);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const InputFile file(path);
  for (const std::size_t threads : {0, 1, 2, 3, 7, 16})
    for (const std::size_t size : {0, 1, 5, 99'000, 100'003, 120'000}) {
      const std::size_t offset = random() % 2000;
      std::vector<std::byte> got(size, std::byte{0xA5});
      const std::size_t expected = std::min(size, bytes.size() - offset);
      EXPECT_EQ(file.read(offset, got, threads), expected)
          << threads << " threads, " << size << " from " << offset;
      EXPECT_TRUE(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(expected),
                             reinterpret_cast<const std::byte*>(bytes.data()) + offset));
      EXPECT_TRUE(expected == size || got[expected] == std::byte{0xA5});
    }
}

}  // namespace
}  // namespace tautline::formats

// Reading DADA from streams, which come in pieces and have no size.
#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tautline/formats/dada/dada.h"
#include "tests/formats/cut_feed.h"
#include "tests/formats/dada/dada_files.h"
#include "tests/formats/in_order_check.h"
#include "tests/support/error_of.h"

namespace tautline::formats::dada {
namespace {

using tests::dada_bytes;
using tests::Folder;
using tests::plain_keys;
using tests::random_data;
using tests::with;

// Streams that end anywhere, with header and samples cut wherever the writer pleases.
TEST(DadaStream, GivesWhatFilesGive) {
  const Folder folder;
  auto random = tests::generator();
  const std::string path = folder / "x.dada";
  std::uint64_t times = 0;
  std::size_t refused = 0;
  for (int trial = 0; trial < 300; ++trial) {
    tests::Keys keys = with(plain_keys(), "HDR_SIZE", "1024");
    if (trial % 3 == 1) keys = with(keys, "NBIT", "4");
    const auto data = random_data(random() % 40'000);
    if (trial % 2)
      keys = with(keys, "FILE_SIZE", std::to_string(data.size() + random() % 3 * 1000));
    auto bytes = dada_bytes(keys, data, 1024);
    // Every second one inside its header, which is refused.
    if (trial % 5 == 0) bytes.resize(random() % (trial % 2 == 0 ? 1024 : bytes.size()));
    tests::write_bytes(path, bytes);
    const std::size_t block = 1 + random() % 2000, skip = random() % 3 * 500;
    auto both =
        tests::open_both([&] { return open(InputFile(path)); },
                         [&] { return open(InputFile(tests::in_order(path, bytes, random))); });
    if (!both) {
      ++refused;
      continue;
    }
    if (skip < both->file->total_samples()) both->seek(skip);
    tests::expect_equal_samples(*both->file, *both->stream, block, times);
    tests::expect_equal_damage(both->file->damage(), both->stream->damage());
  }
  EXPECT_GT(times, 100'000u);
  EXPECT_GT(refused, 0u);
}

// A header's FILE_SIZE does not end a stream: instruments send on.
TEST(DadaStream, GoesOnBeyondTheSizeOfAFile) {
  auto random = tests::generator();
  const auto bytes = dada_bytes(with(plain_keys(), "FILE_SIZE", "800"), random_data(8000));
  const auto reader = open(InputFile(tests::in_order("pipe", bytes, random)));
  core::RawBlock block;
  EXPECT_EQ(reader->read(2000, block), 1000u);
  EXPECT_FALSE(reader->damage().any());
}

TEST(DadaStream, WhoseTimeIsNotSlowestHasToBeAFile) {
  auto random = tests::generator();
  const auto bytes = dada_bytes(with(plain_keys(), "ORDER", "ATFP"), random_data(8000));
  EXPECT_FALSE(comes_in_order(std::as_bytes(std::span(bytes))));
  const auto plain = dada_bytes(plain_keys(), {});
  EXPECT_TRUE(comes_in_order(std::as_bytes(std::span(plain))));
  const core::Error error =
      tests::error_of([&] { open(InputFile(tests::in_order("pipe", bytes, random))); });
  EXPECT_EQ(error.kind(), core::ErrorKind::unsupported);
  EXPECT_NE(std::string(error.what()).find("write the stream to a file"), std::string::npos);
}

}  // namespace
}  // namespace tautline::formats::dada

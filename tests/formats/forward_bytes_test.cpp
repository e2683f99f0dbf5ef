// Bytes that come in order: whatever the cuts of their writer, readers see one row of bytes, of which the last are
// kept.
#include "tautline/formats/forward_bytes.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tautline/core/error.h"
#include "tests/formats/cut_feed.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::formats {
namespace {

std::vector<char> letters_in_order(std::size_t count, std::mt19937_64& random) {
  std::vector<char> bytes(count);
  for (char& one : bytes) one = static_cast<char>(random());
  return bytes;
}

TEST(ForwardBytes, AreThoseThatCameWhereverTheyAreReadFrom) {
  auto random = tests::generator();
  const auto sent = letters_in_order(9'000'000 + random() % 1000, random);
  const auto bytes = tests::in_order("a pipe", sent, random);
  std::uint64_t forgotten = 0;
  EXPECT_EQ(bytes->size(), ForwardBytes::kUnknownSize);
  while (forgotten < sent.size()) {
    const std::uint64_t from = forgotten + random() % 1'000'000;
    std::vector<std::byte> got(1 + random() % 1'500'000);
    const std::size_t there = bytes->read(from, got);
    const std::size_t left = sent.size() - std::min<std::uint64_t>(sent.size(), from);
    ASSERT_EQ(there, std::min(got.size(), left));
    ASSERT_EQ(std::memcmp(got.data(), sent.data() + from, there), 0) << from;
    forgotten = from + random() % (there + 1);
    bytes->forget(forgotten);
    ASSERT_LE(bytes->kept_bytes(), 4u << 20);
    if (there == 0) break;
  }
  std::vector<std::byte> one(1);
  EXPECT_EQ(bytes->read(std::max<std::uint64_t>(forgotten, sent.size()), one), 0u);
  EXPECT_EQ(bytes->size(), sent.size());
}

TEST(ForwardBytes, ThatWereForgottenOrAreTooManyAreErrors) {
  auto random = tests::generator();
  const auto bytes = tests::in_order("a pipe", letters_in_order(8'000'000, random), random);
  std::vector<std::byte> some(10);
  bytes->forget(100);
  EXPECT_EQ(bytes->read(100, some), some.size());
  const auto kind_of = [&](std::uint64_t from) {
    try {
      bytes->read(from, some);
    } catch (const core::Error& error) {
      EXPECT_NE(std::string(error.what()).find("a pipe"), std::string::npos) << error.what();
      return error.kind();
    }
    return core::ErrorKind::unsupported;
  };
  EXPECT_EQ(kind_of(99), core::ErrorKind::io);
  EXPECT_EQ(kind_of(7'000'000), core::ErrorKind::memory);
  EXPECT_LT(bytes->reach(), 7'000'000u);
  bytes->forget(6'000'000);
  EXPECT_GT(bytes->reach(), 7'000'000u);
  EXPECT_EQ(bytes->read(7'000'000, some), some.size());
}

TEST(ForwardBytes, ThatAreBrokenOffSayWhy) {
  auto random = tests::generator();
  auto feed = std::make_unique<tests::CutFeed>("a pipe", letters_in_order(1000, random), 100, 1);
  feed->fault_at_the_end = "the cable was pulled";
  ForwardBytes bytes(std::move(feed), 0);
  std::vector<std::byte> all(2000);
  const core::Error error = tests::error_of([&] { bytes.read(0, all); });
  EXPECT_NE(std::string(error.what()).find("the cable was pulled"), std::string::npos);
}

TEST(ForwardBytes, EndWithWhatHadComeWhenTheyAreStopped) {
  auto random = tests::generator();
  const auto bytes = tests::in_order("a pipe", letters_in_order(4'000'000, random), random);
  std::vector<std::byte> some(1000);
  EXPECT_EQ(bytes->read(0, some), some.size());
  std::stop_source stop;
  int waits = 0;
  bytes->start(stop.get_token(), [&](bool begins) { waits += begins ? 1 : -1; });
  stop.request_stop();
  std::vector<std::byte> rest(3'500'000);
  EXPECT_LT(bytes->read(1000, rest), rest.size());
  EXPECT_LT(bytes->size(), 4'000'000u);
  EXPECT_EQ(waits, 0);
}

}  // namespace
}  // namespace tautline::formats

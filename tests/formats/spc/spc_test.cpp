// Becker & Hickl's records; awkward input is counted and said.
#include "tautline/formats/spc/spc.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tests/formats/shrinking_photons.h"
#include "tests/formats/spc/records.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats::spc {
namespace {

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<Photon> read_all(PhotonReader& reader, std::size_t at_once = 7) {
  std::vector<Photon> all, some(at_once);
  while (const std::size_t count = reader.read(some))
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  return all;
}

TEST(Spc, BytesOfAFile) {
  const tests::ScratchFolder folder;
  // Written out once: the header, a photon at 0x123 of detector 3 with ADC 0xABC, and one after an overflow.
  write_bytes(folder / "x.spc", std::string("\x7D\0\0\x90\x23\x31\xBC\x0A\x01\x00\xFF\x4F", 12));
  const auto reader = open(folder / "x.spc");
  EXPECT_NEAR(reader->description().time_unit_s, 12.5e-9, 1e-20);
  EXPECT_EQ(reader->description().channels, 4u);
  EXPECT_EQ(reader->description().records, 2u);
  EXPECT_EQ(reader->description().microtime_unit_s, 0);
  const auto photons = read_all(*reader);
  ASSERT_EQ(photons.size(), 2u);
  EXPECT_EQ(photons[0].time, 0x123u);
  EXPECT_EQ(photons[0].channel, 3);
  EXPECT_EQ(photons[0].microtime, 4095 - 0xABC);
  EXPECT_EQ(photons[1].time, 4096u + 1);
  EXPECT_EQ(photons[1].channel, 0);
  EXPECT_EQ(photons[1].microtime, 0);
  EXPECT_FALSE(reader->damage().any());
}

TEST(Spc, RandomBytesAreRefused) {
  auto random = tests::generator();
  const tests::ScratchFolder folder;
  std::vector<std::uint32_t> words{kHeader};
  for (std::size_t n = 1000 + random() % 20'000; n > 0; --n)
    words.push_back(static_cast<std::uint32_t>(random()));
  write_bytes(folder / "x.spc", bytes_of(words));
  const auto reader = open(folder / "x.spc");
  try {
    read_all(*reader, 1 + random() % 9000);
    ADD_FAILURE() << "expected an error";
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find("say that photons were lost"), std::string::npos)
        << error.what();
  }
}

TEST(Spc, OverflowsMarkersGapsAndInvalidPhotons) {
  const tests::ScratchFolder folder;
  const std::vector<std::uint32_t> words{
      kHeader,
      photon_word(4000, 1, 100),
      0xC0000003,                                     // three overflows and no photon
      0xC0000000,                                     // one: none is said
      photon_word(10, 2, 4095) | 1u << 30,            // one more, before this photon
      photon_word(11, 5, 0) | 1u << 28,               // a marker
      photon_word(12, 5, 0) | 0xD0000000,             // a marker behind an overflow
      photon_word(13, 0, 0) | 1u << 31,               // invalid
      photon_word(20, 1, 7) | 1u << 29,               // a gap before it
      photon_word(19, 1, 7),                          // backwards
      photon_word(0, 0, 0) | 0xC0000000 | 1u << 29};  // an overflow behind a gap
  write_bytes(folder / "x.spc", bytes_of(words));
  const auto reader = open(folder / "x.spc");
  for (const std::size_t at_once : {std::size_t{1}, std::size_t{3}, std::size_t{100}}) {
    reader->rewind();
    const auto photons = read_all(*reader, at_once);
    ASSERT_EQ(photons.size(), 3u);
    EXPECT_EQ(photons[0].time, 4000u);
    EXPECT_EQ(photons[1].time, 5 * 4096u + 10);
    EXPECT_EQ(photons[2].time, 6 * 4096u + 20);
    const TagCounts& counts = reader->counts();
    EXPECT_EQ(counts.records, words.size() - 1);
    EXPECT_EQ(counts.photons, 3u);
    EXPECT_EQ(counts.markers, 2u);
    EXPECT_EQ(counts.overflow_records, 3u);
    EXPECT_EQ(counts.unknown_records, 1u);
    EXPECT_EQ(counts.backwards, 1u);
    EXPECT_EQ(reader->damage().lost_samples, 3u);  // the invalid one and two gaps
    EXPECT_EQ(reader->damage().dropped_samples, 1u);
    std::string said;
    for (const std::string& message : reader->damage().messages) said += message + "\n";
    EXPECT_NE(said.find("a gap: the module's memory was full, record 7 at byte 32"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("an invalid photon, record 6 at byte 28"), std::string::npos) << said;
    EXPECT_NE(said.find("backwards, record 8 at byte 36"), std::string::npos) << said;
  }
}

TEST(Spc, RandomPhotonsComeBack) {
  auto random = tests::generator();
  std::vector<std::uint32_t> words{kHeader};
  std::vector<Photon> expected;
  std::uint64_t time = 0, wraps = 0;
  for (int n = 0; n < 5000; ++n) {
    time += random() % (n % 50 == 0 ? 100'000 : 900);
    const std::uint64_t missing = time / 4096 - wraps;
    wraps += missing;
    const bool together = missing == 1 && random() % 2 == 0;
    if (missing > 0 && !together) words.push_back(0xC0000000 | static_cast<std::uint32_t>(missing));
    const auto detector = static_cast<std::uint32_t>(random() % 16);
    const auto adc = static_cast<std::uint32_t>(random() % 4096);
    words.push_back(photon_word(static_cast<std::uint32_t>(time % 4096), detector, adc) |
                    (together ? 1u << 30 : 0));
    expected.push_back(
        {time, static_cast<std::uint16_t>(detector), static_cast<std::uint16_t>(4095 - adc)});
  }
  const tests::ScratchFolder folder;
  write_bytes(folder / "x.spc", bytes_of(words));
  const auto photons = read_all(*open(folder / "x.spc"), 1 + random() % 300);
  ASSERT_EQ(photons.size(), expected.size());
  for (std::size_t n = 0; n < photons.size(); ++n) {
    ASSERT_EQ(photons[n].time, expected[n].time) << n;
    ASSERT_EQ(photons[n].channel, expected[n].channel) << n;
    ASSERT_EQ(photons[n].microtime, expected[n].microtime) << n;
  }
}

TEST(Spc, TheSetFileTellsTheMicrotimesUnit) {
  const tests::ScratchFolder folder;
  write_bytes(folder / "x.spc", bytes_of({kHeader, photon_word(1, 0, 95)}));
  write_bytes(folder / "x.set",
              "\x28\x03 binary\n*IDENTIFICATION\n  ID : _SPC Setup Script File_\n*END\n"
              "SYS_PARA_BEGIN:\n  #SP [SP_TAC_R,F,5.0e-008]\n  #SP [SP_TAC_G,I,4]\n"
              "SYS_PARA_END:\n");
  EXPECT_NEAR(open(folder / "x.spc")->description().microtime_unit_s, 50e-9 / 4 / 4096, 1e-24);
  write_bytes(folder / "x.set", "SYS_PARA_BEGIN:\n  #SP [SP_TAC_R,F,0]\n");
  EXPECT_THROW(open(folder / "x.spc"), core::Error);
}

// Two records longer than what is read at once, of which one or none is left.
TEST(Spc, AFileThatShrinksWhileItIsReadIsRefused) {
  const tests::ScratchFolder folder;
  std::vector<std::uint32_t> words((std::size_t{1} << 16) + 3, photon_word(1, 0, 0));
  words.front() = kHeader;
  tests::expect_shrinking_refused(folder / "x.spc", bytes_of(words),
                                  [](const std::string& path) { return open(path); });
}

TEST(Spc, CutShortEmptyAndOthers) {
  const tests::ScratchFolder folder;
  const auto refusal = [&](const std::string& bytes) -> std::string {
    write_bytes(folder / "x.spc", bytes);
    try {
      open(folder / "x.spc");
    } catch (const core::Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal("").find("an empty file"), std::string::npos);
  EXPECT_NE(refusal("abc").find("3 bytes"), std::string::npos);
  EXPECT_NE(refusal(bytes_of({125})).find("header at byte 0"), std::string::npos);
  EXPECT_NE(refusal(bytes_of({0x90000000})).find("header at byte 0"), std::string::npos);
  EXPECT_NE(refusal(bytes_of({kHeader | 1u << 26})).find("raw data"), std::string::npos);
  write_bytes(folder / "x.spc", bytes_of({kHeader}));
  EXPECT_TRUE(read_all(*open(folder / "x.spc")).empty());
  write_bytes(folder / "x.spc", bytes_of({kHeader, photon_word(1, 0, 0)}) + "ab");
  const auto reader = open(folder / "x.spc");
  EXPECT_EQ(read_all(*reader).size(), 1u);
  EXPECT_EQ(reader->damage().trailing_bytes, 2u);
  EXPECT_EQ(reader->damage().messages.size(), 1u);
}

}  // namespace
}  // namespace tautline::formats::spc

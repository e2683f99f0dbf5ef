// PTU and PT3: each record type, clocks that wrap, damage, nonsense, real files.
#include "tautline/formats/ptu/ptu.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tautline/core/error.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_type.h"
#include "tautline/formats/ptu/writer.h"
#include "tests/formats/ptu/tag_file.h"
#include "tests/formats/shrinking_photons.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats {

bool operator==(const Photon& a, const Photon& b) {
  return a.time == b.time && a.channel == b.channel && a.microtime == b.microtime;
}

namespace ptu {
namespace {

using tests::load;
using tests::save;
using tests::tag_file;

std::vector<Photon> read_all(PhotonReader& reader, std::size_t block = 1000) {
  std::vector<Photon> all, some(block);
  while (const std::size_t count = reader.read(some))
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  return all;
}

struct Read {
  std::vector<Photon> photons;
  TagCounts counts;
  Damage damage;
  PhotonDescription description;
};

Read read_bytes(const std::string& bytes, std::size_t block = 1000) {
  const tests::ScratchFolder folder;
  save(folder / "x.ptu", bytes);
  const auto reader = open_photons(folder / "x.ptu");
  Read read;
  read.photons = read_all(*reader, block);
  read.counts = reader->counts();
  read.damage = reader->damage();
  read.description = reader->description();
  return read;
}

bool has_message(const Damage& damage, const std::string& part) {
  for (const std::string& message : damage.messages)
    if (message.find(part) != std::string::npos) return true;
  return false;
}

// Photons with gaps from none to many wraps of the clock.
std::vector<Photon> random_photons(const RecordType& type, std::size_t count) {
  auto random = tests::generator();
  std::vector<Photon> photons;
  std::uint64_t time = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const std::uint64_t scale[] = {
        1, 3, type.wrap / 2 + 1, type.wrap, 3 * type.wrap, 5000 * type.wrap};
    time += random() % scale[random() % (n % 100 == 0 ? 6 : 5)];
    const bool picoharp = type.family == Family::picoharp;
    std::uint64_t channel = random() % 64;
    if (picoharp) channel = type.mode == TagMode::t3 ? 1 + random() % 4 : random() % 5;
    const std::uint64_t microtime = type.mode == TagMode::t3 ? random() % type.microtimes() : 0;
    photons.push_back(
        {time, static_cast<std::uint16_t>(channel), static_cast<std::uint16_t>(microtime)});
  }
  return photons;
}

TEST(Ptu, EveryRecordTypeComesBackAsWritten) {
  const tests::ScratchFolder folder;
  for (const RecordType& type : kRecordTypes) {
    SCOPED_TRACE(std::string(type.name));
    const std::string path = folder / (std::to_string(type.code) + ".ptu");
    PhotonDescription d;
    d.time_unit_s = 1e-12;
    d.microtime_unit_s = 1e-12;
    d.sync_rate_hz = 2e7;
    d.rates_hz = {0, 0};
    d.acquisition_s = 12.5;
    d.channels = 2;
    d.comment = "made up";
    const auto photons = random_photons(type, 3000);
    Writer writer(path, type, d, false);
    writer.write(std::span(photons).first(1));
    writer.write(std::span(photons).subspan(1));
    EXPECT_FALSE(std::filesystem::exists(path));
    const double rates[] = {10, 20};
    writer.finish(rates);

    const auto reader = open_photons(path);
    for (const std::size_t block : {1u, 7u, 100'000u}) {
      EXPECT_EQ(read_all(*reader, block), photons);
      EXPECT_EQ(reader->counts().photons, photons.size());
      EXPECT_EQ(reader->counts().records, reader->description().records);
      EXPECT_FALSE(reader->damage().any());
      reader->rewind();
    }
    const PhotonDescription& found = reader->description();
    EXPECT_EQ(found.record_type, type.name);
    EXPECT_EQ(found.mode, type.mode);
    EXPECT_EQ(found.time_unit_s, 1e-12);
    EXPECT_EQ(found.sync_rate_hz, 2e7);
    EXPECT_EQ(found.rates_hz, (std::vector<double>{10, 20}));
    EXPECT_EQ(found.acquisition_s, 12.5);
    EXPECT_EQ(found.stated_records, writer.records());
    EXPECT_EQ(found.comment, "made up");
  }
}

// Words written out bit by bit, as the tables of the formats have them.
TEST(Ptu, HydraHarpT3Words) {
  const std::vector<std::uint32_t> words = {
      (0u << 31) | (5u << 25) | (77u << 10) | 1023u,
      (1u << 31) | (63u << 25) | 3u,  // three overflows
      (1u << 31) | (2u << 25) | 9u,   // a marker
      (0u << 31) | (0u << 25) | (32767u << 10) | 0u,
      (1u << 31) | (63u << 25) | 0u,  // one overflow, in the old way
      (0u << 31) | (63u << 25) | 4u};
  const Read v2 = read_bytes(tag_file(0x01010304, words));
  EXPECT_EQ(v2.photons, (std::vector<Photon>{{1023, 5, 77}, {3072, 0, 32767}, {4100, 63, 0}}));
  EXPECT_EQ(v2.counts.markers, 1u);
  EXPECT_EQ(v2.counts.overflow_records, 2u);
  const Read v1 = read_bytes(tag_file(0x00010304, words));
  EXPECT_EQ(v1.photons, (std::vector<Photon>{{1023, 5, 77}, {1024, 0, 32767}, {2052, 63, 0}}));
  EXPECT_FALSE(v1.damage.any());
}

TEST(Ptu, HydraHarpT2Words) {
  const std::vector<std::uint32_t> words = {(1u << 31) | 12u,  // an event of the sync input
                                            (3u << 25) | 33'551'999u, (1u << 31) | (63u << 25) | 2u,
                                            (1u << 31) | (15u << 25) | 2u,  // a marker
                                            (0u << 25) | 7u};
  const Read v2 = read_bytes(tag_file(0x01010204, words));
  EXPECT_EQ(v2.photons,
            (std::vector<Photon>{
                {12, kSyncChannel, 0}, {33'551'999, 3, 0}, {2 * 33'554'432ull + 7, 0, 0}}));
  const Read v1 = read_bytes(tag_file(0x00010204, words));
  EXPECT_EQ(v1.photons.back().time, 33'552'007u);
  EXPECT_EQ(v1.counts.markers, 1u);
}

TEST(Ptu, PicoHarpWords) {
  const std::vector<std::uint32_t> t3 = {(1u << 28) | (4095u << 16) | 65535u,
                                         (15u << 28) | 0u,               // overflow
                                         (15u << 28) | (4u << 16) | 5u,  // marker 3
                                         (4u << 28) | (1u << 16) | 6u};
  const Read a = read_bytes(tag_file(0x00010303, t3));
  EXPECT_EQ(a.photons, (std::vector<Photon>{{65535, 1, 4095}, {65542, 4, 1}}));
  EXPECT_EQ(a.counts.markers, 1u);
  EXPECT_EQ(a.description.microtimes, 4096u);
  const std::vector<std::uint32_t> t2 = {(0u << 28) | 210'698'239u, (15u << 28) | 0u,
                                         (15u << 28) | 0x32u, (4u << 28) | 1u};
  const Read b = read_bytes(tag_file(0x00010203, t2));
  EXPECT_EQ(b.photons, (std::vector<Photon>{{210'698'239, 0, 0}, {210'698'241, 4, 0}}));
  EXPECT_EQ(b.counts.markers, 1u);
}

TEST(Ptu, UnknownRecordsAreCountedAndNamed) {
  const std::vector<std::uint32_t> words = {1u, (1u << 31) | (40u << 25), 2u,
                                            (1u << 31) | (0u << 25) | 5u};
  const Read t3 = read_bytes(tag_file(0x01010304, words));
  EXPECT_EQ(t3.photons.size(), 2u);
  EXPECT_EQ(t3.counts.unknown_records, 2u);  // T3 has no events of the sync input
  EXPECT_EQ(t3.damage.lost_samples, 2u);
  EXPECT_TRUE(has_message(t3.damage, "record 1 at byte"));
  const Read picoharp = read_bytes(tag_file(0x00010303, {9u << 28 | 1u, 0u, 1u << 28 | 1u}));
  EXPECT_EQ(picoharp.counts.unknown_records, 2u);
  EXPECT_EQ(picoharp.photons.size(), 1u);
}

TEST(Ptu, AMissingOverflowIsNamedAndMadeUpFor) {
  const Read read = read_bytes(tag_file(0x01010304, {1000u, 3u, 5u}));
  EXPECT_EQ(read.photons, (std::vector<Photon>{{1000, 0, 0}, {1027, 0, 0}, {1029, 0, 0}}));
  EXPECT_EQ(read.counts.missing_overflows, 1u);
  EXPECT_TRUE(has_message(read.damage, "an overflow record is missing, record 1 at byte"));
}

TEST(Ptu, TagsThatGoBackwardsAreLeftOut) {
  const Read read = read_bytes(tag_file(0x01010304, {600u, 590u, 600u, 601u}));
  EXPECT_EQ(read.photons, (std::vector<Photon>{{600, 0, 0}, {600, 0, 0}, {601, 0, 0}}));
  EXPECT_EQ(read.counts.backwards, 1u);
  EXPECT_EQ(read.damage.dropped_samples, 1u);
  EXPECT_TRUE(has_message(read.damage, "the time tags go backwards, record 1 at byte"));
}

TEST(Ptu, ManyFaultsAreCountedButNotListed) {
  std::vector<std::uint32_t> words(100'000, 1u);
  for (std::size_t n = 0; n < words.size(); n += 10) words[n] = (1u << 31) | (40u << 25);
  const Read read = read_bytes(tag_file(0x01010304, words));
  EXPECT_EQ(read.counts.unknown_records, words.size() / 10);
  EXPECT_EQ(read.damage.messages.size(), 4u);  // three records, and how many there are
  EXPECT_TRUE(has_message(read.damage, "of 100000 records in all: 10000 unknown records"));
}

TEST(Ptu, TruncatedAndSpareBytes) {
  const std::string whole = tag_file(0x01010304, {1u, 2u, 3u});
  for (std::size_t cut = 1; cut <= 12; ++cut) {
    const Read read = read_bytes(whole.substr(0, whole.size() - cut));
    EXPECT_EQ(read.photons.size(), (12 - cut) / 4);
    EXPECT_TRUE(has_message(read.damage, "cut short"));
    EXPECT_EQ(read.damage.lost_samples, 3 - (12 - cut) / 4);
  }
  const Read spare = read_bytes(whole + "12345");
  EXPECT_EQ(spare.photons.size(), 3u);
  EXPECT_EQ(spare.damage.trailing_bytes, 5u);
  EXPECT_TRUE(has_message(spare.damage, "bytes behind the records"));
  // A run that was broken off states none: all that is there counts.
  std::string open_end = tests::tag_header(0x01010304, 0);
  open_end.append("\1\0\0\0\2\0\0\0", 8);
  EXPECT_EQ(read_bytes(open_end).photons.size(), 2u);
  EXPECT_TRUE(read_bytes(tag_file(0x01010304, {})).photons.empty());
}

TEST(Ptu, AFileThatShrinksWhileItIsReadIsRefused) {
  const tests::ScratchFolder folder;
  const std::vector<std::uint32_t> records((std::size_t{1} << 16) + 2, 1u);
  tests::expect_shrinking_refused(folder / "x.ptu", tag_file(0x01010304, records),
                                  [](const std::string& path) { return open_photons(path); });
}

TEST(Ptu, BrokenHeadersNameTheByte) {
  const std::string whole = tag_file(0x01010304, {1u, 2u, 3u});
  const std::size_t header = whole.size() - 12;
  for (std::size_t length = 0; length < header; length += 1 + length / 7)
    EXPECT_THROW(read_bytes(whole.substr(0, length)), core::Error) << length;
  EXPECT_THROW(read_bytes(tag_file(0x00010308, {1u})), core::Error);
  const core::Error error = tests::error_of([&] { read_bytes(tag_file(0x00010999, {1u})); });
  EXPECT_NE(std::string(error.what()).find("0x00010999"), std::string::npos);
  EXPECT_EQ(error.kind(), core::ErrorKind::format);
  EXPECT_THROW(read_bytes(tag_file(0x01010204, {1u}, 0)), core::Error);
  EXPECT_THROW(read_bytes(tag_file(0x01010204, {1u}, -1)), core::Error);
  EXPECT_THROW(read_bytes(tag_file(0x01010204, {1u}, std::numeric_limits<double>::quiet_NaN())),
               core::Error);
}

// Any bytes give photons in order or Error, never anything else.
TEST(Ptu, NoiseIsRefusedOrReadInOrder) {
  auto random = tests::generator();
  std::size_t refused = 0, read_through = 0;
  for (int round = 0; round < 400; ++round) {
    const RecordType& type = kRecordTypes[random() % kRecordTypes.size()];
    std::vector<std::uint32_t> words(random() % 300);
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
    std::string bytes = tag_file(type.code, words);
    const std::size_t header = bytes.size() - 4 * words.size();
    for (std::size_t flips = random() % 4; flips > 0; --flips)
      bytes[random() % (round % 2 == 0 ? header : bytes.size())] ^=
          static_cast<char>(1 + random() % 255);
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    try {
      const Read read = read_bytes(bytes, 1 + random() % 50);
      std::uint64_t last = 0;
      for (const Photon& photon : read.photons) {
        EXPECT_GE(photon.time, last);
        last = photon.time;
      }
      const TagCounts& c = read.counts;
      EXPECT_EQ(c.photons + c.markers + c.overflow_records + c.unknown_records + c.backwards,
                c.records);
      ++read_through;
    } catch (const core::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(read_through, 0u);
}

std::map<int, std::uint64_t> by_channel(PhotonReader& reader) {
  std::map<int, std::uint64_t> counts;
  for (const DetectorCount& found : count_detectors(reader)) counts[found.channel] = found.photons;
  return counts;
}

TEST(Ptu, RealHydraHarpFile) {
  const std::string path = std::string(TAUTLINE_DATA_DIR) + "/fcs/v20_t3.ptu";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const auto reader = open_photons(path);
  const PhotonDescription& d = reader->description();
  EXPECT_EQ(d.record_type, "HydraHarp v2 T3");
  EXPECT_EQ(d.stated_records, 106'349u);
  EXPECT_EQ(d.sync_rate_hz, 4'999'960);
  // As it was when the run began: 40 a second, where the second detector counted 3,287.
  EXPECT_EQ(d.rates_hz, (std::vector<double>{0, 40}));
  EXPECT_EQ(d.acquisition_s, 10);
  EXPECT_EQ(by_channel(*reader), (std::map<int, std::uint64_t>{{0, 45'012}, {1, 32'871}}));
  read_all(*reader);
  const TagCounts& c = reader->counts();
  // Every record is a photon or an overflow, and they are as many as the header says.
  EXPECT_EQ(c.photons + c.overflow_records, d.stated_records);
  EXPECT_EQ(c.photons, 77'883u);
  EXPECT_FALSE(reader->damage().any());
  EXPECT_NEAR(static_cast<double>(c.last_time) * d.time_unit_s, d.acquisition_s, 1e-3);
}

TEST(Pt3, RealPicoHarpFile) {
  const std::string path = std::string(TAUTLINE_DATA_DIR) + "/fcs/Point_1.pt3";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const auto reader = open_photons(path);
  const PhotonDescription& d = reader->description();
  EXPECT_EQ(d.record_type, "PicoHarp 300 T3");
  EXPECT_EQ(d.stated_records, 229'458u);
  EXPECT_EQ(d.channels, 4u);
  EXPECT_EQ(d.acquisition_s, 30);
  EXPECT_NEAR(d.microtime_unit_s, 16e-12, 1e-18);
  EXPECT_EQ(by_channel(*reader), (std::map<int, std::uint64_t>{{1, 191'790}}));
  read_all(*reader);
  const TagCounts& c = reader->counts();
  EXPECT_EQ(c.photons + c.markers + c.overflow_records, d.stated_records);
  EXPECT_FALSE(reader->damage().any());
  // The clock is the sync rate, the run's length and the rate follow from the tags.
  EXPECT_NEAR(static_cast<double>(c.last_time) * d.time_unit_s, d.acquisition_s, 0.01);
  EXPECT_NEAR(static_cast<double>(c.photons) / d.acquisition_s, d.rates_hz.at(0),
              0.01 * d.rates_hz[0]);
}

TEST(Pt3, ChangedHeadersAreRefusedOrNamed) {
  const std::string path = std::string(TAUTLINE_DATA_DIR) + "/fcs/Point_1.pt3";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const std::string whole = load(path).substr(0, 4000);
  EXPECT_TRUE(has_message(read_bytes(whole).damage, "cut short"));
  for (const std::size_t length : {20, 300, 560, 700})
    EXPECT_THROW(read_bytes(whole.substr(0, length)), core::Error);
  for (const std::size_t field : {16, 332, 340, 348}) {  // version, bits, boards, mode
    std::string changed = whole;
    changed[field] = 9;
    EXPECT_THROW(read_bytes(changed), core::Error) << field;
  }
  auto random = tests::generator();
  for (int round = 0; round < 200; ++round) {
    std::string changed = whole;
    for (int flip = 0; flip < 3; ++flip) changed[random() % 760] = static_cast<char>(random());
    try {
      read_bytes(changed);
    } catch (const core::Error&) {
    }
  }
}

}  // namespace
}  // namespace ptu
}  // namespace tautline::formats

// Records of time tags that were never written, written over or shifted: found by their consistency, left out and counted,
// or refused where nothing is left.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "tautline/core/error.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_type.h"
#include "tests/formats/ptu/tag_file.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats::ptu {
namespace {

bool same(const Photon& a, const Photon& b) {
  return a.time == b.time && a.channel == b.channel && a.microtime == b.microtime;
}

struct ReadTags {
  std::vector<Photon> photons;
  TagCounts counts;
  Damage damage;
  std::vector<TagBreak> breaks;
};

class DamagedTags : public ::testing::TestWithParam<RecordType> {
 protected:
  ReadTags read(const std::vector<std::uint32_t>& words, std::size_t most) {
    return read_bytes(tests::tag_file(GetParam().code, words), most);
  }
  ReadTags read_bytes(const std::string& bytes, std::size_t most) {
    return read_pieces(bytes, [most] { return most; });
  }
  // next() gives the size of each reading.
  ReadTags read_pieces(const std::string& bytes, const std::function<std::size_t()>& next) {
    tests::save(folder_ / "x.ptu", bytes);
    const auto reader = open_photons(folder_ / "x.ptu");
    ReadTags all;
    for (std::vector<Photon> photons;;) {
      photons.resize(next());
      const std::size_t found = reader->read(photons);
      if (found == 0) break;
      all.photons.insert(all.photons.end(), photons.begin(),
                         photons.begin() + static_cast<std::ptrdiff_t>(found));
    }
    all.counts = reader->counts();
    all.damage = reader->damage();
    all.breaks.assign(reader->breaks().begin(), reader->breaks().end());
    return all;
  }
  // The number of photons whose records are before this one.
  std::size_t photons_before(std::size_t record) const {
    return static_cast<std::size_t>(
        std::lower_bound(last_record_.begin(), last_record_.end(), record) - last_record_.begin());
  }
  static std::size_t said(const ReadTags& read, const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(read.damage.messages.begin(), read.damage.messages.end(),
                      [&](const auto& one) { return one.find(text) != std::string::npos; }));
  }

  static constexpr std::size_t kPhotons = 30'000;
  tests::ScratchFolder folder_;
  std::mt19937_64 random_ = tests::generator();
  const tests::RandomTags tags_{GetParam(), kPhotons, random_};
  const std::vector<Photon>& photons_ = tags_.photons;
  const std::vector<std::uint32_t>& words_ = tags_.words;
  const std::vector<std::size_t>& last_record_ = tags_.last_record;
};

TEST_P(DamagedTags, WholeOnesHaveNone) {
  const ReadTags whole = read(words_, 10'000);
  EXPECT_TRUE(tests::same_photons(whole.photons, photons_));
  EXPECT_FALSE(whole.damage.any());
  EXPECT_TRUE(whole.breaks.empty());
}

TEST_P(DamagedTags, RecordsThatWereNeverWrittenAreNoPhotons) {
  for (const std::uint32_t value : {0u, 0xFFFFFFFFu})
    for (const std::size_t most : {std::size_t{1}, std::size_t{7}, 1 + random_() % 9000}) {
      const std::size_t first = 2000 + random_() % 20'000, count = 8 + random_() % 3000;
      SCOPED_TRACE(fmt::format("{} of {:x} from {}, {} at a time", count, value, first, most));
      std::vector<std::uint32_t> words = words_;
      std::fill_n(words.begin() + static_cast<std::ptrdiff_t>(first), count, value);
      const ReadTags found = read(words, most);
      const std::size_t before = photons_before(first), behind = photons_before(first + count);
      ASSERT_EQ(found.photons.size(), before + kPhotons - behind);
      EXPECT_EQ(found.counts.unknown_records, count);
      EXPECT_EQ(found.damage.lost_samples, count);
      EXPECT_LE(found.damage.messages.size(), 2u);
      EXPECT_EQ(said(found,
                     fmt::format("never written (all bits 0, or all 1), from record {} at", first)),
                1u);
      EXPECT_EQ(said(found, fmt::format("{} that were never written in 1 place", count)), 1u);
      ASSERT_EQ(found.breaks.size(), 1u);
      EXPECT_EQ(found.breaks[0].before, photons_[before - 1].time);
      EXPECT_EQ(found.breaks[0].after, found.photons[before].time);
      // Behind the break, photons are as far from each other as they were.
      std::uint64_t last = 0;
      for (std::size_t k = 0; k < found.photons.size(); ++k) {
        const Photon& one = found.photons[k];
        ASSERT_GE(one.time, last);
        last = one.time;
        if (k < before) {
          ASSERT_TRUE(same(one, photons_[k]));
          continue;
        }
        const Photon& own = photons_[k - before + behind];
        ASSERT_EQ(one.time - found.photons[before].time, own.time - photons_[behind].time);
        ASSERT_EQ(one.channel, own.channel);
        ASSERT_EQ(one.microtime, own.microtime);
      }
    }
}

// A run that was broken off states no number of records.
TEST_P(DamagedTags, PaddingIsLeftOut) {
  const std::size_t padding = 8 + random_() % 5000;
  std::string bytes = tests::tag_header(GetParam().code, 0);
  bytes.append(reinterpret_cast<const char*>(words_.data()), 4 * words_.size());
  bytes.append(4 * padding, '\0');
  const ReadTags found = read_bytes(bytes, 1 + random_() % 9000);
  EXPECT_TRUE(tests::same_photons(found.photons, photons_));
  EXPECT_EQ(found.damage.lost_samples, padding);
  EXPECT_TRUE(found.breaks.empty());
}

TEST_P(DamagedTags, RecordsThatWereWrittenOverAreLeftOut) {
  const std::size_t first = 4096 + random_() % 10'000, count = 100 + random_() % 900;
  std::vector<std::uint32_t> words = words_;
  for (std::size_t n = first; n < first + count; ++n)
    words[n] = static_cast<std::uint32_t>(random_());
  const ReadTags found = read(words, 8192);
  const std::size_t gone = photons_before(first + count) - photons_before(first);
  // Of a stretch of 64 whose end is damaged a part may be used; a chunk of 4,096 may be lost at most on either side.
  EXPECT_NEAR(static_cast<double>(found.photons.size()), static_cast<double>(kPhotons - gone),
              4096);
  EXPECT_GE(found.breaks.size(), 1u);
  EXPECT_GE(found.damage.lost_samples + 128, count / 2);
  EXPECT_EQ(said(found, "records that are no tags of"), 1u);
  EXPECT_LE(found.damage.messages.size(), 12u);
  std::size_t strange = 0;
  for (const Photon& one : found.photons) strange += one.channel < 1 || one.channel > 2 ? 1 : 0;
  EXPECT_LT(strange, 150u);
  EXPECT_TRUE(same(found.photons.front(), photons_.front()));
}

TEST_P(DamagedTags, ShiftedRecordsAreRefused) {
  const std::string whole = tests::tag_file(GetParam().code, words_);
  const std::size_t header = whole.size() - 4 * words_.size();
  for (std::size_t bytes = 1; bytes < 4; ++bytes) {
    try {
      (void)read_bytes(std::string(whole).erase(header, bytes), 8192);
      ADD_FAILURE() << "read though shifted by " << bytes;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
      EXPECT_NE(std::string(error.what()).find("the records are shifted by some bytes"),
                std::string::npos)
          << error.what();
    }
    // From the middle on: what is before stays.
    const std::size_t at = words_.size() / 2 + random_() % 5000;
    const ReadTags found = read_bytes(std::string(whole).erase(header + 4 * at, bytes), 8192);
    const std::size_t good = photons_before(at / 4096 * 4096);
    ASSERT_GE(found.photons.size(), good);
    EXPECT_TRUE(
        tests::same_photons(std::span(photons_).first(good), std::span(found.photons).first(good)));
    std::size_t strange = 0;
    for (const Photon& one : found.photons) strange += one.channel < 1 || one.channel > 2 ? 1 : 0;
    EXPECT_LT(strange, 1100u) << bytes;  // of a quarter of a chunk
    EXPECT_LE(found.damage.messages.size(), 13u);
  }
}

TEST_P(DamagedTags, ReadingsOfAnySizeGiveTheSame) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<std::uint32_t> words = words_;
    tests::damage_records(words, random_);
    const ReadTags whole = read(words, 1 << 17);
    ASSERT_TRUE(whole.damage.any());
    // Up to a whole chunk and more, and a few photons at a time.
    for (const std::size_t most : {9000, 70, 1}) {
      const ReadTags parts = read_pieces(tests::tag_file(GetParam().code, words),
                                         [&] { return 1 + random_() % most; });
      ASSERT_TRUE(tests::same_photons(whole.photons, parts.photons)) << "at most " << most;
      EXPECT_EQ(whole.damage.messages, parts.damage.messages);
      EXPECT_EQ(whole.damage.lost_samples, parts.damage.lost_samples);
      EXPECT_EQ(whole.damage.dropped_samples, parts.damage.dropped_samples);
      EXPECT_EQ(whole.breaks.size(), parts.breaks.size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DamagedTags, ::testing::ValuesIn(kRecordTypes),
                         [](const auto& info) { return fmt::format("of{:08x}", info.param.code); });

}  // namespace
}  // namespace tautline::formats::ptu

// GUPPI RAW: every number of bits, polarisations, antennas, overlap, padding, lost, repeated and
// damaged blocks, cut files, times and rates, headers that lie.
#include "tautline/formats/guppi/guppi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tautline/core/error.h"
#include "tests/formats/cut_feed.h"
#include "tests/formats/guppi/recording.h"
#include "tests/formats/in_order_check.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::formats::guppi {
namespace {

using tests::Folder;
using tests::read_all;
using tests::Stream;

class Guppi : public testing::Test {
 protected:
  std::unique_ptr<VoltageReader> open_bytes(const std::vector<char>& bytes) {
    tests::write_bytes(path_, bytes);
    ReaderOptions options;
    options.decoding_pieces = 1 + random_() % 4;  // whatever the length
    return open(InputFile(path_), options);
  }
  void expect_refused(const std::vector<char>& bytes, const std::string& field) {
    const core::Error error = tests::error_of([&] { open_bytes(bytes); });
    EXPECT_EQ(error.kind(), core::ErrorKind::format);
    EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("test.raw"), std::string::npos) << error.what();
  }
  // The damage that was known before reading is all that was found.
  static void expect_foreseen(const VoltageReader& reader, const Damage& foreseen) {
    EXPECT_TRUE(foreseen.any());
    EXPECT_EQ(foreseen.lost_samples, reader.damage().lost_samples);
    EXPECT_EQ(foreseen.dropped_samples, reader.damage().dropped_samples);
    EXPECT_EQ(foreseen.trailing_bytes, reader.damage().trailing_bytes);
  }
  Folder folder_;
  std::string path_ = folder_ / "test.raw";
  std::mt19937_64 random_ = tests::generator();
};

TEST_F(Guppi, EveryNumberOfBitsPolarisationsAntennasOverlap) {
  for (const int bits : {2, 4, 8, 16})
    for (const std::size_t polarisations : {1u, 2u})
      for (const std::size_t antennas : {1u, 3u})
        for (const std::size_t overlap : {0u, 16u}) {
          SCOPED_TRACE(testing::Message() << bits << " bits, " << polarisations << " pols, "
                                          << antennas << " antennas, overlap " << overlap);
          const Shape shape{antennas, 5, polarisations, 48, overlap, bits};
          const Recording recording(shape, 4, random_);
          const auto reader = open_bytes(recording.bytes());
          const core::VoltageDescription& d = reader->description();
          EXPECT_EQ(d.antennas, antennas);
          EXPECT_EQ(d.polarisations, polarisations);
          EXPECT_EQ(d.channels, 5u);
          EXPECT_EQ(reader->total_samples(), recording.total());
          recording.expect(read_all(*reader, 1 + random_() % 100));
          EXPECT_FALSE(reader->damage().any());
        }
}

TEST_F(Guppi, DescriptionFollowsTheHeader) {
  Recording recording({1, 4, 2, 64, 0, 8}, 3, random_);
  recording.first_packet = 1'000'000;
  const auto reader = open_bytes(recording.bytes());
  const core::VoltageDescription& d = reader->description();
  EXPECT_EQ(d.telescope, "GBT");
  EXPECT_EQ(d.instrument, "GUPPI");
  EXPECT_EQ(d.source, "B0329+54");
  EXPECT_EQ(d.centre_hz, 1378.125e6);
  EXPECT_EQ(d.bandwidth_hz, -12.5e6);
  EXPECT_EQ(d.rate_hz, core::make_rational(3'125'000, 1));
  // MJD 56000 is 2012-03-14; a packet is 8 samples: 1e6 of them take 2.56 s.
  EXPECT_EQ(d.start, core::advance(core::parse_utc("2012-03-14-01:00:00.25"), 256,
                                   core::make_rational(100, 1)));
  put_card(recording.cards(), "NPOL", "2");
  EXPECT_EQ(open_bytes(recording.bytes())->description().polarisations, 2u);
}

TEST_F(Guppi, RatesAreExactWhereTheBandwidthAgrees) {
  Recording recording({1, 3, 2, 64, 0, 8}, 2, random_);
  put_card(recording.cards(), "OBSBW", "187.5");
  put_card(recording.cards(), "TBIN", "1.6E-08");  // 62.5 MHz, 3 channels of 187.5 MHz
  EXPECT_EQ(open_bytes(recording.bytes())->description().rate_hz,
            core::make_rational(62'500'000, 1));
  put_card(recording.cards(), "OBSBW", "100");
  put_card(recording.cards(), "TBIN", "3.0000000000000001E-08");  // rounded: 100 / 3 MHz is meant
  EXPECT_EQ(open_bytes(recording.bytes())->description().rate_hz,
            core::make_rational(100'000'000, 3));
  put_card(recording.cards(), "OBSBW", "8.7890625");  // more digits than an exact ratio holds
  put_card(recording.cards(), "TBIN", "3.41333333333333E-07");
  EXPECT_EQ(open_bytes(recording.bytes())->description().rate_hz,
            core::make_rational(2'929'687'500, 1'000));
  put_card(recording.cards(), "OBSBW", "100");
  EXPECT_EQ(open_bytes(recording.bytes())->description().rate_hz,
            core::make_rational(2'929'687'500, 1'000));
  put_card(recording.cards(), "TBIN", "2.5e-8");  // oversampled
  EXPECT_EQ(open_bytes(recording.bytes())->description().rate_hz,
            core::make_rational(40'000'000, 1));
}

TEST_F(Guppi, DirectIoPadding) {
  Recording recording({1, 4, 2, 64, 0, 8}, 3, random_);
  recording.cards().insert(recording.cards().begin() + 1, {"DIRECTIO", "1"});
  ASSERT_EQ(recording.header(0).size() % 512, 0u);
  const auto reader = open_bytes(recording.bytes());
  EXPECT_FALSE(reader->foreseen_damage().any());
  recording.expect(read_all(*reader, 50));
  EXPECT_FALSE(reader->damage().any());
}

TEST_F(Guppi, DroppedBlocksAreInvalid) {
  for (const std::size_t overlap : {0u, 8u})
    for (const std::string packets : {"PKTSIZE", "PIPERBLK", "neither"}) {
      SCOPED_TRACE(packets);
      Recording recording({2, 4, 2, 64, overlap, 8}, 12, random_);
      if (packets != "PKTSIZE") remove_card(recording.cards(), "PKTSIZE");
      if (packets == "PIPERBLK")
        recording.cards().push_back({"PIPERBLK", std::to_string((64 - overlap) / 8)});
      const auto reader = open_bytes(recording.bytes({0, 1, 3, 4, 8, 9, 11}));
      EXPECT_EQ(reader->foreseen_damage().lost_samples, 5 * (64 - overlap) * 4);
      recording.expect(read_all(*reader, 100), {2, 5, 6, 7, 10});
      EXPECT_EQ(reader->damage().lost_samples, 5 * (64 - overlap) * 4);
      EXPECT_EQ(reader->damage().messages.size(), 3u);
    }
}

TEST_F(Guppi, RepeatedBlocksAreDropped) {
  const Recording recording({1, 4, 2, 64, 0, 8}, 6, random_);
  const auto reader = open_bytes(recording.bytes({0, 1, 2, 2, 3, 1, 4, 5}));
  recording.expect(read_all(*reader, 100));
  EXPECT_EQ(reader->damage().dropped_samples, 2u * 64 * 2);
  EXPECT_EQ(reader->damage().lost_samples, 0u);
}

TEST_F(Guppi, APacketIndexThatLiesAloneIsNotBelieved) {
  for (const std::size_t lie : {0u, 3u, 24u * 8, 1'000'000u}) {
    Recording recording({1, 4, 2, 64, 0, 8}, 6, random_);
    auto bytes = recording.bytes({0, 1, 2});
    CardList cards = recording.cards();
    put_card(cards, "PKTIDX", std::to_string(lie));
    const auto header = header_bytes(cards), payload = recording.data(3);
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    const auto rest = recording.bytes({4, 5});
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    const auto reader = open_bytes(bytes);
    recording.expect(read_all(*reader, 100));
    EXPECT_EQ(reader->damage().messages.size(), 1u);
  }
}

TEST_F(Guppi, DamagedHeadersAndBoundariesCostTheirBlock) {
  const Recording recording({1, 4, 2, 64, 0, 8}, 6, random_);
  const std::size_t stride = recording.block_bytes(0).size();
  const auto good = recording.bytes();
  auto unreadable = good, other = good, cut = good, longer = good;
  unreadable[3 * stride + 85] = '\1';
  const auto at = [&](std::vector<char>& bytes, std::size_t offset) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  };
  const char* nbits = "NBITS   = 4";
  const auto nbits_card =
      std::search(at(other, 3 * stride), other.end(), nbits, nbits + 9);  // the card's beginning
  std::copy(nbits, nbits + std::strlen(nbits), nbits_card);
  cut.erase(at(cut, 4 * stride - 20), at(cut, 4 * stride - 7));
  longer.insert(at(longer, 4 * stride - 20), 100, 'x');
  for (const auto& bytes : {unreadable, other, cut, longer}) {
    const auto reader = open_bytes(bytes);
    recording.expect(read_all(*reader, 100), {3});
    EXPECT_EQ(reader->damage().lost_samples, 64u * 2);
    EXPECT_TRUE(reader->damage().any());
  }
}

TEST_F(Guppi, TruncatedTailsKeepWholeSamples) {
  for (const std::size_t overlap : {0u, 16u}) {
    const Recording recording({1, 4, 2, 64, overlap, 8}, 3, random_);
    auto bytes = recording.bytes();
    const std::size_t row = 64 * 4;
    bytes.resize(bytes.size() - row / 2 - 1);  // 31 times of the last channel are whole
    const auto reader = open_bytes(bytes);
    const std::size_t expected = 2 * (64 - overlap) + 31;
    EXPECT_EQ(reader->total_samples(), expected);
    const Damage foreseen = reader->foreseen_damage();
    const Stream stream = read_all(*reader, 50);
    ASSERT_EQ(stream.samples(), expected);
    recording.expect_values(stream, {}, 0);
    EXPECT_EQ(reader->damage().trailing_bytes, 4 * row - row / 2 - 1 - 31 * 16);
    EXPECT_EQ(reader->damage().lost_samples, (64 - overlap - 31) * 2);
    expect_foreseen(*reader, foreseen);
    bytes.resize(bytes.size() - row);  // a channel is missing: no sample of that block is whole
    const auto shorter = open_bytes(bytes);
    const Damage foreseen_shorter = shorter->foreseen_damage();
    EXPECT_EQ(read_all(*shorter, 50).samples(), 2 * (64 - overlap));
    EXPECT_EQ(shorter->damage().lost_samples, (64 - overlap) * 2);
    expect_foreseen(*shorter, foreseen_shorter);
    bytes.resize(2 * recording.block_bytes(0).size() + 100);  // inside a header
    const auto header = open_bytes(bytes);
    const Damage foreseen_header = header->foreseen_damage();
    EXPECT_EQ(read_all(*header, 50).samples(), 2 * (64 - overlap));
    EXPECT_EQ(header->damage().trailing_bytes, 100u);
    expect_foreseen(*header, foreseen_header);
    for (const std::size_t rest : {100u, 0u}) {  // behind the first block
      bytes.resize(recording.block_bytes(0).size() + rest);
      EXPECT_EQ(open_bytes(bytes)->foreseen_damage().trailing_bytes, rest);
    }
    bytes.resize(bytes.size() - row / 2);  // inside the only block
    const auto only = open_bytes(bytes);
    const Damage foreseen_only = only->foreseen_damage();
    read_all(*only, 50);
    EXPECT_EQ(only->damage().lost_samples, (64 - overlap - 32) * 2);
    expect_foreseen(*only, foreseen_only);
  }
}

TEST_F(Guppi, SeekLandsOnTheSample) {
  const Recording recording({1, 3, 2, 64, 16, 4}, 8, random_);
  const auto bytes = recording.bytes({0, 1, 2, 4, 5, 6, 7});
  for (const std::size_t to : {0u, 1u, 47u, 48u, 150u, 192u, 383u}) {
    const auto reader = open_bytes(bytes);
    reader->seek(to);
    const Stream stream = read_all(*reader, 20);
    EXPECT_EQ(stream.first_sample(), to);
    recording.expect(stream, {3}, to);
    EXPECT_EQ(reader->damage().any(), to < 192) << to;
  }
  const auto reader = open_bytes(bytes);
  reader->seek(1'000'000);
  EXPECT_EQ(read_all(*reader, 20).samples(), 0u);
}

TEST_F(Guppi, HeadersThatLieAreRefusedByName) {
  const auto lie = [&](const std::string& keyword, const std::string& value) {
    SCOPED_TRACE(keyword + " = " + value);
    Recording recording({1, 4, 2, 64, 0, 8}, 2, random_);
    put_card(recording.cards(), keyword, value);
    expect_refused(recording.bytes(), keyword);
  };
  for (const char* value : {"0", "-1", "1023", "99999999999999999999", "'lots'", "1e300"})
    lie("BLOCSIZE", value);
  lie("BLOCSIZE", "1048576");  // more than the file has
  for (const char* value : {"0", "-4", "1000000000"}) lie("OBSNCHAN", value);
  for (const char* value : {"0", "3", "5"}) lie("NPOL", value);
  for (const char* value : {"0", "1", "3", "32", "-8"}) lie("NBITS", value);
  for (const char* value : {"0", "3", "100000"}) lie("NANTS", value);
  for (const char* value : {"64", "-1", "1000000"}) lie("OVERLAP", value);
  for (const char* value : {"0", "-1e-6", "nan", "inf", "1e9", "1e-30", "''"}) lie("TBIN", value);
  for (const char* value : {"0", "abc"}) lie("OBSBW", value);
  for (const char* value : {"here", "1.4e9", "0.014", "-1400"}) lie("OBSFREQ", value);
  lie("PKTFMT", "'SIMPLE  '");
  for (const char* value : {"-1", "1e12", "12"}) lie("STT_IMJD", value);
  for (const char* value : {"-1", "100000"}) lie("STT_SMJD", value);
  for (const char* value : {"-0.5", "1.5"}) lie("STT_OFFS", value);
  CardList negative = cards_of({1, 4, 2, 64, 0, 8});
  put_card(negative, "PKTIDX", "-5");
  auto bytes = header_bytes(negative);
  bytes.resize(bytes.size() + 4 * 4 * 64);
  expect_refused(bytes, "PKTIDX");
  for (const char* keyword : {"BLOCSIZE", "OBSNCHAN", "NPOL", "OBSFREQ", "STT_IMJD", "STT_SMJD"}) {
    Recording recording({1, 4, 2, 64, 0, 8}, 2, random_);
    remove_card(recording.cards(), keyword);
    expect_refused(recording.bytes(), keyword);
  }
  expect_refused({}, "an empty file");
  expect_refused(std::vector<char>(10'000, ' '), "header");
  const auto good = Recording({1, 4, 2, 64, 0, 8}, 2, random_).bytes();
  expect_refused({good.begin(), good.begin() + 700}, "header");
}

TEST_F(Guppi, IsRecognised) {
  const auto bytes = Recording({1, 4, 2, 64, 0, 8}, 1, random_).bytes();
  tests::write_bytes(folder_ / "unnamed", bytes);
  EXPECT_EQ(open_voltages(folder_ / "unnamed")->description().instrument, "GUPPI");
  EXPECT_TRUE(recognise(std::as_bytes(std::span(bytes)), "data"));
  EXPECT_TRUE(recognise(std::as_bytes(std::span(bytes).first(100)), "data.raw"));
  EXPECT_FALSE(recognise(std::as_bytes(std::span(bytes).first(100)), "data"));
  std::vector<char> counts(10'000, 0);
  EXPECT_FALSE(recognise(std::as_bytes(std::span(counts)), "data.raw"));
  counts[8] = '=';
  EXPECT_FALSE(recognise(std::as_bytes(std::span(counts)), "data.raw"));
}

// Blocks lost, repeated, damaged and cut, and a stream that ends anywhere, written in pieces of any length.
TEST_F(Guppi, StreamsGiveWhatFilesGive) {
  std::uint64_t times = 0;
  std::size_t damaged = 0, refused = 0;
  const int trials = std::getenv("TAUTLINE_SMALL") != nullptr ? 60 : 200;
  for (int trial = 0; trial < trials; ++trial) {
    const int bits = 1 << (1 + trial % 4);
    const std::size_t blocks = 2 + random_() % 20;
    const Recording recording({1, 2, 2, 64, trial % 3 == 0 ? 8u : 0u, bits}, blocks, random_);
    std::vector<char> bytes;
    for (std::size_t k = 0; k < blocks; ++k) {
      auto block = recording.block_bytes(k);
      const auto data = static_cast<std::ptrdiff_t>(recording.header(k).size());
      const auto in_data =
          data + static_cast<std::ptrdiff_t>(random_() % (block.size() - std::size_t(data)));
      switch (k == 0 ? 99 : random_() % 20) {
        case 0:
          continue;  // lost
        case 1:
          bytes.insert(bytes.end(), block.begin(), block.end());  // twice
          break;
        case 2:
          block.erase(block.begin() + data, block.begin() + in_data);
          break;
        case 3:
          block.insert(block.begin() + in_data, 1 + random_() % 500, 'x');
          break;
        case 4:
          block[std::size_t(data) - 79] = 'x';  // END
          break;
        default:
          break;
      }
      bytes.insert(bytes.end(), block.begin(), block.end());
    }
    // In the first header every other time, which is refused.
    if (trial % 4 == 0) bytes.resize(random_() % (trial % 8 == 0 ? 400 : bytes.size()));
    ReaderOptions options;
    options.decoding_pieces = 1 + random_() % 4;
    auto both = tests::open_both(
        [&] { return open_bytes(bytes); },
        [&] { return open(InputFile(tests::in_order(path_, bytes, random_)), options); });
    if (!both) {
      ++refused;
      continue;
    }
    const std::size_t block = 1 + random_() % 200;
    if (trial % 5 == 0) both->seek(50);
    tests::expect_equal_samples(*both->file, *both->stream, block, times);
    tests::expect_equal_damage(both->file->damage(), both->stream->damage());
    damaged += both->file->damage().any() ? 1 : 0;
  }
  EXPECT_GT(times, 200u * trials);
  EXPECT_GT(damaged, trials / 4u);
  EXPECT_GT(refused, 0u);
}

TEST_F(Guppi, RandomMutationsNeverBreakTheReader) {
  const auto good = Recording({1, 2, 2, 64, 8, 8}, 5, random_).bytes();
  for (int trial = 0; trial < 1'000; ++trial) {
    auto bytes = tests::mutate(good, random_);
    // Digits are where headers lie: change some of the first block's.
    for (int k = 0; k < 2 && random_() % 2; ++k) {
      const std::size_t at = random_() % std::min<std::size_t>(bytes.size() + 1, 1'600);
      if (at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9')
        bytes[at] = static_cast<char>('0' + random_() % 10);
    }
    try {
      const auto reader = open_bytes(bytes);
      const std::size_t block = 1 + random_() % 200;
      if (reader->block_bytes(block) > 10'000'000) continue;
      EXPECT_LT(reader->total_samples(), std::uint64_t{1} << 32);
      EXPECT_LT(reader->foreseen_damage().lost_samples, std::uint64_t{1} << 32);
      if (random_() % 4 == 0) reader->seek(random_() % 400);
      core::RawBlock raw;
      std::uint64_t samples = 0;
      while (const std::size_t got = reader->read(block, raw)) samples += got;
      EXPECT_LT(samples, std::uint64_t{1} << 24);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format) << error.what();
    }
  }
}

}  // namespace
}  // namespace tautline::formats::guppi

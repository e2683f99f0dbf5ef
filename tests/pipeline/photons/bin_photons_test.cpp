// Photons to counts: against a plain loop, any split, gates, detectors, gaps, refusals.
#include "tautline/pipeline/photons/bin_photons.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tautline/core/error.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using formats::Photon;

// A reader of photons that are in memory.
class ListReader : public formats::PhotonReader {
 public:
  ListReader(std::vector<Photon> photons, formats::TagMode mode) : photons_(std::move(photons)) {
    description_.mode = mode;
    description_.time_unit_s = mode == formats::TagMode::t3 ? 5e-8 : 1e-12;
    description_.microtime_unit_s = mode == formats::TagMode::t3 ? 1.6e-11 : 0;
  }
  const formats::PhotonDescription& description() const override { return description_; }
  std::size_t read(std::span<Photon> photons) override {
    const std::size_t count = std::min(photons.size(), photons_.size() - counts_.photons);
    for (std::size_t n = 0; n < count; ++n) photons[n] = photons_[counts_.photons + n];
    counts_.photons += count;
    if (counts_.photons > 0) counts_.last_time = photons_[counts_.photons - 1].time;
    return count;
  }
  void rewind() override { counts_ = {}; }
  const formats::TagCounts& counts() const override { return counts_; }
  const formats::Damage& damage() const override { return damage_; }

 private:
  std::vector<Photon> photons_;
  formats::PhotonDescription description_;
  formats::TagCounts counts_;
  formats::Damage damage_;
};

std::vector<Photon> random_photons(std::size_t count, std::uint64_t mean_gap) {
  auto random = tests::generator();
  std::vector<Photon> photons;
  std::uint64_t time = random() % mean_gap;
  for (std::size_t n = 0; n < count; ++n) {
    photons.push_back({time, static_cast<std::uint16_t>(random() % 4),
                       static_cast<std::uint16_t>(random() % 3000)});
    time += random() % (2 * mean_gap);
  }
  return photons;
}

PhotonBinner binner(const std::vector<Photon>& photons, const BinPhotonsConfig& config,
                    formats::TagMode mode = formats::TagMode::t3) {
  return {std::make_unique<ListReader>(photons, mode), config};
}

std::vector<std::uint16_t> read_all(PhotonBinner& from, std::size_t times) {
  std::vector<std::uint16_t> all, block(times * from.sensors());
  while (true) {
    std::fill(block.begin(), block.end(), 0xAAAA);
    const std::size_t got = from.read(block);
    all.insert(all.end(), block.begin(),
               block.begin() + static_cast<std::ptrdiff_t>(got * from.sensors()));
    if (got < times) return all;
  }
}

TEST(BinPhotons, EqualsAPlainLoopForAnySplit) {
  for (const std::uint64_t gap : {2u, 30u, 5000u}) {
    const auto photons = random_photons(3000, gap);
    BinPhotonsConfig config;
    config.bin_s = 7 * 5e-8;
    config.detectors = {2, 0};
    config.gate = MicrotimeGate{100 * 1.6e-11, 2000 * 1.6e-11};
    const std::uint64_t bins = (photons.back().time + 1) / 7;
    std::vector<std::uint16_t> expected(2 * bins);
    for (const Photon& p : photons)
      if (p.time / 7 < bins && p.microtime >= 100 && p.microtime < 2000 && p.channel % 2 == 0)
        ++expected[2 * (p.time / 7) + (p.channel == 2 ? 0 : 1)];
    for (const std::size_t times : {1u, 3u, 1000u, 100'000u}) {
      PhotonBinner from = binner(photons, config);
      EXPECT_EQ(read_all(from, times), expected) << gap << " " << times;
      EXPECT_EQ(from.bins_done(), bins);
    }
    // The same photons as events.
    PhotonBinner from = binner(photons, config);
    std::vector<BinnedPhoton> events(11);
    std::vector<std::uint16_t> counted(2 * bins);
    while (const std::size_t got = from.read_events(events))
      for (std::size_t n = 0; n < got; ++n)
        if (events[n].bin < bins) ++counted[2 * events[n].bin + events[n].sensor];
    EXPECT_EQ(counted, expected);
    EXPECT_EQ(from.bins_done(), bins);
  }
}

TEST(BinPhotons, StartAndDuration) {
  const auto photons = random_photons(2000, 50);
  BinPhotonsConfig config;
  config.bin_s = 10 * 5e-8;
  config.detectors = {0, 1, 2, 3};
  PhotonBinner whole = binner(photons, config);
  const auto all = read_all(whole, 100);
  config.start_s = 1000 * 5e-8;
  config.duration_s = 2000 * 5e-8;
  PhotonBinner part = binner(photons, config);
  EXPECT_EQ(read_all(part, 64),
            std::vector<std::uint16_t>(all.begin() + 400, all.begin() + 400 + 800));
}

TEST(BinPhotons, GapsTakeNoMemoryAndCountAsZeros) {
  const std::vector<Photon> photons = {{3, 0, 0}, {40'000'000'003ull, 0, 0}};
  BinPhotonsConfig config;
  config.bin_s = 1e-12 * 1000;
  PhotonBinner from = binner(photons, config, formats::TagMode::t2);
  std::vector<std::uint8_t> block(1 << 20);
  std::uint64_t bins = 0, sum = 0;
  while (const std::size_t got = from.read(block)) {
    bins += got;
    for (std::size_t n = 0; n < got; ++n) sum += block[n];
  }
  EXPECT_EQ(bins, 40'000'000u);
  EXPECT_EQ(sum, 1u);  // the last bin has only begun
}

TEST(BinPhotons, CountsThatExceedTheirTypeAreRefused) {
  std::vector<Photon> photons(256, Photon{5, 0, 0});
  photons.push_back({1000, 0, 0});
  BinPhotonsConfig config;
  config.bin_s = 100 * 5e-8;
  PhotonBinner narrow = binner(photons, config), wide = binner(photons, config);
  std::vector<std::uint8_t> bytes(4);
  EXPECT_THROW(narrow.read(bytes), core::Error);
  std::vector<std::uint16_t> words(4);
  EXPECT_EQ(wide.read(words), 4u);
  EXPECT_EQ(words[0], 256);
}

TEST(BinPhotons, RefusesWhatCannotBeBinned) {
  const auto photons = random_photons(10, 50);
  BinPhotonsConfig config;
  config.bin_s = 4e-8;  // under one sync period
  EXPECT_THROW(binner(photons, config), core::Error);
  EXPECT_NO_THROW(binner(photons, config, formats::TagMode::t2));
  config.bin_s = 0;
  EXPECT_THROW(binner(photons, config), core::Error);
  config.bin_s = 1e-6;
  config.detectors = {1, 2, 1};
  EXPECT_THROW(binner(photons, config), core::Error);
  config.detectors = {};
  config.gate = MicrotimeGate{1e-9, 1e-9};
  EXPECT_THROW(binner(photons, config), core::Error);
  config.gate = MicrotimeGate{0, 1e-9};
  EXPECT_THROW(binner(photons, config, formats::TagMode::t2), core::Error);
}

TEST(BinPhotons, EmptyStreamsHaveOneSensorAndNoBins) {
  BinPhotonsConfig config;
  config.bin_s = 1e-6;
  PhotonBinner from = binner({}, config);
  std::vector<std::uint8_t> block(10);
  EXPECT_EQ(from.sensors(), 1u);
  EXPECT_EQ(from.read(block), 0u);
}

TEST(BinPhotons, RealFile) {
  const std::string path = std::string(TAUTLINE_DATA_DIR) + "/fcs/v20_t3.ptu";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  BinPhotonsConfig config;
  config.bin_s = 1e-5;
  PhotonBinner from(formats::open_photons(path), config);
  EXPECT_EQ(from.detectors(), (std::vector<std::uint16_t>{0, 1}));
  EXPECT_EQ(from.ticks_per_bin(), 50u);
  EXPECT_NEAR(from.bin_s(), 1e-5, 1e-9);
  std::map<std::size_t, std::uint64_t> sums;
  std::vector<std::uint8_t> block(2 * 4096);
  while (const std::size_t got = from.read(block))
    for (std::size_t n = 0; n < 2 * got; ++n) sums[n % 2] += block[n];
  EXPECT_NEAR(static_cast<double>(sums[0]), 45'012, 1);
  EXPECT_NEAR(static_cast<double>(sums[1]), 32'871, 1);
}

}  // namespace
}  // namespace tautline::pipeline

// Photon-HDF5 files made with HDF5 itself: what is read, and what is refused or counted.
#include "tautline/formats/photon_hdf5/photon_hdf5.h"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tests/formats/photon_hdf5/hdf5_file.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats::photon_hdf5 {
namespace {

std::vector<Photon> photons_of(PhotonReader& reader, std::size_t at_once) {
  std::vector<Photon> all, some(at_once);
  while (const std::size_t count = reader.read(some))
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  return all;
}

TEST(PhotonHdf5, PhotonsWithAndWithoutDetectorsAndNanotimes) {
  auto random = tests::generator();
  const tests::ScratchFolder folder;
  for (const std::string group : {"photon_data", "photon_data3"})
    for (const bool detectors : {false, true})
      for (const bool nanotimes : {false, true}) {
        std::vector<std::int64_t> times;
        std::vector<std::uint8_t> channels;
        std::vector<std::uint16_t> micro;
        std::int64_t time = 0;
        for (int n = 0; n < 1000; ++n) {
          times.push_back(time += static_cast<std::int64_t>(random() % 1'000'000'000));
          channels.push_back(static_cast<std::uint8_t>(random() % 4));
          micro.push_back(static_cast<std::uint16_t>(random() % 4096));
        }
        {
          Hdf5File file(folder / "x.hdf5");
          file.array(group + "/timestamps", H5T_NATIVE_INT64, times);
          file.number(group + "/timestamps_specs/timestamps_unit", 12.5e-9);
          if (detectors) file.array(group + "/detectors", H5T_NATIVE_UINT8, channels);
          if (nanotimes) {
            file.array(group + "/nanotimes", H5T_NATIVE_UINT16, micro);
            file.number(group + "/nanotimes_specs/tcspc_unit", 16e-12);
          }
          file.number("acquisition_duration", 12.5);
        }
        EXPECT_TRUE(holds_photons(folder / "x.hdf5") || group == "photon_data3");
        const auto reader = open(folder / "x.hdf5");
        EXPECT_EQ(reader->description().time_unit_s, 12.5e-9);
        EXPECT_EQ(reader->description().microtime_unit_s, nanotimes ? 16e-12 : 0);
        EXPECT_EQ(reader->description().mode, nanotimes ? TagMode::t3 : TagMode::t2);
        EXPECT_EQ(reader->description().acquisition_s, 12.5);
        for (const std::size_t at_once : {1 + random() % 100, std::uint64_t{5000}}) {
          reader->rewind();
          const auto photons = photons_of(*reader, static_cast<std::size_t>(at_once));
          ASSERT_EQ(photons.size(), times.size());
          for (std::size_t n = 0; n < times.size(); ++n) {
            ASSERT_EQ(photons[n].time, static_cast<std::uint64_t>(times[n]));
            ASSERT_EQ(photons[n].channel, detectors ? channels[n] : 0);
            ASSERT_EQ(photons[n].microtime, nanotimes ? micro[n] : 0);
          }
          EXPECT_FALSE(reader->damage().any());
        }
      }
}

TEST(PhotonHdf5, BackwardsAndBeyondRangeAreCounted) {
  const tests::ScratchFolder folder;
  {
    Hdf5File file(folder / "x.hdf5");
    file.array<std::int64_t>("photon_data/timestamps", H5T_NATIVE_INT64, {-1, 5, 4, 6, 7});
    file.array<std::int32_t>("photon_data/detectors", H5T_NATIVE_INT32, {0, 0, 0, 70'000, 1});
    file.number("photon_data/timestamps_specs/timestamps_unit", 1e-9);
  }
  const auto reader = open(folder / "x.hdf5");
  const auto photons = photons_of(*reader, 2);
  ASSERT_EQ(photons.size(), 2u);
  EXPECT_EQ(photons[1].time, 7u);
  EXPECT_EQ(reader->counts().backwards, 2u);
  EXPECT_EQ(reader->counts().unknown_records, 1u);
  EXPECT_EQ(reader->damage().dropped_samples, 2u);
  EXPECT_EQ(reader->damage().lost_samples, 1u);
  EXPECT_NE(reader->damage().messages.front().find("photon 0: time -1"), std::string::npos);
}

TEST(PhotonHdf5, WhatIsNoneIsRefused) {
  const tests::ScratchFolder folder;
  const auto refusal = [&](auto fill) -> std::string {
    {
      Hdf5File file(folder / "x.hdf5");
      fill(file);
    }
    try {
      open(folder / "x.hdf5");
    } catch (const core::Error& error) {
      return error.what();
    }
    return "";
  };
  const std::vector<std::int64_t> three{1, 2, 3};
  const std::string unit = "photon_data/timestamps_specs/timestamps_unit";
  EXPECT_NE(refusal([](Hdf5File&) {}).find("kind of file: HDF5, expected Photon-HDF5"),
            std::string::npos);
  EXPECT_FALSE(holds_photons(folder / "x.hdf5"));
  EXPECT_NE(refusal([&](Hdf5File& f) {
              f.array("photon_data/timestamps", H5T_NATIVE_INT64, three);
            }).find("timestamps_unit"),
            std::string::npos);
  EXPECT_NE(refusal([&](Hdf5File& f) {
              f.array("photon_data/timestamps", H5T_NATIVE_INT64, three);
              f.number(unit, 0);
            }).find("above 0"),
            std::string::npos);
  EXPECT_NE(refusal([&](Hdf5File& f) {
              f.array("photon_data/timestamps", H5T_NATIVE_INT64, three);
              f.number(unit, 1e-9);
              f.array<std::uint8_t>("photon_data/detectors", H5T_NATIVE_UINT8, {1, 2});
            }).find("2 values"),
            std::string::npos);
  EXPECT_NE(refusal([&](Hdf5File& f) {
              f.array("photon_data0/timestamps", H5T_NATIVE_INT64, three);
              f.array("photon_data1/timestamps", H5T_NATIVE_INT64, three);
            }).find("2 spots"),
            std::string::npos);
}

}  // namespace
}  // namespace tautline::formats::photon_hdf5

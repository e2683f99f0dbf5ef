// A dedispersed series in an array, with the record that says what its samples are.
#include "tautline/formats/npy/series.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/formats/npy/npy.h"
#include "tests/formats/filterbank_check.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats::npy {
namespace {

class ArraySeries : public ::testing::Test {
 protected:
  template <class T>
  void write(const std::vector<T>& values, const std::vector<std::uint64_t>& shape) {
    ArrayWriter writer(path_, std::is_same_v<T, float> ? "<f4" : "<i4", shape, true);
    writer.write(std::as_bytes(std::span(values)));
    writer.finish();
    std::ofstream(path_ + ".json") << record_.dump();
  }
  std::string refusal() const {
    try {
      open_series(path_, {});
    } catch (const core::Error& error) {
      return error.what();
    }
    return "none";
  }
  tests::ScratchFolder folder_;
  std::string path_ = folder_ / "x.npy";
  nlohmann::json record_{{"schema", "tautline.dedisperse.record"},
                         {"dms", {56.25}},
                         {"tsamp_s", 0.001},
                         {"f_ref_mhz", 1465.0},
                         {"dm_constant", 4148.808},
                         {"start", "2026-03-20T14:00:00.250000"}};
};

TEST_F(ArraySeries, IsDeliveredAsItIs) {
  auto random = tests::generator();
  std::vector<std::int32_t> whole(1003);
  for (auto& value : whole) value = static_cast<std::int32_t>(random() % 2000001) - 1000000;
  write(whole, {1, whole.size()});
  ASSERT_TRUE(recognise_series(path_));
  const auto reader = open_filterbank({path_});
  const FilterbankDescription& d = reader->description();
  EXPECT_TRUE(d.time_series);
  EXPECT_EQ(d.samples, whole.size());
  EXPECT_EQ(d.rate_hz.value(), 1000);
  EXPECT_EQ(d.highest_mhz(), 1465);
  EXPECT_EQ(d.dm_with(4148.808), 56.25);
  EXPECT_NEAR(d.dm_with(1 / 2.41e-4), 56.25 * 4148.808 * 2.41e-4, 1e-12);
  EXPECT_EQ(core::to_iso(d.start), "2026-03-20T14:00:00.250000");
  ASSERT_EQ(reader->segments().size(), 1u);
  for (const std::size_t first : {std::size_t{0}, std::size_t{7}, whole.size() - 1, whole.size()}) {
    std::vector<float> got(whole.size() + 3, -1);
    const std::size_t count =
        reader->read(first, got.size(), std::as_writable_bytes(std::span(got)));
    ASSERT_EQ(count, whole.size() - first);
    for (std::size_t k = 0; k < count; ++k)
      ASSERT_EQ(got[k], static_cast<float>(whole[first + k])) << first << " " << k;
    EXPECT_EQ(got[count], -1);
  }
  std::vector<float> floats(33);
  for (auto& value : floats) value = static_cast<float>(random() % 1000) * 0.125F;
  write(floats, {1, floats.size()});
  std::vector<float> got(floats.size());
  EXPECT_EQ(open_series(path_, {})->read(0, got.size(), std::as_writable_bytes(std::span(got))),
            floats.size());
  EXPECT_EQ(got, floats);
}

// A channel for each, whatever is read at once.
TEST_F(ArraySeries, OfSeveralTrialsIsAFilterbankOfThem) {
  auto random = tests::generator();
  const std::size_t trials = 2 + random() % 40, times = 500 + random() % 500;
  std::vector<std::int32_t> whole(trials * times);
  for (auto& value : whole) value = static_cast<std::int32_t>(random() % 2000001) - 1000000;
  record_["dms"] = nlohmann::json::array();
  nlohmann::json delays;
  for (std::size_t k = 0; k < trials; ++k) {
    record_["dms"].push_back(0.5 * static_cast<double>(k));
    delays.push_back(7 * k);
  }
  record_["segments"] = {{{"delays_samples", delays}}};
  write(whole, {trials, times});
  EXPECT_FALSE(recognise_series(path_));
  const auto reader = open_filterbank({path_});
  const FilterbankDescription& d = reader->description();
  EXPECT_TRUE(d.time_series);
  EXPECT_TRUE(d.whole_numbers);
  EXPECT_EQ(d.channels, trials);
  EXPECT_EQ(d.samples, times);
  EXPECT_EQ(d.dms_with(4148.808), record_["dms"].get<std::vector<double>>());
  EXPECT_EQ(d.trial_delays, delays.get<std::vector<std::uint64_t>>());
  for (const std::size_t first : {std::size_t{0}, random() % times, times - 1, times}) {
    std::vector<float> got((times + 1) * trials, -1);
    const std::size_t count =
        reader->read(first, times + 1, std::as_writable_bytes(std::span(got)));
    ASSERT_EQ(count, times - first);
    for (std::size_t t = 0; t < count; ++t)
      for (std::size_t k = 0; k < trials; ++k)
        ASSERT_EQ(got[t * trials + k], static_cast<float>(whole[k * times + first + t]));
    EXPECT_EQ(got[count * trials], -1);
  }
  record_.erase("segments");
  write(whole, {trials, times});
  EXPECT_TRUE(open_series(path_, {})->description().trial_delays.empty());
}

TEST_F(ArraySeries, CutShortIsDamage) {
  write(std::vector<float>(100, 1), {1, 100});
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 4 * 40 - 1);
  const auto reader = open_series(path_, {});
  EXPECT_EQ(reader->description().samples, 59u);
  EXPECT_EQ(reader->damage().lost_samples, 41u);
}

TEST_F(ArraySeries, OthersAreRefusedWithWhatToDo) {
  const std::vector<float> values(60);
  write(values, {2, 30});
  EXPECT_NE(refusal().find("<f4 (2, 30), expected <i4 or <f4 (1, times)"), std::string::npos)
      << refusal();
  write(values, {1, 60});
  for (const char* key : {"tsamp_s", "f_ref_mhz", "dm_constant", "start"}) {
    const nlohmann::json good = record_;
    for (const nlohmann::json& bad : {nlohmann::json(), nlohmann::json("x"), nlohmann::json(-1)}) {
      record_[key] = bad;
      write(values, {1, 60});
      EXPECT_NE(refusal(), "none") << key << " " << bad;
    }
    record_ = good;
  }
  const auto of_all = [&] {
    try {
      open_filterbank({path_});
    } catch (const core::Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  record_["dms"] = {1.0, 2.0};
  write(values, {1, 60});
  EXPECT_NE(of_all().find("<f4 (1, 60), expected <i4 or <f4 (2, times)"), std::string::npos)
      << of_all();
  write(values, {2, 30});
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 4);
  EXPECT_NE(of_all().find("59 values, expected 2 x 30, as its header says; it was cut short"),
            std::string::npos)
      << of_all();
  record_["segments"] = {{{"delays_samples", {0, -3}}}};
  write(values, {2, 30});
  EXPECT_NE(of_all().find("delays_samples: -3"), std::string::npos) << of_all();
  std::filesystem::remove(path_ + ".json");
  EXPECT_NE(of_all().find("without its .json"), std::string::npos) << of_all();
}

}  // namespace
}  // namespace tautline::formats::npy

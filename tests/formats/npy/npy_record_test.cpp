// The record beside an array: one of another file is not used at all, and one that is no JSON is refused.
#include <gtest/gtest.h>

#include <complex>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/npy/npy.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::formats::npy {
namespace {

using Json = nlohmann::json;

class NpyRecord : public testing::Test {
 protected:
  // `times` of one input.
  void write_array(std::size_t times) {
    const std::string header = format_header("<c8", {times});
    std::vector<char> bytes(header.begin(), header.end());
    bytes.resize(bytes.size() + times * sizeof(std::complex<float>));
    tests::write_bytes(path_, bytes);
  }
  void write_record(const std::string& text) {
    tests::write_bytes(path_ + ".json", {text.begin(), text.end()});
  }
  static Json record_of(std::size_t spectra) {
    return {{"schema", "tautline.channelize.record"},
            {"rate_hz", {1'000, 3}},
            {"centre_hz", 1.4e9},
            {"bandwidth_hz", 2e6},
            {"format", "cf32"},
            {"antennas", 1},
            {"polarisations", 1},
            {"telescope", "Dish"},
            {"source", "Sky"},
            {"start_utc", "2024-03-20T12:00:00"},
            {"start_fraction_s", {0, 1}},
            {"spectra", spectra},
            {"invalid_spectra", 2},
            {"invalid", {{{"first_sample", 0}, {"samples", 2}}}}};
  }
  static core::VoltageDescription given(std::int64_t rate_hz) {
    core::VoltageDescription d;
    d.rate_hz = {rate_hz, 1};
    return d;
  }

  tests::Folder folder_;
  std::string path_ = folder_ / "x.npy";
  std::mt19937_64 random_ = tests::generator();
};

TEST_F(NpyRecord, OfTheFileIsUsed) {
  const std::size_t times = 3 + random_() % 100;
  write_array(times);
  for (const std::size_t more : {std::size_t{0}, 1 + random_() % 100}) {  // the file was cut short
    write_record(record_of(times + more).dump());
    const auto reader = open(path_, given(0));
    EXPECT_EQ(reader->description().rate_hz, core::make_rational(1'000, 3));
    EXPECT_EQ(reader->description().centre_hz, 1.4e9);
    EXPECT_EQ(reader->description().telescope, "Dish");
    EXPECT_EQ(tests::read_all(*reader, 10).invalid_samples(), 2u);
  }
}

TEST_F(NpyRecord, OfAFileOfFewerSamplesIsNotUsed) {
  const std::size_t times = 3 + random_() % 100, recorded = random_() % times;
  write_array(times);
  write_record(record_of(recorded).dump());
  const std::string said = path_ + ".json: of a file of " + std::to_string(recorded) + " sample";
  const std::string what = tests::error_of([&] { open(path_, given(0)); }).what();
  EXPECT_EQ(what.find(said), 0u) << what;
  EXPECT_NE(what.find(": not used; put the record of this file there, or remove it and give the "
                      "sample rate (`rate_hz`)"),
            std::string::npos)
      << what;
  const auto reader = open(path_, given(50));
  const core::VoltageDescription& d = reader->description();
  EXPECT_EQ(d.rate_hz, core::make_rational(50, 1));
  EXPECT_EQ(d.centre_hz, 0);
  EXPECT_EQ(d.bandwidth_hz, 50);
  EXPECT_EQ(d.telescope, "");
  EXPECT_EQ(d.assumed, "");
  EXPECT_FALSE(core::is_known_start(d.start));
  ASSERT_EQ(reader->damage().messages.size(), 1u);
  EXPECT_EQ(reader->damage().messages[0].find(said), 0u) << reader->damage().messages[0];
  EXPECT_EQ(tests::read_all(*reader, 10).invalid_samples(), 0u);
}

TEST_F(NpyRecord, ThatIsNoJsonIsRefused) {
  write_array(8);
  std::string text = record_of(8).dump();
  text.resize(text.size() - 1 - random_() % (text.size() - 1));
  for (const std::string& broken : {text, std::string()}) {
    write_record(broken);
    const std::string what = tests::error_of([&] { open(path_, given(50)); }).what();
    EXPECT_EQ(what.find(path_ + ".json: no JSON at byte "), 0u) << what;
    EXPECT_NE(what.find("write it anew, or remove it to do without"), std::string::npos) << what;
  }
  // Of another program.
  for (const char* other : {"[1, 2]", "{\"mine\": 3}"}) {
    write_record(other);
    EXPECT_EQ(open(path_, given(50))->description().rate_hz, core::make_rational(50, 1));
  }
}

}  // namespace
}  // namespace tautline::formats::npy

// Samples that the record beside a DADA file calls invalid or missing, as blocks of any length have them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/core/validity.h"
#include "tautline/formats/dada/dada.h"
#include "tests/formats/dada/dada_files.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/seed.h"

namespace tautline::formats::dada {
namespace {

using Json = nlohmann::json;
using core::InvalidSpan;

constexpr std::size_t kSamples = 1000, kInputs = 4;

class DadaRecords : public ::testing::Test {
 protected:
  std::unique_ptr<VoltageReader> open_with(const Json& record) {
    const std::string path = folder_ / "x.dada";
    tests::write_bytes(path, tests::dada_bytes(tests::plain_keys(), std::vector<char>(8000, 7)));
    const std::string text = record.dump();
    tests::write_bytes(path + ".json", {text.begin(), text.end()});
    return open(InputFile(path));
  }
  static Json record_of(const Json& invalid, const Json& missed) {
    return {{"schema", "tautline.dump"},
            {"version", 1},
            {"samples", kSamples},
            {"invalid", invalid},
            {"missed", missed}};
  }
  static Json span(const Json& input, std::int64_t first, std::int64_t samples) {
    return {{"input", input}, {"first_sample", first}, {"samples", samples}};
  }
  // From `first` on, in blocks of up to `most` samples.
  template <class Random>
  static core::ValidityMask valid_of(VoltageReader& reader, std::size_t first, std::size_t most,
                                     Random& random) {
    core::ValidityMask valid(kInputs, kSamples);
    core::RawBlock block;
    if (first > 0) reader.seek(first);
    while (reader.read(1 + random() % most, block) > 0)
      for (const InvalidSpan& span : block.invalid) {
        EXPECT_LE(span.first_sample + span.samples, block.samples);
        for (std::size_t i = 0; i < kInputs; ++i)
          if (span.input == i || span.input == InvalidSpan::kAllInputs)
            valid.set(i, static_cast<std::size_t>(block.first_sample) + span.first_sample,
                      span.samples, false);
      }
    return valid;
  }

  tests::Folder folder_;
};

TEST_F(DadaRecords, MarkWhatTheyList) {
  auto random = tests::generator();
  for (int time = 0; time < 200; ++time) {
    Json invalid = Json::array(), missed = Json::array();
    core::ValidityMask expected(kInputs, kSamples);
    for (std::size_t spans = random() % 12; spans > 0; --spans) {
      // Some begin before the file or end behind it.
      const auto first = static_cast<std::int64_t>(random() % 1200) - 100;
      const auto samples = static_cast<std::int64_t>(random() % (random() % 4 == 0 ? 900 : 40));
      const bool all = random() % 2 == 0;
      const std::size_t input = random() % kInputs;
      if (all && random() % 2 == 0)
        missed.push_back({{"first_sample", first}, {"samples", samples}, {"why", "gap"}});
      else
        invalid.push_back(span(all ? Json() : Json(input), first, samples));
      for (std::int64_t t = std::max<std::int64_t>(0, first);
           t < std::min<std::int64_t>(first + samples, kSamples); ++t)
        for (std::size_t i = 0; i < kInputs; ++i)
          if (all || i == input) expected.set(i, static_cast<std::size_t>(t), 1, false);
    }
    const auto reader = open_with(record_of(invalid, missed));
    const std::size_t first = random() % 3 == 0 ? random() % kSamples : 0;
    for (std::size_t i = 0; i < kInputs; ++i) expected.set(i, 0, first, true);
    const core::ValidityMask is = valid_of(*reader, first, 1 + random() % 300, random);
    for (std::size_t i = 0; i < kInputs; ++i)
      for (std::size_t t = 0; t < kSamples; ++t)
        ASSERT_EQ(is.valid(i, t), expected.valid(i, t)) << i << " " << t << invalid << missed;
    EXPECT_EQ(reader->damage().lost_samples, kInputs * kSamples - expected.count());
  }
}

TEST_F(DadaRecords, SayWhatTheyDoNotList) {
  Json record = record_of(Json::array(), Json::array());
  EXPECT_FALSE(open_with(record)->damage().any());
  record["invalid_left_out"] = 3;
  const auto reader = open_with(record);
  ASSERT_EQ(reader->damage().messages.size(), 1u);
  EXPECT_NE(reader->damage().messages[0].find("x.dada.json: its list leaves out 3 stretches"),
            std::string::npos)
      << reader->damage().messages[0];
}

TEST_F(DadaRecords, OfOthersAreLeftAlone) {
  const Json spans = Json::array({span(1, 10, 20)});
  Json record = record_of(spans, Json::array());
  auto random = tests::generator();
  EXPECT_EQ(valid_of(*open_with(record), 0, 99, random).count(), kInputs * kSamples - 20);
  record["schema"] = "tautline.record";
  record.erase("missed");
  EXPECT_EQ(valid_of(*open_with(record), 0, 99, random).count(), kInputs * kSamples - 20);
  for (const Json& schema : {Json("tautline.search.record"), Json(7), Json()}) {
    record["schema"] = schema;
    const auto reader = open_with(record);
    EXPECT_EQ(valid_of(*reader, 0, 99, random).count(), kInputs * kSamples) << schema;
    EXPECT_FALSE(reader->damage().any());
  }
  // The record of a shorter file.
  record["schema"] = "tautline.dump";
  record["samples"] = kSamples - 1;
  const auto reader = open_with(record);
  EXPECT_EQ(valid_of(*reader, 0, 99, random).count(), kInputs * kSamples);
  ASSERT_EQ(reader->damage().messages.size(), 1u);
  EXPECT_NE(reader->damage().messages[0].find("of a file of 999 samples"), std::string::npos);
}

TEST_F(DadaRecords, OfSpectraAreLostWhereTheirInputWas) {
  Json record{{"schema", "tautline.channelize.record"},
              {"version", 1},
              {"samples", 7 * kSamples},
              {"spectra", kSamples},
              {"rate_hz", {1, 1}},
              {"invalid_spectra", 60},
              {"invalid", {span(1, 10, 20), span(Json(), 990, 10)}},
              {"lost_samples", 0}};
  auto random = tests::generator();
  auto reader = open_with(record);
  EXPECT_EQ(valid_of(*reader, 0, 99, random).count(), kInputs * kSamples - 60);
  EXPECT_FALSE(reader->damage().any());
  record["lost_samples"] = 3;
  reader = open_with(record);
  EXPECT_EQ(valid_of(*reader, 0, 99, random).count(), kInputs * kSamples - 60);
  EXPECT_EQ(reader->damage().lost_samples, 60u);
  EXPECT_EQ(reader->damage().messages.size(), 1u);
  record["lost_samples"] = 0;
  record["invalid_values"] = 5;
  reader = open_with(record);
  ASSERT_EQ(reader->damage().messages.size(), 1u);
  EXPECT_NE(reader->damage().messages[0].find("5 invalid values of single channels"),
            std::string::npos)
      << reader->damage().messages[0];
  // Of a shorter file, and one without the list.
  record["spectra"] = kSamples - 1;
  EXPECT_EQ(valid_of(*open_with(record), 0, 99, random).count(), kInputs * kSamples);
  record.erase("invalid");
  EXPECT_FALSE(open_with(record)->damage().any());
  record["invalid"] = Json::array();
  record["lost_samples"] = "none";
  EXPECT_THROW(open_with(record), core::Error);
}

TEST_F(DadaRecords, ThatContradictThemselvesAreRefused) {
  const Json good = record_of(Json::array({span(1, 10, 20)}), Json::array());
  std::vector<Json> bad(5, good);
  bad[0].erase("samples");
  bad[1].erase("invalid");
  bad[2]["invalid"][0]["input"] = kInputs;
  bad[3]["invalid"][0].erase("first_sample");
  bad[4]["invalid"][0] = 7;
  EXPECT_NO_THROW(open_with(good));
  for (const Json& record : bad) try {
      open_with(record);
      ADD_FAILURE() << record;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
      EXPECT_NE(std::string(error.what()).find("x.dada.json"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace tautline::formats::dada

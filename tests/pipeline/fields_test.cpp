// Descriptions of the fields of every Config of pipeline and stages: complete, and texts that read back.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "tautline/pipeline/photons/autocorrelate_config.h"
#include "tautline/pipeline/photons/fit_config.h"
#include "tautline/pipeline/search/dedisperse_config.h"
#include "tautline/pipeline/search/search_filterbank.h"
#include "tautline/pipeline/simulation/simulate_filterbank_config.h"
#include "tautline/pipeline/simulation/simulate_photons_config.h"
#include "tautline/pipeline/simulation/simulate_voltages_config.h"
#include "tautline/pipeline/voltages/channelize_config.h"
#include "tautline/pipeline/voltages/correlate_voltages.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/corner_turn/corner_turn.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/detect/detect.h"
#include "tautline/stages/unpack/unpack.h"
#include "tests/support/error_of.h"

namespace tautline::tests::described_fields {
namespace {

using namespace tautline;
using core::FieldKind;

template <class Config>
class FieldsOf : public ::testing::Test {};
using Configs = ::testing::Types<
    pipeline::CorrelateConfig, pipeline::ChannelizeConfig, pipeline::DedisperseConfig,
    pipeline::SearchConfig, pipeline::AutocorrelateConfig, pipeline::SimulateConfig,
    pipeline::SimulateFilterbankConfig, pipeline::SimulatePhotonsConfig, pipeline::FitConfig,
    formats::ReaderOptions, formats::EarthOrientation, stages::unpack::Config,
    stages::channelize::Config, stages::corner_turn::Config, stages::correlate::Config,
    stages::dedisperse::Config, stages::detect::Config, stages::autocorrelate::Config>;
TYPED_TEST_SUITE(FieldsOf, Configs);

// A text of another value than `field` has by default, or nothing for what is no plain value.
template <class Config>
std::string other_text(const core::Field<Config>& field) {
  if (field.kind == FieldKind::text || field.kind == FieldKind::list) return "";
  std::vector<std::string> texts = field.names;
  texts.insert(texts.end(), {"true", "false", "16", "8", "0.5", "2", "4150"});
  for (const std::string& text : texts) try {
      Config config;
      field.set(config, text);
      if (field.text(config) != core::default_text(field)) return text;
    } catch (const core::Error&) {
    }
  ADD_FAILURE() << "no other value for " << field.name;
  return "";
}

TYPED_TEST(FieldsOf, AreDescribedOnceEach) {
  std::set<std::string> names, options;
  for (const auto& field : fields(TypeParam{}).all()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_TRUE(options.insert(core::option_name(field)).second) << core::option_name(field);
    EXPECT_FALSE(field.help.empty()) << field.name;
    EXPECT_EQ(field.help.find('\n'), std::string::npos) << field.name;
    EXPECT_EQ(field.option.find("--"), std::string::npos) << field.name;
  }
  EXPECT_FALSE(names.empty());
}

TYPED_TEST(FieldsOf, ADefaultConfigIsAllowedAndItsTextsReadBack) {
  for (const auto& field : fields(TypeParam{}).all()) {
    const std::string text = core::default_text(field);
    TypeParam config;
    try {
      field.check(config);
    } catch (const core::Error&) {
      continue;  // one that must be given
    }
    if (text.empty() || field.name == "bin_s") continue;  // 0: what the file says
    EXPECT_NO_THROW(field.set(config, text)) << field.name << ": " << text;
    EXPECT_EQ(field.text(config), text) << field.name;
  }
}

TYPED_TEST(FieldsOf, AreSetByNameAndNoOtherChanges) {
  for (const auto& field : fields(TypeParam{}).all()) {
    TypeParam config;
    const std::string text = other_text(field);
    if (text.empty()) continue;
    ASSERT_NO_THROW(core::set(config, field.name, text)) << field.name << ": " << text;
    for (const auto& one : fields(config).all())
      EXPECT_EQ(one.text(config), &one == &field ? text : core::default_text(one))
          << one.name << " after " << field.name << " = " << text;
  }
}

TYPED_TEST(FieldsOf, NonsenseIsRefusedByName) {
  for (const auto& field : fields(TypeParam{}).all()) {
    if (field.kind == FieldKind::text || field.name == "freed" || field.name == "shared") continue;
    TypeParam config;
    const core::Error error = error_of([&] { field.set(config, "no such value"); });
    EXPECT_EQ(error.kind(), core::ErrorKind::config);
    EXPECT_EQ(error.field(), field.name);
    EXPECT_EQ(error.value(), "no such value");
    EXPECT_FALSE(error.limit().empty()) << field.name;
  }
}

TEST(Fields, TextsThatStandForSeveralMembers) {
  pipeline::CorrelateConfig correlate;
  core::set(correlate, "filter.oversample", "32/27");
  EXPECT_EQ(correlate.filter.oversample_numerator, 32u);
  EXPECT_EQ(correlate.filter.oversample_denominator, 27u);
  core::set(correlate, "reader.bandwidth_hz", "-2e6");
  EXPECT_EQ(correlate.reader.assumed.bandwidth_hz, -2e6);
  core::set(correlate, "filter.window", "kaiser:9");
  EXPECT_EQ(correlate.filter.window.beta, 9);

  pipeline::SearchConfig search;
  EXPECT_FALSE(search.dms.given());
  core::set(search, "dms.range", "10:20:0.5");
  EXPECT_EQ(search.dms.low, 10);
  EXPECT_EQ(search.dms.high, 20);
  EXPECT_EQ(search.dms.step, 0.5);
  core::set(search, "dms.range", "56.8");
  EXPECT_EQ(search.dms.low, 56.8);
  EXPECT_EQ(search.dms.high, 56.8);
  EXPECT_GT(search.dms.step, 0);
  core::set(search, "dms.range", "0:20");
  EXPECT_EQ(search.dms.step, 0);
  core::set(search, "ignored_channels", "0:2,34");
  EXPECT_EQ(search.ignored_channels, (std::vector<std::size_t>{0, 1, 2, 34}));
  core::set(search, "dm_constant", "presto");
  EXPECT_EQ(search.dm_constant, 1 / 2.41e-4);
  // Those of frequencies in Hz, in GHz, and its inverse.
  for (const char* other : {"4.148808e15", "4.148808e-3", "2.41e-4"}) {
    const core::Error error = tests::error_of([&] { core::set(search, "dm_constant", other); });
    EXPECT_EQ(error.limit(), "4100 to 4200 s MHz^2 per pc cm^-3, or presto") << error.what();
  }
  core::set(search, "dm_constant", "4150");

  pipeline::AutocorrelateConfig counts;
  core::set(counts, "sensors.shape", "4x6");
  EXPECT_EQ(counts.sensors.rows, 4u);
  EXPECT_EQ(counts.sensors.columns, 6u);
  core::set(counts, "gate_s", "1e-9:2e-9");
  EXPECT_EQ(counts.gate_s, (std::pair{1e-9, 2e-9}));

  pipeline::SimulatePhotonsConfig photons;
  core::set(photons, "model", "diffusion:n=2,tau=2e-4,rate=5e4;diffusion:n=1,tau=1e-3,rate=1e4");
  ASSERT_EQ(photons.model.species.size(), 2u);
  EXPECT_EQ(photons.model.species[1].tau_s, 1e-3);

  pipeline::SimulateFilterbankConfig filterbank;
  core::set(filterbank, "scene.pulses",
            "dm=1,time=2,width=0.01,snr=20;dm=3,time=4,width=0.02,snr=30");
  ASSERT_EQ(filterbank.scene.pulses.size(), 2u);
  EXPECT_EQ(filterbank.scene.pulses[1].dm, 3);

  pipeline::FitConfig fit;
  core::set(fit, "bounds", "n=0.1:10,tau_d_s=:1e-2");
  EXPECT_EQ(fit.bounds.at("n"), (std::pair{0.1, 10.0}));
  EXPECT_EQ(fit.bounds.at("tau_d_s").second, 1e-2);
  core::set(fit, "range_s", "1e-6:");
  EXPECT_EQ(fit.lowest_lag_s, 1e-6);
  EXPECT_TRUE(std::isinf(fit.highest_lag_s));
}

TEST(Fields, RunsCheckTheirConfigFirst) {
  pipeline::CorrelateConfig correlate;
  correlate.filter.taps = 0;
  pipeline::SearchConfig search;
  search.links.width_octaves = 17;
  for (const auto& [work, words] : {std::pair<std::function<void()>, std::string>{
                                        [&] { pipeline::correlate_voltages(correlate, {}); },
                                        "filter.taps: 0, expected 1 to 4096"},
                                    {[&] { pipeline::search_filterbank(search, nullptr); },
                                     "links.width_octaves: 17, expected 0 to 16"}})
    EXPECT_EQ(error_of(work).what(), words);
}

}  // namespace
}  // namespace tautline::tests::described_fields

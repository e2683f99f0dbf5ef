// Sensor maps and whole runs from counts to curves.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/memory/memory_readers.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/sensor_map.h"
#include "tests/pipeline/photons/count_files.h"

namespace tautline::pipeline {
namespace {

using stages::autocorrelate::LagScheme;
using stages::autocorrelate::Pair;
using tests::config_for;
using tests::poisson;
using tests::save;

TEST(SensorMap, PixelOffsetsStayInsideTheArray) {
  const SensorMap right({.rows = 2, .columns = 3, .mask_path = {}, .pairs = "1:0"}, 6, 0, 0);
  EXPECT_EQ(right.pairs(), (std::vector<Pair>{{0, 1}, {1, 2}, {3, 4}, {4, 5}}));
  EXPECT_TRUE(right.cross());
  const SensorMap up_left({.mask_path = {}, .pairs = "-1:-1"}, 6, 2, 3);
  EXPECT_EQ(up_left.pairs(), (std::vector<Pair>{{4, 0}, {5, 1}}));
  const SensorMap all({.mask_path = {}, .pairs = "all"}, 2, 0, 0);
  EXPECT_EQ(all.pairs(), (std::vector<Pair>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_THROW(SensorMap({.mask_path = {}, .pairs = "0:1"}, 6, 0, 0), core::Error);
  EXPECT_THROW(SensorMap({.mask_path = {}, .pairs = "7:7"}, 6, 2, 3), core::Error);
  EXPECT_THROW(SensorMap({.rows = 2, .columns = 2, .mask_path = {}}, 6, 0, 0), core::Error);
}

TEST(SensorMap, MasksAndSums) {
  const tests::ScratchFolder scratch;
  const std::string mask = scratch / "mask.txt";
  std::ofstream(mask) << "1 1 0 0  # the upper row\n1,0,0,0\n";
  const SensorMap map({.mask_path = mask, .bin_rows = 2, .bin_columns = 2}, 8, 2, 4);
  ASSERT_EQ(map.sensors().size(), 2u);
  EXPECT_EQ(map.sensors()[0].members, (std::vector<std::uint32_t>{0, 1, 4}));
  EXPECT_FALSE(map.sensors()[1].good());
  EXPECT_EQ(map.good_curves(), 1u);
  EXPECT_EQ(map.type_of_sums(core::SampleType::u8), core::SampleType::u16);
  const std::vector<std::uint8_t> counts{255, 255, 9, 9, 255, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::uint16_t> sums(4, 777);
  map.add_sensors(core::View<const std::uint8_t, 2>(counts.data(), {2, 8}),
                  core::View<std::uint16_t, 2>(sums.data(), {2, 2}));
  EXPECT_EQ(sums, (std::vector<std::uint16_t>{765, 0, 8, 0}));
  EXPECT_THROW(SensorMap({.mask_path = mask}, 7, 0, 0), core::Error);
  EXPECT_THROW(SensorMap({.mask_path = {}, .bin_rows = 2, .bin_columns = 3}, 8, 2, 4), core::Error);
}

// The sums of a file read in blocks, with segments beside them, are those of the array in one call.
TEST(AutocorrelateCounts, IsTheStageOnTheArray) {
  const tests::ScratchFolder scratch;
  const std::size_t sensors = 83, samples = 5003;
  const auto counts = poisson(sensors * samples, 4);
  AutocorrelateConfig config = config_for(save(scratch, counts, sensors));
  config.memory_bytes = 64 << 20;
  AutocorrelateSummary summary;
  const auto device = device::open({}, {.threads = 2});
  const auto curves = correlate_counts(config, device, summary);
  ASSERT_EQ(curves.curves, sensors);
  EXPECT_EQ(curves.samples, samples);
  EXPECT_NEAR(curves.duration_s, samples * 1e-5, 1e-12);

  namespace stage = stages::autocorrelate;
  const stage::Config stage_config{
      .sensors = sensors, .lag_scheme = LagScheme::standard, .bins = 8, .levels = 6};
  const auto plan = stage::make_plan(stage_config, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  plan->execute(*queue, *state,
                core::View<const std::uint8_t, 2>(counts.data(), {samples, sensors}));
  std::vector<std::int64_t> sums(sensors * curves.lags);
  stage::Sums out;
  out.sums = core::View<std::int64_t, 2>(sums.data(), {sensors, curves.lags});
  plan->read(*queue, *state, out);
  EXPECT_EQ(curves.sums, sums);

  // Poisson counts: the scatter of g at a lag of n pairs is 1 / (mean sqrt(n)), within the scatter
  // of an estimate from ten segments (a quarter), averaged over 83 sensors: sigma 0.025.
  double ratio = 0;
  for (std::size_t s = 0; s < sensors; ++s)
    ratio += curves.standard_error[s * curves.lags + 3] * 4 * std::sqrt(5000.) / sensors;
  EXPECT_NEAR(ratio, 1, 0.25);
  // The trace holds every count.
  const auto& trace = curves.first[5].trace;
  double mean = 0;
  for (const double rate : trace.rate_khz)
    mean += rate / static_cast<double>(trace.rate_khz.size());
  EXPECT_NEAR(mean * 1000, curves.first[5].mean_rate_hz, curves.first[5].mean_rate_hz * 0.01);
}

TEST(AutocorrelateCounts, PartsOfARun) {
  const tests::ScratchFolder scratch;
  const auto counts = poisson(3000, 4);
  AutocorrelateConfig config = config_for(save(scratch, counts, 1));
  const auto device = device::open({}, {.threads = 1});
  AutocorrelateSummary summary;
  config.start_s = 1000 * 1e-5;
  config.duration_s = 700 * 1e-5;
  const auto part = correlate_counts(config, device, summary);
  EXPECT_EQ(part.samples, 700u);
  std::int64_t zero_lag = 0;
  for (std::size_t t = 1000; t < 1700; ++t) zero_lag += counts[t] * counts[t];
  EXPECT_EQ(part.sums[0], zero_lag);
}

TEST(AutocorrelateCounts, EmptyAndConstantInputsAreSaid) {
  const tests::ScratchFolder scratch;
  const auto device = device::open({}, {.threads = 1});
  AutocorrelateSummary empty, constant, dark;
  const auto none = correlate_counts(config_for(save(scratch, {}, 1)), device, empty);
  for (const double g : none.g) EXPECT_TRUE(std::isnan(g));
  EXPECT_FALSE(empty.warnings.empty());
  correlate_counts(config_for(save(scratch, std::vector<std::uint8_t>(900, 7), 1)), device,
                   constant);
  EXPECT_FALSE(constant.warnings.empty());
  correlate_counts(config_for(save(scratch, std::vector<std::uint8_t>(900, 0), 1)), device, dark);
  EXPECT_EQ(dark.undefined, 1u);
}

TEST(AutocorrelateCounts, TooLittleMemoryIsRefused) {
  const tests::ScratchFolder scratch;
  AutocorrelateConfig config = config_for(save(scratch, poisson(4000, 4), 40));
  config.memory_bytes = 100'000;
  AutocorrelateSummary summary;
  EXPECT_THROW(correlate_counts(config, device::open({}), summary), core::Error);
}

// An array has no name that says what it is; [time][sensor] with more sensors than times is likely the other way round.
TEST(AutocorrelateCounts, TransposedArraysAreSaidWhereTheyNeedTooMuchMemory) {
  const auto counts = poisson(4000, 4);
  const core::SampleView<2> view(counts.data(), core::SampleType::u8, {40, 100});
  AutocorrelateConfig config = config_for("array");
  config.source = [&] { return formats::open_memory_counts(view, {}); };
  config.memory_bytes = 100'000;
  AutocorrelateSummary summary;
  try {
    correlate_counts(config, device::open({}), summary);
    ADD_FAILURE() << "expected an error";
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find("has to be transposed, x.T; else"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tautline::pipeline

// The curves of the last part of a run are those of a run over that part alone, to the bit.
#include "tautline/pipeline/photons/rolling_curves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/curve_output.h"
#include "tautline/pipeline/photons/curve_stream.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using stages::autocorrelate::LagScheme;
using stages::autocorrelate::Tag;

constexpr std::size_t kRollingSensors = 3;

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

void expect_same_curves(const core::CorrelationCurves& a, const core::CorrelationCurves& b) {
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.lag_samples, b.lag_samples);
  EXPECT_EQ(a.counts, b.counts);
  EXPECT_EQ(a.sums, b.sums);
  EXPECT_EQ(a.lead_in, b.lead_in);
  EXPECT_EQ(a.monitor_direct, b.monitor_direct);
  EXPECT_EQ(a.monitor_delayed, b.monitor_delayed);
  EXPECT_EQ(a.totals, b.totals);
  EXPECT_TRUE(same_bits(a.g, b.g));
  ASSERT_EQ(a.first.size(), b.first.size());
  for (std::size_t p = 0; p < a.first.size(); ++p)
    EXPECT_EQ(a.first[p].mean_rate_hz, b.first[p].mean_rate_hz);
}

class RollingCurvesOf : public ::testing::Test {
 protected:
  CurveStreamConfig config(LagScheme scheme, bool cross) {
    CurveStreamConfig c;
    c.stage.sensors = kRollingSensors;
    c.stage.lag_scheme = scheme;
    c.stage.bins = 8;
    c.stage.levels = 4;
    c.stage.type = core::SampleType::u8;
    c.stage.max_samples = 5000;
    if (cross) c.stage.pairs = {{0, 1}, {2, 0}};
    c.segments = 1 + random() % 5;
    c.normalization = core::Normalization::symmetric;
    return c;
  }
  // [time][sensor]
  std::vector<std::uint8_t> counts(std::size_t samples) {
    std::vector<std::uint8_t> all(samples * kRollingSensors);
    for (auto& value : all) value = static_cast<std::uint8_t>(random() % 7);
    return all;
  }
  static core::SampleView<2> view(const std::vector<std::uint8_t>& all, std::size_t first,
                                  std::size_t last) {
    return core::View<const std::uint8_t, 2>(all.data() + first * kRollingSensors,
                                             {last - first, kRollingSensors});
  }
  core::CorrelationCurves alone(const CurveStreamConfig& window, device::Queue& queue,
                                const std::vector<std::uint8_t>& all, std::size_t first,
                                std::size_t last) {
    CurveStreamConfig c = window;
    c.window.reset();
    c.segments = 1;
    c.planned_samples = last - first;
    CurveStream stream(c, queue, stages::autocorrelate::make_plan(c.stage, device_));
    for (std::size_t t = first; t < last; t += 3000)
      stream.push(view(all, t, std::min(last, t + 3000)));
    core::CorrelationCurves curves;
    curves.cross = c.stage.pair_count() > 0 && !c.stage.pairs.empty();
    stream.finish(curves);
    return curves;
  }

  std::mt19937_64 random = tests::generator();
  std::shared_ptr<const device::Device> device_ = device::open(device::parse_selection("cpu"));
  std::unique_ptr<device::Queue> queue_ = device_->make_queue();
};

TEST_F(RollingCurvesOf, CountsAreThoseOfARunOverTheWindow) {
  for (const auto scheme : {LagScheme::chain, LagScheme::standard})
    for (const bool cross : {false, true})
      for (const std::size_t window : {8, 100, 300, 700, 4000}) {
        SCOPED_TRACE(std::to_string(window) + (cross ? " cross" : " auto"));
        CurveStreamConfig c = config(scheme, cross);
        c.window = steps_of_window(c.stage, window);
        EXPECT_LE(c.window->samples(), window);
        EXPECT_GT(2 * c.window->samples(), window);
        const std::size_t samples = 9000 + random() % 500;
        c.planned_samples = samples;
        const auto all = counts(samples);
        CurveStream stream(c, *queue_, stages::autocorrelate::make_plan(c.stage, device_));
        std::size_t compared = 0;
        for (std::size_t t = 0; t < samples;) {
          const std::size_t part = std::min<std::size_t>(samples - t, 1 + random() % 2500);
          stream.push(view(all, t, t + part));
          t += part;
          const std::uint64_t step = c.window->step_samples;
          ASSERT_EQ(stream.rolling() != nullptr, t / step >= c.window->steps);
          if (stream.rolling() == nullptr) continue;
          const auto end = static_cast<std::size_t>(t / step * step);
          const auto first = static_cast<std::size_t>(end - c.window->samples());
          EXPECT_EQ(stream.rolling()->first_sample(), first);
          core::CorrelationCurves rolling;
          rolling.cross = cross;
          stream.rolling()->finish(c.normalization, rolling);
          expect_same_curves(rolling, alone(c, *queue_, all, first, end));
          ++compared;
        }
        EXPECT_GE(compared, 2U);
        // The curves of the whole run are what they are without a window.
        core::CorrelationCurves whole;
        whole.cross = cross;
        stream.finish(whole);
        expect_same_curves(whole, alone(c, *queue_, all, 0, samples));
      }
}

TEST_F(RollingCurvesOf, PhotonsAreThoseOfARunOverTheWindow) {
  CurveStreamConfig c = config(LagScheme::chain, true);
  c.stage.type = core::SampleType::u32;
  c.window = steps_of_window(c.stage, 1500);
  const std::size_t samples = 8000;
  c.planned_samples = samples;
  std::vector<Tag> tags;
  for (std::uint64_t bin = 0; bin < samples; bin += random() % 4)
    tags.push_back({bin, static_cast<std::uint32_t>(random() % kRollingSensors)});
  const auto plan = stages::autocorrelate::make_tag_plan(c.stage);
  CurveStream stream(c, *queue_, plan);
  const auto below = [&](std::uint64_t bin) {
    return std::partition_point(tags.begin(), tags.end(),
                                [&](const Tag& tag) { return tag.bin < bin; });
  };
  for (std::uint64_t t = 0; t < samples;) {
    const std::uint64_t end = std::min<std::uint64_t>(samples, t + 1 + random() % 2000);
    stream.push_tags({below(t), below(end)}, end);
    t = end;
  }
  ASSERT_NE(stream.rolling(), nullptr);
  core::CorrelationCurves rolling, expected;
  rolling.cross = expected.cross = true;
  stream.rolling()->finish(c.normalization, rolling);
  const std::uint64_t first = stream.rolling()->first_sample(), last = first + rolling.samples;
  std::vector<Tag> inside(below(first), below(last));
  for (Tag& tag : inside) tag.bin -= first;
  CurveStreamConfig alone_config = c;
  alone_config.window.reset();
  alone_config.segments = 1;
  CurveStream alone_stream(alone_config, *queue_, plan);
  alone_stream.push_tags(inside, rolling.samples);
  alone_stream.finish(expected);
  expect_same_curves(rolling, expected);
}

TEST_F(RollingCurvesOf, WindowsThatAreNoneAreRefused) {
  CurveStreamConfig c = config(LagScheme::chain, false);
  EXPECT_THROW((void)steps_of_window(c.stage, 7), core::Error);
  EXPECT_EQ(steps_of_window(c.stage, 8).samples(), 8U);
  c.stage.type = core::SampleType::f32;
  EXPECT_THROW((void)steps_of_window(c.stage, 1000), core::Error);
}

// The whole run: the file beside the curves is that of a run over its part.
TEST_F(RollingCurvesOf, GoIntoAFileOfTheirOwn) {
  const tests::ScratchFolder scratch;
  const auto all = counts(20'000);
  std::ofstream(scratch / "counts.raw", std::ios::binary)
      .write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  AutocorrelateConfig run;
  run.input = scratch / "counts.raw";
  run.output = scratch / "run.zip";
  run.raw = {.dtype = core::SampleType::u8, .sensors = kRollingSensors};
  run.bin_s = 0.5;
  run.bins = 8;
  run.levels = 4;
  run.window_s = 2000;
  autocorrelate_counts(run, device_);
  EXPECT_EQ(window_path(run.output), scratch / "run.window.zip");
  EXPECT_EQ(window_path("run.table.csv"), "run.window.table.csv");
  const WindowSteps steps = steps_of_window(config(LagScheme::chain, false).stage, 4000);
  AutocorrelateConfig part = run;
  part.window_s = 0;
  part.output = scratch / "part.zip";
  part.start_s =
      0.5 * static_cast<double>(20'000 / steps.step_samples * steps.step_samples - steps.samples());
  part.duration_s = 0.5 * static_cast<double>(steps.samples());
  autocorrelate_counts(part, device_);
  const auto windows = formats::curves::read(window_path(run.output)).curves,
             parts = formats::curves::read(part.output).curves;
  ASSERT_EQ(windows.size(), kRollingSensors);
  ASSERT_EQ(parts.size(), kRollingSensors);
  for (std::size_t k = 0; k < windows.size(); ++k) {
    EXPECT_EQ(windows[k].lag_s, parts[k].lag_s);
    EXPECT_TRUE(same_bits(windows[k].g, parts[k].g)) << k;
  }
  run.save_state = scratch / "state";
  EXPECT_THROW(autocorrelate_counts(run, device_), core::Error);
}

}  // namespace
}  // namespace tautline::pipeline

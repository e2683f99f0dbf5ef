// Stops that are found as a stream comes cut it as those that were known before.
#include "tautline/pipeline/photons/curve_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using stages::autocorrelate::Tag;

CurveStreamConfig config_of_two_sensors() {
  CurveStreamConfig config;
  config.stage.sensors = 2;
  config.stage.bins = 8;
  config.stage.levels = 4;
  config.stage.type = core::SampleType::u8;
  config.stage.max_samples = 5000;
  config.segments = 1;
  return config;
}

// Blocks end anywhere, and where a stop begins, which is then known only with the next block; stops overlap by a bin, as
// two losses of records with one photon between them do.
TEST(CurveStreams, AreCutByStopsThatComeWithTheTags) {
  auto random = tests::generator();
  constexpr std::uint64_t kBins = 20'000;
  const std::shared_ptr<const device::Device> device =
      device::open(device::parse_selection("cpu"), {});
  const auto queue = device->make_queue();
  for (int trial = 0; trial < 20; ++trial) {
    SCOPED_TRACE(fmt::format("trial {}", trial));
    std::vector<Tag> tags;
    for (std::uint64_t bin = 0; bin < kBins; bin += random() % 5)
      tags.push_back({bin, static_cast<std::uint32_t>(random() % 2)});
    std::vector<BinRange> stops;
    for (std::uint64_t first = random() % 3000; first + 2000 < kBins;) {
      stops.push_back({first, first + 2 + random() % 900});
      first = stops.back().end + (random() % 3 == 0 ? 500 + random() % 3000 : random() % 2) - 1;
    }
    CurveStreamConfig config = config_of_two_sensors();
    config.stops = stops;
    join_ranges(config.stops);
    const auto plan = stages::autocorrelate::make_tag_plan(config.stage);
    CurveStream known(config, *queue, plan);
    known.push_tags(tags, kBins);

    config.stops.clear();
    config.more_stops = true;
    CurveStream found(config, *queue, plan);
    auto next = stops.begin();
    for (std::uint64_t done = 0; done < kBins;) {
      std::uint64_t until = std::min(kBins, done + 1 + random() % 3000);
      for (; next != stops.end() && next->first < until; ++next) {
        if (next->first > done && random() % 2 == 0) {
          until = next->first;
          break;
        }
        found.add_stop(*next);
      }
      std::vector<Tag> part;
      std::copy_if(tags.begin(), tags.end(), std::back_inserter(part),
                   [&](const Tag& tag) { return tag.bin >= done && tag.bin < until; });
      found.push_tags(part, until);
      done = until;
    }

    core::CorrelationCurves a, b;
    known.finish(a);
    found.finish(b);
    EXPECT_LT(a.samples, kBins);
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_EQ(a.counts, b.counts);
    EXPECT_EQ(a.sums, b.sums);
    EXPECT_EQ(a.lead_in, b.lead_in);
    EXPECT_EQ(a.monitor_direct, b.monitor_direct);
    EXPECT_EQ(a.monitor_delayed, b.monitor_delayed);
    EXPECT_EQ(a.totals, b.totals);
  }
}

// A live run may lose packets as often as it likes.
TEST(CurveStreams, KeepAsManyStopsAsTheirTracesNeed) {
  auto random = tests::generator();
  constexpr std::uint64_t kBins = 200'000;
  const std::shared_ptr<const device::Device> device =
      device::open(device::parse_selection("cpu"), {});
  const auto queue = device->make_queue();
  CurveStreamConfig config = config_of_two_sensors();
  config.open_ended = config.more_stops = true;
  const auto plan = stages::autocorrelate::make_tag_plan(config.stage);
  CurveStream found(config, *queue, plan);
  config.open_ended = false;  // which have no stops at first
  std::vector<Tag> tags;
  for (std::uint64_t done = 0; done < kBins;) {
    const std::uint64_t lost = done + 1 + random() % 20, until = lost + 1 + random() % 9;
    found.add_stop({lost, lost + 1});
    if (until > lost + 1) found.add_stop({lost + 1, until});
    config.stops.push_back({lost, until});
    std::vector<Tag> part;
    for (std::uint64_t bin = done; bin < until; bin += 1 + random() % 5)
      part.push_back({bin, static_cast<std::uint32_t>(random() % 2)});
    tags.insert(tags.end(), part.begin(), part.end());
    found.push_tags(part, until);
    done = until;
  }
  EXPECT_GT(config.stops.size(), 8000u);
  EXPECT_LT(found.stops().size(), 5000u);
  CurveStream known(config, *queue, plan);
  known.push_tags(tags, config.stops.back().end);
  core::CorrelationCurves a, b;
  known.finish(a);
  found.finish(b);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.sums, b.sums);
  for (std::size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(a.first[s].trace.time_s, b.first[s].trace.time_s);
    EXPECT_EQ(a.first[s].trace.rate_khz, b.first[s].trace.rate_khz);
  }
  const std::vector<std::uint8_t> good{1, 1};
  EXPECT_EQ(known.empty_stretches(good, 1e-6).size(), found.empty_stretches(good, 1e-6).size());
}

}  // namespace
}  // namespace tautline::pipeline

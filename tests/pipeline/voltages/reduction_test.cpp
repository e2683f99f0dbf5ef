// Visibilities that are averaged and chosen from, against plain loops over all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/voltages/reduction_node.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kReducedAntennas = 3, kSpectraEach = 10;
const core::Rational kReducedRate{1'280'000, 1};
const IntegrationClock kReducedClock{64, 512, kReducedRate};

struct GivenSegment {
  core::Instant start;
  std::vector<std::size_t> spectra;  // of each integration
};

// One integration, as it came or as it is expected.
struct Given {
  core::Instant segment_start;
  std::uint64_t first = 0;
  std::size_t spectra = 0;
  std::size_t segment = 0;
  std::vector<std::complex<float>> visibilities;  // [channel][baseline]
  std::vector<std::int64_t> counts;
  IntegrationTime time;
};

formats::ArrayLayout reduced_array(bool feed_slow) {
  formats::ArrayLayout array = formats::unknown_array(kReducedAntennas, 2);
  if (feed_slow) {
    array.inputs.clear();
    for (const char feed : {'x', 'y'})
      for (std::size_t a = 0; a < kReducedAntennas; ++a) array.inputs.push_back({a, feed});
  }
  return array;
}

/// Gives integrations that a test made.
class MadeVisibilities final : public engine::Node {
 public:
  MadeVisibilities(const std::vector<Given>& made, formats::VisibilityDescription description)
      : made_(made), description_(std::move(description)) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override {
    const std::vector<std::string> axes{"channel", "baseline"};
    const std::vector<std::size_t> extents{description_.channel_hz.size(),
                                           core::baseline_count(description_.array.inputs.size())};
    return {{.kind = "visibilities",
             .arrays = {{"visibilities", core::SampleType::cf32, axes, extents},
                        {"counts", core::SampleType::i64, axes, extents}},
             .rate_hz = core::Rational{20'000, 1},
             .start = made_.front().segment_start,
             .max_samples = kSpectraEach,
             .details = Visibilities{description_, {}, {}, kReducedClock, kSpectraEach}}};
  }
  bool produce(engine::Outputs& outputs) override {
    const Given& one = made_[at_++];
    engine::Block& out = outputs.begin();
    out.segment = one.segment;
    out.segment_start = one.segment_start;
    out.first = one.first;
    out.samples = one.spectra;
    const auto values = out.view<2>(0).as<std::complex<float>>();
    const auto counts = out.view<2>(1).as<std::int64_t>();
    for (std::size_t c = 0, k = 0; c < values.extent(0); ++c)
      for (std::size_t b = 0; b < values.extent(1); ++b, ++k) {
        values(c, b) = one.visibilities[k];
        counts(c, b) = one.counts[k];
      }
    out.payload_of<IntegrationTime>() = one.time;
    outputs.commit();
    return at_ < made_.size();
  }

 private:
  const std::vector<Given>& made_;
  formats::VisibilityDescription description_;
  std::size_t at_ = 0;
};

class ReducedSink final : public engine::Node {
 public:
  ReducedSink(std::vector<Given>& given, formats::VisibilityDescription& description)
      : given_(given), description_(description) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    description_ = inputs[0].detail<Visibilities>().description;
    return {};
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    Given& one = given_.emplace_back();
    one.segment_start = block.segment_start;
    one.first = block.first;
    one.spectra = block.samples;
    one.segment = block.segment;
    one.time = block.payload_of<IntegrationTime>();
    const auto values = block.view<2>(0).as<const std::complex<float>>();
    const auto counts = block.view<2>(1).as<const std::int64_t>();
    for (std::size_t c = 0; c < values.extent(0); ++c)
      for (std::size_t b = 0; b < values.extent(1); ++b) {
        one.visibilities.push_back(values(c, b));
        one.counts.push_back(counts(c, b));
      }
  }

 private:
  std::vector<Given>& given_;
  formats::VisibilityDescription& description_;
};

formats::VisibilityDescription reduced_description(std::size_t channels, bool feed_slow) {
  formats::VisibilityDescription d;
  d.array = reduced_array(feed_slow);
  for (std::size_t c = 0; c < channels; ++c)
    d.channel_hz.push_back(150e6 + 1e4 * static_cast<double>(c));
  d.channel_width_hz = 1e4;
  d.integration_s = static_cast<double>(kSpectraEach) * 64 / kReducedRate.value();
  d.nominal_count = kSpectraEach;
  return d;
}

std::vector<Given> made_visibilities(const std::vector<GivenSegment>& segments,
                                     std::size_t channels, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<Given> made;
  const std::size_t values = channels * core::baseline_count(2 * kReducedAntennas);
  for (std::size_t s = 0; s < segments.size(); ++s) {
    std::uint64_t first = 0;
    for (const std::size_t spectra : segments[s].spectra) {
      Given one{segments[s].start, first, spectra, s, {}, {}, {}};
      for (std::size_t k = 0; k < values; ++k) {
        one.visibilities.push_back({normal(random), normal(random)});
        one.counts.push_back(std::uniform_int_distribution<std::int64_t>(
            random() % 3 == 0 ? 0 : 1, static_cast<std::int64_t>(spectra))(random));
        if (random() % 5 == 0) one.counts.back() = 0;
      }
      one.time = kReducedClock.time_of(one.segment_start, first, spectra, kSpectraEach,
                                       {first, first + spectra});
      made.push_back(std::move(one));
      first += spectra;
    }
  }
  return made;
}

// By the definition: of every integration and channel that falls together, the means weighted with their counts.
std::vector<Given> expected_reduction(const std::vector<Given>& made, std::size_t channels,
                                      const Reduction& r, const formats::ArrayLayout& array) {
  std::vector<std::pair<std::size_t, std::size_t>> kept;  // baseline in the triangle
  for (std::size_t i = 0, b = 0; i < array.inputs.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j, ++b)
      if (!r.autos_only || array.inputs[i].antenna == array.inputs[j].antenna)
        kept.push_back({kept.size(), b});
  const std::size_t all = core::baseline_count(array.inputs.size());
  const std::size_t out_channels = channels / r.average_channels;
  std::vector<Given> result;
  for (std::size_t k = 0; k < made.size();) {
    std::size_t end = k + 1;
    while (end < made.size() && end - k < r.average_time && made[end].segment == made[k].segment)
      ++end;
    Given one{made[k].segment_start, made[k].first, 0, made[k].segment, {}, {}, {}};
    for (std::size_t t = k; t < end; ++t) one.spectra += made[t].spectra;
    for (std::size_t c = 0; c < out_channels; ++c)
      for (const auto& [place, baseline] : kept) {
        std::complex<double> sum = 0;
        std::int64_t count = 0;
        for (std::size_t t = k; t < end; ++t)
          for (std::size_t f = c * r.average_channels; f < (c + 1) * r.average_channels; ++f) {
            const std::size_t at = f * all + baseline;
            sum += std::complex<double>(made[t].visibilities[at]) *
                   static_cast<double>(made[t].counts[at]);
            count += made[t].counts[at];
          }
        one.visibilities.push_back(
            count == 0 ? 0 : std::complex<float>(sum / static_cast<double>(count)));
        one.counts.push_back(count);
      }
    // From the start of the first one's first spectrum to the end of the last one's last.
    const std::uint64_t from = one.first * 64, to = (one.first + one.spectra - 1) * 64 + 512;
    one.time = {
        core::advance_half(one.segment_start, static_cast<std::int64_t>(from + to), kReducedRate),
        static_cast<double>(one.spectra) * 64 / kReducedRate.value()};
    result.push_back(std::move(one));
    k = end;
  }
  return result;
}

std::vector<Given> reduced(const std::vector<Given>& made,
                           const formats::VisibilityDescription& description, const Reduction& r,
                           formats::VisibilityDescription& given_description) {
  std::vector<Given> given;
  engine::Graph graph;
  const auto source = graph.add("made", std::make_unique<MadeVisibilities>(made, description));
  const auto node = graph.add("reduction", std::make_unique<ReductionNode>(device::open({}), r));
  graph.connect(source, node);
  graph.connect(node, graph.add("sink", std::make_unique<ReducedSink>(given, given_description)));
  engine::Run(std::move(graph)).go();
  return given;
}

// Averages of integrations between padding: the first and the last spectrum that is valid in any of them.
TEST(Reduction, PaddingShortensAveragesOfWhichItTakesMoreThanAQuarter) {
  auto random = tests::generator();
  const core::Instant start = core::parse_utc("2026-03-20-14:00:00");
  constexpr std::size_t kAverage = 4, kWhole = kAverage * kSpectraEach;
  for (std::uint64_t data_begin = 0; data_begin < kWhole; data_begin += 1 + random() % 3)
    for (const std::uint64_t data_end : {kWhole - 8, kWhole, kWhole + 5}) {
      if (data_end <= data_begin) continue;
      const auto description = reduced_description(1, false);
      auto made = made_visibilities({{start, {10, 10, 10, 10, 10}}}, 1, random);
      for (Given& one : made) {
        const std::uint64_t from = std::max(one.first, data_begin),
                            to = std::min(one.first + one.spectra, data_end);
        one.time.of_data = from < to ? ValidSpectra{from, to} : ValidSpectra{};
      }
      formats::VisibilityDescription d;
      const auto given = reduced(made, description, {{}, 1, kAverage, false}, d);
      ASSERT_EQ(given.size(), 2U);
      const auto expect_span = [&](const Given& one, std::uint64_t first, std::uint64_t end) {
        SCOPED_TRACE(testing::Message() << data_begin << " to " << data_end);
        const std::uint64_t from = first * 64, to = (end - 1) * 64 + 512;
        EXPECT_EQ(one.time.middle,
                  core::advance_half(start, static_cast<std::int64_t>(from + to), kReducedRate));
        EXPECT_EQ(one.time.integration_s,
                  static_cast<double>(end - first) * 64 / kReducedRate.value());
      };
      const std::uint64_t end = std::min<std::uint64_t>(data_end, kWhole);
      const bool few = 4 * (end - data_begin) < 3 * kWhole;
      expect_span(given[0], few ? data_begin : 0, few ? end : kWhole);
      // One integration instead of four; without data it keeps its time.
      expect_span(given[1], kWhole, data_end > kWhole ? data_end : kWhole + kSpectraEach);
    }
}

TEST(Reduction, IsTheMeanOfAllValidSamples) {
  auto random = tests::generator();
  const core::Instant start = core::parse_utc("2026-03-20-14:00:00");
  const std::vector<GivenSegment> segments{
      {start, {10, 10, 10, 10, 10, 10, 3}},
      {core::advance(start, 10'000'000, kReducedRate), {10, 10, 10}},
      {core::advance(start, 20'000'001, kReducedRate), {1}}};
  for (const bool feed_slow : {false, true})
    for (const std::size_t channels : {1u, 6u, 15u})
      for (const std::size_t group : {1u, 3u, 5u, 15u})
        for (const std::size_t time : {1u, 2u, 3u, 7u, 100u})
          for (const bool autos : {false, true}) {
            if (channels % group != 0) continue;
            const Reduction r{{}, group, time, autos};
            const auto description = reduced_description(channels, feed_slow);
            const auto made = made_visibilities(segments, channels, random);
            formats::VisibilityDescription d;
            const auto given = reduced(made, description, r, d);
            const auto expected = expected_reduction(made, channels, r, description.array);
            ASSERT_EQ(given.size(), expected.size());
            for (std::size_t k = 0; k < given.size(); ++k) {
              ASSERT_EQ(given[k].counts, expected[k].counts);
              EXPECT_EQ(given[k].spectra, expected[k].spectra);
              EXPECT_EQ(given[k].time.middle, expected[k].time.middle);
              EXPECT_EQ(given[k].time.integration_s, expected[k].time.integration_s);
              ASSERT_EQ(given[k].visibilities.size(), expected[k].visibilities.size());
              // Sums of a few hundred doubles, added in another order, then rounded to float.
              for (std::size_t v = 0; v < given[k].visibilities.size(); ++v)
                ASSERT_LE(std::abs(given[k].visibilities[v] - expected[k].visibilities[v]), 1e-6);
            }
            EXPECT_EQ(d.autos_only, autos);
            EXPECT_EQ(d.nominal_count, static_cast<std::int64_t>(kSpectraEach * group * time));
            EXPECT_DOUBLE_EQ(d.channel_width_hz, 1e4 * static_cast<double>(group));
            EXPECT_DOUBLE_EQ(d.integration_s,
                             description.integration_s * static_cast<double>(time));
            ASSERT_EQ(d.channel_hz.size(), channels / group);
            for (std::size_t c = 0; c < d.channel_hz.size(); ++c)
              EXPECT_DOUBLE_EQ(d.channel_hz[c], 150e6 + 1e4 * (static_cast<double>(c * group) +
                                                               static_cast<double>(group - 1) / 2));
          }
}

TEST(Reduction, RefusesWhatDoesNotFitTheChannels) {
  auto random = tests::generator();
  const auto made = made_visibilities({{core::Instant{}, {10}}}, 15, random);
  formats::VisibilityDescription d;
  for (const std::size_t group : {2u, 4u, 16u, 30u}) try {
      reduced(made, reduced_description(15, false), {{}, group, 1, false}, d);
      ADD_FAILURE() << group;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::config);
      EXPECT_NE(std::string(error.what()).find("average_channels"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("divisor of the 15"), std::string::npos);
    }
}

TEST(Reduction, KeepsChannelsOfTheStream) {
  const auto kept = [](std::size_t first, std::size_t last) {
    const ChannelRange range = kept_channels({{{first, last}}, 1, 1, false}, 16);
    return std::pair(range.first, range.count);
  };
  EXPECT_EQ(kept(0, 15), std::pair(std::size_t{0}, std::size_t{16}));
  EXPECT_EQ(kept(15, 15), std::pair(std::size_t{15}, std::size_t{1}));
  EXPECT_EQ(kept(3, 7), std::pair(std::size_t{3}, std::size_t{5}));
  EXPECT_EQ(kept_channels({}, 16).count, 16u);
  EXPECT_THROW(kept(0, 16), core::Error);
  EXPECT_THROW(kept(16, 16), core::Error);
  EXPECT_THROW(kept(5, 4), core::Error);
  Reduction reduction;
  for (const char* text : {"5", "5:4", "-1:4", "1:2:3", "a:b", "1.5:2"})
    EXPECT_THROW(core::set(reduction, "channel_range", text), core::Error) << text;
  core::set(reduction, "channel_range", "3:7");
  EXPECT_EQ(reduction.channel_range, std::pair(std::size_t{3}, std::size_t{7}));
}

}  // namespace
}  // namespace tautline::pipeline

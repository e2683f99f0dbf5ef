// The plan for tags: a TagCorrelator for each pair of sensors.
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "tautline/core/byte_archive.h"
#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/checks.h"
#include "tautline/stages/autocorrelate/cpu/tag_correlator.h"
#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::stages::autocorrelate {

namespace {

class TagState final : public State {
 public:
  explicit TagState(const Config& config) : config_(config), series(config.sensors) { reset(); }

  std::uint64_t samples() const override { return samples_; }
  void reset() override {
    correlators.clear();
    for (std::size_t p = 0; p < config_.pair_count(); ++p) {
      const bool same = config_.pairs.empty() || config_.pairs[p].a == config_.pairs[p].b;
      correlators.emplace_back(config_, same);
    }
    samples_ = 0;
  }
  std::vector<std::byte> save() const override {
    std::vector<std::byte> bytes;
    core::ByteWriter writer([&](std::span<const std::byte> some) {
      bytes.insert(bytes.end(), some.begin(), some.end());
    });
    writer(samples_);
    // With a writer, exchange() does not change them.
    for (const TagCorrelator& correlator : correlators)
      const_cast<TagCorrelator&>(correlator).exchange(writer);
    return bytes;
  }
  void load(std::span<const std::byte> bytes) override {
    core::ByteReader reader(bytes, "autocorrelate state of tags");
    reader(samples_);
    for (TagCorrelator& correlator : correlators) correlator.exchange(reader);
    reader.finish();
  }
  void advance(std::uint64_t until) { samples_ = until; }
  bool refused() const {
    return std::any_of(correlators.begin(), correlators.end(),
                       [](const TagCorrelator& correlator) { return correlator.refused(); });
  }

 private:
  Config config_;
  std::uint64_t samples_ = 0;

 public:
  std::vector<TagCorrelator> correlators;   ///< [pair]
  std::vector<std::vector<Window>> series;  ///< [sensor] of one call
};

class OwnTagPlan final : public TagPlan {
 public:
  explicit OwnTagPlan(const Config& config) : config_(config) {}

  const Config& config() const override { return config_; }
  std::string backend() const override { return "tags"; }
  // At most two windows per bin and level are within reach of the lags. A call's tags are not
  // counted.
  device::MemoryUse bytes() const override {
    const std::size_t level = config_.bins * (4 * sizeof(Window) + sizeof(std::uint64_t));
    return {config_.pair_count() * (config_.levels * level + sizeof(TagCorrelator)), 0};
  }
  std::unique_ptr<State> make_state(const device::Queue&) const override {
    return std::make_unique<TagState>(config_);
  }

  void execute(device::Queue& queue, State& state,
               const Samples<std::uint8_t>& samples) const override {
    take(queue, state, samples);
  }
  void execute(device::Queue& queue, State& state,
               const Samples<std::uint16_t>& samples) const override {
    take(queue, state, samples);
  }
  void execute(device::Queue& queue, State& state,
               const Samples<std::uint32_t>& samples) const override {
    take(queue, state, samples);
  }
  void execute(device::Queue&, State&, const Samples<float>& samples) const override {
    check_samples(config_, CountType::f32, samples.extents());
  }

  void execute_tags(device::Queue& queue, State& state, std::span<const Tag> tags,
                    std::uint64_t until) const override {
    auto& own = static_cast<TagState&>(state);
    std::uint64_t last = own.samples();
    for (auto& series : own.series) series.clear();
    for (const Tag& tag : tags) {
      if (tag.bin < last || tag.bin >= until || tag.sensor >= config_.sensors)
        throw core::Error(
            core::ErrorKind::config, "autocorrelate tags",
            "sensor " + std::to_string(tag.sensor) + " in bin " + std::to_string(tag.bin),
            "bins " + std::to_string(last) + " to " + std::to_string(until - 1) +
                ", sensors below " + std::to_string(config_.sensors),
            "give tags in order of time");
      last = tag.bin;
      auto& series = own.series[tag.sensor];
      if (!series.empty() && series.back().index == tag.bin) {
        ++series.back().count;
      } else {
        series.push_back({tag.bin, 1});
      }
    }
    push(queue, own, until);
  }

  void read(device::Queue& queue, const State& state,
            const Sums<std::int64_t>& out) const override {
    check_sums(config_, out);
    const auto& own = static_cast<const TagState&>(state);
    if (own.refused()) throw_overflow(own.samples());
    if (!out.counts.empty()) {
      std::size_t at = 0;
      for (const Lag& lag : lags_of(config_))
        out.counts[at++] = pairs_at(config_, lag, own.samples());
    }
    queue.parallel_for(own.correlators.size(), 1,
                       [&](std::size_t first, std::size_t last, std::size_t) {
                         for (std::size_t p = first; p < last; ++p)
                           own.correlators[p].read(own.samples(), p, out);
                       });
  }
  void read(device::Queue&, const State&, const Sums<double>& out) const override {
    check_sums(config_, out);
  }

 private:
  template <class Count>
  void take(device::Queue& queue, State& state, const Samples<Count>& samples) const {
    check_samples(config_, type_of<Count>(), samples.extents());
    auto& own = static_cast<TagState&>(state);
    for (std::size_t s = 0; s < config_.sensors; ++s) {
      own.series[s].clear();
      for (std::size_t t = 0; t < samples.extent(0); ++t)
        if (const Count count = samples(t, s); count != 0)
          own.series[s].push_back({own.samples() + t, count});
    }
    push(queue, own, own.samples() + samples.extent(0));
  }

  void push(device::Queue& queue, TagState& own, std::uint64_t until) const {
    if (own.refused()) throw_overflow(own.samples());
    queue.parallel_for(
        own.correlators.size(), 1, [&](std::size_t first, std::size_t last, std::size_t) {
          for (std::size_t p = first; p < last; ++p) {
            const auto sensor = static_cast<std::uint32_t>(p);
            const Pair pair = config_.pairs.empty() ? Pair{sensor, sensor} : config_.pairs[p];
            own.correlators[p].push(own.series[pair.a], own.series[pair.b], until);
          }
        });
    own.advance(until);
    if (own.refused()) throw_overflow(until);
  }

  Config config_;
};

}  // namespace

std::shared_ptr<const TagPlan> make_tag_plan(const Config& config) {
  check_config(config);
  if (config.type == CountType::f32 || config.coarsening != Coarsening::sum)
    throw core::Error(core::ErrorKind::unsupported, "autocorrelate tags",
                      config.type == CountType::f32 ? "floats" : "coarsening by one of two samples",
                      "whole counts that are summed", "bin them instead");
  return std::make_shared<OwnTagPlan>(config);
}

}  // namespace tautline::stages::autocorrelate

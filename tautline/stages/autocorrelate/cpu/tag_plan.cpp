// The plan for tags: a TagCorrelator for each pair of sensors.
#include <algorithm>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/cpu/tag_correlator.h"
#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::stages::autocorrelate {

namespace {

class TagState final : public BaseState {
 public:
  explicit TagState(const Config& config)
      : BaseState(config, "tags, near pairs"), series(config.sensors), config_(config) {
    reset();
  }

  std::vector<TagCorrelator> correlators;   ///< [pair]
  std::vector<std::vector<Window>> series;  ///< [sensor] of one call

 private:
  void clear() override {
    correlators.clear();
    for (std::size_t p = 0; p < config_.pair_count(); ++p)
      correlators.emplace_back(config_, config_.pair(p).a == config_.pair(p).b);
  }
  void save_content(core::ByteWriter& writer) const override {
    // With a writer, exchange() does not change them.
    for (const TagCorrelator& correlator : correlators)
      const_cast<TagCorrelator&>(correlator).exchange(writer);
  }
  void load_content(core::ByteReader& reader) override {
    for (TagCorrelator& correlator : correlators) correlator.exchange(reader);
  }

  Config config_;
};

class OwnTagPlan final : public BasePlan<TagPlan> {
 public:
  explicit OwnTagPlan(const Config& config) : config_(config) {}

  const Config& config() const override { return config_; }
  std::string backend() const override { return "tags"; }
  // At most two windows per bin and level are within reach of the lags. A call's tags are not
  // counted.
  device::MemoryUse bytes() const override {
    const std::size_t level = config_.bins * (4 * sizeof(Window) + 2 * sizeof(std::uint64_t));
    return {config_.pair_count() * (config_.levels * level + sizeof(TagCorrelator)), 0};
  }
  std::unique_ptr<State> make_state(const device::Queue&) const override {
    return std::make_unique<TagState>(config_);
  }

  void execute_tags(device::Queue& queue, State& state, std::span<const Tag> tags,
                    std::uint64_t until) const override {
    auto& own = static_cast<TagState&>(state);
    own.require_sums();
    std::uint64_t last = own.taken;
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
    own.require_sums();
  }

 private:
  void take(device::Queue& queue, BaseState& state,
            const core::SampleView<2>& samples) const override {
    auto& own = static_cast<TagState&>(state);
    core::with_type<std::uint8_t, std::uint16_t, std::uint32_t>(
        samples, "samples", [&](const auto& counts) {
          for (std::size_t s = 0; s < config_.sensors; ++s) {
            own.series[s].clear();
            for (std::size_t t = 0; t < counts.extent(0); ++t)
              if (counts(t, s) != 0) own.series[s].push_back({own.taken + t, counts(t, s)});
          }
        });
    push(queue, own, own.taken + samples.extent(0));
  }
  void push(device::Queue& queue, TagState& own, std::uint64_t until) const {
    queue.parallel_for(own.correlators.size(), 1,
                       [&](std::size_t first, std::size_t last, std::size_t) {
                         for (std::size_t p = first; p < last; ++p) {
                           const Pair pair = config_.pair(p);
                           own.correlators[p].push(own.series[pair.a], own.series[pair.b], until);
                         }
                       });
    // Levels of few pairs keep all threads busy.
    const std::size_t levels = config_.levels;
    queue.parallel_for(own.correlators.size() * levels, 1,
                       [&](std::size_t first, std::size_t last, std::size_t) {
                         for (std::size_t k = first; k < last; ++k)
                           own.correlators[k / levels].multiply_level(k % levels, until);
                       });
    for (TagCorrelator& correlator : own.correlators) correlator.settle(until);
    own.taken = until;
    own.refused = std::any_of(own.correlators.begin(), own.correlators.end(),
                              [](const TagCorrelator& one) { return one.refused(); });
  }
  void write(device::Queue& queue, const BaseState& state, const Sums& out) const override {
    const auto& own = static_cast<const TagState&>(state);
    const TypedSums<std::int64_t> sums(out);
    queue.parallel_for(own.correlators.size(), 1,
                       [&](std::size_t first, std::size_t last, std::size_t) {
                         for (std::size_t p = first; p < last; ++p)
                           own.correlators[p].read(own.taken, p, sums);
                       });
  }

  Config config_;
};

}  // namespace

std::shared_ptr<const TagPlan> make_tag_plan(const Config& config) {
  check_config(config);
  if (config.floats() || config.coarsening != Coarsening::sum)
    throw core::Error(core::ErrorKind::unsupported, "autocorrelate tags",
                      config.floats() ? "floats" : "coarsening by one of two samples",
                      "whole counts that are summed", "bin them instead");
  return std::make_shared<OwnTagPlan>(config);
}

}  // namespace tautline::stages::autocorrelate

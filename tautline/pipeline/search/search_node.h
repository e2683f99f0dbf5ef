// A search in a graph: a filterbank in, the pulses in all its trials out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/kept_trials.h"
#include "tautline/pipeline/search/search_pass.h"

namespace tautline::pipeline {

class SearchPlan;

/// Details of streams of kind "pulses". Blocks have the filterbank's times.
struct PulseStream {
  static constexpr const char* kKind = "pulses";
  FilterbankStream filterbank;
  stages::dedisperse::DmPlan trials;
  stages::detect::Links links;
  double dm_constant = core::kDispersionConstant;
  std::shared_ptr<const SearchPlan> plan = {};  ///< SearchNodeConfig's
};

/// Trials that one pass over a part has searched.
struct SearchedTrials {
  std::size_t range = 0, first_trial = 0;  ///< of the plan of trials
  std::size_t widest = 1;                  ///< boxcar, samples
  std::vector<std::uint64_t> lengths;      ///< of each trial: its samples; 0: not known
  std::size_t trials = 0;                  ///< that had samples
};

/// Payload of a block of kind "pulses".
struct FoundPulses {
  std::vector<RangePulses> ranges;       ///< [range of the DM plan]: found since the block before
  std::vector<SearchedTrials> searched;  ///< of the pass, in its last block
};

struct SearchNodeConfig {
  stages::dedisperse::DmPlan trials;
  stages::detect::Links links;
  /// The passes over a part of the filterbank: as many as FilterbankPart::passes.
  std::function<std::vector<PassPlan>(std::size_t part)> passes;
  bool reads_on_device = false;  ///< as the plans for dedispersion do
  device::MemoryUse bytes = {};  ///< of plans and states
  std::string kernels = {};      ///< for people
  double dm_constant = core::kDispersionConstant;
  std::shared_ptr<const SearchPlan> plan = {};  ///< if any, for reports about the search
};

/// Takes "filterbank", of which each segment is a pass. Gives "pulses": no arrays, a FoundPulses in each block.
class SearchNode final : public engine::Node {
 public:
  SearchNode(SearchNodeConfig config, std::shared_ptr<const device::Device> device)
      : config_(std::move(config)), device_(std::move(device)) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  engine::Needs needs(std::size_t input, const engine::Stream&) const override;
  std::string kernels() const override { return config_.kernels; }
  device::MemoryUse bytes() const override { return config_.bytes; }
  /// All passes over a part go as fast as the first.
  std::optional<engine::Load> expected_load() const override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  /// "detections" of all passes; "not_finite" samples of the input.
  engine::Counters counters() const override;

  /// [beam][channel] of the input, where the plans measure it.
  const std::vector<std::vector<stages::dedisperse::Moments>>& moments() const { return moments_; }

  /// Of live data; null where none has come, and for files.
  const KeptTrials* kept() const { return kept_ ? &*kept_ : nullptr; }

 private:
  SearchNodeConfig config_;
  std::shared_ptr<const device::Device> device_;
  FilterbankStream filterbank_;
  FilterbankStream::Turn turn_;       // the current pass
  std::vector<PassPlan> passes_;      // over its part
  std::unique_ptr<SearchPass> pass_;  // kept for a next pass with the same plans
  std::optional<KeptTrials> kept_;
  engine::Block time_;  // the time of its last block
  std::vector<std::vector<stages::dedisperse::Moments>> moments_;
  std::uint64_t detections_ = 0, not_finite_ = 0;
};

}  // namespace tautline::pipeline

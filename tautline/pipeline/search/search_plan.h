// The plan of a search: its trials, and the passes over each part of the input.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/search/filterbank_run.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/pass_plan.h"
#include "tautline/pipeline/search/search_config.h"
#include "tautline/pipeline/search/search_node.h"

namespace tautline::pipeline {

class SearchPlan {
 public:
  /// `description`: what all beams have alike. `parts` and `left_out` are FilterbankStream's.
  /// `most_block_samples`: PassRequest's. Throws Error(config) and Error(memory).
  SearchPlan(const SearchConfig& config, formats::FilterbankDescription description,
             std::vector<FilterbankPart> parts, std::vector<std::vector<std::size_t>> left_out,
             std::shared_ptr<const device::Device> device, std::size_t most_block_samples = 0);

  const SearchConfig& config() const { return config_; }
  const stages::dedisperse::DmPlan& trials() const { return chosen_.plan; }
  /// With what the trials may lose.
  const ChosenTrials& chosen() const { return chosen_; }
  /// How long after a pulse, with the longest trial's delay, its candidate comes at most: in data, blocks and masks
  /// among them (stages::detect::Plan::latency_samples says when it takes longer).
  double latency_s() const;
  /// Of so many samples, the seconds that the lowest trial has.
  double longest_series_s(std::uint64_t samples) const;
  /// Whether the widest boxcar that was asked for is longer than that.
  bool is_too_wide(std::uint64_t samples) const;
  /// As configured; 0: none.
  double most_latency_s() const { return most_latency_s_; }
  const device::Device& device() const { return *device_; }
  double sample_s() const { return description_.tsamp_s; }
  /// describe_trials.
  const std::string& trials_text() const { return trials_text_; }
  const stages::detect::Links& links() const { return request_.detect.links; }
  /// Over the longest part; the first beam's, if channels are left out differently.
  const std::vector<PassPlan>& passes() const { return passes_; }
  const SearchPart& first_part() const { return passes_.front().parts.front(); }
  /// Over any part; none where it is too short for all trials. Those of short parts and of beams
  /// with channels of their own are made again at each call, which takes less memory than keeping
  /// them.
  std::vector<PassPlan> passes_of(std::size_t part) const;
  /// The parts, each with as many passes as it needs.
  std::vector<FilterbankPart> parts() const;
  /// Times of the input in a block.
  std::size_t block_samples() const;

 private:
  void choose_trials(const SearchConfig& config);
  void require_pulse_width() const;
  void require_width() const;
  void keep_latency();
  double held_s() const;
  std::uint64_t behind_of(const FilterbankPart& part) const;
  PassRequest request_of(std::size_t part) const;
  bool is_planned(const PassRequest& request, const stages::dedisperse::DmPlan& trials) const;

  SearchConfig config_;
  formats::FilterbankDescription description_;
  std::vector<FilterbankPart> parts_;
  std::vector<std::vector<std::size_t>> left_out_;  // [beam]
  std::shared_ptr<const device::Device> device_;
  DmChoice choice_;
  ChosenTrials chosen_;
  std::string trials_text_;
  double most_latency_s_ = 0;
  std::size_t block_samples_ = 0;  // of a source that has its own; else of the latency
  PassRequest request_;            // for the longest part
  std::vector<PassPlan> passes_;   // for it
};

/// The part of its S/N that a rectangular pulse loses at most when its width is between two boxcars.
double width_loss(std::span<const std::size_t> widths);

/// The node's requirements.
SearchNodeConfig node_config(std::shared_ptr<const SearchPlan> plan);

}  // namespace tautline::pipeline

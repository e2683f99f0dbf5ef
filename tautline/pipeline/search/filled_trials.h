// How much of each trial stands in for data that were lost, in steps of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <utility>
#include <vector>

#include "tautline/pipeline/search/dedisperse_node.h"

namespace tautline::pipeline {

/// Of one file's series. Steps are of kLeast_s at first, and twice as long whenever there are kMostSteps: memory and
/// record are bounded. Trials and times that no loss touches have exactly 0. Times are added as they come, since
/// FilledValues forgets.
class FilledTrials {
 public:
  static constexpr double kLeast_s = 0.1;
  static constexpr std::size_t kMostSteps = 1024;

  explicit FilledTrials(const TrialStream& stream);

  /// `samples` further times of the series, the first of which has sample `input_sample` of the highest channel, on the
  /// grid of FilledValues.
  void add(std::uint64_t input_sample, std::uint64_t samples);
  /// {"step_samples": N, "steps": [{"step": k, "fraction": [trial]}, ...]}: step k are the samples from k N on; those
  /// without a loss are left out; `fraction` null: not known. Null where the stream does not know what is filled.
  nlohmann::ordered_json record();

 private:
  void evaluate(std::uint64_t samples);
  void double_steps();

  std::shared_ptr<const FilledValues> values_;
  std::shared_ptr<const stages::dedisperse::Plan> plan_;
  std::uint64_t downsample_, least_samples_, step_samples_;
  std::vector<std::size_t> channels_;  // that trials are sums of
  std::size_t trials_;
  std::vector<std::uint32_t> delays_;  // [channel][trial]; none before the first loss
  std::uint64_t pending_first_ = 0,
                pending_ = 0;  // times that came: their input sample, their number
  std::uint64_t done_ = 0;     // times that were looked at
  std::map<std::uint64_t, std::vector<double>>
      lost_;  // step -> values of each trial; none: not known
};

}  // namespace tautline::pipeline

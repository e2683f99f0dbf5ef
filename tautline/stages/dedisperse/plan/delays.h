// A checked Config turned into what every backend sums: channels, and the delay of each in every
// trial. A function of the Config alone: no device, tunable or measured speed changes a delay. Not
// part of the stage's interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::stages::dedisperse {

/// Whole-sample delays, [trial][position]. Positions are the summed channels in order of falling
/// frequency, so that exact delays never fall along them.
struct Delays {
  std::size_t trials = 0, positions = 0;
  std::vector<std::int32_t> samples;

  std::int32_t operator()(std::size_t trial, std::size_t position) const {
    return samples[trial * positions + position];
  }
  const std::int32_t* row(std::size_t trial) const { return samples.data() + trial * positions; }
  std::int32_t* row(std::size_t trial) { return samples.data() + trial * positions; }
};

/// Delays that differ from the exact ones, and the S/N that the worst trial loses by it.
struct LossyDelays {
  Delays delays;
  double loss = 0;
};

/// Immutable.
class DelayPlan {
 public:
  /// Throws Error(config).
  explicit DelayPlan(const Config& config);

  const Config& config() const { return config_; }
  /// The same trials without zero_dm, which changes no delay.
  std::shared_ptr<const DelayPlan> without_zero_dm() const;
  std::size_t channels() const { return config_.frequencies_mhz.size(); }
  std::size_t trials() const { return config_.dms.size(); }
  /// The channel of each position; ignored ones are left out.
  const std::vector<std::size_t>& channel_at() const { return channel_at_; }
  std::size_t positions() const { return channel_at_.size(); }
  double reference_mhz() const { return reference_mhz_; }
  /// Of the trials: sample_time_s times downsample.
  double sample_time_s() const;
  /// Largest value of a sample of the trials' rows; integers only.
  std::uint64_t max_value() const;
  bool float_sums() const { return config_.bits == 32 || config_.zero_dm; }
  core::SampleType output_type() const {
    return float_sums() ? core::SampleType::f32 : core::SampleType::i32;
  }
  /// Zero-DM of integers whose rows, less their mean and times the channels that are summed, are
  /// whole numbers that sum to less than 2^31.
  bool whole_zero_dm() const;
  /// Subtracted from every sum of integers: signed samples are summed with an offset.
  std::int64_t offset() const;

  /// Before rounding, in times of the trials.
  double exact_delay(std::size_t trial, std::size_t position) const;
  /// Rounded to the nearest: what Method::exact sums.
  const Delays& exact() const { return exact_; }
  /// S/N that sub-bands may cost; 0 where no loss was asked for.
  double allowed_loss() const;
  /// What is summed: the exact delays, or those of sub-bands where a loss was asked for.
  const Delays& delays() const { return subbands_ ? subbands_->delays : exact_; }
  bool has_subbands() const { return subbands_.has_value(); }
  double loss() const { return subbands_ ? subbands_->loss : 0; }
  /// What is summed; of ignored channels the exact delay.
  std::int64_t delay(std::size_t trial, std::size_t channel) const;
  /// Of any channel, ignored ones too, so that flags do not change how long trials are.
  std::size_t max_delay() const { return max_delay_; }

  /// Trials in order of rising DM.
  const std::vector<std::uint32_t>& order() const { return order_; }
  /// The same, so many at a time.
  std::vector<std::span<const std::uint32_t>> blocks(std::size_t trials) const;
  /// Additions of the plain sum, for one time of all trials.
  double plain_adds() const {
    return static_cast<double>(trials()) * static_cast<double>(positions());
  }
  /// What a backend says of its sums: exact or shared ones, `adds` for one time of all trials, and
  /// `details` for people.
  MethodChoice choice(Method sums, double adds, const std::string& details) const;

  /// Times of the trials that `count` times of input can complete at most.
  std::size_t max_new_samples() const;

 private:
  Config config_;
  double reference_mhz_ = 0;
  std::vector<std::size_t> channel_at_;
  std::vector<std::size_t> position_of_;  // [channel]; positions() where it is ignored
  Delays exact_;
  std::optional<LossyDelays> subbands_;
  std::size_t max_delay_ = 0;
  std::vector<std::uint32_t> order_;
};

/// Strides of a dense input where the caller left them zero.
Input with_strides(const Config& config, const Input& input);

}  // namespace tautline::stages::dedisperse

#include "tautline/pipeline/search/filled_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "tautline/pipeline/filled_values.h"

namespace tautline::pipeline {

namespace {

// The filled samples of one channel before a sample. Fast for samples that are asked for in order.
class FilledBefore {
 public:
  explicit FilledBefore(const std::vector<FilledRun>& runs) : runs_(runs), before_(runs.size(), 0) {
    for (std::size_t k = 1; k < runs.size(); ++k)
      before_[k] = before_[k - 1] + runs[k - 1].end - runs[k - 1].first;
  }
  std::uint64_t operator()(std::uint64_t sample) {
    while (at_ + 1 < runs_.size() && runs_[at_ + 1].first <= sample) ++at_;
    while (at_ > 0 && runs_[at_].first > sample) --at_;
    const FilledRun& run = runs_[at_];
    if (sample <= run.first) return before_[at_];
    return before_[at_] + std::min(sample, run.end) - run.first;
  }

 private:
  const std::vector<FilledRun>& runs_;
  std::vector<std::uint64_t> before_;
  std::size_t at_ = 0;
};

// Few digits, and never 0 for what is not.
double rounded(double value) {
  return std::stod(fmt::format("{:.4g}", value));
}

}  // namespace

FilledTrials::FilledTrials(const TrialStream& stream)
    : values_(stream.filterbank && !stream.filterbank->filled.empty()
                  ? stream.filterbank->filled.front()
                  : nullptr),
      plan_(stream.plan),
      downsample_(stream.downsample),
      least_samples_(std::max<std::uint64_t>(
          1,
          static_cast<std::uint64_t>(std::llround(
              kLeast_s / (stream.description.tsamp_s * static_cast<double>(stream.downsample)))))),
      step_samples_(least_samples_),
      trials_(stream.dms.size()) {
  if (!plan_) return;
  const stages::dedisperse::Config& config = plan_->config();
  std::vector<bool> ignored(config.frequencies_mhz.size(), false);
  for (const std::size_t c : config.ignored_channels) ignored[c] = true;
  for (std::size_t c = 0; c < ignored.size(); ++c)
    if (!ignored[c]) channels_.push_back(c);
}

void FilledTrials::add(std::uint64_t input_sample, std::uint64_t samples) {
  if (!values_ || !plan_) return;
  if (pending_ == 0) pending_first_ = input_sample;
  pending_ += samples;
  while (pending_ >= least_samples_) evaluate(least_samples_);
}

void FilledTrials::evaluate(std::uint64_t samples) {
  if (done_ == kMostSteps * step_samples_) double_steps();
  const std::uint64_t first = pending_first_, count = samples * downsample_,
                      end = first + count + plan_->max_delay() * downsample_,
                      step = done_ / step_samples_;
  pending_first_ += count;
  pending_ -= samples;
  done_ += samples;
  if (values_->none(first, end)) return;
  const auto runs = values_->runs(first, end);
  if (!runs) {
    lost_[step].clear();
    return;
  }
  if (delays_.empty())
    for (const std::size_t c : channels_)
      for (std::size_t trial = 0; trial < trials_; ++trial)
        delays_.push_back(static_cast<std::uint32_t>(plan_->delay(trial, c)));
  std::vector<double> lost(trials_, 0);
  bool any = false;
  for (std::size_t k = 0; k < channels_.size(); ++k) {
    const std::vector<FilledRun>& of_channel = (*runs)[channels_[k]];
    if (of_channel.empty()) continue;
    FilledBefore at_begin(of_channel), at_end(of_channel);
    const auto delays = std::span(delays_).subspan(k * trials_, trials_);
    for (std::size_t trial = 0; trial < trials_; ++trial) {
      const std::uint64_t begin = first + delays[trial] * downsample_;
      const std::uint64_t filled = at_end(begin + count) - at_begin(begin);
      lost[trial] += static_cast<double>(filled);
      any = any || filled > 0;
    }
  }
  if (!any) return;
  const auto [of_step, is_new] = lost_.try_emplace(step, std::vector<double>(trials_, 0));
  for (std::size_t trial = 0; trial < of_step->second.size(); ++trial)
    of_step->second[trial] += lost[trial];
}

void FilledTrials::double_steps() {
  step_samples_ *= 2;
  std::map<std::uint64_t, std::vector<double>> doubled;
  for (auto& [step, lost] : lost_) {
    const auto [to, is_new] = doubled.try_emplace(step / 2, lost);
    if (is_new) continue;
    if (lost.empty()) to->second.clear();
    for (std::size_t trial = 0; trial < to->second.size(); ++trial)
      to->second[trial] += lost[trial];
  }
  lost_ = std::move(doubled);
}

nlohmann::ordered_json FilledTrials::record() {
  if (!values_ || !plan_) return nullptr;
  while (pending_ > 0) evaluate(std::min(pending_, least_samples_));
  nlohmann::ordered_json record{{"step_samples", step_samples_},
                                {"steps", nlohmann::ordered_json::array()}};
  for (const auto& [step, lost] : lost_) {
    const std::uint64_t samples = std::min(step_samples_, done_ - step * step_samples_);
    const double values =
        static_cast<double>(samples * downsample_) * static_cast<double>(channels_.size());
    nlohmann::ordered_json fraction;
    for (const double one : lost) fraction.push_back(rounded(one / values));
    record["steps"].push_back({{"step", step}, {"fraction", std::move(fraction)}});
  }
  return record;
}

}  // namespace tautline::pipeline

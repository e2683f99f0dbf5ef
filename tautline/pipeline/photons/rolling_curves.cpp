#include "tautline/pipeline/photons/rolling_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/normalise.h"

namespace tautline::pipeline {

WindowSteps steps_of_window(const stages::autocorrelate::Config& stage, std::uint64_t samples) {
  if (stage.sums_type() == core::SampleType::f64)
    throw core::Error(core::ErrorKind::unsupported, "window_s", "given for counts that are floats",
                      "counts that are integers");
  // Samples of the longest lags' windows.
  const std::uint64_t whole = std::uint64_t{1} << (stage.levels - 1);
  if (samples < whole)
    throw core::Error(core::ErrorKind::config, "window_s", core::counted(samples, "bin"),
                      core::counted(whole, "bin") + " at least, one sample of the longest lags",
                      "give a longer one, or fewer `levels`");
  const auto lags = stages::autocorrelate::lags_of(stage);
  // With several steps, each is at least as long as the longest lag, rounded down to its windows.
  const std::uint64_t reach = lags.back().samples + 2 * whole;
  const std::uint64_t steps = std::clamp<std::uint64_t>(samples / reach, 1, WindowSteps::kMost);
  return {samples / steps / whole * whole, steps};
}

RollingCurves::RollingCurves(const stages::autocorrelate::Config& stage, const WindowSteps& steps,
                             device::Queue& queue,
                             std::shared_ptr<const stages::autocorrelate::Plan> plan)
    : stage_(stage),
      steps_(steps),
      queue_(queue),
      plan_(std::move(plan)),
      step_(plan_->make_state(queue)),
      whole_(stage) {}

std::size_t RollingCurves::bytes(const stages::autocorrelate::Config& stage,
                                 const WindowSteps& steps,
                                 const stages::autocorrelate::Plan& plan) {
  const std::size_t lags = stages::autocorrelate::lag_count(stage);
  const std::size_t sums = (stage.pair_count() * (4 * lags + 2) + lags) * sizeof(std::int64_t);
  // The run's sums, each step's, and two made of these.
  return plan.bytes().host_bytes + (static_cast<std::size_t>(steps.steps) + 3) * sums;
}

void RollingCurves::push(const core::SampleView<2>& counts) {
  plan_->execute(queue_, *step_, counts);
}

void RollingCurves::push_tags(std::span<const stages::autocorrelate::Tag> tags,
                              std::uint64_t until) {
  const std::uint64_t first = closed_ * steps_.step_samples;
  tags_.assign(tags.begin(), tags.end());
  for (auto& tag : tags_) tag.bin -= first;
  dynamic_cast<const stages::autocorrelate::TagPlan&>(*plan_).execute_tags(queue_, *step_, tags_,
                                                                           until - first);
}

void RollingCurves::close(const stages::autocorrelate::State& run) {
  if (step_less_run_.size() == steps_.steps) step_less_run_.pop_front();
  whole_.read(*plan_, queue_, run);
  StageSums step(stage_), difference = whole_;
  step.read(*plan_, queue_, *step_);
  difference.subtract_from(step);
  step_less_run_.push_back(std::move(difference));
  step_->reset();
  ++closed_;
}

void RollingCurves::finish(core::Normalization normalization,
                           core::CorrelationCurves& curves) const {
  StageSums window = whole_;
  window.add(step_less_run_.front());
  const stages::autocorrelate::Sums sums = window.views();
  const std::size_t pairs = stage_.pair_count(), lags = stages::autocorrelate::lag_count(stage_);
  curves.curves = pairs;
  curves.lags = lags;
  curves.samples = steps_.samples();
  curves.normalization = normalization;
  curves.lag_samples.clear();
  for (const auto& lag : stages::autocorrelate::lags_of(stage_))
    curves.lag_samples.push_back(lag.samples);
  curves.segments = 0;
  curves.counts = window.counts();
  curves.g.resize(pairs * lags);
  stages::autocorrelate::normalise(stage_, normalization, curves.samples, sums,
                                   {curves.g.data(), {pairs, lags}});
  const auto copy = [](const core::MutableSampleView<2>& from, std::vector<std::int64_t>& to) {
    const auto* const first = static_cast<const std::int64_t*>(from.data());
    to.assign(first, first + from.extent(0) * from.extent(1));
  };
  copy(sums.sums, curves.sums);
  copy(sums.lead_in, curves.lead_in);
  copy(sums.monitor_direct, curves.monitor_direct);
  copy(sums.monitor_delayed, curves.monitor_delayed);
  copy(sums.totals, curves.totals);
  curves.first.resize(pairs);
  curves.second.resize(curves.cross ? pairs : 0);
  for (std::size_t p = 0; p < pairs; ++p) {
    const auto rate = [&](std::size_t side) {
      return static_cast<double>(curves.totals[2 * p + side]) / static_cast<double>(curves.samples);
    };
    curves.first[p].mean_rate_hz = rate(0);
    if (curves.cross) curves.second[p].mean_rate_hz = rate(1);
  }
}

}  // namespace tautline::pipeline

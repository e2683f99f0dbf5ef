#include "tautline/pipeline/photons/curve_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/core/threads.h"
#include "tautline/pipeline/photons/stopped_sensors.h"
#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/normalise.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kMostPassed = 4096;  // that are kept as they were, once passed

}  // namespace

CurveStream::CurveStream(const CurveStreamConfig& config, device::Queue& queue,
                         std::shared_ptr<const stages::autocorrelate::Plan> plan,
                         const device::Device* counts_on)
    : config_(config),
      queue_(queue),
      plan_(std::move(plan)),
      tag_plan_(dynamic_cast<const stages::autocorrelate::TagPlan*>(plan_.get())),
      run_(plan_->make_state(queue)),
      pairs_(config.stage.pair_count()),
      lags_(stages::autocorrelate::lags_of(config.stage).size()),
      segments_(config.segments_config()),
      trace_(config.stage.sensors, config.planned_samples) {
  if (config.window) rolling_.emplace(config.stage, *config.window, queue, plan_);
  if (counts_on != nullptr) trace_.use_device(*counts_on, config.stage.type);
}

std::size_t CurveStream::bytes(const CurveStreamConfig& config,
                               const stages::autocorrelate::Plan& plan) {
  const std::size_t values =
      config.stage.pair_count() * stages::autocorrelate::lags_of(config.stage).size();
  // Sums, lead-in and monitors as they are read, and g and its error twice.
  constexpr std::size_t kArrays = 4 + 4;
  // The sums before the last stop, and with those after it.
  const std::size_t parts = config.stops.empty() && !config.more_stops ? 0 : 2 * 4;
  return plan.bytes().host_bytes + values * (kArrays + parts) * sizeof(double) +
         CurveSegments::bytes(config.segments_config()) +
         (config.window ? RollingCurves::bytes(config.stage, *config.window, plan) : 0) +
         2 * CurveTrace::bytes(config.stage.sensors);
}

// Moves on to sample `until`; take(end) takes the samples up to `end`, as many times as there are parts between stops.
template <class Take>
void CurveStream::between_stops(std::uint64_t until, const Take& take) {
  while (samples_ < until) {
    const bool any = stops_passed_ < config_.stops.size();
    const BinRange stop = any ? config_.stops[stops_passed_] : BinRange{until, until};
    if (samples_ < stop.first) {
      const std::uint64_t end = std::min(until, stop.first);
      take(end);
      samples_ = end;
    } else {
      if (run_->samples() > 0) end_part();
      samples_ = std::min(until, stop.end);
      if (samples_ == stop.end) ++stops_passed_;
    }
  }
}

StageSums& CurveStream::sums() {
  if (!sums_) sums_.emplace(config_.stage);
  sums_->read(*plan_, queue_, *run_);
  if (before_ && !sums_->add_below_limit(*before_)) stages::autocorrelate::throw_overflow(kept());
  return *sums_;
}

// No pair spans a stop: the next part begins with a new state.
void CurveStream::end_part() {
  sums();
  std::swap(sums_, before_);
  kept_before_ = kept();
  run_->reset();
}

void CurveStream::add_stop(BinRange stop) {
  std::vector<BinRange>& stops = config_.stops;
  stop.first = std::max(stop.first, samples_);
  if (stop.first >= stop.end) return;
  if (stops.empty() || stop.first > stops.back().end) {
    if (stops_passed_ >= kMostPassed) join_passed_stops();
    stops.push_back(stop);
  } else if (stop.end > stops.back().end) {
    stops.back().end = stop.end;
    stops_passed_ = std::min(stops_passed_, stops.size() - 1);
  }
}

// Only the trace still needs them, and of each of its steps only how many samples are in stops.
void CurveStream::join_passed_stops() {
  std::vector<BinRange> joined;
  const std::uint64_t step = trace_.step_samples();
  const auto passed = config_.stops.begin() + static_cast<std::ptrdiff_t>(stops_passed_);
  for (auto stop = config_.stops.begin(); step > 0 && stop != passed; ++stop)
    if (!joined.empty() && joined.back().first / step == (stop->end - 1) / step)
      joined.back().end += stop->bins();
    else
      joined.push_back(*stop);
  stops_passed_ = joined.size();
  joined.insert(joined.end(), passed, config_.stops.end());
  config_.stops = std::move(joined);
}

// Samples after the last whole segment belong to no segment.
void CurveStream::push(const core::SampleView<2>& counts) {
  const std::uint64_t first = samples_;
  between_stops(first + counts.extent(0), [&](std::uint64_t end) {
    const auto part = counts.slice(0, static_cast<std::size_t>(samples_ - first),
                                   static_cast<std::size_t>(end - samples_));
    const std::size_t samples = part.extent(0);
    for (std::size_t t = 0; t < samples;) {
      const auto length =
          static_cast<std::size_t>(std::min<std::uint64_t>(samples - t, next_end() - kept()));
      plan_->execute(queue_, *run_, part.slice(0, t, length));
      if (rolling_) rolling_->push(part.slice(0, t, length));
      t += length;
      close_segment();
    }
    trace_.add(queue_, part, samples_);
  });
}

void CurveStream::push_tags(std::span<const stages::autocorrelate::Tag> tags, std::uint64_t until) {
  trace_.add_tags(tags);
  const auto take = [&](std::uint64_t end) {
    const auto next = std::partition_point(tags.begin(), tags.end(),
                                           [&](const auto& tag) { return tag.bin < end; });
    const auto part = tags.first(static_cast<std::size_t>(next - tags.begin()));
    tags = tags.subspan(part.size());
    return part;
  };
  between_stops(until, [&](std::uint64_t part_end) {
    (void)take(samples_);  // where records were lost, bins that are left out have photons
    // The state counts bins from the part's first.
    const std::uint64_t part_first = samples_ - run_->samples();
    while (samples_ < part_end) {
      // Where no segment ends any more, next_end() is the largest number.
      const std::uint64_t end = samples_ + std::min(part_end - samples_, next_end() - kept());
      auto part = take(end);
      if (rolling_) rolling_->push_tags(part, end);
      if (part_first > 0) {
        tags_.assign(part.begin(), part.end());
        for (auto& tag : tags_) tag.bin -= part_first;
        part = tags_;
      }
      tag_plan_->execute_tags(queue_, *run_, part, end - part_first);
      samples_ = end;
      close_segment();
    }
  });
}

// The end of the next segment, or of the next step of the window.
std::uint64_t CurveStream::next_end() const {
  return rolling_ ? std::min(segments_.next_end(), rolling_->next_end()) : segments_.next_end();
}

void CurveStream::close_segment() {
  if (kept() >= segments_.next_end())
    segments_.close(*plan_, queue_, *run_, before_ ? &*before_ : nullptr);
  if (rolling_ && run_->samples() >= rolling_->next_end()) rolling_->close(*run_);
}

void CurveStream::finish(core::CorrelationCurves& curves) {
  trace_.collect(queue_);
  SegmentCurves segments = segments_.curves(kept());
  curves.curves = pairs_;
  curves.lags = lags_;
  curves.samples = kept();
  curves.normalization = config_.normalization;
  curves.detrended = !segments.detrended_g.empty();
  curves.lag_samples.clear();
  for (const auto& lag : stages::autocorrelate::lags_of(config_.stage))
    curves.lag_samples.push_back(lag.samples);
  curves.segments = segments.segments;
  curves.segment_samples = segments.segment_samples;
  curves.segment_g = std::move(segments.g);
  curves.segment_counts = std::move(segments.counts);
  curves.standard_error = std::move(segments.standard_error);
  const bool floats = config_.stage.type == core::SampleType::f32;
  const auto view = [&](std::vector<std::int64_t>& integers, std::vector<double>& reals,
                        std::size_t columns) -> core::MutableSampleView<2> {
    integers.resize(floats ? 0 : pairs_ * columns);
    reals.resize(floats ? pairs_ * columns : 0);
    if (floats) return core::View<double, 2>(reals.data(), {pairs_, columns});
    return core::View<std::int64_t, 2>(integers.data(), {pairs_, columns});
  };
  curves.counts.resize(lags_);
  const stages::autocorrelate::Sums sums{
      view(curves.sums, curves.sums_float, lags_),
      view(curves.lead_in, curves.lead_in_float, lags_),
      view(curves.monitor_direct, curves.monitor_direct_float, lags_),
      view(curves.monitor_delayed, curves.monitor_delayed_float, lags_),
      view(curves.totals, curves.totals_float, 2),
      curves.counts};
  if (before_) {
    this->sums().copy_to(sums);
  } else {
    plan_->read(queue_, *run_, sums);
    queue_.synchronise();
  }
  curves.g.resize(pairs_ * lags_);
  stages::autocorrelate::normalise(config_.stage, config_.normalization, kept(), sums,
                                   {curves.g.data(), {pairs_, lags_}});
  if (config_.normalization == core::Normalization::none)
    for (std::size_t i = 0; i < curves.standard_error.size(); ++i)
      curves.standard_error[i] *= static_cast<double>(curves.counts[i % lags_]);
  if (curves.detrended) curves.g = std::move(segments.detrended_g);
  finish_traces(curves);
}

void CurveStream::finish_traces(core::CorrelationCurves& curves) const {
  const std::uint64_t step = trace_.step_samples();
  // Of the trace's steps, without those that are in stops.
  std::vector<std::uint64_t> steps;
  std::vector<double> middles, lengths;
  auto stop = config_.stops.begin();
  for (std::uint64_t first = 0; step > 0 && first < samples_; first += step) {
    const std::uint64_t end = std::min(first + step, samples_);
    std::uint64_t kept = end - first;
    while (stop != config_.stops.end() && stop->end <= first) ++stop;
    for (auto one = stop; one != config_.stops.end() && one->first < end; ++one)
      kept -= std::min(one->end, end) - std::max(one->first, first);
    if (kept == 0) continue;
    steps.push_back(first / step);
    middles.push_back((static_cast<double>(first) + static_cast<double>(end)) / 2);
    lengths.push_back(static_cast<double>(kept));
  }
  // `place` in totals, [pair][2].
  const auto begin = [&](core::CurveSignal& signal, std::size_t place) {
    const double total = curves.totals.empty() ? curves.totals_float[place]
                                               : static_cast<double>(curves.totals[place]);
    signal.mean_rate_hz = curves.samples > 0 ? total / static_cast<double>(curves.samples)
                                             : std::numeric_limits<double>::quiet_NaN();
    signal.trace.time_s = middles;
    signal.trace.rate_khz.resize(middles.size());
  };
  curves.first.resize(pairs_);
  curves.second.resize(curves.cross ? pairs_ : 0);
  // Some signals at a time, as many as a cache line of a step has.
  constexpr std::size_t kTogether = 8;
  const std::size_t groups = core::divide_up(pairs_, kTogether);
  core::in_pieces(groups, groups, [&](std::size_t, std::size_t group, std::size_t last_group) {
    const std::size_t last = std::min(pairs_, last_group * kTogether);
    for (std::size_t p = group * kTogether; p < last; ++p) {
      begin(curves.first[p], 2 * p);
      if (curves.cross) begin(curves.second[p], 2 * p + 1);
    }
    for (std::size_t k = 0; k < middles.size(); ++k)
      for (std::size_t p = group * kTogether; p < last; ++p) {
        const auto [a, b] = config_.stage.pair(p);
        curves.first[p].trace.rate_khz[k] = trace_.counts(steps[k], a) / lengths[k];
        if (curves.cross)
          curves.second[p].trace.rate_khz[k] = trace_.counts(steps[k], b) / lengths[k];
      }
  });
}

std::vector<SensorStretch> CurveStream::empty_stretches(std::span<const std::uint8_t> good,
                                                        double bin_s) const {
  const std::uint64_t step = trace_.step_samples();
  if (step == 0) return {};
  const auto whole_steps = static_cast<std::size_t>(samples_ / step);
  return stopped_sensors(trace_.values().first(whole_steps * good.size()), step,
                         static_cast<double>(step) * bin_s, good, config_.stops);
}

void CurveStream::save(const core::ByteWriter::Sink& sink) {
  trace_.collect(queue_);
  queue_.synchronise();
  core::ByteWriter writer(sink);
  writer(samples_);
  writer(run_->save());
  segments_.save(writer);
  trace_.exchange(writer);
}

void CurveStream::load(std::span<const std::byte> bytes, const std::string& what) {
  core::ByteReader reader(bytes, what);
  std::vector<std::byte> run;
  reader(samples_);
  reader(run);
  run_->load(run);
  if (run_->samples() != samples_) reader.refuse();
  segments_.load(reader);
  trace_.exchange(reader);
  if (!trace_.whole()) reader.refuse();
  reader.finish();
}

}  // namespace tautline::pipeline

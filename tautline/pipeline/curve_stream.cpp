#include "tautline/pipeline/curve_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tautline/core/view.h"

namespace tautline::pipeline {

namespace {

// Curves of single segments are kept up to this: 1,024 sensors of 320 lags and 10 segments take 13
// MB.
constexpr std::size_t kMostSegmentBytes = std::size_t{64} << 20;

using stages::autocorrelate::Config;
using stages::autocorrelate::Pair;
using stages::autocorrelate::Samples;
using stages::autocorrelate::Sums;

constexpr std::size_t kTraceSteps = 1000;
// Of all sensors together, 32 MiB: large arrays have shorter traces, or none.
constexpr std::size_t kMaxTraceValues = std::size_t{1} << 22;

std::size_t trace_steps(const Config& stage) {
  const std::size_t steps = std::min(kTraceSteps, kMaxTraceValues / stage.sensors);
  return steps < 10 ? 0 : steps;
}

template <class Body>
void for_type(core::CountType type, const Body& body) {
  switch (type) {
    case core::CountType::u8:
      body(std::uint8_t{});
      return;
    case core::CountType::u16:
      body(std::uint16_t{});
      return;
    case core::CountType::u32:
      body(std::uint32_t{});
      return;
    case core::CountType::f32:
      body(float{});
      return;
  }
}

core::View<double, 2> view_of(std::vector<double>& values, std::size_t pairs, std::size_t lags) {
  return {values.data(), {core::Axis::input, core::Axis::time}, {pairs, lags}};
}

}  // namespace

/// What is read from a state.
template <class Value>
struct CurveStream::Memory {
  Memory(std::size_t pairs, std::size_t lags)
      : sums(pairs * lags),
        lead_in(pairs * lags),
        direct(pairs * lags),
        delayed(pairs * lags),
        totals(pairs * 2),
        counts(lags),
        views{view(sums, pairs, lags),    view(lead_in, pairs, lags), view(direct, pairs, lags),
              view(delayed, pairs, lags), view(totals, pairs, 2),     counts} {}
  static core::View<Value, 2> view(std::vector<Value>& values, std::size_t rows,
                                   std::size_t columns) {
    return {values.data(), {core::Axis::input, core::Axis::time}, {rows, columns}};
  }
  /// These become what `later` has more.
  void subtract_from(const Memory& later) {
    const auto subtract = [](auto& from, const auto& value) {
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = value[i] - from[i];
    };
    subtract(sums, later.sums);
    subtract(lead_in, later.lead_in);
    subtract(direct, later.direct);
    subtract(delayed, later.delayed);
    subtract(totals, later.totals);
    subtract(counts, later.counts);
  }
  std::vector<Value> sums, lead_in, direct, delayed, totals;
  std::vector<std::int64_t> counts;
  Sums<Value> views;
};

CurveStream::CurveStream(const CurveStreamConfig& config,
                         std::shared_ptr<const device::Device> device)
    : CurveStream(config, std::move(device), nullptr) {}

CurveStream::CurveStream(const CurveStreamConfig& config,
                         std::shared_ptr<const device::Device> device,
                         std::shared_ptr<const stages::autocorrelate::TagPlan> plan)
    : config_(config),
      device_(std::move(device)),
      queue_(device_->make_queue()),
      plan_(plan != nullptr ? plan : stages::autocorrelate::make_plan(config.stage, device_)),
      tag_plan_(std::move(plan)),
      run_(plan_->make_state(*queue_)),
      pairs_(config.stage.pair_count()),
      lags_(stages::autocorrelate::lags_of(config.stage).size()),
      scatter_(pairs_, config.segments > 1 ? lags_ : 0),
      detrender_(pairs_, config.detrend ? lags_ : 0) {
  if (config.segments > 1) segment_samples_ = config.total_samples / config.segments;
  if (const std::size_t steps = trace_steps(config.stage); steps > 0 && config.total_samples > 0) {
    trace_step_ = (config.total_samples + steps - 1) / steps;
    trace_.assign((config.total_samples + trace_step_ - 1) / trace_step_ * config.stage.sensors, 0);
  }
}

CurveStream::~CurveStream() = default;

std::size_t CurveStream::bytes(const CurveStreamConfig& config,
                               const stages::autocorrelate::Plan& plan) {
  const std::size_t values =
      config.stage.pair_count() * stages::autocorrelate::lags_of(config.stage).size();
  // Sums, lead-in and monitors as read, g and its error twice; for segments the four as they were
  // read a segment ago, g, mean products, the scatter's two; the detrender's two long doubles, g.
  const std::size_t arrays = 4 + 4 + (config.segments > 1 ? 8 : 0) + (config.detrend ? 5 : 0);
  return plan.bytes().host_bytes + values * arrays * sizeof(double) +
         trace_steps(config.stage) * config.stage.sensors * 2 * sizeof(double);
}

void CurveStream::take(const void* counts, std::size_t samples) {
  for_type(config_.stage.type, [&]<class Count>(Count) {
    const Samples<Count> view(static_cast<const Count*>(counts),
                              {core::Axis::time, core::Axis::input},
                              {samples, config_.stage.sensors});
    plan_->execute(*queue_, *run_, view);
  });
}

// What is left over after the last whole segment belongs to none.
void CurveStream::push(const void* counts, std::size_t samples) {
  const std::size_t row_bytes = config_.stage.sensors * core::bytes_of(config_.stage.type);
  for (std::size_t t = 0; t < samples;) {
    std::uint64_t end = samples_ + samples;
    if (segments_left()) end = std::min(end, segment_end());
    const auto part = static_cast<std::size_t>(end - run_->samples());
    take(static_cast<const std::byte*>(counts) + t * row_bytes, part);
    t += part;
    close_segment();
  }
  if (trace_step_ > 0)
    for_type(config_.stage.type,
             [&]<class Count>(Count) { add_to_trace(static_cast<const Count*>(counts), samples); });
  samples_ += samples;
}

void CurveStream::push_tags(std::span<const stages::autocorrelate::Tag> tags, std::uint64_t until) {
  if (trace_step_ > 0)
    for (const auto& tag : tags)
      trace_[tag.bin / trace_step_ * config_.stage.sensors + tag.sensor] += 1;
  while (samples_ < until) {
    const std::uint64_t end = segments_left() ? std::min(until, segment_end()) : until;
    const auto next = std::partition_point(tags.begin(), tags.end(),
                                           [&](const auto& tag) { return tag.bin < end; });
    const auto part = static_cast<std::size_t>(next - tags.begin());
    tag_plan_->execute_tags(*queue_, *run_, tags.first(part), end);
    tags = tags.subspan(part);
    samples_ = end;
    close_segment();
  }
}

void CurveStream::close_segment() {
  if (!segments_left() || run_->samples() < segment_end()) return;
  floats() ? close_segment(before_float_) : close_segment(before_);
  ++segments_done_;
}

// Sums and monitors only grow, by the pairs whose later window ends in the segment: a segment's are
// what they grew by, and cost nothing but the reading.
template <class Value>
void CurveStream::close_segment(std::unique_ptr<Memory<Value>>& before) {
  auto now = std::make_unique<Memory<Value>>(pairs_, lags_);
  plan_->read(*queue_, *run_, now->views);
  queue_->synchronise();
  if (before == nullptr) before = std::make_unique<Memory<Value>>(pairs_, lags_);
  before->subtract_from(*now);
  // A lag longer than a segment joins it to others, which are then not independent.
  const auto lags = stages::autocorrelate::lags_of(config_.stage);
  for (std::size_t l = 0; l < lags_; ++l)
    if (stages::autocorrelate::pairs_at(config_.stage, lags[l], segment_samples_) == 0)
      before->counts[l] = 0;
  if (config_.detrend) detrender_.add(before->views);
  std::vector<double> g(pairs_ * lags_);
  stages::autocorrelate::normalise(config_.stage, config_.normalization, segment_samples_,
                                   before->views, view_of(g, pairs_, lags_));
  if (config_.normalization == core::Normalization::none) {
    // Sums grow with the pairs: it is their mean products that are alike.
    std::vector<double> mean_products = g;
    for (std::size_t i = 0; i < g.size(); ++i)
      mean_products[i] /= static_cast<double>(before->counts[i % lags_]);
    scatter_.add(mean_products, before->counts);
  } else {
    scatter_.add(g, before->counts);
  }
  if (g.size() * config_.segments * sizeof(float) <= kMostSegmentBytes)
    segment_g_.insert(segment_g_.end(), g.begin(), g.end());
  before = std::move(now);
}

template <class Count>
void CurveStream::add_to_trace(const Count* counts, std::size_t samples) {
  const std::size_t sensors = config_.stage.sensors;
  using Sum = std::conditional_t<std::is_same_v<Count, float>, double, std::uint32_t>;
  // 32-bit sums of a few times fill vectors; no 256 counts of u16 overflow them.
  const std::size_t together = sizeof(Count) < 4 ? 256 : 1;
  std::vector<Sum> sums(sensors);
  for (std::size_t t = 0; t < samples;) {
    const std::uint64_t step = (samples_ + t) / trace_step_;
    const auto end = static_cast<std::size_t>(
        std::min<std::uint64_t>({samples, t + together, (step + 1) * trace_step_ - samples_}));
    std::fill(sums.begin(), sums.end(), Sum{});
    for (; t < end; ++t)
      for (std::size_t s = 0; s < sensors; ++s)
        sums[s] += static_cast<Sum>(counts[t * sensors + s]);
    double* to = trace_.data() + step * sensors;
    for (std::size_t s = 0; s < sensors; ++s) to[s] += static_cast<double>(sums[s]);
  }
}

template <class Value>
void CurveStream::finish_as(core::CorrelationCurves& curves) {
  Memory<Value> memory(pairs_, lags_);
  plan_->read(*queue_, *run_, memory.views);
  queue_->synchronise();
  curves.g.resize(pairs_ * lags_);
  stages::autocorrelate::normalise(config_.stage, config_.normalization, samples_, memory.views,
                                   view_of(curves.g, pairs_, lags_));
  if (config_.detrend && segments_done_ > 0) curves.g = detrender_.g();
  if (config_.normalization == core::Normalization::none)
    for (std::size_t i = 0; i < curves.standard_error.size(); ++i)
      curves.standard_error[i] *= static_cast<double>(memory.counts[i % lags_]);
  std::vector<double> means;
  for (const Value total : memory.totals)
    means.push_back(samples_ > 0 ? static_cast<double>(total) / static_cast<double>(samples_)
                                 : std::numeric_limits<double>::quiet_NaN());
  curves.counts = std::move(memory.counts);
  if constexpr (std::is_same_v<Value, double>) {
    curves.sums_float = std::move(memory.sums);
    curves.lead_in_float = std::move(memory.lead_in);
    curves.totals_float = std::move(memory.totals);
    curves.monitor_direct_float = std::move(memory.direct);
    curves.monitor_delayed_float = std::move(memory.delayed);
  } else {
    curves.sums = std::move(memory.sums);
    curves.lead_in = std::move(memory.lead_in);
    curves.totals = std::move(memory.totals);
    curves.monitor_direct = std::move(memory.direct);
    curves.monitor_delayed = std::move(memory.delayed);
  }
  finish_traces(curves, means);
}

void CurveStream::finish(core::CorrelationCurves& curves) {
  curves.curves = pairs_;
  curves.lags = lags_;
  curves.samples = samples_;
  curves.normalization = config_.normalization;
  curves.detrended = config_.detrend && segments_done_ > 0;
  curves.lag_samples.clear();
  for (const auto& lag : stages::autocorrelate::lags_of(config_.stage))
    curves.lag_samples.push_back(lag.samples);
  curves.segments = segment_g_.empty() ? 0 : segments_done_;
  curves.segment_g = segment_g_;
  curves.standard_error.clear();
  if (segments_done_ > 1) curves.standard_error = scatter_.standard_error();
  floats() ? finish_as<double>(curves) : finish_as<std::int64_t>(curves);
}

// `means` are counts a bin of a and b, [pair][2].
void CurveStream::finish_traces(core::CorrelationCurves& curves,
                                const std::vector<double>& means) const {
  const std::size_t sensors = config_.stage.sensors;
  const auto fill = [&](core::CurveSignal& signal, std::size_t sensor, double mean) {
    signal.mean_rate_hz = mean;
    if (trace_step_ == 0) return;
    for (std::uint64_t first = 0; first < samples_; first += trace_step_) {
      const std::uint64_t length = std::min(trace_step_, samples_ - first);
      signal.trace.time_s.push_back(static_cast<double>(first) + static_cast<double>(length) / 2);
      signal.trace.rate_khz.push_back(trace_[first / trace_step_ * sensors + sensor] /
                                      static_cast<double>(length));
    }
  };
  curves.first.resize(pairs_);
  curves.second.resize(curves.cross ? pairs_ : 0);
  for (std::size_t p = 0; p < pairs_; ++p) {
    const auto own = static_cast<std::uint32_t>(p);
    const Pair pair = config_.stage.pairs.empty() ? Pair{own, own} : config_.stage.pairs[p];
    fill(curves.first[p], pair.a, means[2 * p]);
    if (curves.cross) fill(curves.second[p], pair.b, means[2 * p + 1]);
  }
}

}  // namespace tautline::pipeline

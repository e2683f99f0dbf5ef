#include "tautline/pipeline/curve_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tautline/core/view.h"
#include "tautline/core/hash.h"
#include "tautline/pipeline/stage_sums.h"
#include "tautline/stages/autocorrelate/normalise.h"

namespace tautline::pipeline {

namespace {

using stages::autocorrelate::Pair;
using stages::autocorrelate::Samples;

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
  return {values.data(), {pairs, lags}};
}

}  // namespace

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
      segments_(CurveSegments::make(config.segments_config())),
      trace_(config.stage.sensors, config.planned_samples) {}

CurveStream::~CurveStream() = default;

std::size_t CurveStream::bytes(const CurveStreamConfig& config,
                               const stages::autocorrelate::Plan& plan) {
  const std::size_t values =
      config.stage.pair_count() * stages::autocorrelate::lags_of(config.stage).size();
  // Sums, lead-in and monitors as they are read, and g and its error twice.
  constexpr std::size_t kArrays = 4 + 4;
  return plan.bytes().host_bytes + values * kArrays * sizeof(double) +
         CurveSegments::bytes(config.segments_config()) +
         2 * CurveTrace::bytes(config.stage.sensors);
}

void CurveStream::take(const void* counts, std::size_t samples) {
  for_type(config_.stage.type, [&]<class Count>(Count) {
    const Samples<Count> view(static_cast<const Count*>(counts), {samples, config_.stage.sensors});
    plan_->execute(*queue_, *run_, view);
  });
}

// What is left over after the last whole segment belongs to none.
void CurveStream::push(const void* counts, std::size_t samples) {
  const std::size_t row_bytes = config_.stage.sensors * core::bytes_of(config_.stage.type);
  for (std::size_t t = 0; t < samples;) {
    const std::uint64_t end = std::min(samples_ + samples, segments_->next_end());
    const auto part = static_cast<std::size_t>(end - run_->samples());
    take(static_cast<const std::byte*>(counts) + t * row_bytes, part);
    t += part;
    close_segment();
  }
  for_type(config_.stage.type, [&]<class Count>(Count) {
    trace_.add(static_cast<const Count*>(counts), samples_, samples);
  });
  samples_ += samples;
}

void CurveStream::push_tags(std::span<const stages::autocorrelate::Tag> tags, std::uint64_t until) {
  trace_.add_tags(tags);
  while (samples_ < until) {
    const std::uint64_t end = std::min(until, segments_->next_end());
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
  if (run_->samples() >= segments_->next_end()) segments_->close(*plan_, *queue_, *run_);
}

template <class Value>
void CurveStream::finish_as(core::CorrelationCurves& curves) const {
  StageSums<Value> memory(pairs_, lags_);
  memory.read(*plan_, *queue_, *run_);
  curves.g.resize(pairs_ * lags_);
  stages::autocorrelate::normalise(config_.stage, config_.normalization, samples_, memory.views,
                                   view_of(curves.g, pairs_, lags_));
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

void CurveStream::finish(core::CorrelationCurves& curves) const {
  SegmentCurves segments = segments_->curves(samples_);
  curves.curves = pairs_;
  curves.lags = lags_;
  curves.samples = samples_;
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
  floats() ? finish_as<double>(curves) : finish_as<std::int64_t>(curves);
  if (curves.detrended) curves.g = std::move(segments.detrended_g);
}

// `means` are counts a bin of a and b, [pair][2].
void CurveStream::finish_traces(core::CorrelationCurves& curves,
                                const std::vector<double>& means) const {
  const auto fill = [&](core::CurveSignal& signal, std::size_t sensor, double mean) {
    signal.mean_rate_hz = mean;
    const std::uint64_t step = trace_.step_samples();
    if (step == 0) return;
    for (std::uint64_t first = 0; first < samples_; first += step) {
      const std::uint64_t length = std::min(step, samples_ - first);
      signal.trace.time_s.push_back(static_cast<double>(first) + static_cast<double>(length) / 2);
      signal.trace.rate_khz.push_back(trace_.counts(first / step, sensor) /
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

// A state's bytes mean something to the plan that wrote them alone, and nothing in them says which
// one that was: the sums that it reads tell.
std::uint64_t CurveStream::sums_checksum() const {
  std::uint64_t checksum = core::kHashStart;
  core::ByteWriter writer([&](std::span<const std::byte> some) {
    checksum = core::hash({reinterpret_cast<const char*>(some.data()), some.size()}, checksum);
  });
  const auto add = [&]<class Value>(Value) {
    StageSums<Value> sums(pairs_, lags_);
    sums.read(*plan_, *queue_, *run_);
    sums.exchange(writer);
  };
  floats() ? add(double{}) : add(std::int64_t{});
  return checksum;
}

void CurveStream::save(const core::ByteWriter::Sink& sink) {
  queue_->synchronise();
  core::ByteWriter writer(sink);
  writer(samples_);
  writer(sums_checksum());
  writer(run_->save());
  segments_->save(writer);
  trace_.exchange(writer);
}

void CurveStream::load(std::span<const std::byte> bytes, const std::string& what) {
  core::ByteReader reader(bytes, what);
  std::uint64_t checksum = 0;
  std::vector<std::byte> run;
  reader(samples_);
  reader(checksum);
  reader(run);
  run_->load(run);
  if (run_->samples() != samples_ || sums_checksum() != checksum) reader.refuse();
  segments_->load(reader);
  trace_.exchange(reader);
  if (!trace_.whole()) reader.refuse();
  reader.finish();
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/photons/curve_segments.h"

#include <algorithm>
#include <utility>

#include "tautline/stages/autocorrelate/normalise.h"

namespace tautline::pipeline {

namespace {

using stages::autocorrelate::Detrender;
using stages::autocorrelate::SegmentScatter;

// Curves of single segments are kept up to this: 1,024 sensors of 320 lags and 10 segments take 13
// MB.
constexpr std::size_t kMostSegmentBytes = std::size_t{64} << 20;
// Where the length of the run is unknown, the first segments have this length. Reading a state of a thousand sensors
// takes milliseconds, ten times for each doubling of the run.
constexpr std::uint64_t kFirstSegmentSamples = 1024;

}  // namespace

/// Accumulates the scatter of segments of one length.
class SegmentAdder {
 public:
  SegmentAdder(const SegmentsConfig& config, std::size_t most)
      : config_(config),
        pairs_(config.stage.pair_count()),
        lags_(stages::autocorrelate::lags_of(config.stage)),
        keeps_g_(pairs_ * lags_.size() * most * sizeof(float) <= kMostSegmentBytes),
        no_lead_in_(config.open_ended || config.detrend ? pairs_ * lags_.size() : 0),
        row_g_(pairs_ * lags_.size()),
        scatter_(pairs_, lags_.size()),
        detrender_(pairs_, config.detrend ? lags_.size() : 0) {
    if (keeps_g_) g_.reserve(row_g_.size() * most);
  }

  /// Adds a segment by its `growth` as read, without the lead-in.
  void add(StageSums growth, std::uint64_t segment_samples) {
    leave_out_long_lags(growth.counts(), segment_samples);
    auto sums = growth.views();
    sums.lead_in = {no_lead_in_.data(), config_.stage.sums_type(), {pairs_, lags_.size()}};
    if (config_.detrend) detrender_.add(sums);
    stages::autocorrelate::normalise(config_.stage, config_.normalization, segment_samples, sums,
                                     row_g());
    keep(growth.counts(), segment_samples);
  }

  /// Adds a segment by the state's sums at its beginning and end, without storing the difference.
  void add(StageSums& before, StageSums& later, std::uint64_t segment_samples) {
    if (config_.detrend) return add(growth_of(before, later), segment_samples);
    std::vector<std::int64_t> counts = later.counts();
    for (std::size_t l = 0; l < counts.size(); ++l) counts[l] -= before.counts()[l];
    leave_out_long_lags(counts, segment_samples);
    stages::autocorrelate::normalise_growth(config_.stage, config_.normalization, segment_samples,
                                            before.views(), later.views(), counts, row_g());
    keep(counts, segment_samples);
  }

  static StageSums growth_of(StageSums before, const StageSums& later) {
    before.subtract_from(later);
    before.drop_lead_in();
    return before;
  }

  SegmentCurves curves() const {
    const std::size_t segments = scatter_.segments();
    if (segments < 2) return {};
    SegmentCurves c{segments, segment_samples_, scatter_.standard_error(), {}, g_, counts_};
    if (config_.detrend) c.detrended_g = detrender_.g();
    return c;
  }

 private:
  core::View<double, 2> row_g() { return {row_g_.data(), {pairs_, lags_.size()}}; }

  // A lag longer than a segment links it to other segments, which are then not independent: it counts as no segment.
  void leave_out_long_lags(std::vector<std::int64_t>& counts, std::uint64_t segment_samples) const {
    for (std::size_t l = 0; l < counts.size(); ++l)
      if (stages::autocorrelate::pairs_at(config_.stage, lags_[l], segment_samples) == 0)
        counts[l] = 0;
  }

  // Adds the segment's row_g_.
  void keep(const std::vector<std::int64_t>& counts, std::uint64_t segment_samples) {
    if (keeps_g_) g_.insert(g_.end(), row_g_.begin(), row_g_.end());
    counts_.insert(counts_.end(), counts.begin(), counts.end());
    // Sums grow with the pairs: their mean products are comparable.
    if (config_.normalization == core::Normalization::none)
      for (std::size_t i = 0; i < row_g_.size(); ++i)
        row_g_[i] /= static_cast<double>(counts[i % counts.size()]);
    scatter_.add(row_g_, counts);
    segment_samples_ = segment_samples;
  }

  const SegmentsConfig& config_;
  std::size_t pairs_;
  std::vector<stages::autocorrelate::Lag> lags_;
  bool keeps_g_;
  std::vector<std::uint64_t> no_lead_in_;  // zeros of either type
  std::vector<double> row_g_;              // of the segment being added
  std::uint64_t segment_samples_ = 0;
  std::vector<float> g_;
  std::vector<std::int64_t> counts_;
  SegmentScatter scatter_;
  Detrender detrender_;
};

CurveSegments::CurveSegments(const SegmentsConfig& config) : config_(config) {
  if (config_.segments < 2) return;
  length_ = config_.planned_samples / config_.segments;
  if (!config_.open_ended) {
    adder_ = std::make_unique<SegmentAdder>(config_, config_.segments);
  } else if (length_ == 0) {
    length_ = config_.planned_samples == 0 ? kFirstSegmentSamples : 1;
  }
}

CurveSegments::~CurveSegments() = default;

std::uint64_t CurveSegments::next_end() const {
  if (length_ == 0 || (!config_.open_ended && done_ == config_.segments)) return kNever;
  return (done_ + 1) * length_;
}

void CurveSegments::close(const stages::autocorrelate::Plan& plan, device::Queue& queue,
                          const stages::autocorrelate::State& state, const StageSums* before) {
  if (!before_) before_.emplace(config_.stage);
  if (!now_) now_.emplace(config_.stage);
  now_->read(plan, queue, state);
  if (before != nullptr) now_->add(*before);
  if (config_.open_ended)
    kept_.push_back(SegmentAdder::growth_of(*before_, *now_));
  else
    adder_->add(*before_, *now_, length_);
  std::swap(before_, now_);
  ++done_;
  if (config_.open_ended && done_ == 2 * config_.segments) join_neighbours();
}

SegmentCurves CurveSegments::curves(std::uint64_t samples) const {
  if (!config_.open_ended) return adder_ == nullptr ? SegmentCurves{} : adder_->curves();
  // As long as the run keeps to the plan, it has the same segments as a run of known length.
  std::size_t used = kept_.size();
  if (samples <= config_.planned_samples)
    used = config_.planned_samples < config_.segments ? 0 : std::min(used, config_.segments);
  SegmentAdder adder(config_, std::max(used, config_.segments));
  for (std::size_t k = 0; k < used; ++k) adder.add(kept_[k], length_);
  return adder.curves();
}

// Called when there are twice as many segments as configured, an even number.
void CurveSegments::join_neighbours() {
  for (std::size_t k = 0; k < config_.segments; ++k) {
    StageSums joined = std::move(kept_[2 * k]);
    joined.add(kept_[2 * k + 1]);
    kept_[k] = std::move(joined);
  }
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(config_.segments), kept_.end());
  length_ *= 2;
  done_ = config_.segments;
}

void CurveSegments::save(core::ByteWriter& writer) {
  for (const std::uint64_t value : {done_, length_, config_.planned_samples}) writer(value);
  for (StageSums& one : kept_) one.exchange(writer);
  if (!before_) before_.emplace(config_.stage);
  before_->exchange(writer);
}

void CurveSegments::load(core::ByteReader& reader) {
  for (std::uint64_t* value : {&done_, &length_, &config_.planned_samples}) reader(*value);
  if (done_ > 2 * config_.segments) reader.refuse();
  const StageSums whole(config_.stage);
  StageSums growth = whole;
  growth.drop_lead_in();
  kept_.assign(static_cast<std::size_t>(done_), growth);
  for (StageSums& one : kept_) {
    one.exchange(reader);
    if (!one.fits(growth)) reader.refuse();
  }
  before_ = whole;
  before_->exchange(reader);
  if (!before_->fits(whole)) reader.refuse();
}

std::size_t CurveSegments::bytes(const SegmentsConfig& config) {
  if (config.segments < 2) return 0;
  const std::size_t lags = stages::autocorrelate::lags_of(config.stage).size();
  const std::size_t values = config.stage.pair_count() * lags * sizeof(double);
  // Sums read now and a segment ago, g, mean products and the scatter's four arrays, zeros for the lead-in; the
  // detrender's two arrays of long double and its g.
  const std::size_t arrays = 4 + 4 + 6 + 1 + (config.detrend ? 5 : 0);
  const std::size_t kept = config.open_ended ? 3 * 2 * config.segments : 0;
  return values * (arrays + kept);
}

}  // namespace tautline::pipeline

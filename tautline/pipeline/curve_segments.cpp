#include "tautline/pipeline/curve_segments.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "tautline/pipeline/stage_sums.h"
#include "tautline/stages/autocorrelate/normalise.h"

namespace tautline::pipeline {

namespace {

using stages::autocorrelate::Detrender;
using stages::autocorrelate::Lag;
using stages::autocorrelate::SegmentScatter;

// Curves of single segments are kept up to this: 1,024 sensors of 320 lags and 10 segments take 13
// MB.
constexpr std::size_t kMostSegmentBytes = std::size_t{64} << 20;
// Where nobody knows how long the run will be, the first segments are so short. Reading a state of
// a thousand sensors takes milliseconds, ten times for each doubling of the run.
constexpr std::uint64_t kFirstSegmentSamples = 1024;

/// What sums and monitors grew by over one segment.
template <class Value>
struct Growth {
  std::vector<Value> sums;  ///< without the lead-in
  std::vector<Value> direct, delayed, totals;
  std::vector<std::int64_t> counts;

  explicit Growth(StageSums<Value>& from)
      : sums(from.sums),
        direct(from.direct),
        delayed(from.delayed),
        totals(from.totals),
        counts(from.counts) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] -= from.lead_in[i];
  }
  Growth() = default;

  void join(const Growth& next) {
    const auto add = [](auto& to, const auto& more) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
    };
    add(sums, next.sums);
    add(direct, next.direct);
    add(delayed, next.delayed);
    add(totals, next.totals);
    add(counts, next.counts);
  }

  template <class Archive>
  void exchange(Archive& archive) {
    for (auto* values : {&sums, &direct, &delayed, &totals}) archive(*values);
    archive(counts);
  }
  bool fits(std::size_t pairs, std::size_t lags) const {
    return sums.size() == pairs * lags && direct.size() == sums.size() &&
           delayed.size() == sums.size() && totals.size() == 2 * pairs && counts.size() == lags;
  }
};

/// Segments of one length, one after the other, to their scatter.
template <class Value>
class SegmentAdder {
 public:
  SegmentAdder(const SegmentsConfig& config, const std::vector<Lag>& lags, std::size_t most)
      : config_(config),
        lags_(lags),
        pairs_(config.stage.pair_count()),
        keeps_g_(pairs_ * lags.size() * most * sizeof(float) <= kMostSegmentBytes),
        scatter_(pairs_, lags.size()),
        detrender_(pairs_, config.detrend ? lags.size() : 0) {}

  /// `growth` as it was measured; a lag longer than a segment joins it to others, which are then not
  /// independent, and counts as none.
  void add(Growth<Value> growth, std::uint64_t segment_samples) {
    for (std::size_t l = 0; l < lags_.size(); ++l)
      if (stages::autocorrelate::pairs_at(config_.stage, lags_[l], segment_samples) == 0)
        growth.counts[l] = 0;
    std::vector<Value> none(growth.sums.size());
    const auto view = [&](std::vector<Value>& values, std::size_t columns) {
      return StageSums<Value>::view(values, pairs_, columns);
    };
    const std::size_t lags = lags_.size();
    const stages::autocorrelate::Sums<Value> sums{
        view(growth.sums, lags),    view(none, lags),       view(growth.direct, lags),
        view(growth.delayed, lags), view(growth.totals, 2), growth.counts};
    if (config_.detrend) detrender_.add(sums);
    std::vector<double> g(pairs_ * lags);
    stages::autocorrelate::normalise(config_.stage, config_.normalization, segment_samples, sums,
                                     StageSums<double>::view(g, pairs_, lags));
    if (keeps_g_) g_.insert(g_.end(), g.begin(), g.end());
    counts_.insert(counts_.end(), growth.counts.begin(), growth.counts.end());
    // Sums grow with the pairs: it is their mean products that are alike.
    if (config_.normalization == core::Normalization::none)
      for (std::size_t i = 0; i < g.size(); ++i)
        g[i] /= static_cast<double>(growth.counts[i % lags]);
    scatter_.add(g, growth.counts);
    segment_samples_ = segment_samples;
  }

  SegmentCurves curves() const {
    const std::size_t segments = scatter_.segments();
    if (segments < 2) return {};
    SegmentCurves c{segments, segment_samples_, scatter_.standard_error(), {}, g_, counts_};
    if (config_.detrend) c.detrended_g = detrender_.g();
    return c;
  }

 private:
  SegmentsConfig config_;
  std::vector<Lag> lags_;
  std::size_t pairs_;
  bool keeps_g_;
  std::uint64_t segment_samples_ = 0;
  std::vector<float> g_;
  std::vector<std::int64_t> counts_;
  SegmentScatter scatter_;
  Detrender detrender_;
};

template <class Value>
class TypedSegments final : public CurveSegments {
 public:
  explicit TypedSegments(const SegmentsConfig& config)
      : config_(config),
        lags_(stages::autocorrelate::lags_of(config.stage)),
        pairs_(config.stage.pair_count()),
        adder_(config, config.segments < 2 || config.open_ended ? std::vector<Lag>{} : lags_,
               config.segments) {
    if (config_.segments < 2) return;
    length_ = config_.planned_samples / config_.segments;
    if (config_.open_ended && length_ == 0)
      length_ = config_.planned_samples == 0 ? kFirstSegmentSamples : 1;
  }

  std::uint64_t next_end() const override {
    if (length_ == 0 || (!config_.open_ended && done_ == config_.segments)) return kNever;
    return (done_ + 1) * length_;
  }

  void close(const stages::autocorrelate::Plan& plan, device::Queue& queue,
             const stages::autocorrelate::State& state) override {
    auto now = std::make_unique<StageSums<Value>>(pairs_, lags_.size());
    now->read(plan, queue, state);
    if (before_ == nullptr) before_ = std::make_unique<StageSums<Value>>(pairs_, lags_.size());
    before_->subtract_from(*now);
    if (config_.open_ended)
      kept_.emplace_back(*before_);
    else
      adder_.add(Growth<Value>(*before_), length_);
    before_ = std::move(now);
    ++done_;
    if (config_.open_ended && done_ == 2 * config_.segments) join_neighbours();
  }

  SegmentCurves curves(std::uint64_t samples) const override {
    if (!config_.open_ended) return adder_.curves();
    // As long as the run keeps to the plan, it has the segments that a run of known length has.
    std::size_t used = kept_.size();
    if (samples <= config_.planned_samples)
      used = config_.planned_samples < config_.segments ? 0 : std::min(used, config_.segments);
    SegmentAdder<Value> adder(config_, lags_, std::max(used, config_.segments));
    for (std::size_t k = 0; k < used; ++k) adder.add(kept_[k], length_);
    return adder.curves();
  }

  void save(core::ByteWriter& writer) override { exchange(writer); }

  void load(core::ByteReader& reader) override {
    kept_.clear();
    before_ = std::make_unique<StageSums<Value>>(pairs_, lags_.size());
    exchange(reader);
    for (const Growth<Value>& one : kept_)
      if (!one.fits(pairs_, lags_.size())) reader.refuse();
    if (before_->sums.size() != pairs_ * lags_.size()) reader.refuse();
  }

 private:
  // Twice as many as were asked for are there, an even number.
  void join_neighbours() {
    for (std::size_t k = 0; k < config_.segments; ++k) {
      Growth<Value> joined = std::move(kept_[2 * k]);
      joined.join(kept_[2 * k + 1]);
      kept_[k] = std::move(joined);
    }
    kept_.resize(config_.segments);
    length_ *= 2;
    done_ = config_.segments;
  }

  template <class Archive>
  void exchange(Archive& archive) {
    std::uint64_t done = done_;
    archive(done);
    archive(length_);
    archive(config_.planned_samples);
    if (done > 2 * config_.segments) refuse(archive);
    done_ = static_cast<std::size_t>(done);
    kept_.resize(done_);
    for (Growth<Value>& one : kept_) one.exchange(archive);
    if (before_ == nullptr) before_ = std::make_unique<StageSums<Value>>(pairs_, lags_.size());
    before_->exchange(archive);
  }
  static void refuse(core::ByteWriter&) {}
  static void refuse(core::ByteReader& reader) { reader.refuse(); }

  SegmentsConfig config_;
  std::vector<Lag> lags_;
  std::size_t pairs_;
  std::uint64_t length_ = 0;  ///< of a segment in samples; 0: there are none
  std::size_t done_ = 0;
  std::unique_ptr<StageSums<Value>> before_;  ///< what was read where the last segment ended
  SegmentAdder<Value> adder_;
  std::vector<Growth<Value>> kept_;
};

}  // namespace

std::unique_ptr<CurveSegments> CurveSegments::make(const SegmentsConfig& config) {
  if (config.stage.type == core::CountType::f32)
    return std::make_unique<TypedSegments<double>>(config);
  return std::make_unique<TypedSegments<std::int64_t>>(config);
}

std::size_t CurveSegments::bytes(const SegmentsConfig& config) {
  if (config.segments < 2) return 0;
  const std::size_t lags = stages::autocorrelate::lags_of(config.stage).size();
  const std::size_t values = config.stage.pair_count() * lags * sizeof(double);
  // Read now and a segment ago, g, mean products and the scatter's two, zeros for the lead-in; the
  // detrender's two long doubles and g.
  const std::size_t arrays = 4 + 4 + 4 + 1 + (config.detrend ? 5 : 0);
  const std::size_t kept = config.open_ended ? 3 * 2 * config.segments : 0;
  return values * (arrays + kept);
}

}  // namespace tautline::pipeline

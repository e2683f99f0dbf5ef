// One stream of counts through the autocorrelator: the run as a whole, its segments, and the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/normalise.h"
#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::pipeline {

struct CurveStreamConfig {
  stages::autocorrelate::Config stage;
  core::Normalization normalization = core::Normalization::symmetric;
  std::uint64_t total_samples = 0;  ///< of the run; segments and trace are cut by it
  std::size_t segments = 10;        ///< 0 or 1: none
  bool detrend = false;
};

/// Memory does not depend on the length of the run.
class CurveStream {
 public:
  CurveStream(const CurveStreamConfig& config, std::shared_ptr<const device::Device> device);
  /// For push_tags.
  CurveStream(const CurveStreamConfig& config, std::shared_ptr<const device::Device> device,
              std::shared_ptr<const stages::autocorrelate::TagPlan> plan);
  ~CurveStream();

  std::string backend() const { return plan_->backend(); }
  /// Host memory of the states and of everything that is read from them.
  static std::size_t bytes(const CurveStreamConfig& config,
                           const stages::autocorrelate::Plan& plan);
  const stages::autocorrelate::Plan& plan() const { return *plan_; }

  /// [time][sensor] of the stage's type, at most max_samples times.
  void push(const void* counts, std::size_t samples);
  /// The tags of the bins from samples() to `until`, in order.
  void push_tags(std::span<const stages::autocorrelate::Tag> tags, std::uint64_t until);
  std::uint64_t samples() const { return samples_; }

  /// Everything but labels, mask and seconds: those are left as they are, but for the traces,
  /// whose times are in bins and whose rates are counts a bin.
  void finish(core::CorrelationCurves& curves);

 private:
  template <class Value>
  struct Memory;

  void take(const void* counts, std::size_t samples);
  bool segments_left() const { return segment_samples_ > 0 && segments_done_ < config_.segments; }
  std::uint64_t segment_end() const { return (segments_done_ + 1) * segment_samples_; }
  void close_segment();
  template <class Count>
  void add_to_trace(const Count* counts, std::size_t samples);
  template <class Value>
  void close_segment(std::unique_ptr<Memory<Value>>& before);
  template <class Value>
  void finish_as(core::CorrelationCurves& curves);
  void finish_traces(core::CorrelationCurves& curves, const std::vector<double>& means) const;
  bool floats() const { return config_.stage.type == core::CountType::f32; }

  CurveStreamConfig config_;
  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<device::Queue> queue_;
  std::shared_ptr<const stages::autocorrelate::Plan> plan_;
  std::shared_ptr<const stages::autocorrelate::TagPlan> tag_plan_;  ///< plan_, or null
  std::unique_ptr<stages::autocorrelate::State> run_;
  // What was read where the last segment ended.
  std::unique_ptr<Memory<std::int64_t>> before_;
  std::unique_ptr<Memory<double>> before_float_;
  std::size_t pairs_, lags_;
  std::uint64_t samples_ = 0;
  std::uint64_t segment_samples_ = 0;  ///< 0: no segments
  std::size_t segments_done_ = 0;
  std::vector<float> segment_g_;  // [segment][pair][lag], while it is small
  stages::autocorrelate::SegmentScatter scatter_;
  stages::autocorrelate::Detrender detrender_;
  std::uint64_t trace_step_ = 0;  ///< samples; 0: no trace
  std::vector<double> trace_;     ///< [step][sensor]
};

}  // namespace tautline::pipeline

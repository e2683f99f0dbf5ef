// One stream of counts through the autocorrelator: the run as a whole, its segments, and the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tautline/core/byte_archive.h"
#include "tautline/core/correlation_curve.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/photons/curve_segments.h"
#include "tautline/pipeline/photons/curve_trace.h"
#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/rolling_curves.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::pipeline {

struct CurveStreamConfig {
  stages::autocorrelate::Config stage;
  core::Normalization normalization = core::Normalization::symmetric;
  std::uint64_t planned_samples = 0;  ///< of the run; segments and trace are cut by it
  std::size_t segments = 10;          ///< 0 or 1: none
  bool detrend = false;
  std::optional<WindowSteps> window = {};  ///< that rolling curves are of
  /// The run may go on beyond what is planned (0: nobody knows), and may be saved and taken up again:
  /// there are then as many segments as asked for, or up to twice as many.
  bool open_ended = false;

  SegmentsConfig segments_config() const {
    return {stage, normalization, segments, detrend, planned_samples, open_ended};
  }
};

/// Memory does not depend on the length of the run.
class CurveStream {
 public:
  /// `plan`: of config.stage; a TagPlan for push_tags. `queue` outlives the stream. `counts_on`: the GPU in whose memory
  /// counts come; null: the host's.
  CurveStream(const CurveStreamConfig& config, device::Queue& queue,
              std::shared_ptr<const stages::autocorrelate::Plan> plan,
              const device::Device* counts_on = nullptr);

  /// Host memory of the states and of everything that is read from them.
  static std::size_t bytes(const CurveStreamConfig& config,
                           const stages::autocorrelate::Plan& plan);

  /// Dense [time][sensor] of the stage's type, at most max_samples times.
  void push(const core::SampleView<2>& counts);
  /// The tags of the bins from samples() to `until`, in order.
  void push_tags(std::span<const stages::autocorrelate::Tag> tags, std::uint64_t until);
  std::uint64_t samples() const { return samples_; }

  /// Everything but labels, mask and seconds: those are left as they are, but for the traces,
  /// whose times are in bins and whose rates are counts a bin. The stream may go on after it.
  void finish(core::CorrelationCurves& curves);
  /// The rolling curves, where there are any yet; labels, mask and seconds are left as they are.
  const RollingCurves* rolling() const {
    return rolling_ && rolling_->any() ? &*rolling_ : nullptr;
  }
  /// After finish(): where the sensors that are `good` had stopped or never changed, in whole steps of the trace.
  std::vector<SensorStretch> empty_stretches(std::span<const std::uint8_t> good) const;

  /// Of open-ended runs: everything, for `load` into a stream of the same config, device and
  /// tunables, which then goes on as this one would have.
  void save(const core::ByteWriter::Sink& sink);
  /// Throws Error(format) when the bytes are not such a stream's.
  void load(std::span<const std::byte> bytes, const std::string& what);

 private:
  std::uint64_t next_end() const;
  void close_segment();
  void finish_traces(core::CorrelationCurves& curves) const;

  CurveStreamConfig config_;
  device::Queue& queue_;
  std::shared_ptr<const stages::autocorrelate::Plan> plan_;
  const stages::autocorrelate::TagPlan* tag_plan_;  ///< plan_, or null
  std::unique_ptr<stages::autocorrelate::State> run_;
  std::size_t pairs_, lags_;
  std::uint64_t samples_ = 0;
  CurveSegments segments_;
  std::optional<RollingCurves> rolling_;
  CurveTrace trace_;
};

}  // namespace tautline::pipeline

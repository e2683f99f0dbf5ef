// One stream of counts through the autocorrelator: the run as a whole, its segments, and the trace.
#pragma once

#include <algorithm>
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
#include "tautline/pipeline/photons/stage_sums.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::pipeline {

struct CurveStreamConfig {
  stages::autocorrelate::Config stage;
  core::Normalization normalization = core::Normalization::symmetric;
  /// Of the run; determines the length of segments and trace steps.
  std::uint64_t planned_samples = 0;
  std::size_t segments = 10;  ///< 0 or 1: none
  bool detrend = false;
  std::optional<WindowSteps> window = {};  ///< of the rolling curves
  /// Stops of all sensors, in order, inside the run. They cut it into parts whose sums and pairs are added; segments
  /// are of the time that is left. None with `window` and, at first, in open-ended runs.
  std::vector<BinRange> stops = {};
  /// The run may become longer than planned (0: unknown), and may be saved and resumed: there are then as many segments
  /// as configured, or up to twice as many.
  bool open_ended = false;
  bool more_stops = false;  ///< add_stop() may follow, also in open-ended runs

  SegmentsConfig segments_config() const {
    std::uint64_t stopped = 0;
    for (const BinRange& stop : stops) stopped += stop.bins();
    return {stage,
            normalization,
            segments,
            detrend,
            planned_samples - std::min(planned_samples, stopped),
            open_ended};
  }
};

/// Memory does not depend on the length of the run.
class CurveStream {
 public:
  /// `plan`: of config.stage; a TagPlan for push_tags. `queue` outlives the stream. `counts_on`: the GPU whose memory
  /// has the counts; null: the host.
  CurveStream(const CurveStreamConfig& config, device::Queue& queue,
              std::shared_ptr<const stages::autocorrelate::Plan> plan,
              const device::Device* counts_on = nullptr);

  /// Host memory of the states and of everything that is read from them.
  static std::size_t bytes(const CurveStreamConfig& config,
                           const stages::autocorrelate::Plan& plan);

  /// Pushes dense [time][sensor] counts of the stage's type, at most max_samples times.
  void push(const core::SampleView<2>& counts);
  /// Pushes the tags of the bins from samples() to `until`, in order.
  void push_tags(std::span<const stages::autocorrelate::Tag> tags, std::uint64_t until);
  /// A stop that was found as the stream came; none of it was pushed so far. In order.
  void add_stop(BinRange stop);
  /// Those still ahead, and of those passed what the traces need.
  std::span<const BinRange> stops() const { return config_.stops; }
  /// Pushed so far, with those in stops.
  std::uint64_t samples() const { return samples_; }

  /// Fills in everything except labels, mask and seconds; traces have times in bins and rates in counts a bin. More
  /// samples may be pushed afterwards.
  void finish(core::CorrelationCurves& curves);
  /// The rolling curves, once there are any; labels, mask and seconds are not filled in.
  const RollingCurves* rolling() const {
    return rolling_ && rolling_->any() ? &*rolling_ : nullptr;
  }
  /// After finish(): where `good` sensors had stopped or never changed, in whole steps of the trace; of bins of `bin_s`.
  std::vector<SensorStretch> empty_stretches(std::span<const std::uint8_t> good,
                                             double bin_s) const;

  /// For open-ended runs: the whole state, for `load` into a stream of the same config, device and tunables, which then
  /// continues as this one would.
  void save(const core::ByteWriter::Sink& sink);
  /// Throws Error(format) when the bytes are not of such a stream.
  void load(std::span<const std::byte> bytes, const std::string& what);

 private:
  template <class Take>
  void between_stops(std::uint64_t until, const Take& take);
  void join_passed_stops();
  void end_part();
  /// Of all parts, read into sums_.
  StageSums& sums();
  /// Samples in the sums.
  std::uint64_t kept() const { return kept_before_ + run_->samples(); }
  std::uint64_t next_end() const;
  void close_segment();
  void finish_traces(core::CorrelationCurves& curves) const;

  CurveStreamConfig config_;
  device::Queue& queue_;
  std::shared_ptr<const stages::autocorrelate::Plan> plan_;
  const stages::autocorrelate::TagPlan* tag_plan_;     ///< plan_, or null
  std::unique_ptr<stages::autocorrelate::State> run_;  ///< since the last stop
  std::size_t pairs_, lags_;
  std::uint64_t samples_ = 0;
  std::size_t stops_passed_ = 0;
  std::uint64_t kept_before_ = 0;    // the last stop
  std::optional<StageSums> before_;  // the sums of these samples
  std::optional<StageSums> sums_;    // memory to read into: a part may be as short as a block
  std::vector<stages::autocorrelate::Tag> tags_;
  CurveSegments segments_;
  std::optional<RollingCurves> rolling_;
  CurveTrace trace_;
};

}  // namespace tautline::pipeline

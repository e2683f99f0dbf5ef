// Equal parts of a run, each with its own curve: their scatter is the standard error.
//
// Sums and monitors only grow, by the pairs whose later window ends in the segment: a segment's sums are their growth
// over it, and cost only the reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "tautline/core/byte_archive.h"
#include "tautline/core/correlation_curve.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/photons/stage_sums.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::pipeline {

struct SegmentsConfig {
  stages::autocorrelate::Config stage;
  core::Normalization normalization = core::Normalization::symmetric;
  std::size_t segments = 10;          ///< 0 or 1: none
  bool detrend = false;               ///< take the means segment by segment too
  std::uint64_t planned_samples = 0;  ///< of the run; 0: unknown, which needs open_ended
  /// The run may become longer than planned. The growth of every segment is kept; when there are twice as many segments
  /// as configured, neighbours are joined and the next ones are twice as long: memory does not grow, and the result
  /// depends on the counts alone, not on block sizes.
  bool open_ended = false;
};

/// The results of segments. Arrays are empty where there are no segments.
struct SegmentCurves {
  std::size_t segments = 0;            ///< 2 or more, or 0
  std::uint64_t segment_samples = 0;   ///< of each
  std::vector<double> standard_error;  ///< [pair][lag]; of normalisation `none`: of mean products
  std::vector<double> detrended_g;     ///< [pair][lag], with SegmentsConfig::detrend
  std::vector<float> g;                ///< [segment][pair][lag]; empty where it would be large
  std::vector<std::int64_t> counts;  ///< [segment][lag] pairs; 0: the lag is longer than a segment
};

class SegmentAdder;

/// Belongs to one stream.
class CurveSegments {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  explicit CurveSegments(const SegmentsConfig& config);
  ~CurveSegments();
  /// Host memory, however long the run.
  static std::size_t bytes(const SegmentsConfig& config);

  /// Sample at which the next segment ends; kNever without a further one.
  std::uint64_t next_end() const;
  /// Ends the segment: `state`, and the parts of the run with the sums `before` (null: none), have next_end() samples.
  void close(const stages::autocorrelate::Plan& plan, device::Queue& queue,
             const stages::autocorrelate::State& state, const StageSums* before = nullptr);
  /// The results for a run of `samples` samples.
  SegmentCurves curves(std::uint64_t samples) const;

  /// Only for open-ended runs. `load` throws Error(format) on bytes of another kind.
  void save(core::ByteWriter& writer);
  void load(core::ByteReader& reader);

 private:
  void join_neighbours();

  SegmentsConfig config_;
  std::uint64_t length_ = 0;  ///< of a segment in samples; 0: no segments
  std::uint64_t done_ = 0;
  /// The sums at the end of the last segment, and memory for the next reading.
  std::optional<StageSums> before_, now_;
  std::unique_ptr<SegmentAdder> adder_;  ///< of runs that are not open-ended
  std::vector<StageSums> kept_;          ///< growth over every segment of an open-ended run
};

}  // namespace tautline::pipeline

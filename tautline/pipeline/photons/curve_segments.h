// Equal parts of a run, each with its own curve: their scatter is the standard error.
//
// Sums and monitors only grow, by the pairs whose later window ends in the segment: a segment's are
// what they grew by, and cost nothing but the reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
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
  std::uint64_t planned_samples = 0;  ///< of the run; 0: not known, which needs open_ended
  /// The run may go on beyond what is planned. What every segment grew by is kept, and when there are
  /// twice as many as asked for, neighbours are joined and the next ones are twice as long: memory
  /// stays the same, and the result depends on the counts alone, not on how they were split.
  bool open_ended = false;
};

/// What segments give. Arrays are empty where there are none.
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

  /// Samples at which a segment ends next; kNever when there is no other.
  std::uint64_t next_end() const;
  /// Ends it: `state` holds next_end() samples.
  void close(const stages::autocorrelate::Plan& plan, device::Queue& queue,
             const stages::autocorrelate::State& state);
  /// Of a run of `samples` samples by now.
  SegmentCurves curves(std::uint64_t samples) const;

  /// Of runs that are open-ended alone. `load` throws Error(format) on what is not such a run's.
  void save(core::ByteWriter& writer);
  void load(core::ByteReader& reader);

 private:
  void join_neighbours();

  SegmentsConfig config_;
  std::uint64_t length_ = 0;  ///< of a segment in samples; 0: there are none
  std::uint64_t done_ = 0;
  /// What was read where the last segment ended, and room for the next reading.
  std::optional<StageSums> before_, now_;
  std::unique_ptr<SegmentAdder> adder_;  ///< of runs that are not open-ended
  std::vector<StageSums> kept_;          ///< what every segment of an open-ended run grew by
};

}  // namespace tautline::pipeline

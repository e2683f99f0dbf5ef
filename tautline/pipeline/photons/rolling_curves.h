// The curves of the last part of a run, as a run over that part alone would have them, to the bit.
//
// A second state begins anew at each step. What the sums of the whole run grew by since the end of the window's first step,
// and the second state's sums over that step, are the window's: of a pair that begins before the window the later
// sample lies in the first step, since no lag is longer than a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/photons/stage_sums.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/tags.h"

namespace tautline::pipeline {

/// How a window moves: by whole steps, which are whole windows of the longest lags.
struct WindowSteps {
  static constexpr std::uint64_t kMost = 10;
  std::uint64_t step_samples = 0, steps = 0;
  std::uint64_t samples() const { return step_samples * steps; }
};
/// Of about so many samples. Of a window that is not long against the longest lag one step, the whole of it. Throws
/// Error(config) of `window_s` for one that is shorter than any curve, and Error(unsupported) for float counts, whose sums depend on
/// their order.
WindowSteps steps_of_window(const stages::autocorrelate::Config& stage, std::uint64_t samples);

class RollingCurves {
 public:
  RollingCurves(const stages::autocorrelate::Config& stage, const WindowSteps& steps,
                device::Queue& queue, std::shared_ptr<const stages::autocorrelate::Plan> plan);
  /// Host memory, a second state's included.
  static std::size_t bytes(const stages::autocorrelate::Config& stage, const WindowSteps& steps,
                           const stages::autocorrelate::Plan& plan);

  /// Samples of the run at which a step ends next.
  std::uint64_t next_end() const { return (closed_ + 1) * steps_.step_samples; }
  /// What the run is given, no further than next_end().
  void push(const core::SampleView<2>& counts);
  void push_tags(std::span<const stages::autocorrelate::Tag> tags, std::uint64_t until);
  /// Ends the step: `run` holds next_end() samples.
  void close(const stages::autocorrelate::State& run);

  /// Whether there has been a whole window. Of the last one:
  bool any() const { return closed_ >= steps_.steps; }
  std::uint64_t first_sample() const { return (closed_ - steps_.steps) * steps_.step_samples; }
  /// Sums, g and mean counts a bin; no segments, traces and labels.
  void finish(core::Normalization normalization, core::CorrelationCurves& curves) const;

 private:
  stages::autocorrelate::Config stage_;
  WindowSteps steps_;
  device::Queue& queue_;
  std::shared_ptr<const stages::autocorrelate::Plan> plan_;
  std::unique_ptr<stages::autocorrelate::State> step_;
  std::uint64_t closed_ = 0;  // steps
  StageSums whole_;           // of the run, at the end of the last step
  std::deque<StageSums>
      step_less_run_;  // of the last steps: the step's own sums less the run's by then
  std::vector<stages::autocorrelate::Tag> tags_;
};

}  // namespace tautline::pipeline

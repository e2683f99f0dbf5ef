// The curves of the last part of a run, equal to the bit to those of a run over that part alone.
//
// A second state is reset at each step. The window's sums are the growth of the whole run's sums since the end of the
// window's first step, plus the second state's sums over that step: if a pair begins before the window, its later
// sample lies in the first step, since no lag is longer than a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
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
/// A window of about so many samples. A window that is short against the longest lag is one step. Throws Error(config)
/// of `window_s` for a window shorter than any curve, and Error(unsupported) for float counts, whose sums depend on
/// their order.
WindowSteps steps_of_window(const stages::autocorrelate::Config& stage, std::uint64_t samples);

class RollingCurves {
 public:
  RollingCurves(const stages::autocorrelate::Config& stage, const WindowSteps& steps,
                device::Queue& queue, std::shared_ptr<const stages::autocorrelate::Plan> plan);
  /// Host memory, including a second state's.
  static std::size_t bytes(const stages::autocorrelate::Config& stage, const WindowSteps& steps,
                           const stages::autocorrelate::Plan& plan);

  /// Sample of the run at which the next step ends.
  std::uint64_t next_end() const { return (closed_ + 1) * steps_.step_samples; }
  /// Takes the run's input, no further than next_end().
  void push(const core::SampleView<2>& counts);
  void push_tags(std::span<const stages::autocorrelate::Tag> tags, std::uint64_t until);
  /// Ends the step: `run` has next_end() samples.
  void close(const stages::autocorrelate::State& run);

  /// Whether there has been a whole window. The next functions are of the last one:
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
  StageSums whole_;           // the run's sums at the end of the last step
  // Of the last steps: the step's own sums less the run's at its end.
  std::deque<StageSums> step_less_run_;
  std::vector<stages::autocorrelate::Tag> tags_;
};

}  // namespace tautline::pipeline

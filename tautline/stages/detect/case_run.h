// A case of detection on a device: series in its memory.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tautline/jit/case_run.h"
#include "tautline/stages/detect/case.h"

namespace tautline::stages::detect {

/// Times that a stream has had before a block of noise can be measured.
inline std::size_t samples_before(const Plan& plan) {
  return plan.baseline_samples() + 2 * plan.noise_samples() + plan.widths().back();
}

/// Calls in the middle of a stream, each with the same series; or, without a case, a stream of the
/// caller's series.
class CaseRun : public jit::CaseRun<Plan> {
 public:
  explicit CaseRun(std::shared_ptr<const device::Device> device)
      : jit::CaseRun<Plan>(std::move(device)) {}
  CaseRun(const Case& problem, std::shared_ptr<const device::Device> device)
      : jit::CaseRun<Plan>(std::move(device)), samples_(problem.samples) {
    if (problem.config.type == core::SampleType::f32)
      draw<float>(problem);
    else
      draw<std::int32_t>(problem);
  }

  /// The next columns of every trial.
  void give(const core::SampleView<2>& series) { plan()->execute(queue(), state(), series); }
  void end_stream() { plan()->finish(queue(), state()); }

  void execute() override {
    const Config& config = plan()->config();
    give({series_.data(), config.type, {config.trials, samples_}});
    state().take();
  }
  /// [trial][time]
  const device::Buffer& series() const { return series_; }

 private:
  void begin() override {
    if (samples_ == 0) return;
    for (std::size_t n = 0; n < samples_before(*plan()); n += samples_) execute();
  }
  template <class T>
  void draw(const Case& problem) {
    const std::vector<T> drawn = make_series<T>(problem);
    device::Buffer pattern(drawn.size() * sizeof(T));
    std::copy(drawn.begin(), drawn.end(), pattern.as<T>());
    series_ = repeat(pattern, problem.config.trials * problem.samples * sizeof(T));
  }

  std::size_t samples_ = 0;
  device::Buffer series_;
};

}  // namespace tautline::stages::detect

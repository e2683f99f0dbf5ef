// A case of the filter bank on a device: samples, results and gains in its memory.
#pragma once

#include <cmath>
#include <memory>

#include "tautline/jit/case_run.h"
#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

/// The gain that gives every channel an rms of `target` steps: of integers of all codes, or of
/// floats with an rms of 1.
inline float gain_for(const Config& config, double target) {
  double input_rms = 1;  // of a component
  if (!config.input.is_float())
    input_rms = (config.input.bits == 8 ? 256 : 65536) / std::sqrt(12.0);
  // A complex output component keeps the rms of a complex input's component; real input shares its
  // power between two components.
  if (!config.input.complex) input_rms /= std::sqrt(2.0);
  return static_cast<float>(target / input_rms);
}

/// For 20 steps of 127, or 3 of 7.
inline float case_gain(const Config& config) {
  return gain_for(config, config.output == Output::corner_turned_ci4 ? 3 : 20);
}

/// Results of so many spectra, dense; gains and clipped where the output is requantised.
inline OutputViews case_views(const Config& config, void* results, std::size_t spectra,
                              const device::Buffer& gains, const device::Buffer& clipped) {
  OutputViews views;
  views.samples = config.output_view(results, spectra);
  if (!config.requantised()) return views;
  views.gains = {gains.as<float>(), {config.channels, config.inputs}};
  views.clipped = {clipped.as<std::uint64_t>(), {config.inputs}};
  return views;
}

/// Calls of config.max_samples, one after the other.
class CaseRun : public jit::CaseRun<Plan> {
 public:
  /// `delays`: with a phase correction of every input.
  CaseRun(const Config& config, std::shared_ptr<const device::Device> device, bool delays = false)
      : jit::CaseRun<Plan>(std::move(device)),
        config_(config),
        gains_(floats(config.channels * config.inputs, case_gain(config))),
        clipped_(zeros(config.inputs * sizeof(std::uint64_t))) {
    constexpr std::size_t kAlignment = 256;
    const auto bytes = static_cast<std::size_t>(config.input.bits_per_sample()) / 8;
    const std::size_t row = (config.max_samples * bytes + kAlignment - 1) / kAlignment * kAlignment;
    samples_ = random(config.input, config.inputs * row / bytes);
    // A call may give one spectrum more than it brings samples for.
    const std::size_t spectra = config.max_samples / config.hop_samples() + 1;
    results_ =
        zeros(config.channels * config.inputs * spectra * core::bytes_of(config.output_type()));
    input_.samples = samples_.data();
    input_.row_stride_bytes = row;
    input_.count = config.max_samples;
    if (delays) input_.phases.assign(config.inputs, {0.3, 1e-3, 0.7, 1e-6});
  }

  void execute() override {
    const std::size_t spectra = plan()->spectra(state().held_samples(), input_.count);
    plan()->execute(queue(), state(), input_,
                    case_views(config_, results_.data(), spectra, gains_, clipped_));
  }
  const device::Buffer& results() const { return results_; }

 private:
  Config config_;
  device::Buffer samples_, results_, gains_, clipped_;
  Input input_;
};

}  // namespace tautline::stages::channelize

// A case of dedispersion on a device: spectra and trials in its memory.
#pragma once

#include <memory>

#include "tautline/jit/case_run.h"
#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::stages::dedisperse {

/// Calls of config.max_samples in the middle of a stream. Each is given the same spectra, so that
/// all give the same sums.
class CaseRun : public jit::CaseRun<Plan> {
 public:
  CaseRun(const Config& config, std::shared_ptr<const device::Device> device)
      : jit::CaseRun<Plan>(std::move(device)) {
    const auto bits = static_cast<std::size_t>(config.bits);
    const std::size_t line = (config.frequencies_mhz.size() * bits + 7) / 8;
    const std::size_t bytes = config.beams * config.max_samples * line;
    spectra_ = bits == 32 ? random(core::kF32, bytes / 4) : random(core::kI8, bytes);
    input_.data = spectra_.data();
    input_.count = config.max_samples;
  }

  void execute() override {
    const Config& config = plan()->config();
    plan()->execute(queue(), state(), input_,
                    {trials_.data(),
                     plan()->output_type(),
                     {config.beams, config.dms.size(), plan()->max_output_samples()}});
  }
  const device::Buffer& results() const { return trials_; }

 private:
  void begin() override {
    const Config& config = plan()->config();
    if (trials_.bytes() == 0)
      trials_ = zeros(4 * config.beams * config.dms.size() * plan()->max_output_samples());
    while (state().held_samples() < plan()->max_delay()) execute();
  }

  device::Buffer spectra_, trials_;
  Input input_;
};

}  // namespace tautline::stages::dedisperse

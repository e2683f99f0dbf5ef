// A case of the corner turn on a device: spectra, samples and gains in its memory.
#pragma once

#include <complex>
#include <memory>
#include <utility>

#include "tautline/jit/case_run.h"
#include "tautline/stages/corner_turn/case.h"

namespace tautline::stages::corner_turn {

class CaseRun : public jit::CaseRun<Plan> {
 public:
  CaseRun(const Case& problem, std::shared_ptr<const device::Device> device)
      : jit::CaseRun<Plan>(std::move(device)),
        case_(problem),
        spectra_(random(core::kCf32, problem.elements())),
        samples_(zeros(problem.elements() * core::bytes_of(problem.output_type()))),
        gains_(floats(problem.channels * problem.inputs, problem.output_bits == 4 ? 3 : 20)),
        clipped_(zeros(problem.inputs * sizeof(std::uint64_t))) {}

  void execute() override {
    const std::size_t inputs = case_.inputs, channels = case_.channels, spectra = case_.spectra;
    plan()->execute(queue(), {spectra_.as<std::complex<float>>(), {inputs, spectra, channels}}, {},
                    {gains_.as<float>(), {channels, inputs}},
                    {samples_.data(), case_.output_type(), {channels, inputs, spectra}},
                    {clipped_.as<std::uint64_t>(), {inputs}});
  }
  const device::Buffer& results() const { return samples_; }

 private:
  Case case_;
  device::Buffer spectra_, samples_, gains_, clipped_;
};

}  // namespace tautline::stages::corner_turn

// A case of the correlator on a device: samples, sums and counts in its memory.
#pragma once

#include <array>
#include <memory>

#include "tautline/jit/case_run.h"
#include "tautline/stages/correlate/correlate.h"

namespace tautline::stages::correlate {

class CaseRun : public jit::CaseRun<Plan> {
 public:
  CaseRun(const Config& config, std::shared_ptr<const device::Device> device)
      : jit::CaseRun<Plan>(std::move(device)),
        config_(config),
        samples_(random(config.format, config.channels * config.inputs * config.max_samples)),
        visibilities_(zeros(results_of(config) * sizeof(core::ci64))),
        counts_(zeros(results_of(config) * sizeof(std::int64_t))) {}

  void execute() override {
    plan()->execute(queue(), state(),
                    {samples_.data(),
                     core::sample_type(config_.format),
                     {config_.channels, config_.inputs, config_.max_samples}},
                    {}, sums(), counts());
  }
  const device::Buffer& results() const { return visibilities_; }

 private:
  // Called after each row of calls, so that no deferred sums are left to the next candidate.
  void finish() override { plan()->flush(queue(), state(), sums(), counts()); }
  static std::size_t results_of(const Config& config) {
    return config.channels * core::baseline_count(config.inputs);
  }
  std::array<std::size_t, 2> result_shape() const {
    return {config_.channels, core::baseline_count(config_.inputs)};
  }
  core::MutableSampleView<2> sums() const {
    return {visibilities_.data(), config_.visibility_type(), result_shape()};
  }
  Counts counts() const { return {counts_.as<std::int64_t>(), result_shape()}; }

  Config config_;
  device::Buffer samples_, visibilities_, counts_;
};

}  // namespace tautline::stages::correlate

// A case of the correlator on a device: samples, sums and counts in its memory.
#pragma once

#include <array>
#include <complex>
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
    with_types([&]<class Sample, class Visibility>(const Sample*, Visibility*) {
      const std::array<std::size_t, 3> shape{config_.channels, config_.inputs, config_.max_samples};
      plan()->execute(queue(), state(), Samples<Sample>(samples_.as<Sample>(), shape), {},
                      sums<Visibility>(), {counts_.as<std::int64_t>(), result_shape()});
    });
  }
  const device::Buffer& results() const { return visibilities_; }

 private:
  // Called after each row of calls, so that no deferred sums are left to the next candidate.
  void finish() override {
    with_types([&]<class Sample, class Visibility>(const Sample*, Visibility*) {
      plan()->flush(queue(), state(), sums<Visibility>(),
                    {counts_.as<std::int64_t>(), result_shape()});
    });
  }
  static std::size_t results_of(const Config& config) {
    return config.channels * core::baseline_count(config.inputs);
  }
  std::array<std::size_t, 2> result_shape() const {
    return {config_.channels, core::baseline_count(config_.inputs)};
  }
  template <class Visibility>
  core::View<Visibility, 2> sums() const {
    return {visibilities_.as<Visibility>(), result_shape()};
  }
  // Calls `body` with the types of samples and sums.
  template <class Body>
  void with_types(const Body& body) const {
    using Float = std::complex<double>;
    if (config_.format == core::kCi4) body((core::ci4*)nullptr, (core::ci64*)nullptr);
    if (config_.format == core::kCi8) body((core::ci8*)nullptr, (core::ci64*)nullptr);
    if (config_.format == core::kCi16) body((core::ci16*)nullptr, (Float*)nullptr);
    if (config_.format == core::kCf16) body((core::cf16*)nullptr, (Float*)nullptr);
    if (config_.format == core::kCf32) body((std::complex<float>*)nullptr, (Float*)nullptr);
  }

  Config config_;
  device::Buffer samples_, visibilities_, counts_;
};

}  // namespace tautline::stages::correlate

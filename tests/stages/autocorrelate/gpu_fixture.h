// Plans on one device that compiles, with tunables that are quick to compile, compared with the reference.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tautline/stages/autocorrelate/gpu/plan.h"
#include "tests/stages/autocorrelate/support.h"
#include "tests/support/gpus.h"

namespace tautline::stages::autocorrelate::tests {

using gpu::make_plan;

// Few lags, since PoCL unrolls slowly; short chunks and parts, so that there are many.
inline constexpr GpuTunables kQuick{
    .lags = 4, .threads = 16, .part_rows = 64, .chunk_samples = 256, .pending_rows = 16};
inline constexpr GpuTunables kPortable{.design = GpuDesign::portable,
                                       .lags = 4,
                                       .threads = 16,
                                       .part_rows = 64,
                                       .chunk_samples = 256,
                                       .pending_rows = 16};

inline constexpr GpuTunables kLong{.design = GpuDesign::portable, .lags = 4, .threads = 16};

/// A test of one device that compiles.
class OnGpu : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device_ = device::open(device::parse_selection(GetParam()));
    queue_ = device_->make_queue();
  }
  const std::shared_ptr<const device::Device>& device() const { return device_; }
  device::Queue& queue() { return *queue_; }
  bool matrix() const { return gpu::has_matrix_design(*device_); }
  /// The designs that the device has.
  std::vector<GpuTunables> designs() const {
    return matrix() ? std::vector{kQuick, kPortable} : std::vector{kPortable};
  }

  template <class Count>
  void check(const Config& config, const std::vector<Count>& data) {
    const auto expected = run_on(kReference, config, data);
    for (const GpuTunables& tunables : designs()) check(config, data, expected, tunables);
  }
  template <class Count>
  void check(const Config& config, const std::vector<Count>& data,
             const Result<ValueOf<Count>>& expected, const GpuTunables& tunables) {
    const std::string where = config_text(config, data.size() / config.sensors) + ", design " +
                              (tunables.design == GpuDesign::matrix ? "matrix" : "portable") +
                              ", chunk " + std::to_string(tunables.chunk_samples);
    expect_equal(config, run(*make_plan(config, device_, tunables), *queue_, data), expected,
                 where);
  }

 private:
  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<device::Queue> queue_;
};

}  // namespace tautline::stages::autocorrelate::tests

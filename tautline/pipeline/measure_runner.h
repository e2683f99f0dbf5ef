// Memory, random data and time for measurements, on the host and on devices alike.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include "tautline/core/sample_format.h"
#include "tautline/core/view.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/measure_stage.h"

namespace tautline::pipeline {

/// Throws Error(unsupported) when a plan of this backend() runs on the host though the device is
/// another: it must not be given the device's addresses.
void require_on_device(const std::string& stage, const std::string& backend,
                       const device::Device& device);

/// Fills in fraction_of_limit and limit: of arithmetic, memory and transfers to the device, what
/// takes longest at the device's limits.
void relate_to_limits(Measurement& measurement, double arithmetic_s, double memory_s,
                      double transfer_s = 0);

class Runner {
 public:
  Runner(std::shared_ptr<const device::Device> device, double budget_s);

  device::Queue& queue() { return *queue_; }

  /// Memory of the device, or of the host when that computes.
  device::Buffer zeros(std::size_t bytes);
  /// Random bits: integers of any size. They repeat every 64 MiB.
  device::Buffer random_integers(std::size_t bytes);
  /// Gaussian floats with an rms of 1. They repeat likewise.
  device::Buffer random_floats(std::size_t bytes);
  /// The same as halves.
  device::Buffer random_halves(std::size_t bytes);
  /// Random bits for integers, Gaussian values with an rms of 1 for floats.
  device::Buffer random_samples(const core::SampleFormat& format, std::size_t count);
  /// `count` times the same.
  device::Buffer floats(std::size_t count, float value);
  /// What lies in host memory, again and again.
  device::Buffer repeat(const device::Buffer& pattern, std::size_t bytes);

  /// Fills in seconds, spread, burst_seconds, energy_j and power_w. `run` does the work once, or
  /// enqueues it.
  void time(Measurement& measurement, const std::function<void()>& run);

 private:
  double sample(const std::function<void()>& run, std::size_t times);
  void measure_bursts(Measurement& measurement, const std::function<void()>& run);
  void measure_energy(Measurement& measurement, const std::function<void()>& run);

  std::shared_ptr<const device::Device> device_;
  double budget_s_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Event> start_, end_;
};

}  // namespace tautline::pipeline

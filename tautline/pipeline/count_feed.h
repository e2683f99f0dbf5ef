// Random counts for an autocorrelator, packet after packet.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::pipeline {

/// Every count up to `most` is equally likely; the same on every machine.
void draw_counts(void* to, std::size_t count, core::SampleType type, std::size_t most);

/// One stream. Belongs to one thread.
class CountFeed {
 public:
  /// Throws Error(config) when `most` is no count of the config's type, and what make_plan throws.
  CountFeed(const stages::autocorrelate::Config& config, std::size_t most,
            const std::shared_ptr<const device::Device>& device, const device::Queue& queue);

  const stages::autocorrelate::Plan& plan() const { return *plan_; }
  stages::autocorrelate::State& state() { return *state_; }
  std::size_t packet_bytes() const;

  /// config.max_samples times of counts up to `most`, in the host's or the device's memory. Where
  /// sums could leave 64 bits, the state begins anew before.
  void give(device::Queue& queue, const void* counts);
  /// [pair][lag] sums, lead_in and both monitors, one behind the other: read_bytes() of memory.
  /// Enqueues only.
  void read(device::Queue& queue, void* to) const;
  std::size_t read_bytes() const;

 private:
  bool could_leave_64_bits(std::size_t samples) const;

  stages::autocorrelate::Config config_;
  std::size_t most_;
  std::shared_ptr<const stages::autocorrelate::Plan> plan_;
  std::unique_ptr<stages::autocorrelate::State> state_;
  std::size_t lags_;
};

}  // namespace tautline::pipeline

// A case of the autocorrelator on a device: random counts, packet after packet.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/jit/case_run.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

/// Every count up to `most` is equally likely; the same on every machine.
void draw_counts(void* to, std::size_t count, core::SampleType type, std::size_t most);

/// Packets of config.max_samples times.
class CaseRun : public jit::CaseRun<Plan> {
 public:
  /// Counts up to `most`. Throws Error(config) when that is no count of the config's type.
  CaseRun(const Config& config, std::size_t most, std::shared_ptr<const device::Device> device);

  std::size_t packet_bytes() const;
  /// One packet, in the host's or the device's memory. Where sums could leave 64 bits, the state
  /// begins anew before.
  void give(const void* counts);
  /// [pair][lag] sums, lead_in and both monitors, one behind the other: read_bytes() of the host's
  /// memory. Enqueues only.
  void read(void* to) const;
  std::size_t read_bytes() const;

  /// Puts a packet of random counts into the device's memory.
  void draw();
  /// Gives the packet that was drawn.
  void execute() override { give(counts_.data()); }

 private:
  bool could_leave_64_bits(std::size_t samples) const;

  Config config_;
  std::size_t most_, lags_;
  device::Buffer counts_;
};

}  // namespace tautline::stages::autocorrelate

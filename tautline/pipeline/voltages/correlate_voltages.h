// Voltage files to a visibility file: reading, computing and writing at the same time, in bounded
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/voltages/correlate_config.h"
#include "tautline/pipeline/voltages/voltage_run.h"

namespace tautline::pipeline {

/// The bytes sent to one of a run's devices.
struct DeviceShare {
  std::string device;
  std::uint64_t sent_bytes = 0;  ///< of samples and their masks; 0 on the host
};

/// `channels` and the integrations are those of the output.
struct CorrelateSummary : VoltageRunSummary {
  std::uint64_t integrations = 0, spectra_per_integration = 0;
  double integration_s = 0;
  std::uint64_t gap_samples = 0;  ///< between files
  /// Means of finite samples that overflow a float: flagged.
  std::uint64_t overflowed = 0;
  /// Channels of the stream that contain both ends of a band; they are flagged or left out of averages.
  std::vector<std::size_t> edge_channels;
  std::size_t memory_bytes = 0;
  std::vector<DeviceShare> devices;
  double setup_s = 0;  ///< of elapsed_s, before the first block
  bool damaged() const { return damage.any() || not_finite > 0 || overflowed > 0; }
};

/// Several devices (GPUs of one host) share the channels: each gets all samples, runs the whole filter bank over
/// voltages, and correlates its share. The results are the same bits. Throws core::Error; the final name exists only
/// when this returns. Stopping throws Error(io, "interrupted").
CorrelateSummary correlate_voltages(
    const CorrelateConfig& config,
    const std::vector<std::shared_ptr<const device::Device>>& devices,
    const ProgressCallback& progress = {}, std::stop_token stop = {});

}  // namespace tautline::pipeline

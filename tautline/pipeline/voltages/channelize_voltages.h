// Voltage files through the filter bank alone: to channelized voltages or detected power.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "tautline/device/device.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/voltages/channelize_config.h"
#include "tautline/pipeline/voltages/voltage_run.h"

namespace tautline::pipeline {

struct ChannelizeSummary : VoltageRunSummary {
  std::uint64_t written = 0;          ///< times in the output
  std::uint64_t invalid_spectra = 0;  ///< times x inputs, written as zero
};

/// Beside the output, OUTPUT.json records the history, the kernels, all counters, the channels' frequencies and the
/// requantisation gains. Throws core::Error; the final name exists only when this returns. The files must follow each
/// other without gaps: an output with one start time cannot represent gaps.
ChannelizeSummary channelize_voltages(const ChannelizeConfig& config,
                                      std::shared_ptr<const device::Device> device,
                                      const ProgressCallback& progress = {},
                                      std::stop_token stop = {});

}  // namespace tautline::pipeline

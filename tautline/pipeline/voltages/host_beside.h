// The host's device in a run over voltages on a GPU.
#pragma once

#include <memory>
#include <string>

#include "tautline/core/log.h"
#include "tautline/device/device.h"

namespace tautline::pipeline {

/// The device itself where it is the host's, else the host's, whose warnings go to the log of `device`.
inline std::shared_ptr<const device::Device> host_beside(
    const std::shared_ptr<const device::Device>& device) {
  if (!device->compiles()) return device;
  return device::open({}, {.log = [device](core::LogLevel level, const std::string& text) {
                        if (level == core::LogLevel::warning) device->shared().log(level, text);
                      }});
}

}  // namespace tautline::pipeline

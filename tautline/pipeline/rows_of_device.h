// Arrays in a device's memory for the readers of arrays (formats/memory).
#pragma once

#include <memory>

#include "tautline/device/device.h"
#include "tautline/formats/memory/memory_readers.h"

namespace tautline::pipeline {

/// Copies rows from the device's memory on a queue of its own. None for a device that works in the host's memory.
formats::CopyRows rows_of_device(const std::shared_ptr<const device::Device>& device);

}  // namespace tautline::pipeline

// Anything with an OpenCL 1.2 driver, through the ICD loader.
#pragma once

#include <filesystem>
#include <memory>

#include "tautline/device/device.h"

namespace tautline::device::opencl {

/// Devices of all platforms, numbered by platform, then device.
unsigned device_count();

/// Whether the drivers that are registered in `vendors` (a file for each, with the library's name) are PoCL alone, and
/// `devices` has none of the files by which GPUs are reached: then OpenCL offers nothing but the host's processor, and
/// nobody need start PoCL to learn that, which takes longer than a short run. False where there is no driver, and where
/// the environment tells the loader or PoCL what to take.
bool only_the_host(const std::filesystem::path& vendors = "/etc/OpenCL/vendors",
                   const std::filesystem::path& devices = "/dev");

/// Whether device `number` is a CPU, which `auto` never takes.
bool is_host_cpu(unsigned number);

/// Throws Error(unsupported) when there is no such device.
std::shared_ptr<const Device> open(unsigned number, const Options& options);

/// The device of the caller's queue (a cl_command_queue), in the context of that queue, so that both
/// sides can use each other's memory. Throws Error(config) when it is null or no queue.
std::shared_ptr<const Device> open_for(void* queue, const Options& options = {});

/// A queue on the caller's one (a cl_command_queue), which is retained. It must run its commands in
/// order; times between events need CL_QUEUE_PROFILING_ENABLE. Its destructor waits for the queue.
/// Throws Error(config) when `device` is not an OpenCL device in the context of that queue.
std::unique_ptr<Queue> wrap_queue(const Device& device, void* queue);

/// A buffer on the caller's memory object (a cl_mem), which is retained. Throws Error(config) when it
/// does not belong to the context of `device`.
Buffer wrap_memory(const Device& device, void* memory);

}  // namespace tautline::device::opencl

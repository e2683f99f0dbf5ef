// Checks before a run that its stages fit into the GPU's memory, and names the stage when an allocation fails.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tautline/core/error.h"
#include "tautline/device/device.h"

namespace tautline::pipeline {

/// Runs `work`. What it throws for want of memory, or because the device failed, names `stage`
/// first.
template <class Work>
auto of_stage(const std::string& stage, const Work& work) {
  try {
    return work();
  } catch (const core::Error& error) {
    if (error.kind() != core::ErrorKind::memory && error.kind() != core::ErrorKind::device) throw;
    throw core::Error(error.kind(), stage + ": " + error.field(), error.value(), error.limit(),
                      error.advice());
  }
}

struct StageMemory {
  std::string stage;
  std::size_t device_bytes = 0;
};

/// Throws Error(memory) with the bytes that each stage needs, those that are free and the options
/// that lower them, when they do not fit. Nothing on devices that do not compile kernels.
void require_device_memory(const device::Device& device, std::span<const StageMemory> stages,
                           std::size_t inputs, std::size_t channels);

}  // namespace tautline::pipeline

#include "tautline/pipeline/device_memory.h"

#include <fmt/format.h>

#include "tautline/core/byte_text.h"
#include "tautline/core/counted.h"

namespace tautline::pipeline {

void require_device_memory(const device::Device& device, std::span<const StageMemory> stages,
                           std::size_t inputs, std::size_t channels) {
  if (!device.compiles()) return;
  std::size_t needed = 0;
  std::string parts;
  for (const StageMemory& stage : stages) {
    needed += stage.device_bytes;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", stage.stage,
                         core::byte_text(stage.device_bytes));
  }
  const std::size_t free = device.free_bytes();
  if (needed <= free) return;
  throw core::Error(
      core::ErrorKind::memory, device.name() + ": memory",
      fmt::format("{} needed for {} and {} ({})", core::byte_text(needed),
                  core::counted(inputs, "input"), core::counted(channels, "channel"), parts),
      fmt::format("at most the {} that are free", core::byte_text(free)),
      "lower `memory_bytes`, which makes blocks smaller, or `channels`, or raise "
      "`device_memory_bytes` where it is given");
}

}  // namespace tautline::pipeline

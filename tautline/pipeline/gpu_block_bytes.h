// How long blocks of a file are on their way to a GPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tautline::pipeline {

/// Launches, copies and the waking of reading threads take a tenth of a millisecond a block, whatever its size; pinning
/// memory for blocks takes 0.5 ms a MiB when the run starts, which a stream of few bytes would wait for longer than for
/// its samples.
inline constexpr std::size_t kGpuBlock_bytes = std::size_t{64} << 20;

/// Bytes of a block of a stream that has so many.
inline std::size_t gpu_block_bytes(std::uint64_t stream_bytes) {
  constexpr std::size_t kLeast = std::size_t{8} << 20;
  return std::clamp<std::uint64_t>(stream_bytes / 64, kLeast, kGpuBlock_bytes);
}

}  // namespace tautline::pipeline

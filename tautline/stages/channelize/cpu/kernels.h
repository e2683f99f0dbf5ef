// The interface between the plan and the kernels of each instruction set. A kernel channelizes a
// few consecutive spectra of one input; the plan keeps the history and divides the work among
// threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

/// Consecutive spectra of one input.
struct Tile {
  const std::byte* samples = nullptr;  ///< the first sample of the first spectrum
  std::size_t input = 0;
  std::size_t first = 0;              ///< first spectrum, counted from the call's first one
  std::size_t count = 0;              ///< 1 to Kernel::tile_spectra()
  std::uint64_t index = 0;            ///< first spectrum, counted from the stream's first one
  std::uint64_t valid = 0;            ///< bit j: spectrum first + j
  const PhaseModel* phase = nullptr;  ///< null: none
  const float* gains = nullptr;       ///< [channel] of this input; requantised outputs
  const OutputViews* output = nullptr;
  bool past_cache = false;  ///< the call's output exceeds the caches: whole lines may bypass them
};

/// The output rows of one input, one a channel.
struct Rows {
  std::byte* first = nullptr;
  std::ptrdiff_t stride_bytes = 0;
  std::byte* row(std::size_t channel) const {
    return first + static_cast<std::ptrdiff_t>(channel) * stride_bytes;
  }
  /// Whether every row starts on a cache line: whole lines can then be written without reading
  /// them.
  bool whole_lines() const {
    return reinterpret_cast<std::uintptr_t>(first) % 64 == 0 && stride_bytes % 64 == 0;
  }
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  /// The text of Plan::backend().
  virtual std::string name() const = 0;
  /// Most spectra in a tile, at most 64.
  virtual std::size_t tile_spectra() const = 0;
  /// Whether tiles must not straddle multiples of tile_spectra() of Tile::index.
  virtual bool aligned() const = 0;
  /// Scratch memory for one worker, and the kernel's own tables.
  virtual std::size_t scratch_bytes() const = 0;
  virtual std::size_t table_bytes() const = 0;
  /// Writes the tile's spectra; returns the number of clipped components. `scratch` is aligned to
  /// 64 bytes, is zero at first, and keeps its contents between the tiles of a worker.
  virtual std::uint64_t run(const Tile& tile, std::byte* scratch) const = 0;
};

/// The plain loops that define the stage.
std::unique_ptr<Kernel> make_reference_kernel(std::shared_ptr<const Bank> bank);

}  // namespace tautline::stages::channelize

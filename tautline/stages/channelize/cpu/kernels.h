// The work of one backend: a few consecutive spectra of one input. Everything around it (history,
// validity, threads) is cpu/plan.cpp's and the same for all backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize {

/// Consecutive spectra of one input.
struct Tile {
  const std::byte* samples = nullptr;  ///< the first sample of the first spectrum
  std::size_t input = 0;
  std::size_t first = 0;    ///< of the spectra, counted from this call's first one
  std::size_t count = 0;    ///< 1 to Kernel::tile_spectra()
  std::uint64_t index = 0;  ///< of the first spectrum, counted from the stream's first one
  std::uint64_t valid = 0;  ///< bit j: spectrum first + j
  const PhaseModel* phase = nullptr;  ///< null: none
  const float* gains = nullptr;       ///< [channel] of this input; requantised outputs
  const OutputViews* output = nullptr;
  bool past_cache = false;  ///< the call writes more than a cache holds: whole lines may bypass it
};

/// Where each channel's times go.
struct Rows {
  std::byte* first = nullptr;
  std::ptrdiff_t stride_bytes = 0;
  std::byte* row(std::size_t channel) const {
    return first + static_cast<std::ptrdiff_t>(channel) * stride_bytes;
  }
  /// Whether every row starts with a cache line, which may then be written without being read.
  bool whole_lines() const {
    return reinterpret_cast<std::uintptr_t>(first) % 64 == 0 && stride_bytes % 64 == 0;
  }
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  /// What Plan::backend() says.
  virtual std::string name() const = 0;
  /// Most spectra in a tile, at most 64.
  virtual std::size_t tile_spectra() const = 0;
  /// Whether a tile may not straddle a multiple of tile_spectra() of Tile::index.
  virtual bool aligned() const = 0;
  /// Scratch memory for one worker, and the kernel's own tables.
  virtual std::size_t scratch_bytes() const = 0;
  virtual std::size_t table_bytes() const = 0;
  /// Writes the tile's spectra; returns how many components were clipped. `scratch` is aligned to
  /// 64 bytes and starts as zeros; it holds whatever this worker's last tile left.
  virtual std::uint64_t run(const Tile& tile, std::byte* scratch) const = 0;
};

std::unique_ptr<Kernel> make_reference_kernel(std::shared_ptr<const Bank> bank);

/// The widest code that the device's instruction set allows.
std::unique_ptr<Kernel> make_cpu_kernel(std::shared_ptr<const Bank> bank,
                                        const device::Device& device, const Tunables& tunables);

}  // namespace tautline::stages::channelize

// Inside of the CPU autocorrelator: memory of a tile of pairs, and what the driver (cpu/plan.cpp)
// asks of the code for one instruction set (cpu/tile-inl.h).
//
// A tile is 16 pairs side by side in the lanes of vectors, or one pair whose times fill the lanes.
// Each level holds one block of samples and the history that its lags reach back to. A full block
// is multiplied at all lags of the level, summed in pairs into the next level's block, and
// forgotten but for the history. Sums are integers, so how the stream was cut cannot show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/ladder.h"
#include "tautline/stages/autocorrelate/tunables.h"

namespace tautline::stages::autocorrelate::cpu {

inline constexpr std::size_t kLanes = 16;

/// How a level's samples lie in memory: four bytes, two halves or one word of consecutive times in
/// each 32 bits of a lane; the others one time after the other.
enum class Storage : std::uint8_t { bytes, halves, words, longs, doubles };

constexpr std::size_t bytes_of(Storage storage) {
  switch (storage) {
    case Storage::bytes:
      return 1;
    case Storage::halves:
      return 2;
    case Storage::words:
      return 4;
    default:
      return 8;
  }
}

/// Consecutive times of one lane that lie side by side.
constexpr std::size_t group_of(Storage storage) {
  return bytes_of(storage) < 4 ? 4 / bytes_of(storage) : 1;
}

/// Place of sample t of a lane, in samples.
constexpr std::size_t place_of(Storage storage, std::size_t lanes, std::size_t t,
                               std::size_t lane) {
  const std::size_t group = group_of(storage);
  return (t / group * lanes + lane) * group + t % group;
}

/// Where one level lies in a tile's memory, in bytes from its start.
struct Level {
  Rung rung;
  Storage storage = Storage::words;
  bool separate = false;  ///< the delayed series is kept beside the direct one
  /// From a direct sample back to the delayed one at the smallest lag, where they are kept: as many
  /// samples as the smallest k says, and where one series is both, those by which it is delayed.
  std::size_t first = 0;
  std::size_t delay = 0;    ///< samples of what is kept that the next level's delayed series lags
  std::size_t history = 0;  ///< samples
  std::size_t delayed_at = 0;  ///< history, then a block
  std::size_t direct_at = 0;   ///< a block; the same one if not separate
  std::size_t sums_at = 0;     ///< [steps][lane] of 8 bytes
  std::size_t heads_at = 0;    ///< [steps + 1][lane]: sum of d below whole + k, k from first - 1 on
  std::size_t totals_at = 0;   ///< [direct, delayed, lead-in][lane]
};

/// At the start of a tile, one a level.
struct Progress {
  std::uint64_t done = 0;     ///< samples multiplied
  std::uint64_t pending = 0;  ///< samples that wait in the block
  std::uint64_t largest = 0;  ///< delayed sample so far
  std::uint64_t recent = 0;   ///< largest delayed sample of the block before
  std::uint64_t refused = 0;  ///< a sum could have reached 2^63
};

struct Layout {
  Config config;
  std::size_t lanes = kLanes;  ///< pairs in a tile: 16, or 1
  std::size_t block = 0;       ///< samples
  std::vector<Level> levels;
  std::size_t tile_bytes = 0;
  std::size_t scratch_bytes = 0;  ///< of a worker
  std::size_t tiles() const { return (config.pair_count() + lanes - 1) / lanes; }
};

/// Throws Error(config) on bad tunables. `bytes`: whether the code multiplies bytes. `first_level`:
/// of the layout, which has none of the levels before it.
Layout make_layout(const Config& config, const Tunables& tunables, bool bytes,
                   std::size_t first_level = 0);

/// Samples for one tile.
struct Input {
  const void* rows = nullptr;
  std::ptrdiff_t row_stride = 0;     ///< in samples
  std::ptrdiff_t sensor_stride = 1;  ///< in samples
  std::size_t count = 0;             ///< rows
  const std::uint32_t* a = nullptr;  ///< sensor of each lane
  const std::uint32_t* b = nullptr;
  bool neighbours = false;  ///< a and b are 16 sensors side by side
};

/// Tiles that share the lines of a row of bytes: they go through a packet together.
inline constexpr std::size_t kTilesTogether = 4;
inline constexpr std::size_t kSensorsTogether = kTilesTogether * kLanes;

/// The sensor, of the 64 of four tiles, in a lane of one of them, where rows are woven 64 bytes at a
/// time: instructions that weave do so within 16 bytes.
constexpr std::size_t woven_sensor(std::size_t tile, std::size_t lane) {
  return lane / 4 * 16 + tile * 4 + lane % 4;
}

/// Bytes for four tiles: a row's 64 sensors side by side.
struct WovenInput {
  const std::uint8_t* rows = nullptr;
  std::ptrdiff_t row_stride = 0;
  std::size_t count = 0;               ///< rows
  const std::uint8_t* next = nullptr;  ///< rows that come after these, as far apart, to be fetched
};

/// Rows of 16-bit samples as planes of low and high bytes, a row every 64 bytes.
struct Planes {
  const std::uint8_t *direct_low = nullptr, *direct_high = nullptr;
  const std::uint8_t *delayed_low = nullptr, *delayed_high = nullptr;
  std::size_t count = 0;
};

/// The code of one instruction set.
struct Kernels {
  const char* backend;
  bool bytes;
  /// Adds samples to a tile.
  void (*feed)(const Layout& layout, std::byte* tile, std::byte* scratch, const Input& input);
  /// Multiplies what waits in blocks. The tile can then be read, and takes no more samples.
  void (*drain)(const Layout& layout, std::byte* tile, std::byte* scratch);
  /// Adds samples of the layout's first level to a tile of 16 neighbours: 16 bytes of each row.
  void (*push)(const Layout& layout, std::byte* tile, std::byte* scratch, const Planes& planes);
  /// Adds bytes to four tiles side by side, whose lanes hold the sensors that woven_sensor() says,
  /// and whose series are not crossed. Null where there is no such code.
  void (*feed_woven)(const Layout& layout, std::byte* tiles, std::byte* scratch,
                     const WovenInput& input) = nullptr;
};

/// Highway code of `set` (portable, avx2 or avx512), or null where this build has none.
const Kernels* simd_kernels(device::InstructionSet set);
#if defined(__x86_64__)
const Kernels& vnni_kernels();
#endif

/// Throws Error(unsupported) when the device forces a set that there is no code for.
const Kernels& choose_kernels(const device::Device& device);

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables);

}  // namespace tautline::stages::autocorrelate::cpu

// The first levels of a ladder on a CPU with matrix units: memory of a group of 64 sensors, and
// what the driver (cpu/amx/front_plan.cpp) asks of the code (cpu/amx/front_kernels.h).
//
// Levels come in pairs, 0 and 1, 2 and 3, ...: both are made from the rows of the even one, which
// lie in the order of time as planes of low and high bytes, 64 sensors a row. Four rows make one
// row of the next pair, and four of the last pair one sample of the tiles (cpu/layout.h) that hold the
// levels after it. How lags come out of matrix products: docs/maths/autocorrelate.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/stages/autocorrelate/cpu/layout.h"

namespace tautline::stages::autocorrelate::cpu {

inline constexpr std::size_t kGroupSensors = 64;
inline constexpr std::size_t kGroupTiles = kGroupSensors / kLanes;
/// Rows before a block that lags of both levels reach back to, and those that begin a run.
inline constexpr std::size_t kFrontHistory = 128;
/// A matrix product takes 4 segments x 16 rows of 16 samples.
inline constexpr std::size_t kFrontStep = 1024;
/// Lags that products cover: 0 to 96.
inline constexpr std::size_t kFrontShifts = 7;
inline constexpr std::size_t kFrontMaxPairs = 4;
/// Sums of a sensor at one level, whether the ladder has them or not.
inline constexpr std::size_t kFrontLags = 48;

/// Where one pair of levels lies in a group's memory, in bytes from its start.
struct FrontPair {
  std::array<Rung, 2> rungs;
  bool second = true;          ///< whether the ladder has the odd level
  std::size_t planes = 1;      ///< 1: bytes; 2: low, then high bytes
  std::size_t block = 0;       ///< rows multiplied at a time
  std::size_t delay = 0;       ///< rows by which the delayed series of the even level lags
  std::size_t second_lag = 0;  ///< smallest lag of the odd level, in rows, less `delay`
  std::size_t shifts = 0;      ///< matrices of products that hold all lags
  std::size_t rows_at = 0;     ///< [plane][history, then block, then 16 more][sensor]
  std::size_t first_at = 0;    ///< [plane][kFrontHistory][sensor]: the run's first rows
  std::size_t sums_at = 0;     ///< [sensor][2][kFrontLags] of 8 bytes
  std::size_t totals_at = 0;   ///< [sensor] of 8 bytes: rows multiplied

  std::size_t plane_bytes() const { return (kFrontHistory + block + 16) * kGroupSensors; }
};

/// At the start of a group, one a pair.
struct FrontProgress {
  std::uint64_t done = 0;     ///< rows multiplied
  std::uint64_t pending = 0;  ///< rows that wait in the block
  std::uint64_t largest = 0;  ///< no row so far holds more
  std::uint64_t recent = 0;   ///< bits set in any high byte of the history
  std::uint64_t refused = 0;  ///< a sum could have reached 2^63
};

struct FrontLayout {
  Layout rest;  ///< of the tiles for the levels after the pairs; may have none
  std::vector<FrontPair> pairs;
  std::size_t rest_delay = 0;  ///< rows of the last pair by which the rest's delayed series lags
  std::size_t tiles_at = 0;    ///< of the rest's four tiles
  std::size_t group_bytes = 0;
  std::size_t series_words = 0;   ///< of a sensor and plane, in the scratch
  std::size_t scratch_bytes = 0;  ///< of a worker
  std::size_t rows_bytes = 0;     ///< of a worker: rows of all pairs

  const Config& config() const { return rest.config; }
  std::size_t groups() const { return (config().sensors + kGroupSensors - 1) / kGroupSensors; }
};

/// Whether a front can take the first levels.
bool front_fits(const Config& config, const Tunables& tunables);
/// Throws Error(config) on bad tunables.
FrontLayout make_front_layout(const Config& config, const Tunables& tunables);

/// Samples for one group.
struct FrontInput {
  const std::uint8_t* rows = nullptr;  ///< at the group's first sensor
  std::ptrdiff_t row_stride = 0, sensor_stride = 1;
  std::size_t count = 0;    ///< rows
  std::size_t sensors = 0;  ///< up to 64; the others are zero
};

struct FrontKernels {
  const char* backend;
  const Kernels& tiles;  ///< for the rest
  /// Of a worker.
  std::size_t (*scratch_bytes)(const FrontLayout& layout);
  /// Adds samples to a group. `rows`: rows_bytes to work in, or null to work in the group itself.
  void (*feed)(const FrontLayout& layout, const Kernels& tiles, std::byte* group,
               std::byte* scratch, std::byte* rows, const FrontInput& input);
  /// Multiplies what waits. The group can then be read, and takes no more samples.
  void (*drain)(const FrontLayout& layout, const Kernels& tiles, std::byte* group,
                std::byte* scratch, std::size_t sensors);
};

#if defined(__x86_64__)
const FrontKernels& amx_front_kernels();
#endif

/// `config` fits.
std::shared_ptr<const Plan> make_front_plan(const Config& config,
                                            std::shared_ptr<const device::Device> device,
                                            const FrontKernels& kernels, const Tunables& tunables);

}  // namespace tautline::stages::autocorrelate::cpu

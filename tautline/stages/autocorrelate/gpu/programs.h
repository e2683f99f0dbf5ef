// Inside of the GPU autocorrelator: its kernels, compiled for one problem.
#pragma once

#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/gpu/layout.h"

namespace tautline::stages::autocorrelate::gpu {

using KernelPointer = std::shared_ptr<const device::Kernel>;

/// Sensors or pairs side by side, and parts of the time, in a group.
struct Threads {
  std::size_t x = 1, y = 1;
};

/// How the products of a level are summed by the portable code.
struct Products {
  KernelPointer kernel;
  Threads threads;
  std::size_t lags = 1;  ///< of a thread
  std::size_t part = 1;  ///< most rows
};

/// Levels side by side whose products one launch sums on matrix units.
struct MatrixLevels {
  KernelPointer kernel;
  std::size_t first = 0, count = 0;  ///< levels
  std::size_t lags = 1;              ///< of a group
  std::size_t part = 1;              ///< most rows
  std::size_t group_pairs = 1;
  std::size_t local_bytes = 0;
  static constexpr std::size_t kThreads = 256, kTileRows = 512, kMostLevels = 10;
};

struct Programs {
  std::vector<std::shared_ptr<const device::Program>> held;
  KernelPointer take, totals, fold, keep;  ///< totals or fold
  std::vector<KernelPointer> coarsen;      ///< [level] makes the next one
  std::vector<Products> products;          ///< [level]; no kernel where `matrix` has the level
  std::vector<MatrixLevels> matrix;
  std::vector<KernelPointer> read;  ///< [level]
  Threads threads;                  ///< of all but fold, products and read
  Threads fold_threads;
  std::size_t read_threads = 64;
  std::size_t enough_groups = 1;  ///< fill the device
};

/// Compiles, or takes from the cache.
Programs make_programs(const GpuLayout& layout, const GpuTunables& tunables,
                       const device::Device& device);

}  // namespace tautline::stages::autocorrelate::gpu

// The interface between the GPU plan and its kernels, which are compiled for one problem.
#pragma once

#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/gpu/layout.h"

namespace tautline::stages::autocorrelate::gpu {

using KernelPointer = std::shared_ptr<const device::Kernel>;

/// Threads of a group: along sensors or pairs, and along time.
struct Threads {
  std::size_t x = 1, y = 1;
};

/// The portable kernel that multiplies one level.
struct Products {
  KernelPointer kernel;
  Threads threads;
  std::size_t lags = 1;  ///< of a thread
  std::size_t part = 1;  ///< most rows of a thread
};

/// The kernel that multiplies consecutive levels on matrix units, in one launch.
struct MatrixLevels {
  KernelPointer kernel;
  std::size_t first = 0, count = 0;  ///< levels
  std::size_t lags = 1;              ///< of a group
  std::size_t part = 1;              ///< most rows of a group
  std::size_t group_pairs = 1;
  std::size_t local_bytes = 0;
  static constexpr std::size_t kThreads = 256, kTileRows = 512, kMostLevels = 10;
};

struct GpuKernels {
  std::vector<std::shared_ptr<const device::Program>> programs;  ///< own the kernels
  KernelPointer gather, keep;
  KernelPointer totals, fold;          ///< one of the two
  std::vector<KernelPointer> coarsen;  ///< [level] makes the next level
  std::vector<Products> products;      ///< [level]; none for the levels of `matrix`
  std::vector<MatrixLevels> matrix;
  std::vector<KernelPointer> read;  ///< [level]
  Threads threads;                  ///< of gather, keep, totals and coarsen
  Threads fold_threads;
  std::size_t read_threads = 64;
  std::size_t enough_groups = 1;  ///< that fill the device
};

/// Compiles the kernels, or loads them from the program cache.
GpuKernels make_kernels(const GpuLayout& layout, const GpuTunables& tunables,
                        const device::Device& device);

}  // namespace tautline::stages::autocorrelate::gpu

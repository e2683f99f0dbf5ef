// The interface between a stage and a search: the parameters of one problem, and how to build, check and time a
// candidate.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tautline/device/device.h"
#include "tautline/jit/configuration.h"
#include "tautline/jit/space.h"

namespace tautline::jit {

/// The conditions under which a result holds.
struct TuningKey {
  std::string api;      ///< "cuda" or "opencl"
  std::string product;  ///< "NVIDIA H200"
  std::string driver;
  std::string compiler;
  std::string kernel_hash;  ///< of all kernel files of the stage, the dialect's header too
  std::string stage;
  std::string variant;  ///< a property that is no size: "ci8"
  Sizes problem;
};

/// The kernel hash is computed of every kernel file of the stage that the device's api compiles
/// (stage_kernels in jit/program.h): a new or changed file needs no entry elsewhere.
TuningKey tuning_key(const device::Device& device, std::string stage, std::string variant,
                     Sizes problem);
/// The same for text that is not a kernel file of the library.
TuningKey tuning_key_of_text(const device::Device& device, std::string stage, std::string variant,
                             Sizes problem, std::string_view text);

/// A configuration, compiled and ready to run. One runs at a time, on the thread that calls.
class CompiledCandidate {
 public:
  virtual ~CompiledCandidate() = default;
  /// Runs once over outputs filled with garbage, and compares them with the reference. Empty when
  /// they agree; else a description of the difference (describe_difference in jit/check_output.h).
  virtual std::string check() = 0;
  /// Runs `times` times in a row, and gives the seconds that the device took for all of them.
  virtual double run(std::size_t times) = 0;
};

struct Tunable {
  TuningKey key;
  Space space;
  /// Of one run, so that times can be read as rates: useful operations, or samples.
  double operations = 0;
  std::string unit = "operations/s";  ///< of operations over seconds
  /// Makes data and reference, which candidates share. Called once before the first `build`, and
  /// not at all by a process whose worker runs the candidates.
  std::function<void()> prepare;
  /// Compiles and loads; runs nothing. Several threads may call at once. Throws core::Error.
  std::function<std::unique_ptr<CompiledCandidate>(const Configuration&)> build;
};

}  // namespace tautline::jit

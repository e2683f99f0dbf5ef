// Blocks of streams as arrays of Python's, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bindings.h"
#include "tautline/core/correlation_curve.h"
#include "tautline/engine/block.h"

namespace tautline::python {

/// How an element type is told to numpy: complex integers, and halves, have a last axis of 2 (re, im).
struct NumpyType {
  const char* name;
  nb::dlpack::dtype dtype;
  bool pairs;
  std::size_t bytes;  ///< of a whole element, with both parts
};
/// Throws Error(unsupported).
NumpyType numpy_type(core::SampleType type);
/// The inverse. Throws Error(config).
core::SampleType sample_type_of(const std::string& name, bool pairs);

/// Memory that numpy arrays share, used again when the last of them has gone.
class Buffers {
 public:
  struct Storage {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes = 0;
  };
  std::shared_ptr<Storage> take(std::size_t bytes);

 private:
  static constexpr std::size_t kMost = 8;
  std::vector<std::shared_ptr<Storage>> all_;
};

/// A block's arrays, dense and their own: nothing of the engine's is behind them. Made without the interpreter's lock.
struct TakenBlock {
  struct Part {
    std::string name;
    core::SampleType type{};
    std::vector<std::size_t> extents;
    std::shared_ptr<Buffers::Storage> memory;
  };
  std::string kind;
  std::uint64_t segment = 0, first = 0;
  std::size_t samples = 0;
  core::Instant start;  // of the first sample
  double rate_hz = 0;
  std::vector<Part> parts;
  std::size_t valid_rows = 0;               ///< 0: all valid
  std::shared_ptr<Buffers::Storage> valid;  ///< [row][sample], a byte each
  std::shared_ptr<const core::CorrelationCurves> curves;
};

/// Raw voltages are unpacked.
TakenBlock take_block(const engine::Stream& stream, const engine::Block& block, Buffers& buffers);

/// (kind, segment, first, samples, start_utc, rate_hz, arrays, valid, curves, input).
nb::object object_of(const TakenBlock& block, std::size_t input);

}  // namespace tautline::python

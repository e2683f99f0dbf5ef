// Data between the engine and a node in Python: streams as nodes.py describes them, and the blocks that the node gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bindings.h"
#include "tautline/core/time.h"
#include "tautline/engine/block.h"

namespace tautline::python {

/// (kind, arrays, rate, start, total, max_samples, facts, input): what nodes.py makes a Stream of, and gives back.
nb::tuple object_of(const engine::Stream& stream, std::size_t input);

using GivenArray = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;

/// One block that Python gave.
struct GivenBlock {
  std::size_t port = 0;
  std::vector<GivenArray> arrays;
  std::uint64_t segment = 0, first = 0;
  std::size_t samples = 0;
  bool same_time = false;  ///< as the block that it answers
  std::optional<GivenArray> valid;
};

/// Arrays of Python's go with the interpreter's lock, also where the run has failed.
struct GivenBlocks {
  GivenBlocks() = default;
  GivenBlocks(GivenBlocks&& other) noexcept = default;
  GivenBlocks& operator=(GivenBlocks&&) = delete;
  ~GivenBlocks();
  std::vector<GivenBlock> all;
  bool ended = false;
};

GivenBlocks given_blocks(const nb::object& given);

/// One output of a node in Python.
class PythonOutput {
 public:
  /// From what nodes.py says of it. Throws Error(config).
  PythonOutput(nb::handle described, std::span<const engine::Stream> inputs);

  const engine::Stream& stream() const { return stream_; }
  /// Back to the stream's start.
  void start();
  /// Blocks without a time of their own follow the beginning of a segment of `input`, if that is later than what was
  /// given.
  void begin_segment(const engine::Stream& input, const engine::Block& block);
  /// Time, arrays and validity of what Python gave for `block` of input `input`; null: for none. Throws Error(config).
  void fill(engine::Block& out, const GivenBlock& given, const engine::Block* block,
            std::size_t input);

 private:
  void set_time(engine::Block& out, const GivenBlock& given, const engine::Block* block);
  void fill_array(engine::Block& out, std::size_t index, const GivenArray& from,
                  const engine::Array* like) const;
  void require_rows(std::size_t rows, const engine::Block& like) const;

  engine::Stream stream_;
  /// The input whose details, which nodes of the library understand, it hands on: each block answers one of that input
  /// and has its time and its extents.
  std::optional<std::size_t> like_;
  // Where the blocks so far end: the time of arrays that come without one, of sources and behind a segment.
  std::uint64_t segment_ = 0, next_ = 0;
  core::Instant segment_start_;
};

}  // namespace tautline::python

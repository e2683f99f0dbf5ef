// The pieces of voltages or spectra that a buffer hands to the writer of its dumps, each from one block of the ring.
//
// Streams of kind "stretches" have one array, the bytes of a block of the ring, lent, and a StretchPiece as payload;
// voltages are in these bytes in the piece's `layout`, spectra one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/trigger.h"

namespace tautline::pipeline {

/// The requested samples (times) of the stream, counted from its start; samples before it are negative.
struct Stretch {
  Trigger trigger;
  core::Instant start;  ///< of `first`, counted from the stream's start
  std::int64_t first = 0, end = 0;

  std::uint64_t samples() const { return static_cast<std::uint64_t>(end - first); }
};

/// Pieces of a stretch come in order of time; pieces of several stretches are interleaved.
struct StretchPiece {
  enum class Kind {
    data,
    missed,  ///< samples that the buffer did not have, with the reason
    end      ///< the stretch is over
  };
  std::shared_ptr<const Stretch> stretch;
  Kind kind = Kind::data;
  std::int64_t first = 0;     ///< sample of the stream
  std::uint64_t samples = 0;  ///< times
  std::string why;            ///< the reason for missed samples
  // For data:
  core::Instant start;                     ///< of the piece's first sample, exact also after a gap
  core::RawLayout layout;                  ///< of the block, of voltages
  std::size_t block_first = 0;             ///< first sample of the piece in the block
  std::vector<core::InvalidSpan> invalid;  ///< counted from the block's first sample
};

/// Details of a stream of kind "stretches": the description of the source.
struct Stretches {
  std::variant<core::VoltageDescription, formats::FilterbankDescription> of;
};

}  // namespace tautline::pipeline

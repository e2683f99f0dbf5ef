// Reads a sequence of files on a thread of its own, a few blocks ahead of whoever computes.
#pragma once

#include <cstddef>
#include <exception>
#include <stop_token>
#include <thread>

#include "tautline/core/voltage.h"
#include "tautline/stream/ring.h"
#include "tautline/stream/voltage_sequence.h"

namespace tautline::pipeline {

struct ReadBlock {
  core::RawBlock raw;
  stream::Segment segment;
};

/// One being read, one waiting, one being computed.
inline constexpr std::size_t kRawBlocks = 3;

class BlockReader {
 public:
  /// `sequence` is the reader's until this is destroyed or next() returned null. A stop request
  /// ends the reading with Error(io, "interrupted").
  BlockReader(stream::VoltageSequence& sequence, std::size_t block_samples, std::stop_token stop);
  ~BlockReader() { close(); }
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  /// The next block, or null at the end. Throws what reading threw, after the blocks before it.
  ReadBlock* next();
  void release() { ring_.end_read(); }
  /// Ends the reading early. May be called from any thread.
  void close() { ring_.close(); }

 private:
  void read(std::size_t block_samples, const std::stop_token& stop);

  stream::VoltageSequence& sequence_;
  stream::Ring<ReadBlock> ring_{kRawBlocks, stream::RingPolicy::block};
  std::exception_ptr error_;
  std::jthread thread_;
};

}  // namespace tautline::pipeline

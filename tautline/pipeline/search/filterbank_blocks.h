// Blocks of a filterbank, read on a thread of their own ahead of whoever computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>

#include "tautline/device/device.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/stream/ring.h"

namespace tautline::pipeline {

struct SpectraBlock {
  std::span<std::byte> bytes;      ///< [time][channel], as the reader delivers them
  std::uint64_t first_sample = 0;  ///< as the reader counts
  std::size_t samples = 0;
  device::Buffer memory;  ///< that bytes are in
};

/// Samples [first, first + count) of a reader's data: what start_s and duration_s name.
struct SampleRange {
  std::uint64_t first = 0, count = 0;
};

/// `duration_s` < 0: to the end. Seconds of data: gaps take none. Throws Error(config) when it
/// begins behind the data or is empty.
SampleRange choose_range(const formats::FilterbankReader& reader, double start_s,
                         double duration_s);

/// A part of a range without a gap, and where it stands on the grid of times that begins with the
/// reader's sample 0 and on which gaps take time.
struct PlacedRange {
  SampleRange range;
  std::uint64_t grid_first = 0;
};

/// A range cut at its gaps: one or more, in order of time.
std::vector<PlacedRange> split_at_gaps(const formats::FilterbankReader& reader,
                                       const SampleRange& range);

class FilterbankBlocks {
 public:
  /// One being read, one waiting, one being computed.
  static constexpr std::size_t kBlocks = 3;
  /// What is done to a block's samples as soon as they are read, on the reader's thread.
  using Edit = std::function<void(std::span<std::byte> bytes, std::uint64_t first_sample,
                                  std::size_t samples)>;

  /// `range` has no gap. `reader` is this object's until it is destroyed or next() returned null. A
  /// stop request ends the reading with Error(io, "interrupted"). For a `device` that copies from
  /// host memory by itself the blocks are in memory that it reads at full rate.
  FilterbankBlocks(formats::FilterbankReader& reader, const SampleRange& range,
                   std::size_t block_samples, std::stop_token stop, Edit edit = {},
                   const device::Device* device = nullptr);
  ~FilterbankBlocks() { ring_.close(); }
  FilterbankBlocks(const FilterbankBlocks&) = delete;
  FilterbankBlocks& operator=(const FilterbankBlocks&) = delete;

  /// The next block, or null at the end. Throws what reading threw, after the blocks before it.
  const SpectraBlock* next();
  void release() { ring_.end_read(); }

 private:
  void read(const SampleRange& range, std::size_t block_samples, const std::stop_token& stop,
            const Edit& edit);

  formats::FilterbankReader& reader_;
  stream::Ring<SpectraBlock> ring_{kBlocks, stream::RingPolicy::block};
  std::exception_ptr error_;
  std::jthread thread_;
};

}  // namespace tautline::pipeline

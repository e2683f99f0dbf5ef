// Counts through a pipe: [time][sensor] rows of any number, raw or behind the header of a NPY array.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tautline/formats/count_reader.h"
#include "tautline/stream/live_input.h"

namespace tautline::pipeline {

/// The description of a stream of counts, from its user or its header.
struct LiveLayout {
  formats::CountDescription description;
  std::uint64_t header_bytes = 0;
  std::optional<std::uint64_t> stated_samples;  ///< the stream ends after so many, whatever follows
};

/// Reads the NPY header at the beginning of the stream. Throws Error(format) if it is not of an array of counts,
/// Error(config) when `dtype` is given and differs.
LiveLayout npy_layout(stream::LiveInput& input, std::optional<core::SampleType> dtype);

class LiveCounts {
 public:
  LiveCounts(std::unique_ptr<stream::LiveInput> input, LiveLayout layout);

  const formats::CountDescription& description() const { return layout_.description; }
  /// Rows to skip before the first delivered one. Before the first read.
  void skip(std::uint64_t samples);
  /// Whole rows, at most `samples` of them, valid until the next call: those that come until `wait` is over or the
  /// stream ends. A float that is no count ends the stream before its row.
  std::pair<std::span<const std::byte>, std::size_t> read(std::size_t samples,
                                                          std::chrono::milliseconds wait);
  bool ended() const { return ended_; }
  bool stopped() const { return input_->stopped(); }
  /// After the end of the stream: an incomplete row, a fault, a number that is no count.
  const formats::Damage& damage() const { return damage_; }

 private:
  void skip_bytes(std::chrono::milliseconds wait);
  void drop_bad_floats(std::size_t& rows);
  void finish();

  std::unique_ptr<stream::LiveInput> input_;
  LiveLayout layout_;
  std::size_t row_bytes_;
  std::uint64_t to_skip_;  ///< bytes
  std::vector<std::byte> block_;
  std::size_t held_ = 0, given_ = 0;  // bytes in block_; bytes of the rows that the last call gave
  std::uint64_t rows_ = 0;            // given or skipped so far
  bool ended_ = false;
  formats::Damage damage_;
};

}  // namespace tautline::pipeline

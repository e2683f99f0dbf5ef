// Counts that come through a pipe: raw [time][sensor] rows, as long as they come.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tautline/formats/count_reader.h"
#include "tautline/stream/live_input.h"

namespace tautline::pipeline {

class LiveCounts {
 public:
  /// `raw` says type, sensors and header. Throws Error(config) when type or sensors are missing.
  LiveCounts(std::unique_ptr<stream::LiveInput> input, const formats::RawCounts& raw);

  const formats::CountDescription& description() const { return description_; }
  /// Rows left out before the first one is given. Before the first read.
  void skip(std::uint64_t samples);
  /// Whole rows, at most `samples` of them, valid until the next call: as many as come until `wait` is
  /// over or the stream has ended. A float that is no count ends the stream before its row.
  std::pair<std::span<const std::byte>, std::size_t> read(std::size_t samples,
                                                          std::chrono::milliseconds wait);
  bool ended() const { return ended_; }
  bool stopped() const { return input_->stopped(); }
  /// When the stream has ended: a row that is not whole, a fault, a number that is no count.
  const formats::Damage& damage() const { return damage_; }

 private:
  void skip_bytes(std::chrono::milliseconds wait);
  void finish();

  std::unique_ptr<stream::LiveInput> input_;
  formats::CountDescription description_;
  std::size_t row_bytes_;
  std::uint64_t header_bytes_, to_skip_;
  std::vector<std::byte> block_;
  std::size_t held_ = 0, given_ = 0;  // bytes in block_; those of rows that the last call gave
  std::uint64_t rows_ = 0;            // given or skipped so far
  bool ended_ = false;
  formats::Damage damage_;
};

}  // namespace tautline::pipeline

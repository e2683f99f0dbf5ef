// Counts through a pipe: [time][sensor] rows of any number, raw or behind the header of a NPY array.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/empty_counts.h"
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

/// Counts that come while they are read.
class CountsAsTheyCome {
 public:
  virtual ~CountsAsTheyCome() = default;
  virtual const formats::CountDescription& description() const = 0;
  /// Rows to skip before the first delivered one. Before the first read.
  virtual void skip(std::uint64_t samples) = 0;
  /// Whole rows, at most `samples` of them, valid until the next call: those that come until `wait` is over or the
  /// stream ends. A float that is no count ends the stream before its row.
  virtual std::pair<std::span<const std::byte>, std::size_t> read(
      std::size_t samples, std::chrono::milliseconds wait) = 0;
  virtual bool ended() const = 0;
  /// From now on only what has come is delivered.
  virtual void stop() = 0;
  virtual bool stopped() const = 0;
  /// After the end of the stream: an incomplete row, a fault, a number that is no count.
  virtual const formats::Damage& damage() const = 0;
  /// Whether counts may be lost.
  virtual bool loses() const { return false; }
  /// Rows of the last read, counted from its first, of which some counts were lost: in order of time.
  virtual std::span<const BinRange> lost() const { return {}; }
  /// Of packets.
  virtual std::map<std::string, std::uint64_t> counters() const { return {}; }
};

class LiveCounts final : public CountsAsTheyCome {
 public:
  LiveCounts(std::unique_ptr<stream::LiveInput> input, LiveLayout layout);

  const formats::CountDescription& description() const override { return layout_.description; }
  void skip(std::uint64_t samples) override;
  std::pair<std::span<const std::byte>, std::size_t> read(std::size_t samples,
                                                          std::chrono::milliseconds wait) override;
  bool ended() const override { return ended_; }
  void stop() override { input_->stop(); }
  bool stopped() const override { return input_->stopped(); }
  const formats::Damage& damage() const override { return damage_; }

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

// Several voltage files as one stream: ordered by start time, gaps and overlaps found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/stream/voltage_stream.h"

namespace tautline::stream {

struct SequenceOptions {
  formats::ReaderOptions reader;
  double start_s = 0;          ///< skip this much, from the first file's first sample
  double duration_s = -1;      ///< and stop after this much; negative: to the end
  bool keep_constant = false;  ///< for the reader: stretches that never change are data
};

/// Where the next file continues a file without a gap, as far as sizes tell.
struct VoltageJoin {
  std::string before, after;  ///< files
  std::uint64_t sample = 0;   ///< of the stream: the first of `after`
  /// Samples of `before` that are delivered; samples of `after` up to after_end are delivered.
  std::uint64_t before_first = 0, before_end = 0, after_end = 0;
};

/// Throws Error(config) naming `option` for a time that is no whole number of samples.
std::uint64_t samples_in(double seconds, const core::Rational& rate, const char* option);
/// Keeps the first `samples` of a block.
void cut_block(core::RawBlock& block, std::size_t samples);

/// Not thread-safe. Files that follow each other to within half a sample are one segment; a gap starts another; an
/// overlap throws Error(format), as do files whose descriptions differ.
class VoltageSequence final : public VoltageStream {
 public:
  VoltageSequence(const std::vector<std::string>& paths, const SequenceOptions& options);

  /// Of the first file, with `start` moved to the first sample that will be delivered.
  const core::VoltageDescription& description() const override { return description_; }
  core::RawLayout layout(std::size_t samples) const override {
    return parts_.front().reader->layout(samples);
  }
  std::size_t block_bytes(std::size_t samples) const override {
    return parts_.front().reader->block_bytes(samples);
  }
  /// Samples (times) to be delivered, as far as sizes tell: a file with gaps inside gives more.
  std::uint64_t total_samples() const override { return total_; }
  /// One behind the last sample to be delivered, as far as sizes tell.
  const core::Instant& end() const override { return end_; }
  const std::vector<std::string>& files() const override { return files_; }

  /// The joins inside the delivered part, in order of time.
  std::vector<VoltageJoin> joins() const;

  /// Reads up to `samples` of the next samples; they never straddle two segments. 0 at the end. A
  /// caller must ask for the same number each time: layouts may depend on it.
  std::size_t read(std::size_t samples, core::RawBlock& block, SegmentPlace& segment) override;

  /// Damage that the readers skipped so far, in file order.
  formats::Damage damage() const override;
  /// Gaps between files, in samples (times) that were not recorded.
  std::uint64_t gap_samples() const override { return gap_samples_; }
  std::uint64_t skipped_gap_samples() const override { return skipped_gap_samples_; }

 private:
  struct Part {
    std::string path;
    std::unique_ptr<formats::VoltageReader> reader;
    std::uint64_t skip = 0;       ///< samples left out at its start
    std::uint64_t taken = 0;      ///< samples to be delivered, as far as its size tells
    std::uint64_t delivered = 0;  ///< samples handed out
    bool opened = false;          ///< seek done

    Part(std::string name, std::unique_ptr<formats::VoltageReader> opened_reader)
        : path(std::move(name)), reader(std::move(opened_reader)) {}
  };

  void check_agreement(const Part& part) const;
  void check_overlaps() const;
  void select(const SequenceOptions& options);
  void open_part(Part& part);

  std::vector<Part> parts_;
  std::vector<std::string> files_;
  core::VoltageDescription description_;
  core::Instant end_;
  std::uint64_t total_ = 0, left_ = 0, gap_samples_ = 0, skipped_gap_samples_ = 0;
  std::size_t current_ = 0;
  const Part* last_ = nullptr;  // the last part that delivered samples
  SegmentPlace segment_;
  bool segment_begins_ = true;
};

}  // namespace tautline::stream

// A filterbank without gaps: missing samples between the segments of another reader are filled in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// Counts samples on the grid of times, gaps among them. In a gap each channel has its mean over
/// the 4,096 samples before it (those of its segment; rounded for integers), whatever block is
/// read. Everything else is the reader's.
class GaplessReader final : public formats::FilterbankReader {
 public:
  /// Throws Error(format) when more is missing than there is: filling that would be inventing.
  explicit GaplessReader(std::shared_ptr<formats::FilterbankReader> reader);

  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override;
  const formats::Damage& damage() const override { return reader_->damage(); }
  const std::vector<std::string>& remarks() const override { return reader_->remarks(); }

  /// Where the reader's own sample stands on the grid.
  std::uint64_t grid_of(std::uint64_t sample) const;

 private:
  void fill(std::size_t before, std::size_t count, std::span<std::byte> destination);
  void measure(std::size_t segment);

  std::shared_ptr<formats::FilterbankReader> reader_;
  std::vector<std::byte> line_;  // a time of the gap that was read last
  std::size_t measured_;         // the segment before it
};

/// Puts a reader without gaps in the place of one whose data have gaps inside the range, which then
/// counts the missing times too.
void fill_gaps(std::shared_ptr<formats::FilterbankReader>& reader, SampleRange& range);

}  // namespace tautline::pipeline

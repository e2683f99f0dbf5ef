// Readers in the place of another one, of which they fill in what is missing: gaps between its segments, and stretches in
// them that hold nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/empty_stretches.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

inline constexpr std::uint64_t kAnyGap = std::numeric_limits<std::uint64_t>::max();

/// Counts samples with those of gaps of up to `longest_gap` among them: of all gaps, on the grid of times. In such a gap
/// each channel has its mean over the 4,096 samples before it (those of its segment; rounded for integers), whatever
/// block is read. Everything else is the reader's.
class GaplessReader final : public formats::FilterbankReader {
 public:
  /// Throws Error(format) when more is missing than there is: filling that would be inventing.
  explicit GaplessReader(std::shared_ptr<formats::FilterbankReader> reader,
                         std::uint64_t longest_gap = kAnyGap);

  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override;
  const formats::Damage& damage() const override { return reader_->damage(); }
  const std::vector<std::string>& remarks() const override { return reader_->remarks(); }

  /// What the reader's own sample is here.
  std::uint64_t place_of(std::uint64_t sample) const;

 private:
  void fill(std::size_t before, std::size_t count, std::span<std::byte> destination);
  void measure(std::size_t segment);

  std::shared_ptr<formats::FilterbankReader> reader_;
  std::vector<std::uint64_t> places_;  // of the first samples of the reader's segments
  std::vector<std::byte> line_;        // a time of the gap that was read last
  std::size_t measured_;               // the segment before it
};

/// Puts a reader without gaps in the place of one whose data have gaps of up to `longest_gap` inside the range, which then
/// counts the times of these gaps too. Returns how many of them it added.
std::uint64_t fill_gaps(std::shared_ptr<formats::FilterbankReader>& reader, SampleRange& range,
                        std::uint64_t longest_gap = kAnyGap);

/// Samples of `range` as a search saw them (FilterbankSourceNode with Empty::split): channels that stop, and stretches of
/// less than kLeastGap, are filled with the same values. Longer stretches and samples outside of the range are the
/// reader's. Ascending reads are fast.
class CleanedReader final : public formats::FilterbankReader {
 public:
  /// `reader` outlives this. `left_out`: channels that do not count.
  CleanedReader(formats::FilterbankReader& reader, const SampleRange& range,
                std::vector<std::size_t> left_out);

  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override;
  const formats::Damage& damage() const override { return reader_.damage(); }
  const std::vector<std::string>& remarks() const override { return reader_.remarks(); }

 private:
  void begin_before(std::uint64_t position);
  void clean(std::span<std::byte> spectra);

  formats::FilterbankReader& reader_;
  SampleRange range_;
  std::vector<std::size_t> left_out_;
  std::optional<EmptyStretches> empty_;
  SampleRange stretch_;     // found last, at positions of the range
  std::uint64_t done_ = 0;  // position behind what was cleaned
};

}  // namespace tautline::pipeline

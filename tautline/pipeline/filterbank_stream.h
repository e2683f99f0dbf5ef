// The description of streams of kind "filterbank", from files, live, or made of voltages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/injected_pulses.h"

namespace tautline::pipeline {

class FilledValues;
struct FilterbankInput;

/// Samples [first, first + count) of a reader's data: what start_s and duration_s name.
struct SampleRange {
  std::uint64_t first = 0, count = 0;
  bool operator==(const SampleRange&) const = default;
};

/// A part of a range without a gap, and where it stands on the grid of times that begins with the
/// reader's sample 0 and on which gaps take time.
struct PlacedRange {
  SampleRange range;
  std::uint64_t grid_first = 0;
};

/// A part of a filterbank without a gap. It is given once for each pass; without a pass not at all.
struct FilterbankPart {
  PlacedRange placed;
  std::size_t passes = 1;
  std::size_t beam = 0;
};

/// Samples of a part that is live: nobody knows how many will come.
inline constexpr std::uint64_t kLiveSamples = std::uint64_t{1} << 50;

/// Details of streams of kind "filterbank": array "samples", [time][channel], u8, u16 or f32. Their segments count
/// passes: those over the first part, then those over the second one.
struct FilterbankStream {
  static constexpr const char* kKind = "filterbank";
  std::vector<formats::FilterbankDescription>
      beams;  ///< of the readers, which have the same band and sample type
  std::vector<FilterbankPart> parts;
  /// First and last + 1 sample of what holds data, from the first part's start; the rest was filled in. None: all does.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> data_segments;
  std::vector<std::string> files;  ///< that were opened
  std::vector<std::vector<std::size_t>>
      left_out;  ///< [beam] channels that sums over channels leave out
  std::shared_ptr<const FilterbankInput> input;         ///< where files were opened for the run
  std::shared_ptr<const InjectedPulses> injected = {};  ///< where some are put in on the way
  std::vector<std::shared_ptr<const FilledValues>> filled =
      {};             ///< [beam] on its grid; none: not known
  bool live = false;  ///< one part of kLiveSamples, of one beam, whose segments each begin anew
  std::size_t held_samples = 0;  ///< that have come behind a block when a source gives it
  bool leaves_gaps = false;      ///< live: where it holds nothing
  bool fills_gaps = false;       ///< live: with means, for series

  /// Whether means, not noise, take the place of what is missing: of series that have one start.
  bool has_means() const { return live ? fills_gaps : !data_segments.empty(); }

  struct Turn {
    std::size_t part = 0, pass = 0;
  };
  Turn turn_of(std::uint64_t segment) const;
  /// Of what all beams have alike.
  const formats::FilterbankDescription& description() const { return beams.front(); }
  const formats::FilterbankDescription& beam_of(const FilterbankPart& part) const {
    return beams[part.beam];
  }
};

/// Where a segment that begins with this block stands on the filterbank's grid.
std::uint64_t grid_sample_of(const FilterbankStream& filterbank, const engine::Block& first);

}  // namespace tautline::pipeline

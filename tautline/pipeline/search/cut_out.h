// Cut-outs of a candidate as `your` makes them for FETCH: dedispersed frequency-time and DM-time
// arrays of 256 x 256 values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"
#include "tautline/formats/filterbank_reader.h"

namespace tautline::pipeline {

/// Samples that a cut-out is made of: the sweep and the width on both sides of the candidate, and at
/// least 256 half-widths.
struct CutoutChunk {
  std::int64_t first = 0;  ///< on the grid of the candidate's time; may be before 0
  std::size_t samples = 0;
};
CutoutChunk chunk_of(const formats::candidates::YourCandidate& candidate,
                     const formats::FilterbankDescription& description);

/// Memory that the arrays of one take while it is made.
std::size_t cutout_bytes(const CutoutChunk& chunk,
                         const formats::FilterbankDescription& description);

/// Both arrays, less their medians and over their standard deviations (zeros where nothing changes).
/// `first_grid_sample`: the candidate's, that stands for the reader's sample 0. Samples that the
/// data do not have (before and after, and beyond a gap) are their channel's median; those of
/// channels left out are 0. No mask and no zero-DM filter is applied. Several threads may make cut-outs of one reader,
/// with one `reading`, which is held while samples are read.
formats::cutout_hdf5::Cutout cut_out(formats::FilterbankReader& reader,
                                     const formats::candidates::YourCandidate& candidate,
                                     std::uint64_t sample, std::uint64_t first_grid_sample,
                                     const std::vector<std::size_t>& left_out, std::mutex& reading);

}  // namespace tautline::pipeline

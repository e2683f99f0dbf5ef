// A candidate's pictures: its profile, DM against time, and frequency against time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/presto/mask.h"
#include "tautline/pipeline/search/iqrm_found.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

struct PictureConfig {
  double dm_constant = 0;
  std::vector<std::size_t> ignored_channels;
  const formats::presto::Mask* mask = nullptr;  ///< masked samples are left out; null: no mask
  std::span<const MaskedWindow> windows = {};   ///< that IQRM masked, in order of time
  bool zero_dm = false;                         ///< subtract the mean over channels at each time
  std::size_t bins = 128;                       ///< of time
  std::size_t dm_rows = 49;                     ///< odd: the candidate's own in the middle
  std::size_t sub_bands = 64;                   ///< at most, highest frequency first
};

/// Times are seconds after the candidate's. Bins that the data do not cover are NaN.
struct CandidatePictures {
  double bin_s = 0, first_s = 0;     ///< width of a bin, start of the first one
  double low_dm = 0, high_dm = 0;    ///< of the first and the last row
  double low_mhz = 0, high_mhz = 0;  ///< edges of the band
  std::size_t bins = 0, dm_rows = 0, sub_bands = 0;
  std::vector<float> profile;         ///< [bin], in sigma of the bins
  std::vector<float> dm_time;         ///< [dm][bin], in sigma of the middle row's bins
  std::vector<float> frequency_time;  ///< [sub-band][bin], in sigma of each
};

/// Reads what the pictures need. A bin is a quarter of the candidate's width, and at least a sample. Each channel has
/// its mean over the picture taken off and is divided by its standard deviation. Of series of several trials the rows
/// are trials, and there is one sub-band. `first_grid_sample`: candidate.sample, and the mask's, that stands for the
/// reader's sample 0. Throws Error(config) when the mask was made for other channels.
CandidatePictures draw_candidate(formats::FilterbankReader& reader, const SampleRange& range,
                                 const core::Candidate& candidate, std::uint64_t first_grid_sample,
                                 const PictureConfig& config);

}  // namespace tautline::pipeline

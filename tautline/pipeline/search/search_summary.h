// The results of a search of filterbanks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/pipeline/search/candidate_pictures.h"
#include "tautline/pipeline/search/filterbank_run.h"
#include "tautline/pipeline/search/injection.h"
#include "tautline/pipeline/search/noise_of_widths.h"

namespace tautline::pipeline {

struct SearchSummary : FilterbankRunSummary {
  std::size_t widths = 0, passes = 1;
  std::vector<std::size_t>
      widths_samples;     ///< of the boxcars, in samples of the first range of DMs
  double width_loss = 0;  ///< of S/N: of a rectangular pulse between two boxcars, beside the others
  double whole_loss = 0;  ///< of all three
  std::vector<double> dms;        ///< of the trials
  std::size_t data_segments = 1;  ///< without a gap, each searched for itself
  std::uint64_t detections = 0;   ///< events of single trials over the threshold
  std::string detect_backend;
  std::vector<core::Candidate> candidates;  ///< best first, samples of the input
  /// The data from which they get their times: one, or one for each beam.
  std::vector<formats::candidates::SearchDescription> searched;
  /// Of the widest of the ten best candidates, in its trial; none where none is wide or the noise is that of widths.
  std::optional<WidthNoise> noise_of_width;
  std::string changing_level;  ///< names candidates where the level changes; empty: none
  /// Parts of the band that stopped for so long that their times are better searched by themselves.
  std::vector<std::string> stopped_bands;
  std::string widest_boxcars;     ///< names candidates that have them; empty: none
  std::size_t cutouts = 0;        ///< written
  std::size_t most_beams = 0;     ///< that may have a candidate at once
  std::size_t in_many_beams = 0;  ///< candidates that more have
  InjectionsFound injections;     ///< of SearchConfig::inject
  std::uint64_t clipped = 0;      ///< samples at the largest value where pulses were put in
  std::vector<CandidatePictures> pictures;  ///< of the best candidates, where a folder was named
  /// Of the highest trial: its longest delay, and the part of the data that lies farther before the ends of the segments.
  double longest_delay_s = 0, searched_fraction = 1;
  const formats::candidates::SearchDescription& search_of(const core::Candidate& candidate) const {
    return searched.size() > 1 ? searched[candidate.beam] : searched.front();
  }
};

/// What a search calls while it makes pictures and cut-outs, once its list has its name; on one thread at a time.
struct SearchDrawing {
  /// After each picture, which is the summary's last one.
  std::function<void(const SearchSummary& summary)> picture = {};
  /// How many pictures and cut-outs of how many are done, from 0 on.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
};

/// {width_samples, excess} of noise_of_width, or null.
nlohmann::ordered_json noise_json(const SearchSummary& summary);

}  // namespace tautline::pipeline

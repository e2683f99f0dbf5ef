// Filterbank files to a list of pulses: clean, dedisperse, detect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/device/device.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/search/candidate_pictures.h"
#include "tautline/pipeline/search/filterbank_run.h"
#include "tautline/pipeline/search/injection.h"
#include "tautline/pipeline/search/noise_of_widths.h"
#include "tautline/stages/detect/detect.h"

namespace tautline::pipeline {

/// The output is .csv, .cand or .singlepulse, with OUTPUT.json beside it, or empty: then neither is written. A
/// dedispersed series is searched as it is, and has the DM that it says (PRESTO's is converted to dm_constant).
struct SearchConfig : FilterbankRunConfig {
  bool beams = false;          ///< each input is a beam; the output is a .csv
  std::size_t max_beams = 0;   ///< that may have a candidate at once; 0: a quarter, 2 at least
  std::string plot_folder;     ///< candidates.html goes there; empty: no page
  std::string picture_folder;  ///< SearchSummary::pictures are made for pictures there; empty: none
  std::size_t most_plots = 100;    ///< candidates drawn, best first
  std::string cutout_folder;       ///< cut-outs as `your` and FETCH read them; empty: none
  std::size_t most_cutouts = 100;  ///< candidates cut out, best first
  double threshold = 6;
  double max_width_s = 0.1;
  double baseline_s = 0;  ///< 0: 2 s, or 16 times the widest boxcar
  stages::detect::Noise noise = stages::detect::Noise::trial;
  /// share_latency's; 0: 1 s of live data, as long as it takes of files; negative: as long as it takes of both
  double latency_s = 0;
  std::string events;  ///< each candidate is added to this file as soon as it is known; empty: none
  std::size_t held_samples = 0;  ///< FilterbankStream's, or of files as live data would have them
  stages::detect::Links links;
  InjectionConfig inject;  ///< pulses that are put into the data, to see which of them are found
};
const core::Fields<SearchConfig>& fields(const SearchConfig&);

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
  std::vector<formats::candidates::Search> searched;
  /// Of the widest of the ten best candidates, in its trial; none where none is wide or the noise is that of widths.
  std::optional<WidthNoise> noise_of_width;
  std::size_t cutouts = 0;        ///< written
  std::size_t most_beams = 0;     ///< that may have a candidate at once
  std::size_t in_many_beams = 0;  ///< candidates that more have
  InjectionsFound injections;     ///< of SearchConfig::inject
  std::uint64_t clipped = 0;      ///< samples at the largest value where pulses were put in
  std::vector<CandidatePictures> pictures;  ///< of the best candidates, where a folder was named
  const formats::candidates::Search& search_of(const core::Candidate& candidate) const {
    return searched.size() > 1 ? searched[candidate.beam] : searched.front();
  }
};

/// {width_samples, excess} of noise_of_width, or null.
nlohmann::ordered_json noise_json(const SearchSummary& summary);

using DrawPictures = std::function<void(const SearchSummary&, const std::stop_token&)>;

/// Each trial is searched to its last complete sample. A gap in the data ends a search and begins another; of a
/// segment that is shorter than the highest DMs' delays the lower ones are searched. When the trials do not fit into
/// memory_bytes at once, the input is read several times: with exact sums the list is the same to the bit, sub-bands
/// may differ within their loss. Beams are searched one after the other, with the same plans and in the same memory;
/// they may differ in start and length. What comes by a pipe is searched as it comes, in one pass: candidates are
/// those of a file of the same bytes, if its channels that never change are those that do not in the first
/// kFirstSpectra; a stop ends it with what had come. `announce` is given the plan before the run, `draw` the
/// candidates and their pictures before any file has its final name. Throws core::Error; none has it then but
/// `events`.
SearchSummary search_filterbank(const SearchConfig& config,
                                std::shared_ptr<const device::Device> device,
                                const ProgressCallback& progress = {},
                                const std::function<void(const std::string&)>& announce = {},
                                std::stop_token stop = {}, const DrawPictures& draw = {});

/// The plan alone, to `announce` and in what it returns: trials, boxcars, passes, losses, memory and
/// the time to expect. Reads no more than what is left out is chosen by, and writes nothing.
SearchSummary plan_search(const SearchConfig& config, std::shared_ptr<const device::Device> device,
                          const std::function<void(const std::string&)>& announce = {});

}  // namespace tautline::pipeline

// The Config of a search of filterbanks for pulses.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/core/fields.h"
#include "tautline/pipeline/search/filterbank_run_config.h"
#include "tautline/pipeline/search/injection.h"
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

}  // namespace tautline::pipeline

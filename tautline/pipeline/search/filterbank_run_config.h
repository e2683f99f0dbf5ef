// The Config that runs over filterbanks share: which files are read, how they are cleaned and dedispersed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/dispersion.h"
#include "tautline/core/fields.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/forward_bytes.h"
#include "tautline/pipeline/run_watch.h"
#include "tautline/pipeline/search/iqrm_config.h"
#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::pipeline {

/// Which trials, before the band is known.
struct DmChoice {
  std::vector<double> list;  ///< when given, the rest is not used
  double low = 0;
  std::optional<double> high;  ///< none: not given
  double step = 0;             ///< linear; 0: by tolerance or by loss
  double tolerance = 0;        ///< more than 1: Levin's steps; 0: by loss
  double pulse_width_s = 0;    ///< of the narrowest pulse; 0: one sample, or 40 us for tolerances
  double downsample_tolerance = 0;  ///< more than 1: add neighbouring samples where smearing allows

  /// Somebody said which.
  bool given() const { return !list.empty() || high; }
  /// The steps follow from the S/N that may be lost.
  bool by_loss() const { return list.empty() && high && step == 0 && tolerance == 0; }
};
const core::Fields<DmChoice>& fields(const DmChoice&);

struct FilterbankRunConfig {
  std::vector<std::string> inputs;
  std::shared_ptr<formats::ForwardBytes> piped =
      {};  ///< what comes by the one that is a pipe; none: files
  std::string output;
  bool overwrite = false;
  DmChoice dms;
  double dm_constant = core::kDispersionConstant;
  stages::dedisperse::Method method = stages::dedisperse::Method::automatic;
  double max_loss =
      0;  ///< of S/N that trial spacing and sub-bands may cost together; 0: none given
  std::vector<std::size_t> ignored_channels;  ///< in the file's order, from 0
  std::string mask;                           ///< rfifind's; empty: none
  bool zero_dm = false;
  bool flag_channels = false;  ///< leave out channels that channel_flags.h finds bad
  bool keep_constant = false;  ///< stretches and channels that never change are data
  bool iqrm = false;           ///< mask channels that stand out for a while, as iqrm.h finds them
  IqrmConfig iqrm_limits = {};
  bool bandpass = false;  ///< measure every channel on the way
  formats::FilterbankOptions reader;
  /// Of a search: `reader.source` reads from the memory of the run's device (formats/memory). Blocks are made there, and
  /// the host looks at none: with `keep_constant`, and nothing else that does.
  bool samples_on_device = false;
  double start_s = 0, duration_s = -1;
  std::size_t memory_bytes = core::half_of_memory();
  std::string history;
  RunWatch watch;
};
const core::Fields<FilterbankRunConfig>& fields(const FilterbankRunConfig&);

}  // namespace tautline::pipeline

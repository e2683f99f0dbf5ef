// The Config of a run from filterbanks to dedispersed time series.
#pragma once

#include "tautline/core/fields.h"
#include "tautline/pipeline/search/filterbank_run_config.h"
#include "tautline/pipeline/search/trial_sink.h"

namespace tautline::pipeline {

struct DedisperseConfig : FilterbankRunConfig {
  SeriesFormat format = SeriesFormat::npy;
  MakeTrialSink sink = {};  ///< instead of the output's files and their record; none: the files
};
const core::Fields<DedisperseConfig>& fields(const DedisperseConfig&);

}  // namespace tautline::pipeline

// The results of a run from counts to correlation curves, beside the curves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/engine/profile.h"
#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/empty_counts.h"

namespace tautline::pipeline {

struct AutocorrelateSummary {
  std::string format;
  std::size_t sensors = 0, curves = 0, lags = 0;
  std::size_t masked = 0;              ///< sensors that the mask marks bad
  std::size_t undefined = 0;           ///< curves without any g: no counts at all
  std::size_t lags_too_long = 0;       ///< lags longer than the run
  std::uint64_t samples = 0;           ///< bins of each sensor in the sums, with a resumed state's
  std::uint64_t resumed_samples = 0;   ///< bins of the resumed state
  std::size_t segments = 0;            ///< segments behind the standard errors
  std::uint64_t writes = 0;            ///< times that the output was written
  std::uint64_t ignored_photons = 0;   ///< of a live run: of detectors that were not selected
  bool live = false;                   ///< the input is a pipe
  bool interrupted = false;            ///< a live run that was stopped before its input ended
  double bin_s = 0, mean_rate_hz = 0;  ///< of a sensor, over all curves
  std::string bin_reason;              ///< the reason for the chosen bin; empty: it was given
  std::string backend;
  double elapsed_s = 0, stream_s = 0;
  EmptyCountsFound empty;  ///< sensors that stopped, left out or not
  formats::Damage damage;
  std::vector<std::string> warnings;
  engine::Profile profile;  ///< the time of each node
};

}  // namespace tautline::pipeline

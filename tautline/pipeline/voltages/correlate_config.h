// The Config of a run from voltages to visibilities.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/field_words.h"
#include "tautline/core/fields.h"
#include "tautline/core/voltage.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/forward_bytes.h"
#include "tautline/formats/visibility_writer.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/run_watch.h"
#include "tautline/pipeline/voltages/filter_config.h"
#include "tautline/pipeline/voltages/reduction.h"

namespace tautline::pipeline {

struct CorrelateConfig {
  std::vector<std::string> inputs;  ///< voltage files, consecutive or receivers
  /// The bytes of the input that is a pipe; none: files.
  std::shared_ptr<formats::ForwardBytes> piped = {};
  std::string output;                         ///< .uvh5 or .ms
  formats::MakeVisibilityWriter writer = {};  ///< instead of the file; none: the file
  std::string report_path;                    ///< a self-contained HTML page; empty: none
  core::FieldWords words = {};                ///< of the page's warnings
  bool overwrite = false;
  FilterConfig filter;
  double integration_s = 1.0;  ///< rounded to whole spectra
  Reduction reduction;         ///< of the output; the page shows the range of channels unreduced
  Requantise requantise = Requantise::bits8;
  std::string gains;          ///< chosen gains before rounding: read_gains(); empty: measured
  double settle_s = 0;        ///< gains are measured anew once, after so long
  bool follow_gains = false;  ///< and again after each further `settle_s`
  bool keep_edge = false;     ///< channels that contain both ends of a band are not flagged
  std::string array_path;     ///< array.toml; empty: positions unknown
  std::string delays_path;    ///< delays.toml: track by delaying the voltages
  /// NAME=RA_DEG,DEC_DEG: rotate the fringes to that place after correlation. NAME alone: rotate the fringes by the
  /// table of that name in delays_path, instead of delaying the voltages.
  std::string phase_centre;
  formats::EarthOrientation earth;      ///< for tracking and uvw
  double start_s = 0, duration_s = -1;  ///< part of the input; negative: all
  bool keep_constant = false;           ///< stretches that never change are data
  formats::ReaderOptions reader;
  /// `reader.source` reads from the memory of the run's device: blocks are made there, and the host looks at none.
  /// With `keep_constant`, and gains that do not change.
  bool samples_on_device = false;
  std::size_t memory_bytes = core::half_of_memory();  ///< cap on what the run allocates
  std::string history;                                ///< version and command line, for the output
  /// Called with the input's description when the run begins: no check can fail any more.
  std::function<void(const core::VoltageDescription&)> opened;
  RunWatch watch;
};
const core::Fields<CorrelateConfig>& fields(const CorrelateConfig&);

}  // namespace tautline::pipeline

// The Config of plots of files.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/core/fields.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::pipeline {

struct PlotConfig {
  std::string input;
  double start_s = 0, duration_s = -1;  ///< of the data; negative: to the end
  std::string baseline;                 ///< of visibilities, "3-7" or "3x-7y"; empty: the strongest
  std::string mask;                     ///< of filterbanks, rfifind's; empty: none
  bool flag_channels = false;           ///< of filterbanks: as `search` flags them
  std::string fit;                      ///< of curves, the table that `fit` wrote; empty: none
  std::size_t channels = 512;           ///< of voltages that are not channelized
  double bin_s = 0;                     ///< of counts whose file does not say it; 0: not known
  formats::ReaderOptions reader = {};   ///< what a file of voltages does not say
  formats::RawCounts raw = {};          ///< what a file of counts does not say
  /// Cells of a picture of frequency and time, at most: more samples are averaged.
  std::size_t columns = 1000, rows = 600;
};
const core::Fields<PlotConfig>& fields(const PlotConfig&);

}  // namespace tautline::pipeline

// Files as figures: everything that tautline reads or writes. docs/design/plot.md.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "tautline/core/fields.h"
#include "tautline/device/device.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/figure/figure.h"
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

/// How far the reading is, 0 to 1.
using PlotProgress = std::function<void(double)>;

/// What a plot needs while it reads.
struct PlotRun {
  std::function<std::shared_ptr<const device::Device>()> device =
      {};  ///< opened for voltages alone
  PlotProgress progress = {};
  std::stop_token stop = {};

  /// Tells how far it is. Throws Error(io, "interrupted").
  void at(double fraction) const;
};

/// Told by its first bytes and its name. Throws Error(format) on a file that nothing can be drawn of, and what its
/// reader throws. Memory: the picture's cells and a reader's block.
formats::figure::Figure plot_file(const PlotConfig& config, const PlotRun& run);

/// Throws Error(config) unless a name ends in .html, .png, .svg or .pdf.
void require_figure_name(const std::string& path);
/// A page or a picture, by the ending of the name. Throws Error(io), and Error(unsupported) in a build without Cairo;
/// an existing file is refused unless `overwrite`, and nothing half-written is left.
void write_figure(const std::string& path, const formats::figure::Figure& figure, bool overwrite);
/// A JSON object: titles and axes of a figure without its data.
std::string describe_figure(const formats::figure::Figure& figure);

}  // namespace tautline::pipeline

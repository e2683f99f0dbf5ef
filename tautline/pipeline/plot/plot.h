// Files as figures: everything that tautline reads or writes. docs/design/plot.md.
#pragma once

#include <string>

#include "tautline/formats/figure/figure.h"
#include "tautline/pipeline/plot/plot_config.h"
#include "tautline/pipeline/plot/plot_run.h"

namespace tautline::pipeline {

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

#include "tautline/pipeline/plot/plot.h"

#include <filesystem>
#include <system_error>

#include "tautline/core/error.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/photon_hdf5/photon_hdf5.h"
#include "tautline/formats/picture/picture.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/pipeline/plot/figure_page.h"
#include "tautline/pipeline/plot/fit_table_reader.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/report/html_page.h"

namespace tautline::pipeline {

namespace {

using formats::FileFormat;
using plot::Figure;

constexpr std::size_t kFirstBytes = 2880;

bool holds_photons([[maybe_unused]] const std::string& path) {
#ifdef TAUTLINE_HDF5
  return (path.ends_with(".h5") || path.ends_with(".hdf5")) &&
         formats::photon_hdf5::holds_photons(path);
#else
  return false;
#endif
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

[[noreturn]] void refuse_fit(const PlotConfig& config) {
  throw core::Error(core::ErrorKind::config, "fit", config.fit + " with " + config.input,
                    "correlation curves, for which alone it is");
}

// In the order in which a file is told to be of a kind: what is certain first.
Figure figure_of(const PlotConfig& config, const PlotRun& run) {
  const std::string& path = config.input;
  const bool named_visibilities = path.ends_with(".uvh5") || is_folder(path);
  if (named_visibilities && !config.fit.empty()) refuse_fit(config);
  if (named_visibilities) return plot::plot_visibilities(config, run);
  const std::vector<std::byte> head = formats::InputFile(path).head(kFirstBytes);
  if (head.empty())
    throw core::Error(core::ErrorKind::format, path, "an empty file", "data to draw");
  if (!config.fit.empty()) {
    if (formats::curves::recognise(path) && !holds_photons(path)) return plot::plot_fits(config);
    refuse_fit(config);
  }
  if (plot::holds_fits(path))
    throw core::Error(core::ErrorKind::format, path, "a table of fits, without its curves",
                      "the curves that were fitted", "plot these, with `fit` " + path);
  if (plot::holds_timings(path)) return plot::plot_timings(config);
  if (formats::candidates::recognise(path)) return plot::plot_candidates(config);
  const bool trials = plot::holds_trials(path);  // one is a series, too
  if (!trials && formats::recognise_filterbank(head, path))
    return plot::plot_filterbank(config, run);
  if (!config.mask.empty() || config.flag_channels)
    throw core::Error(core::ErrorKind::config, config.mask.empty() ? "flag_channels" : "mask", path,
                      "a filterbank, for which alone it is");
  if (formats::curves::recognise(path) && !holds_photons(path)) return plot::plot_curves(config);
  if (formats::recognise_photons(head, path)) return plot::plot_tags(config, run);
  if (trials) return plot::plot_trials(config, run);
  if (config.reader.assumed.rate_hz.numerator == 0) {
    const FileFormat* const counts = formats::find_format(&FileFormat::counts, head, path);
    if (counts != nullptr || config.raw.dtype) return plot::plot_counts(config, run);
  }
  if (formats::find_format(&FileFormat::visibilities, head, path) != nullptr)
    return plot::plot_visibilities(config, run);
  if (formats::find_format(&FileFormat::voltages, head, path) != nullptr)
    return plot::plot_voltages(config, run);
  throw formats::other_kind(
      path,
      "voltages, filterbanks, series, visibilities, curves, photons, candidates "
      "or timings",
      "`inspect` says what files hold");
}

}  // namespace

void PlotRun::at(double fraction) const {
  require_running(stop);
  if (progress) progress(fraction);
}

void require_figure_name(const std::string& path) {
  if (path.ends_with(".html") || formats::picture::recognise(path)) return;
  throw core::Error(core::ErrorKind::config, "output", path,
                    "a name that ends in .html, .png, .svg or .pdf");
}

void write_figure(const std::string& path, const Figure& figure, bool overwrite) {
  require_figure_name(path);
  if (formats::picture::recognise(path))
    formats::picture::write(path, figure, overwrite);
  else
    report::write_page(path, plot::compose_figure_page(figure), overwrite);
}

std::string describe_figure(const Figure& figure) {
  return plot::describe(figure).dump();
}

Figure plot_file(const PlotConfig& config, const PlotRun& run) {
  Figure figure = figure_of(config, run);
  formats::figure::require_something(figure, config.input);
  return figure;
}

}  // namespace tautline::pipeline

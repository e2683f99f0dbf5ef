#include "tautline/pipeline/plot/plot.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string_view>
#include <system_error>

#include "tautline/core/error.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/cutout_hdf5/cutout_hdf5.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/picture/picture.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/pipeline/photons/tcspc_histogram.h"
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

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

core::Error no_figure(const std::string& path, const std::string& advice) {
  return formats::other_kind(
      path,
      "voltages, filterbanks, series, visibilities, curves, photons, candidates, "
      "cut-outs or timings",
      advice);
}

// Options that are of some kinds of files alone do nothing for others: given with these, they are slips.
void require_taken(const PlotConfig& config, std::initializer_list<std::string_view> taken) {
  const PlotConfig defaults;
  const bool part = config.start_s != defaults.start_s, until = config.duration_s >= 0;
  struct Option {
    std::string field;
    bool given;
    const char* kinds;
    std::string_view like = {};  // taken where this is, or the field itself
  };
  const auto& named = config.reader.named;
  const char* const timed = "voltages, filterbanks, series, visibilities, time tags or counts";
  for (const Option& option :
       {Option{"fit", !config.fit.empty(), "correlation curves"},
        {"mask", !config.mask.empty(), "a filterbank"},
        {"flag_channels", config.flag_channels, "a filterbank"},
        {"baseline", !config.baseline.empty(), "visibilities"},
        {"channels", config.channels != defaults.channels, "voltages"},
        {"bin_s", config.bin_s != defaults.bin_s, "counts"},
        {"dtype", config.raw.dtype.has_value(), "counts", "bin_s"},
        {"sensors", config.raw.sensors > 0, "counts", "bin_s"},
        {"header_bytes", config.raw.header_bytes > 0, "counts", "bin_s"},
        {named.empty() ? "" : named.front(), !named.empty(), "voltages", "channels"},
        {"start_s", part, timed, "range"},
        {"duration_s", until, timed, "range"}}) {
    const std::string_view like = option.like.empty() ? option.field : option.like;
    if (option.given && std::find(taken.begin(), taken.end(), like) == taken.end())
      throw core::Error(core::ErrorKind::config, option.field, config.input,
                        std::string(option.kinds) + ", for which alone it is",
                        "leave it out; `inspect` says what the file holds");
  }
}

// Some files hold counts or voltages, of which something is said that counts do not have.
bool holds_counts(const PlotConfig& config, std::span<const std::byte> head) {
  if (config.reader.assumed.rate_hz.numerator != 0) return false;
  if (config.raw.dtype) return true;
  return config.reader.named.empty() && formats::recognise_counts(head, config.input);
}

// In the order in which a file is told to be of a kind: what is certain first.
Figure figure_of(const PlotConfig& config, const PlotRun& run) {
  const std::string& path = config.input;
  const bool named_visibilities = path.ends_with(".uvh5") || is_folder(path);
  const auto visibilities = [&] {
    require_taken(config, {"range", "baseline"});
    return plot::plot_visibilities(config, run);
  };
  if (is_folder(path) && plot::holds_trials(path)) {
    require_taken(config, {"range"});
    return plot::plot_trials(config, run);
  }
  if (formats::seeming_kind(path) == "a folder") throw no_figure(path, "give a file in it");
  if (named_visibilities) return visibilities();
  const std::vector<std::byte> head = formats::InputFile(path).head(kFirstBytes);
  if (plot::holds_fits(path))
    throw core::Error(core::ErrorKind::format, path, "a table of fits, without its curves",
                      "the curves that were fitted", "plot these, with `fit` " + path);
  if (plot::holds_timings(path)) {
    require_taken(config, {});
    return plot::plot_timings(config);
  }
  if (holds_tcspc(path)) {
    require_taken(config, {});
    return plot::plot_tcspc(config);
  }
  if (formats::candidates::recognise(path)) {
    require_taken(config, {});
    return plot::plot_candidates(config);
  }
  const bool trials = plot::holds_trials(path);  // one is a series, too
  if (!trials && formats::recognise_filterbank(head, path)) {
    require_taken(config, {"range", "mask", "flag_channels"});
    return plot::plot_filterbank(config, run);
  }
  if (formats::seeming_kind(path) == "HDF5" && formats::cutout_hdf5::holds_cutout(path)) {
    require_taken(config, {});
    return plot::plot_cutout(config);
  }
  if (formats::curves::holds_curves(path)) {
    require_taken(config, {"fit"});
    return config.fit.empty() ? plot::plot_curves(config) : plot::plot_fits(config);
  }
  if (formats::recognise_photons(head, path)) {
    require_taken(config, {"range"});
    return plot::plot_tags(config, run);
  }
  if (trials) {
    require_taken(config, {"range"});
    return plot::plot_trials(config, run);
  }
  if (holds_counts(config, head)) {
    require_taken(config, {"range", "bin_s"});
    return plot::plot_counts(config, run);
  }
  if (formats::find_format(&FileFormat::visibilities, head, path) != nullptr) return visibilities();
  if (formats::find_format(&FileFormat::voltages, head, path) != nullptr) {
    require_taken(config, {"range", "channels"});
    return plot::plot_voltages(config, run);
  }
  throw no_figure(path, "of raw counts give `dtype` and `sensors`; `inspect` says what files hold");
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
  for (std::string& note : figure.notes) note = core::said_in(run.words, note);
  return figure;
}

}  // namespace tautline::pipeline

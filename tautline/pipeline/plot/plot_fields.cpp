#include "tautline/pipeline/photons/autocorrelate_fields.h"
#include "tautline/pipeline/plot/plot_config.h"
#include "tautline/pipeline/range_fields.h"

namespace tautline::pipeline {

const core::Fields<PlotConfig>& fields(const PlotConfig&) {
  using C = PlotConfig;
  static const auto all = [] {
    core::Fields<C> list;
    add_range_fields(list)
        .add({.name = "baseline",
              .help = "of visibilities: two antennas, as 3-7 or 3x-7y; default: the strongest"},
             &C::baseline)
        .add({.name = "mask",
              .help = "of filterbanks: rfifind's NAME_rfifind.mask; draws before and after it"},
             &C::mask)
        .add({.name = "flag_channels",
              .help =
                  "of filterbanks: flag channels as tautline search does; draws before and after"},
             &C::flag_channels)
        .add({.name = "fit",
              .help =
                  "of correlation curves: the table F.csv of tautline fit, whose models are drawn "
                  "over them"},
             &C::fit)
        .add({.name = "channels", .help = "of voltages: channels across the band"}, &C::channels,
             core::between(2, 65536))
        .add({.name = "bin_s",
              .unit = "s",
              .help = "of counts: the length of a bin, where the file does not say it",
              .option = "bin,bin-time"},
             &C::bin_s, core::at_least(0))
        .include("raw", &C::raw, raw_fields())
        .include("reader", &C::reader, fields(formats::ReaderOptions{}));
    return list;
  }();
  return all;
}

}  // namespace tautline::pipeline

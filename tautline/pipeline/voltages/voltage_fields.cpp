// The fields of the runs over voltages.
#include "tautline/pipeline/range_fields.h"
#include "tautline/pipeline/voltages/channelize_config.h"
#include "tautline/pipeline/voltages/correlate_config.h"
#include "tautline/pipeline/voltages/filter_config.h"
#include "tautline/stages/channelize/fields.h"

namespace tautline::pipeline {

namespace {

// The fields that both runs share: part of the input, filter bank, memory.
template <class C>
core::Fields<C> voltage_run_fields() {
  core::Fields<C> list;
  return add_range_fields(list)
      .add({.name = "keep_constant",
            .help = "take stretches in which an input never changes for data (simulations without "
                    "noise), not for invalid samples"},
           &C::keep_constant)
      .include("reader", &C::reader, fields(formats::ReaderOptions{}))
      .include("filter", &C::filter, fields(FilterConfig{}))
      .add({.name = "memory_bytes", .unit = "bytes", .help = "cap on the memory used"},
           &C::memory_bytes, core::memory_size());
}

}  // namespace

core::FieldText<Requantise> requantise_names() {
  return core::choice<Requantise>(
      {{"8", Requantise::bits8}, {"4", Requantise::bits4}, {"off", Requantise::off}});
}

const core::Fields<FilterConfig>& fields(const FilterConfig&) {
  using C = FilterConfig;
  static const auto all = [] {
    core::Fields<C> list;
    stages::channelize::add_channels_field(list).add(
        {.name = "fine",
         .help = "channels inside each channel of input that is channelized already; 0: none"},
        &C::fine, core::between(0, 65536));
    return stages::channelize::add_prototype_fields(list);
  }();
  return all;
}

const core::Fields<CorrelateConfig>& fields(const CorrelateConfig&) {
  using C = CorrelateConfig;
  static const auto all =
      voltage_run_fields<C>()
          .add({.name = "integration_s",
                .unit = "s",
                .help = "length of an integration, rounded to whole spectra"},
               &C::integration_s, core::above(0))
          .include("", &C::reduction, fields(Reduction{}))
          .add({.name = "requantise", .help = "bits between F and X", .option = "requantize"},
               &C::requantise, requantise_names())
          .add({.name = "gains",
                .help = "before rounding, instead of measured ones: a number, or a .npy file of "
                        "floats [channel][input]"},
               &C::gains)
          .add({.name = "settle_s",
                .unit = "s",
                .help = "gains are measured again over so long, and change at the next "
                        "integration's begin; 0: they stay as the first 1024 spectra had them",
                .option = "settle"},
               &C::settle_s, core::between(0, 1e9))
          .add({.name = "follow_gains",
                .help = "gains change again after each further `settle_s`; without it, or where it "
                        "is shorter, with each integration"},
               &C::follow_gains)
          .add({.name = "keep_edge",
                .help = "do not flag the channel half the sampling rate below the middle of a band "
                        "of complex voltages, which holds the wrapped upper edge, too"},
               &C::keep_edge)
          .add({.name = "array_path", .help = "array.toml: antenna positions", .option = "array"},
               &C::array_path)
          .add({.name = "delays_path",
                .help = "delays.toml: track its phase centre, by delaying the voltages; where "
                        "`phase_centre` has its name, by rotating the fringes",
                .option = "delays"},
               &C::delays_path)
          .add({.name = "phase_centre",
                .help = "NAME=RA_DEG,DEC_DEG: rotate the fringes to it after correlation; the "
                        "NAME of `delays_path`: do so by that table",
                .option = "phase-center"},
               &C::phase_centre)
          .include("earth", &C::earth, fields(formats::EarthOrientation{}));
  return all;
}

const core::Fields<ChannelizeConfig>& fields(const ChannelizeConfig&) {
  using C = ChannelizeConfig;
  static const auto all =
      voltage_run_fields<C>()
          .add({.name = "requantise", .help = "bits of voltages", .option = "requantize"},
               &C::requantise, requantise_names())
          .add({.name = "integrate", .help = "spectra in one power sample (.fil)"}, &C::integrate,
               core::at_least(1))
          .add({.name = "stokes", .help = "of power (.fil)"}, &C::stokes,
               core::choice<Stokes>({{"I", Stokes::i}, {"IQUV", Stokes::iquv}}));
  return all;
}

}  // namespace tautline::pipeline

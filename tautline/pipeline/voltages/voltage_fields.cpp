// The fields of the runs over voltages.
#include "tautline/pipeline/range_fields.h"
#include "tautline/pipeline/voltages/channelize_config.h"
#include "tautline/pipeline/voltages/correlate_config.h"
#include "tautline/pipeline/voltages/filter_config.h"

namespace tautline::pipeline {

namespace {

// "32/27"
void set_oversample(FilterConfig& config, const std::string& text) {
  const auto parts = core::text::split(text, '/');
  std::size_t p = 0, q = 0;
  try {
    if (parts.size() == 2) {
      p = core::text::read<std::size_t>(parts[0]);
      q = core::text::read<std::size_t>(parts[1]);
    }
  } catch (const core::Error&) {
    p = q = 0;
  }
  if (q == 0 || p < q) core::text::refuse(text, "a ratio P/Q of at least one, such as 32/27");
  config.oversample_numerator = p;
  config.oversample_denominator = q;
}

std::string oversample_text(const FilterConfig& config) {
  return std::to_string(config.oversample_numerator) + "/" +
         std::to_string(config.oversample_denominator);
}

core::FieldText<core::Window> window_text() {
  return {core::FieldKind::text,
          "",
          {},
          [](const std::string& text) { return core::parse_window(text); },
          [](const core::Window& window) { return core::to_string(window); }};
}

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
  static const auto all =
      core::Fields<C>()
          .add({.name = "channels", .help = "channels across the band"}, &C::channels,
               core::between(2, 65536))
          .add({.name = "fine",
                .help =
                    "channels inside each channel of input that is channelized already; 0: none"},
               &C::fine, core::between(0, 65536))
          .add({.name = "taps", .help = "taps of the polyphase filter"}, &C::taps,
               core::between(1, 4096))
          .add({.name = "window",
                .help = "window of the prototype",
                .form = "hann|hamming|kaiser:B|rect"},
               &C::window, window_text())
          .add({.name = "cutoff", .help = "the prototype's cutoff in channel widths"}, &C::cutoff,
               core::above(0))
          .add({.name = "coefficients",
                .help = "the prototype's coefficients instead of a window, taps x channels of them "
                        "in sample order"},
               &C::coefficients)
          .add_text(
              {.name = "oversample", .help = "oversampling ratio, such as 32/27", .form = "P/Q"},
              oversample_text, set_oversample);
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
                .help = "gains change again after each further `settle_s`, at least an "
                        "integration"},
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

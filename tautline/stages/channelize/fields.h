// The fields of a filter bank, for the stage and for the runs that have one.
#pragma once

#include "tautline/core/fields.h"
#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

core::FieldText<core::Window> window_text();
/// "32/27", of at least 1.
std::pair<std::size_t, std::size_t> read_oversample(const std::string& text);

template <class C>
core::Fields<C>& add_channels_field(core::Fields<C>& to) {
  return to.add({.name = "channels", .help = "channels across the band"}, &C::channels,
                core::between(2, 65536));
}

/// The prototype, and how often spectra begin.
template <class C>
core::Fields<C>& add_prototype_fields(core::Fields<C>& to) {
  return to
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
          [](const C& c) {
            return std::to_string(c.oversample_numerator) + "/" +
                   std::to_string(c.oversample_denominator);
          },
          [](C& c, const std::string& text) {
            std::tie(c.oversample_numerator, c.oversample_denominator) = read_oversample(text);
          });
}

}  // namespace tautline::stages::channelize

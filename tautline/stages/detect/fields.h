// The fields of the search for pulses, for the stage and for the runs that search.
#pragma once

#include "tautline/core/fields.h"
#include "tautline/stages/detect/detect.h"

namespace tautline::stages::detect {

core::FieldText<Noise> noise_text();
const core::Fields<Links>& fields(const Links&);

template <class C>
void add_detection_fields(core::Fields<C>& to) {
  to.add({.name = "threshold", .help = "smallest S/N"}, &C::threshold, core::above(0))
      .add({.name = "max_width_s", .unit = "s", .help = "of the widest boxcar"}, &C::max_width_s,
           core::above(0))
      .add({.name = "baseline_s",
            .unit = "s",
            .help = "of the running mean; 0: 2 s, or 16 of the widest boxcars if that is longer"},
           &C::baseline_s, core::at_least(0))
      .add({.name = "noise",
            .help = "trial: 1.4826 MAD of each series; width: the RMS at each width, as heimdall"},
           &C::noise, noise_text())
      .include("links", &C::links, fields(Links{}));
}

}  // namespace tautline::stages::detect

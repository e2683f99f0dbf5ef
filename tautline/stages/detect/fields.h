// The fields of the search for pulses that its users set.
#pragma once

#include "tautline/core/fields.h"
#include "tautline/stages/detect/detect.h"

namespace tautline::stages::detect {

inline core::FieldText<Noise> noise_text() {
  return core::choice<Noise>({{"trial", Noise::trial}, {"width", Noise::width}});
}

inline const core::Fields<Links>& fields(const Links&) {
  static const auto all =
      core::Fields<Links>()
          .add({.name = "time_samples",
                .help = "detections this many samples apart, and half a width, are one pulse",
                .option = "link-time"},
               &Links::time_samples)
          .add({.name = "dm_trials",
                .help = "detections this many trials apart are one pulse",
                .option = "link-dm"},
               &Links::dm_trials)
          .add({.name = "width_octaves",
                .help = "detections whose widths differ at most 2^N times are one pulse",
                .option = "link-width",
                .form = "N"},
               &Links::width_octaves, core::between(0, 16));
  return all;
}

}  // namespace tautline::stages::detect

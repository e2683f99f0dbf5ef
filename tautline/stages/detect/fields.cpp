#include "tautline/stages/detect/fields.h"

namespace tautline::stages::detect {

core::FieldText<Noise> noise_text() {
  return core::choice<Noise>({{"trial", Noise::trial}, {"width", Noise::width}});
}

const core::Fields<Links>& fields(const Links&) {
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

const core::Fields<Config>& fields(const Config&) {
  static const auto all = [] {
    core::Fields<Config> list;
    list.add({.name = "trials", .help = "rows of the series"}, &Config::trials, core::at_least(1))
        .add({.name = "sample_time_s", .unit = "s", .help = "between two samples"},
             &Config::sample_time_s, core::above(0))
        .add({.name = "type", .help = "of the series"}, &Config::type,
             core::choice_of<core::SampleType>({core::SampleType::i32, core::SampleType::f32}));
    add_detection_fields(list);
    return list
        .add({.name = "noise_s",
              .unit = "s",
              .help = "of a block with one noise; 0: 16384 samples, or 4 of the widest boxcars if "
                      "that is longer",
              .option = "noise-length"},
             &Config::noise_s, core::at_least(0))
        .add({.name = "max_samples", .help = "most samples that one execute is given"},
             &Config::max_samples, core::at_least(1))
        .add({.name = "in_place",
              .help = "on a GPU: series may be written to the state's input area"},
             &Config::in_place);
  }();
  return all;
}

}  // namespace tautline::stages::detect

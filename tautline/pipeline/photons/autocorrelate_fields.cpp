// The fields of the run over photon counts.
#include "tautline/pipeline/photons/autocorrelate_fields.h"

#include "tautline/pipeline/range_fields.h"
#include "tautline/stages/autocorrelate/fields.h"

namespace tautline::pipeline {

namespace {

using Sizes = std::pair<std::size_t&, std::size_t&>;

// "32x16": rows 32, columns 16.
void set_size(const Sizes& size, const std::string& text) {
  constexpr const char* kForm = "ROWSxCOLUMNS, such as 32x32";
  const auto sides = core::text::split(text, 'x');
  std::size_t rows = 0, columns = 0;
  try {
    if (sides.size() == 2) {
      rows = core::text::read<std::size_t>(sides[0]);
      columns = core::text::read<std::size_t>(sides[1]);
    }
  } catch (const core::Error&) {
    rows = 0;
  }
  if (rows == 0 || columns == 0) core::text::refuse(text, kForm);
  size.first = rows;
  size.second = columns;
}

std::string size_text(std::size_t rows, std::size_t columns) {
  return rows == 0 ? "" : std::to_string(rows) + "x" + std::to_string(columns);
}

core::FieldText<core::SampleType> count_type_text() {
  using core::SampleType;
  return core::choice<SampleType>({{"u8", SampleType::u8},
                                   {"u16", SampleType::u16},
                                   {"u32", SampleType::u32},
                                   {"f32", SampleType::f32}});
}

core::FieldText<core::Normalization> normalization_text() {
  using core::Normalization;
  return core::choice<Normalization>({{"none", Normalization::none},
                                      {"global", Normalization::global},
                                      {"symmetric", Normalization::symmetric}});
}

// 0 cannot be given: it means that the file decides.
core::FieldText<double> bin_text() {
  // Longer ones are most likely microseconds without their unit.
  constexpr double kLongest_s = 3600;
  constexpr const char* kWords = "above 0, at most 3600 s";
  auto form = core::plain_text<double>(core::at_least(0));
  form.allowed = kWords;
  form.read = [](const std::string& text) {
    const double value = core::text::read_number(text);
    if (!(value > 0) || value > kLongest_s) core::text::refuse(text, kWords);
    return value;
  };
  return form;
}

}  // namespace

core::Fields<formats::RawCounts> raw_fields() {
  using C = formats::RawCounts;
  return core::Fields<C>()
      .add({.name = "dtype", .help = "of a count; of NPY and time tags: the type to count in"},
           &C::dtype, core::maybe(count_type_text()))
      .add({.name = "sensors", .help = "sensors in a row; else `shape` says it"}, &C::sensors)
      .add({.name = "header_bytes", .unit = "bytes", .help = "how much to skip"}, &C::header_bytes);
}

core::Fields<AutocorrelateConfig> input_fields() {
  using C = AutocorrelateConfig;
  return core::Fields<C>()
      .add({.name = "bin_s",
            .unit = "s",
            .help = "length of a bin; of time tags, rounded to whole ticks, and by default a tenth "
                    "of the time "
                    "between two photons",
            .option = "bin,bin-time"},
           &C::bin_s, bin_text())
      .add({.name = "detectors", .help = "channels, each a sensor; default: all"}, &C::detectors)
      .add({.name = "gate_s", .unit = "s", .help = "microtimes to keep", .form = "LO:HI"},
           &C::gate_s, core::maybe(core::interval()))
      .add({.name = "tag_method",
            .help = "bins; direct: photon by photon; auto: direct where photons are rare",
            .option = "tags"},
           &C::tag_method,
           core::choice<TagMethod>({{"auto", TagMethod::automatic},
                                    {"bins", TagMethod::bins},
                                    {"direct", TagMethod::direct}}))
      .add({.name = "start_s", .unit = "s", .help = "how much to skip"}, &C::start_s,
           core::at_least(0))
      .add({.name = "duration_s", .unit = "s", .help = "how much to take"}, &C::duration_s,
           part_or_all())
      .add(
          {.name = "keep_constant",
           .help = "take stretches in which no sensor counts, or none changes, for data, which are "
                   "left out of files, and do not look for sensors that stop"},
          &C::keep_constant);
}

core::Fields<AutocorrelateConfig> curve_fields() {
  using C = AutocorrelateConfig;
  core::Fields<C> list;
  return stages::autocorrelate::add_lag_fields(list)
      .add({.name = "normalization", .help = "none: sums", .option = "normalize"},
           &C::normalization, normalization_text())
      .add({.name = "segments", .help = "equal parts whose scatter is the standard error; 1: none"},
           &C::segments, core::between(1, 100000))
      .add({.name = "detrend",
            .help = "take the means segment by segment, against bleaching; the sums stay "
                    "(symmetric normalisation)"},
           &C::detrend);
}

const core::Fields<SensorConfig>& fields(const SensorConfig&) {
  using C = SensorConfig;
  static const auto all =
      core::Fields<C>()
          .add({.name = "pairs",
                .help = "auto, all, two sensors or detectors (0,1 or 0x1), DX:DY (pixel offset of "
                        "the later one), or a file "
                        "of pairs"},
               &C::pairs)
          .add_text(
              {.name = "shape", .help = "of the array", .form = "ROWSxCOLUMNS"},
              [](const C& c) { return size_text(c.rows, c.columns); },
              [](C& c, const std::string& text) {
                set_size({c.rows, c.columns}, text);
              })
          .add({.name = "mask_path",
                .help = "NPY or text, 0 = bad sensor: marked, and left out of sums and pairs",
                .option = "sensor-mask"},
               &C::mask_path)
          .add_text(
              {.name = "bin_sensors", .help = "added together", .form = "ROWSxCOLUMNS"},
              [](const C& c) { return size_text(c.bin_rows, c.bin_columns); },
              [](C& c, const std::string& text) {
                set_size({c.bin_rows, c.bin_columns}, text);
              });
  return all;
}

const core::Fields<AutocorrelateConfig>& fields(const AutocorrelateConfig&) {
  using C = AutocorrelateConfig;
  const auto self = [](auto& config) -> auto& {
    return config;
  };
  static const auto all =
      core::Fields<C>()
          .include("", self, input_fields())
          .include("", self, curve_fields())
          .include("sensors", &C::sensors, fields(SensorConfig{}))
          .include("raw", &C::raw, raw_fields())
          .add({.name = "memory_bytes", .unit = "bytes", .help = "most memory to take"},
               &C::memory_bytes, core::memory_size())
          .add({.name = "every_s",
                .unit = "s",
                .help = "time between two writings of what came so far; 0: at the end alone"},
               &C::every_s, core::at_least(0))
          .add({.name = "window_s",
                .unit = "s",
                .help = "beside the curves so far those of the last so many, each time in "
                        "NAME.window.ENDING; 0: none"},
               &C::window_s, core::between(0, 1e9))
          .add({.name = "save_state",
                .help = "a file to take the run up from later; written as often as the output"},
               &C::save_state)
          .add({.name = "resume",
                .help = "the file of `save_state`: go on from there, with what follows it as "
                        "input"},
               &C::resume);
  return all;
}

}  // namespace tautline::pipeline

#include "tautline/stages/channelize/fields.h"

namespace tautline::stages::channelize {

std::pair<std::size_t, std::size_t> read_oversample(const std::string& text) {
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
  return {p, q};
}

core::FieldText<core::Window> window_text() {
  return {core::FieldKind::text,
          "",
          {},
          [](const std::string& text) { return core::parse_window(text); },
          [](const core::Window& window) { return core::to_string(window); }};
}

const core::Fields<Config>& fields(const Config&) {
  static const auto all = [] {
    core::Fields<Config> list;
    list.add({.name = "inputs", .help = "antennas times polarisations"}, &Config::inputs,
             core::between(1, 4096));
    add_channels_field(list);
    add_prototype_fields(list);
    return list
        .add({.name = "input", .help = "format of the samples, as unpack gives it"}, &Config::input,
             core::choice_of<core::SampleFormat>(
                 {core::kCi8, core::kCi16, core::kCf32, core::kI8, core::kI16, core::kF32}))
        .add({.name = "lower_sideband", .help = "conjugate the voltages first"},
             &Config::lower_sideband)
        .add({.name = "output", .help = "axes and type of the results"}, &Config::output,
             core::choice<Output>({{"spectra_float", Output::spectra_float},
                                   {"corner_turned_float", Output::corner_turned_float},
                                   {"corner_turned_ci8", Output::corner_turned_ci8},
                                   {"corner_turned_ci4", Output::corner_turned_ci4}}))
        .add({.name = "max_samples", .help = "most samples of an input that one execute is given"},
             &Config::max_samples, core::between(1, 0x1p40));
  }();
  return all;
}

}  // namespace tautline::stages::channelize

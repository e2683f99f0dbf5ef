// The fields of the stage's Config.
#include "tautline/core/fields.h"

#include "tautline/stages/corner_turn/corner_turn.h"

namespace tautline::stages::corner_turn {

const core::Fields<Config>& fields(const Config&) {
  using enum core::SampleType;
  static const auto all =
      core::Fields<Config>()
          .add({.name = "inputs", .help = "antennas times polarisations"}, &Config::inputs,
               core::between(1, 4096))
          .add({.name = "channels", .help = "frequency channels"}, &Config::channels,
               core::between(1, 65536))
          .add({.name = "max_spectra", .help = "most spectra that one execute is given"},
               &Config::max_spectra, core::between(1, 0x1p32))
          .add({.name = "output_type", .help = "of the samples; cf32 without gains"},
               &Config::output_type, core::choice_of<core::SampleType>({ci8, ci4, cf32}));
  return all;
}

}  // namespace tautline::stages::corner_turn

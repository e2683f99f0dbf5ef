// The fields of the stage's Config.
#include "tautline/core/fields.h"

#include "tautline/stages/correlate/correlate.h"

namespace tautline::stages::correlate {

// Up to 2^40 channels and samples every byte count of a view is within 64 bits with room to spare.
const core::Fields<Config>& fields(const Config&) {
  static const auto all =
      core::Fields<Config>()
          .add({.name = "channels", .help = "frequency channels"}, &Config::channels,
               core::between(1, 0x1p40))
          .add({.name = "inputs", .help = "antennas times polarisations"}, &Config::inputs,
               core::between(1, kMaxInputs))
          .add({.name = "max_samples", .help = "most times that one execute is given"},
               &Config::max_samples, core::between(1, 0x1p40))
          .add({.name = "format", .help = "of the samples; sums of ci4 and ci8 are exact"},
               &Config::format,
               core::choice_of<core::SampleFormat>(
                   {core::kCi4, core::kCi8, core::kCi16, core::kCf16, core::kCf32}))
          .add({.name = "defer_sums",
                .help = "keep sums of several calls in the state until they are flushed"},
               &Config::defer_sums);
  return all;
}

}  // namespace tautline::stages::correlate

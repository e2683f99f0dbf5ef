// The fields of the stage's Config.
#include "tautline/core/fields.h"

#include "tautline/stages/unpack/unpack.h"

namespace tautline::stages::unpack {

const core::Fields<Config>& fields(const Config&) {
  static const auto all =
      core::Fields<Config>()
          .add({.name = "max_samples", .help = "most times of a block"}, &Config::max_samples,
               core::at_least(1))
          .add({.name = "first_channel", .help = "first channel to unpack"}, &Config::first_channel)
          .add({.name = "channels", .help = "channels to unpack; 0: all from `first_channel`"},
               &Config::channels)
          .add({.name = "blocks_on_device", .help = "whether blocks lie in the plan's GPU"},
               &Config::blocks_on_device);
  return all;
}

}  // namespace tautline::stages::unpack

// The fields that say which part of its files a run reads.
#pragma once

#include "tautline/core/fields.h"

namespace tautline::pipeline {

/// Describes start_s and duration_s of a Config.
template <class C>
core::Fields<C>& add_range_fields(core::Fields<C>& to) {
  return to
      .add({.name = "start_s", .unit = "s", .help = "how much to skip"}, &C::start_s,
           core::at_least(0))
      .add({.name = "duration_s", .unit = "s", .help = "how much to process; negative: to the end"},
           &C::duration_s);
}

}  // namespace tautline::pipeline

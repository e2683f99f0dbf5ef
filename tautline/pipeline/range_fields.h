// The fields that say which part of its files a run reads.
#pragma once

#include <cmath>
#include <string>

#include "tautline/core/fields.h"

namespace tautline::pipeline {

/// How much of an input to take: seconds above 0, or "all", a negative number in a Config.
inline core::FieldText<double> part_or_all() {
  constexpr const char* kWords = "above 0, or all";
  return {
      core::FieldKind::number,
      kWords,
      {},
      [](const std::string& text) -> double {
        if (text == "all") return -1;
        const double seconds = core::text::read_number(text);
        if (!(seconds > 0) || !std::isfinite(seconds)) core::text::refuse(text, kWords);
        return seconds;
      },
      [](const double& seconds) { return seconds < 0 ? "all" : core::text::write_number(seconds); },
      [](const double& seconds) { return !std::isnan(seconds); }};
}

/// Describes start_s and duration_s of a Config.
template <class C>
core::Fields<C>& add_range_fields(core::Fields<C>& to) {
  return to
      .add({.name = "start_s", .unit = "s", .help = "how much to skip"}, &C::start_s,
           core::at_least(0))
      .add({.name = "duration_s", .unit = "s", .help = "how much to process"}, &C::duration_s,
           part_or_all());
}

}  // namespace tautline::pipeline

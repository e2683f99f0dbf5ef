// The fields of dedispersion, for the stage and for the runs that dedisperse.
#pragma once

#include "tautline/core/fields.h"
#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::stages::dedisperse {

core::FieldText<Method> method_text();
/// A number, or presto's.
core::FieldText<double> dm_constant_text();

template <class C>
core::Fields<C>& add_dm_constant_field(core::Fields<C>& to) {
  return to.add({.name = "dm_constant",
                 .unit = "s MHz^2 per pc cm^-3",
                 .help = "of dispersion (presto: 1/2.41e-4)",
                 .form = "NUMBER|presto"},
                &C::dm_constant, dm_constant_text());
}

template <class C>
core::Fields<C>& add_zero_dm_field(core::Fields<C>& to) {
  return to.add(
      {.name = "zero_dm", .help = "subtract the mean over channels at each time (float series)"},
      &C::zero_dm);
}

}  // namespace tautline::stages::dedisperse

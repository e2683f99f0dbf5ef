// The fields of the autocorrelator, for the stage and for the run over counts.
#pragma once

#include "tautline/core/fields.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

core::FieldText<LagScheme> lag_scheme_text();
core::FieldText<Coarsening> coarsening_text();

template <class C>
core::Fields<C>& add_lag_fields(core::Fields<C>& to) {
  return to
      .add({.name = "lag_scheme",
            .help = "chain: groups of `bins` lags; standard: the lags of multipletau, `bins` even",
            .option = "lags"},
           &C::lag_scheme, lag_scheme_text())
      .add({.name = "bins", .help = "lags a group, or m of the standard lags"}, &C::bins,
           core::between(1, kMaxBins))
      .add({.name = "levels", .help = "groups, each with twice the step"}, &C::levels,
           core::between(1, kMaxLevels))
      .add({.name = "coarsening",
            .help = "sum, first or second of two samples becomes one of the next level",
            .option = "coarsen"},
           &C::coarsening, coarsening_text());
}

}  // namespace tautline::stages::autocorrelate

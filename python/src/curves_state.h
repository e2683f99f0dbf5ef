// Curves for pickle: everything that they have, so that processes can send them to each other.
#pragma once

#include "bindings.h"
#include "tautline/core/correlation_curve.h"

namespace tautline::python {

/// Numbers and texts as they are, arrays as bytes.
nb::tuple state_of(const core::CorrelationCurves& curves);
/// Throws Error(format) where the state is another version's.
core::CorrelationCurves curves_of(const nb::tuple& state);

}  // namespace tautline::python

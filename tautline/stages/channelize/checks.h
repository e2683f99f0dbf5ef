// Shapes of what one execute is given, against the plan.
#pragma once

#include <cstddef>

#include "tautline/stages/channelize/bank.h"

namespace tautline::stages::channelize {

/// Both throw Error(config) naming the buffer, what it is and what was expected.
void check_input(const Bank& bank, const Input& input);
void check_output(const Bank& bank, const OutputViews& output, std::size_t spectra);

}  // namespace tautline::stages::channelize

// Checks of the arguments of execute() that all backends share.
#pragma once

#include <cstddef>

#include "tautline/stages/channelize/bank.h"

namespace tautline::stages::channelize {

/// Both throw Error(config) naming the buffer, its shape and the expected shape.
void check_input(const Bank& bank, const Input& input);
void check_output(const Bank& bank, const OutputViews& output, std::size_t spectra);

}  // namespace tautline::stages::channelize

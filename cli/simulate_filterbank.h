// tautline simulate filterbank.
#pragma once

#include "cli/command.h"

namespace tautline::cli {

/// Adds `filterbank` to the command `simulate`.
void add_simulate_filterbank(CLI::App& simulate, const Global& global, Action& action);

}  // namespace tautline::cli

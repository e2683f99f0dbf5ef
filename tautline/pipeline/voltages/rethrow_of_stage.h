// Adds the name of the stage to an out-of-memory error.
#pragma once

#include <string>

namespace tautline::pipeline {

/// Inside a handler of a run's exception: the engine allocates blocks, so its Error(memory) is thrown again with the
/// name of the stage to which node `failed_node` belongs ("f", "x.1", ...), as the stages' own errors have it; other
/// exceptions are thrown unchanged.
[[noreturn]] void rethrow_of_stage(const std::string& failed_node, bool channelized);

}  // namespace tautline::pipeline

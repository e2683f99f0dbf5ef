// Adds the name of the stage to an out-of-memory error.
#pragma once

#include <string>

namespace tautline::pipeline {

/// Inside a handler of what a run threw: blocks are the engine's to allocate, so its Error(memory) is thrown
/// again with the stage whose node `failed_node` they are of ("f", "x.1", ...), as the stages' own errors
/// name it; others as they are.
[[noreturn]] void rethrow_of_stage(const std::string& failed_node, bool channelized);

}  // namespace tautline::pipeline

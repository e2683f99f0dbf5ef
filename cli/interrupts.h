// SIGINT and SIGTERM ask a run to stop; a second one ends the process.
#pragma once

#include <stop_token>
#include <thread>

namespace tautline::cli {

/// From now on a signal requests a stop of `source`, and the run then removes what it has half
/// written. Another one, half a second later or more, ends the process at once; sooner it counts as
/// the same, since `timeout`, terminals and launchers send a signal to a process and again to its
/// group. Until the thread that is returned is joined.
std::jthread watch_interrupts(std::stop_source& source);

}  // namespace tautline::cli

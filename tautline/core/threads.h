// Runs pieces of work of readers, writers and simulators on several threads. Stages have threads of their own
// (device/).
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace tautline::core {

/// What the calling thread does, for those who look at a process's threads (`top -H`): the first 15 bytes.
void name_this_thread(const std::string& name);

/// Three quarters of the cores, 2 at least and 16 at most.
std::size_t spare_threads();

/// Calls work(piece, first, last) for `pieces` pieces of [0, items), on about spare_threads() threads: the caller's and
/// others, which stay for later calls. A thread that is done with a piece takes the next one. Throws what the first
/// piece that failed threw, when all are done.
void in_pieces(
    std::size_t items, std::size_t pieces,
    const std::function<void(std::size_t piece, std::size_t first, std::size_t last)>& work);

}  // namespace tautline::core

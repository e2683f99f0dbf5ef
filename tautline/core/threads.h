// Runs pieces of work of readers, writers and simulators on several threads. Stages have threads of their own
// (device/).
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace tautline::core {

/// Names the calling thread, for tools that list threads (`top -H`): the first 15 bytes.
void name_this_thread(const std::string& name);

/// Three quarters of the cores, 2 at least and 16 at most.
std::size_t spare_threads();

/// Calls work(piece, first, last) for `pieces` pieces of [0, items), on about spare_threads()
/// threads: the caller's and others, which are kept for later calls. A thread that has finished a
/// piece takes the next one. When all are finished, throws the error of the first piece that
/// failed.
void in_pieces(
    std::size_t items, std::size_t pieces,
    const std::function<void(std::size_t piece, std::size_t first, std::size_t last)>& work);

/// Calls work(k) for every k below `items`, up to 16 at a time whatever the number of cores: for work that waits for a
/// disk. When all are finished, throws the error of the first item that failed.
void wait_for_each(std::size_t items, const std::function<void(std::size_t item)>& work);

}  // namespace tautline::core

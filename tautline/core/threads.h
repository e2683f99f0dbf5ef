// Work of formats on several threads: what is done beside the stages, which have threads of their own.
#pragma once

#include <cstddef>
#include <functional>

namespace tautline::core {

/// Half of the cores, 16 at most and 1 at least: the others compute.
std::size_t spare_threads();

/// Calls work(piece, first, last) for `pieces` pieces of [0, items), each on a thread of its own but one, which is the
/// caller's. Throws what the first piece that failed threw, when all are done.
void in_pieces(
    std::size_t items, std::size_t pieces,
    const std::function<void(std::size_t piece, std::size_t first, std::size_t last)>& work);

}  // namespace tautline::core

#include "tautline/core/threads.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace tautline::core {

std::size_t spare_threads() {
  static const std::size_t half = std::thread::hardware_concurrency() / 2;
  return std::clamp<std::size_t>(half, 1, 16);
}

void in_pieces(std::size_t items, std::size_t pieces,
               const std::function<void(std::size_t, std::size_t, std::size_t)>& work) {
  pieces = std::clamp<std::size_t>(pieces, 1, std::max<std::size_t>(1, items));
  if (pieces == 1) return work(0, 0, items);
  std::vector<std::exception_ptr> errors(pieces);
  const auto one = [&](std::size_t piece) {
    try {
      work(piece, piece * items / pieces, (piece + 1) * items / pieces);
    } catch (...) {
      errors[piece] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t piece = 1; piece < pieces; ++piece) others.emplace_back(one, piece);
    one(0);
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace tautline::core

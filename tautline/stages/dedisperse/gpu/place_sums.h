// Where the sums of a block's channel blocks lie in local memory, one channel block after another.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tautline::stages::dedisperse {

struct SumsPlace {
  std::size_t at;     ///< first word
  std::size_t after;  ///< so many channel blocks must have been added before this one is made
};

/// Places for channel blocks of so many `words` each, of `room`: as far round as a ring, so that
/// producer warps run ahead of consumer warps as far as there is room, and at most `ahead` channel
/// blocks. Where two neighbours fit at all (which must be so), a channel block never waits for the
/// one just before it.
std::vector<SumsPlace> place_sums(std::span<const std::size_t> words, std::size_t room,
                                  std::size_t ahead);

}  // namespace tautline::stages::dedisperse

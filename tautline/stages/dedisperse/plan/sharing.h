// Which sums neighbouring trials have in common: a binary tree over the positions.
//
// Node g of level l covers positions [g 2^l, (g + 1) 2^l). A trial's delays inside a node, relative
// to the node's first position, are its pattern; trials with the same pattern need the same sum of
// the node's channels, only shifted by the delay of its first position. A pattern of level l is a
// pattern of either half and the delay between the two, so it costs one addition a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

struct Pattern {
  std::uint32_t a, b;      ///< patterns of the halves (of level 1: unused)
  std::int32_t apart;      ///< delay of the second half's first position after the node's
  std::int32_t low, high;  ///< delays of the node's first position over the trials that use it
};

struct SharingNode {
  std::vector<Pattern> patterns;
  std::vector<std::uint32_t> pattern_of;  ///< [trial of the block]
  std::vector<std::int32_t> delay_of;     ///< of the node's first position
  bool single = false;                    ///< it has no second half
};

/// The patterns of the trials in `block` (rows of `delays`): levels [1, highest], each with
/// ceil(positions / 2^level) nodes. levels[0] is empty.
struct SharingTree {
  std::vector<std::vector<SharingNode>> levels;
};
SharingTree make_sharing_tree(const Delays& delays, std::span<const std::uint32_t> block,
                              std::size_t highest);

}  // namespace tautline::stages::dedisperse

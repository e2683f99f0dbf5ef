// The work list of channel_blocks.cuda.kernel: for each block of trials and each channel block the patterns of delays
// of these trials, and the pattern that each trial adds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tautline/stages/dedisperse/gpu/cost.h"
#include "tautline/stages/dedisperse/gpu/work_list.h"
#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

/// Sizes for channel_blocks.cuda.kernel: an H200 was measured to be fastest with these.
inline constexpr std::size_t kWarpThreads = 32, kProducerWarps = 4, kFetchWarps = 4;

/// Rows are read from multiples of so many times on; a tile's first time is such a multiple, too.
inline constexpr std::size_t kAlignedTimes = 16;

/// Sums along `delays` (those of the plan, but for tests) of rows of bytes, by channel blocks of `channels`, a multiple
/// of 4. Entry j of a tile has the times j and j + span. None when shared memory is too small, or the patterns of a
/// block differ too much. The numbers are channel blocks, and channel blocks whose sum fits 16 bits, or 14 bits where
/// constant CARRIES says that bits beyond 14 are carried to shared memory. The only list has packets,
/// [block][channel block] of PACKET_WORDS:
///
/// | words        | content                                                              |
/// | 1            | patterns                                                             |
/// | 1            | runs of 32 entries of each sum                                       |
/// | 1            | words from the sums of one pattern to those of the next              |
/// | 1            | first word of the sums in shared memory                              |
/// | 1            | words of a row                                                       |
/// | 1            | number of channels                                                   |
/// | 1            | channel blocks of the block that must have been added before this one is summed |
/// | 1            | unused                                                               |
/// | channels     | first time of a channel's row after the tile's; below 0 where no     |
/// |              | trial uses the first times                                           |
/// | trials / 2   | first word of each trial's sums, two of 16 bits                      |
/// | (the rest)   | delay of [pattern][channel] after the row's, in bytes; 255: none     |
std::optional<GpuWorkList> make_channel_block_work_list(const DelayPlan& plan, const Delays& delays,
                                                        const GroupShape& shape,
                                                        std::size_t channels,
                                                        const GpuCost& cost = kH200Cost);

/// The place of a channel block's sums in shared memory.
struct SumsPlace {
  std::size_t at;     ///< first word
  std::size_t after;  ///< so many channel blocks must have been added before this one is summed
};
/// Places for channel blocks of so many `words` each in a memory of `room` words, used as a ring, so that producer
/// warps run ahead of consumer warps as far as the memory allows, by at most `ahead` channel blocks. If any two
/// neighbours fit together (which must be so), a channel block never waits for the one just before it.
std::vector<SumsPlace> place_sums(std::span<const std::size_t> words, std::size_t room,
                                  std::size_t ahead);

}  // namespace tautline::stages::dedisperse

// What channel_blocks.cuda.kernel is told, and where its lists lie: for each block of trials and each
// channel block of channels the patterns of delays that the trials have there, and which of them a
// trial adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tautline/stages/dedisperse/gpu/cost.h"
#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

/// Of channel_blocks.cuda.kernel: an H200 was measured to be fastest with these.
inline constexpr std::size_t kWarpThreads = 32, kProducerWarps = 4, kFetchWarps = 4;

/// What the kernel is built with, and what it may use. Rows are bytes.
struct ChannelBlockShape {
  std::size_t span = 512;     ///< entries of a tile: 2 span times; a multiple of 32
  std::size_t trials = 64;    ///< of a block; even
  std::size_t channels = 16;  ///< of a channel block: a multiple of 4
  std::size_t local_bytes = 48 << 10;
  std::size_t channels_in_sum = 257;
};

struct ChannelBlockWorkList {
  /// Rows are read from a multiple of so many times on; a tile's first time is one, too.
  static constexpr std::size_t kAligned = 16;

  std::size_t channels = 16;       ///< of a channel block
  std::size_t channel_blocks = 0;  ///< of all channels
  /// That 16 bits can hold, or, beside 14 bits, if sums are carried.
  std::size_t blocks_in_sum = 1;
  bool carries = false;          ///< local memory has room for what sums have beyond 14 bits
  std::size_t window = 8;        ///< bytes of a channel that four times need: 8 or 16
  std::size_t tiles = 1;         ///< of four patterns that a producer warp has in registers
  std::size_t packet_slots = 4;  ///< packets that fit in shared memory at once
  std::size_t row_words = 0, packet_words = 0, local_words = 0;
  /// [block][channel block] of packet_words:
  ///
  /// | words        | what                                                                 |
  /// | 1            | patterns                                                             |
  /// | 1            | runs of 32 entries of each sum                                       |
  /// | 1            | words from the sums of one pattern to those of the next              |
  /// | 1            | where in local memory they begin                                     |
  /// | 1            | words of a row                                                       |
  /// | 1            | channels that there are                                              |
  /// | 1            | channel blocks of the block that must have been added before this one is made |
  /// | 1            | nothing                                                              |
  /// | channels     | time after the tile's at which a channel's row begins; below 0 where |
  /// |              | no trial needs what is there                                         |
  /// | trials / 2   | first word of each trial's sums, two of 16 bits                      |
  /// | (the rest)   | delay of [pattern][channel] after the row's, in bytes; 255: none     |
  std::vector<std::uint32_t> packets;
  double adds = 0;      ///< counted, for one time of all trials
  double patterns = 0;  ///< on average, of a block and channel block
  double cycles = 0;    ///< as TileWorkList's
  double dearest = 0;   ///< of those, the block's with most
};

/// A row may begin this many times before what any trial needs.
inline constexpr std::size_t kMostTimesBefore = 64;

/// None when local memory is too small, or patterns of a block are too different.
std::optional<ChannelBlockWorkList> make_channel_block_work_list(const DelayPlan& plan,
                                                                 const Delays& delays,
                                                                 const ChannelBlockShape& shape,
                                                                 const GpuCost& cost = kH200Cost);

/// Where the sums of a channel block lie in local memory.
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

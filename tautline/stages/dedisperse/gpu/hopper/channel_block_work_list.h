// The parameters and work lists of channel_blocks.cuda.kernel: for each block of trials and each channel block the
// patterns of delays of these trials, and the pattern that each trial adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tautline/stages/dedisperse/gpu/cost.h"
#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

/// Sizes for channel_blocks.cuda.kernel: an H200 was measured to be fastest with these.
inline constexpr std::size_t kWarpThreads = 32, kProducerWarps = 4, kFetchWarps = 4;

/// The sizes that the kernel is compiled for, and the memory that it may use. Rows are bytes.
struct ChannelBlockShape {
  std::size_t span = 512;     ///< entries of a tile: 2 span times; a multiple of 32
  std::size_t trials = 64;    ///< of a block; even
  std::size_t channels = 16;  ///< of a channel block: a multiple of 4
  std::size_t local_bytes = 48 << 10;
  std::size_t channels_in_sum = 257;
};

struct ChannelBlockWorkList {
  /// Rows are read from multiples of so many times on; a tile's first time is such a multiple, too.
  static constexpr std::size_t kAligned = 16;

  std::size_t channels = 16;       ///< of a channel block
  std::size_t channel_blocks = 0;  ///< of all channels
  /// Channel blocks whose sum fits in 16 bits, or in 14 bits if sums are carried.
  std::size_t blocks_in_sum = 1;
  bool carries = false;          ///< bits of sums beyond 14 are carried to shared memory
  std::size_t window = 8;        ///< bytes of a channel for four times: 8 or 16
  std::size_t tiles = 1;         ///< tiles of four patterns in a producer warp's registers
  std::size_t packet_slots = 4;  ///< packets that fit in shared memory at once
  std::size_t row_words = 0, packet_words = 0, local_words = 0;
  /// [block][channel block] of packet_words:
  ///
  /// | words        | what                                                                 |
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
  std::vector<std::uint32_t> packets;
  double adds = 0;      ///< counted for one time of all trials
  double patterns = 0;  ///< average of a block and channel block
  double cycles = 0;    ///< as in TileWorkList
  double dearest = 0;   ///< the largest number of cycles of a block
};

/// A row may begin this many times before the first one that a trial uses.
inline constexpr std::size_t kMostTimesBefore = 64;

/// None when shared memory is too small, or the patterns of a block differ too much.
std::optional<ChannelBlockWorkList> make_channel_block_work_list(const DelayPlan& plan,
                                                                 const Delays& delays,
                                                                 const ChannelBlockShape& shape,
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

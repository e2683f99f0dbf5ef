#include "tautline/stages/dedisperse/gpu/channel_block_work_list.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/stages/dedisperse/gpu/place_sums.h"

namespace tautline::stages::dedisperse {

namespace {

// As channel_blocks.kernel has them.
constexpr std::size_t kHead = 8, kFewestPackets = 4, kMostPackets = 8, kPacketTile = 4, kRun = 32;
constexpr std::size_t kAligned = ChannelBlockWorkList::kAligned;
constexpr std::size_t kTimesAtOnce = 4;  // that one window serves
constexpr std::uint32_t kNever = 255;
constexpr std::size_t kBytesOfStep = 32;  // that the matrix units take of all channels
constexpr std::size_t kBanks = 32, kMostSumPlaces = 65536;

// The least number from `value` on that leaves `rest` of the local memory's banks.
std::size_t with_rest(std::size_t value, std::size_t rest) {
  return value + (rest + kBanks - value % kBanks) % kBanks;
}

// A channel block for a block of trials. Delays are told from those of a channel in the middle,
// about which patterns differ least.
struct ChannelBlock {
  std::size_t first = 0, channels = 0;           // positions
  std::int32_t low = 0, high = 0;                // delays of the middle channel
  std::vector<std::int32_t> lows;                // [channel] least delay after the middle one's
  std::vector<std::vector<std::int32_t>> all;    // [pattern][channel] after the middle one's
  std::vector<std::uint32_t> pattern_of, shift;  // [trial of the block]
  std::size_t range = 0;                         // greatest, of any channel's `all`

  std::size_t tiles() const { return (all.size() + kPacketTile - 1) / kPacketTile; }
  std::size_t entries(std::size_t span) const {
    return core::round_up(span + static_cast<std::size_t>(high - low), kRun);
  }
  // Sums of two patterns are written together: they lie half of the banks apart.
  std::size_t stride(std::size_t span) const { return with_rest(entries(span), kBanks / 2); }
  std::size_t sums_words(std::size_t span) const { return all.size() * stride(span); }
};

ChannelBlock make_channel_block(const Delays& delays, std::span<const std::uint32_t> block,
                                std::size_t first, std::size_t channels) {
  ChannelBlock channel_block;
  channel_block.first = first;
  channel_block.channels = std::min(channels, delays.positions - first);
  const std::size_t middle = first + channel_block.channels / 2;
  std::map<std::vector<std::int32_t>, std::uint32_t> known;
  std::vector<std::int32_t> highs(channel_block.channels, INT32_MIN);
  channel_block.lows.assign(channel_block.channels, INT32_MAX);
  channel_block.low = channel_block.high = delays(block[0], middle);
  for (const std::uint32_t trial : block) {
    const std::int32_t* row = delays.row(trial);
    std::vector<std::int32_t> pattern(row + first, row + first + channel_block.channels);
    for (std::size_t c = 0; c < channel_block.channels; ++c) {
      pattern[c] -= row[middle];
      channel_block.lows[c] = std::min(channel_block.lows[c], pattern[c]);
      highs[c] = std::max(highs[c], pattern[c]);
    }
    channel_block.low = std::min(channel_block.low, row[middle]);
    channel_block.high = std::max(channel_block.high, row[middle]);
    const auto [place, fresh] =
        known.try_emplace(pattern, static_cast<std::uint32_t>(channel_block.all.size()));
    if (fresh) channel_block.all.push_back(pattern);
    channel_block.pattern_of.push_back(place->second);
  }
  for (const std::uint32_t trial : block)
    channel_block.shift.push_back(
        static_cast<std::uint32_t>(delays(trial, middle) - channel_block.low));
  for (std::size_t c = 0; c < channel_block.channels; ++c)
    channel_block.range =
        std::max(channel_block.range, static_cast<std::size_t>(highs[c] - channel_block.lows[c]));
  return channel_block;
}

class ChannelBlockWriter {
 public:
  ChannelBlockWriter(const DelayPlan& plan, const Delays& delays, const ChannelBlockShape& shape,
                     const GpuCost& cost)
      : delays_(delays), shape_(shape), cost_(cost), blocks_(plan.blocks(shape.trials)) {
    list_.channel_blocks = (delays.positions + shape.channels - 1) / shape.channels;
    for (const auto block : blocks_)
      for (std::size_t g = 0; g < list_.channel_blocks; ++g)
        channel_blocks_.push_back(
            make_channel_block(delays, block, g * shape.channels, shape.channels));
  }

  std::optional<ChannelBlockWorkList> write() {
    if (!lay_out()) return std::nullopt;
    list_.packets.resize(channel_blocks_.size() * list_.packet_words);
    for (std::size_t n = 0; n < channel_blocks_.size(); n += list_.channel_blocks) place_block(n);
    for (std::size_t n = 0; n < channel_blocks_.size(); n += list_.channel_blocks) {
      const double before = list_.cycles;
      for (std::size_t b = n; b < n + list_.channel_blocks; ++b) write_packet(b);
      list_.dearest = std::max(list_.dearest, list_.cycles - before);
    }
    list_.adds /= static_cast<double>(shape_.span);
    list_.patterns /= static_cast<double>(channel_blocks_.size());
    return std::move(list_);
  }

 private:
  bool lay_out() {
    std::size_t range = 0, entries = 0, before = 0;
    for (const ChannelBlock& channel_block : channel_blocks_) {
      list_.most_tiles = std::max(list_.most_tiles, channel_block.tiles());
      range = std::max(range, channel_block.range);
      entries = std::max(entries, channel_block.entries(shape_.span));
      for (const std::int32_t low : channel_block.lows)
        if (low + channel_block.low < 0)
          before = std::max(before, static_cast<std::size_t>(-low - channel_block.low));
    }
    for (list_.window = 8; list_.window < range + kTimesAtOnce; list_.window *= 2)
      if (list_.window == 32) return false;
    if (shape_.channels > shape_.channels_in_sum ||
        core::round_up(before, kAligned) > kMostTimesBefore)
      return false;
    if (shape_.channels * list_.window % kBytesOfStep != 0) return false;
    // Rows that are read together begin at different banks.
    list_.row_words = with_rest(row_words(entries), list_.window == 8 ? 8 : 16);
    list_.packet_words =
        kHead + shape_.channels + shape_.trials / 2 + list_.most_tiles * shape_.channels;
    list_.packet_words = core::round_up(list_.packet_words, 4);
    const std::size_t room = shape_.local_bytes / 4 / kBanks * kBanks, least = most_sums();
    list_.blocks_in_sum = std::max<std::size_t>(1, shape_.channels_in_sum / shape_.channels);
    if (before_sums(kFewestPackets) + least > room || least > kMostSumPlaces) return false;
    if (shape_.carries && list_.channel_blocks > list_.blocks_in_sum) try_carries(room - least);
    // What is left lets producer warps run ahead of consumer warps.
    std::size_t packets = kFewestPackets;
    while (packets < kMostPackets && before_sums(packets + 1) + least <= room) ++packets;
    list_.packets_held = packets;
    sums_at_ = before_sums(packets);
    list_.local_words = std::min(room, sums_at_ + kMostPackets * least);
    return true;
  }
  // Counts, of two words: of the first packets, two of either buffer of rows and of every packet.
  std::size_t before_sums(std::size_t packets) const {
    return core::round_up(packets * list_.packet_words + core::round_up(shape_.trials, 4) +
                              core::round_up(2 * (5 + 2 * packets), 4) +
                              2 * shape_.channels * list_.row_words,
                          kBanks) +
           (list_.carries ? carry_words() : 0);
  }
  // Between rows and sums: eight halves in a word.
  std::size_t carry_words() const {
    return core::round_up(shape_.span * shape_.trials / 4, kBanks);
  }
  void try_carries(std::size_t room) {
    const std::size_t in_sum = shape_.channels_in_sum * 3 / 4 / shape_.channels;
    if (in_sum == 0 || before_sums(kFewestPackets) + carry_words() > room) return;
    list_.carries = true;
    list_.blocks_in_sum = in_sum;
  }
  // More where a row begins inside an aligned run of times.
  std::size_t row_words(std::size_t entries) const {
    return core::round_up((shape_.span + entries + list_.window + kAligned + 3) / 4, 4);
  }
  // What neighbouring channel blocks need at once.
  std::size_t most_sums() const {
    std::size_t most = 0;
    for (std::size_t n = 0; n < channel_blocks_.size(); ++n) {
      const bool last = n % list_.channel_blocks + 1 == list_.channel_blocks;
      most = std::max(most, channel_blocks_[n].sums_words(shape_.span) +
                                (last ? 0 : channel_blocks_[n + 1].sums_words(shape_.span)));
    }
    return core::round_up(most, kBanks);
  }

  // Of the block whose channel blocks begin with the n-th.
  void place_block(std::size_t n) {
    std::vector<std::size_t> words;
    for (std::size_t b = n; b < n + list_.channel_blocks; ++b)
      words.push_back(channel_blocks_[b].sums_words(shape_.span));
    const auto places = place_sums(words, list_.local_words - sums_at_, list_.packets_held);
    places_.insert(places_.end(), places.begin(), places.end());
  }

  double cycles(const ChannelBlock& channel_block) const {
    const std::size_t steps = shape_.channels * list_.window / kBytesOfStep;
    const std::size_t runs = channel_block.entries(shape_.span) / kRun,
                      tiles = channel_block.tiles();
    const std::size_t passes = (tiles + cost_.tiles_at_once - 1) / cost_.tiles_at_once;
    return cost_.channel_block +
           static_cast<double>(runs * steps) * (cost_.columns * static_cast<double>(passes) +
                                                cost_.tile_of_columns * static_cast<double>(tiles));
  }

  void write_packet(std::size_t n) {
    const ChannelBlock& channel_block = channel_blocks_[n];
    std::uint32_t* packet = list_.packets.data() + n * list_.packet_words;
    const auto set = [&](std::size_t at, std::size_t value) {
      packet[at] = static_cast<std::uint32_t>(value);
    };
    const std::size_t entries = channel_block.entries(shape_.span),
                      stride = channel_block.stride(shape_.span);
    set(0, channel_block.all.size());
    set(1, entries / kRun);
    set(2, stride);
    set(3, sums_at_ + places_[n].at);
    set(4, row_words(entries));
    set(5, channel_block.channels);
    set(6, places_[n].after);
    for (std::size_t c = 0; c < channel_block.channels; ++c)
      packet[kHead + c] = static_cast<std::uint32_t>(channel_block.low + channel_block.lows[c]);
    std::uint32_t* places = packet + kHead + shape_.channels;
    for (std::size_t i = 0; i < shape_.trials; ++i) {
      const std::size_t trial = std::min(i, channel_block.shift.size() - 1);
      const std::size_t place =
          channel_block.pattern_of[trial] * stride + channel_block.shift[trial];
      places[i / 2] |= static_cast<std::uint32_t>(place) << (i % 2 * 16);
    }
    auto* delays = reinterpret_cast<std::uint8_t*>(places + shape_.trials / 2);
    std::fill_n(delays, channel_block.tiles() * kPacketTile * shape_.channels, kNever);
    for (std::size_t p = 0; p < channel_block.all.size(); ++p)
      for (std::size_t c = 0; c < channel_block.channels; ++c)
        delays[p * shape_.channels + c] =
            static_cast<std::uint8_t>(channel_block.all[p][c] - channel_block.lows[c]);
    list_.patterns += static_cast<double>(channel_block.all.size());
    list_.cycles += cycles(channel_block);
    list_.adds +=
        static_cast<double>(channel_block.all.size() * (channel_block.channels - 1) * entries +
                            channel_block.shift.size() * shape_.span);
  }

  const Delays& delays_;
  const ChannelBlockShape& shape_;
  const GpuCost& cost_;
  std::vector<std::span<const std::uint32_t>> blocks_;
  std::vector<ChannelBlock> channel_blocks_;  // [block][channel block]
  std::size_t sums_at_ = 0;
  std::vector<SumsPlace> places_;  // [block][channel block]
  ChannelBlockWorkList list_;
};

}  // namespace

std::optional<ChannelBlockWorkList> make_channel_block_work_list(const DelayPlan& plan,
                                                                 const Delays& delays,
                                                                 const ChannelBlockShape& shape,
                                                                 const GpuCost& cost) {
  if (shape.span % kRun != 0 || shape.trials % 2 != 0 || shape.channels % 4 != 0)
    return std::nullopt;
  return ChannelBlockWriter(plan, delays, shape, cost).write();
}

}  // namespace tautline::stages::dedisperse

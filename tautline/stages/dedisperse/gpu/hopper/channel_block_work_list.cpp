#include "tautline/stages/dedisperse/gpu/hopper/channel_block_work_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "tautline/core/integers.h"

namespace tautline::stages::dedisperse {

namespace {

// The same constants as in channel_blocks.cuda.kernel.
constexpr std::size_t kHead = 8, kFewestPackets = 4, kMostPackets = 8, kPacketTile = 4, kRun = 32;
constexpr std::size_t kTimesAtOnce = 4;   // times that one window serves
constexpr std::uint32_t kNever = 255;     // a delay of no channel
constexpr std::size_t kBytesOfStep = 32;  // bytes of all channels in one step of the matrix units
constexpr std::size_t kMostSteps = 4;     // steps for which a producer warp has registers
constexpr std::size_t kBanks = 32, kMostSumPlaces = 65536;

// The smallest number from `value` on that is `rest` modulo the number of shared memory's banks.
std::size_t with_rest(std::size_t value, std::size_t rest) {
  return value + (rest + kBanks - value % kBanks) % kBanks;
}

// A channel block for a block of trials. Delays are relative to those of a channel in the middle, about which patterns
// differ least.
struct ChannelBlock {
  ChannelBlock(const Delays& delays, std::span<const std::uint32_t> block, std::size_t from,
               std::size_t most, std::size_t span)
      : first(from), channels(std::min(most, delays.positions - from)), lows(channels, INT32_MAX) {
    const std::size_t middle = first + channels / 2;
    std::map<std::vector<std::int32_t>, std::uint32_t> known;
    std::vector<std::int32_t> highs(channels, INT32_MIN);
    low = delays(block[0], middle);
    std::int32_t high = low;
    for (const std::uint32_t trial : block) {
      const std::int32_t* row = delays.row(trial);
      std::vector<std::int32_t> pattern(row + first, row + first + channels);
      for (std::size_t c = 0; c < channels; ++c) {
        pattern[c] -= row[middle];
        lows[c] = std::min(lows[c], pattern[c]);
        highs[c] = std::max(highs[c], pattern[c]);
      }
      low = std::min(low, row[middle]);
      high = std::max(high, row[middle]);
      const auto [place, fresh] =
          known.try_emplace(pattern, static_cast<std::uint32_t>(patterns.size()));
      if (fresh) patterns.push_back(pattern);
      pattern_of.push_back(place->second);
    }
    for (const std::uint32_t trial : block)
      shift.push_back(static_cast<std::uint32_t>(delays(trial, middle) - low));
    for (std::size_t c = 0; c < channels; ++c)
      range = std::max(range, static_cast<std::size_t>(highs[c] - lows[c]));
    entries = core::round_up(span + static_cast<std::size_t>(high - low), kRun);
    stride = with_rest(entries, kBanks / 2);
  }

  std::size_t tiles() const { return core::divide_up(patterns.size(), kPacketTile); }
  std::size_t sums_words() const { return patterns.size() * stride; }

  std::size_t first, channels;     // positions
  std::int32_t low = 0;            // delay of the middle channel
  std::vector<std::int32_t> lows;  // [channel] least delay, relative to the middle channel's
  // [pattern][channel] relative to the middle one's.
  std::vector<std::vector<std::int32_t>> patterns;
  std::vector<std::uint32_t> pattern_of, shift;  // [trial of the block]
  std::size_t range = 0;                         // largest range of a channel's delays
  std::size_t entries = 0;                       // of one sum
  std::size_t stride = 0;  // sums of two patterns are written together: half of the banks apart
};

class ChannelBlockWriter {
 public:
  ChannelBlockWriter(const DelayPlan& plan, const Delays& delays, const GroupShape& shape,
                     std::size_t channels, const GpuCost& cost)
      : plan_(plan),
        shape_(shape),
        span_(shape.span()),
        trials_(shape.trials()),
        channels_(channels),
        blocks_in_band_(core::divide_up(delays.positions, channels)),
        cost_(cost),
        list_(shape, "hopper/channel_blocks.cuda.kernel", "dedisperse_channel_blocks") {
    for (const auto block : plan.blocks(trials_))
      for (std::size_t p = 0; p < delays.positions; p += channels)
        channel_blocks_.emplace_back(delays, block, p, channels, span_);
  }

  std::optional<GpuWorkList> write() {
    if (!lay_out()) return std::nullopt;
    packets_.resize(channel_blocks_.size() * packet_words_);
    for (std::size_t n = 0; n < channel_blocks_.size(); n += blocks_in_band_) {
      std::vector<std::size_t> words;
      for (std::size_t b = n; b < n + blocks_in_band_; ++b)
        words.push_back(channel_blocks_[b].sums_words());
      const auto places = place_sums(words, shared_words_ - sums_at_, packet_slots_);
      const double before = list_.cycles;
      for (std::size_t b = 0; b < blocks_in_band_; ++b) write_packet(n + b, places[b]);
      list_.dearest = std::max(list_.dearest, list_.cycles - before);
    }
    describe();
    return std::move(list_);
  }

 private:
  void describe() {
    list_.constants.insert({{"PRODUCER_WARPS", kProducerWarps},
                            {"FETCH_WARPS", kFetchWarps},
                            {"CHANNELS", channels_},
                            {"WINDOW", window_},
                            {"TILES", tiles_},
                            {"ROW_WORDS", row_words_},
                            {"PACKET_WORDS", packet_words_},
                            {"LOCAL_WORDS", shared_words_},
                            {"CARRIES", carries_ ? 1 : 0},
                            {"PACKETS", packet_slots_}});
    list_.lists.push_back(std::move(packets_));
    list_.numbers = {blocks_in_band_, blocks_in_sum_};
    list_.threads = {shape_.threads() + kWarpThreads * (kProducerWarps + kFetchWarps), 1, 1};
    list_.shared_bytes = 4 * shared_words_;
    list_.tile_times = 2 * span_;
    list_.aligned_times = kAlignedTimes;
    list_.shares = true;
    list_.choice =
        plan_.choice(Method::shared, adds_ / static_cast<double>(span_),
                     fmt::format("channel blocks of {} channels with {:.1f} patterns, {} "
                                 "producer warps by the matrix units, {} KiB of shared memory",
                                 channels_, patterns_ / static_cast<double>(channel_blocks_.size()),
                                 kProducerWarps, core::divide_up(list_.shared_bytes, 1024)));
  }

  bool lay_out() {
    std::size_t most_tiles = 1, range = 0, entries = 0, before = 0, most_sums = 0;
    for (std::size_t n = 0; n < channel_blocks_.size(); ++n) {
      const ChannelBlock& block = channel_blocks_[n];
      most_tiles = std::max(most_tiles, block.tiles());
      range = std::max(range, block.range);
      entries = std::max(entries, block.entries);
      for (const std::int32_t low : block.lows)
        if (low + block.low < 0)
          before = std::max(before, static_cast<std::size_t>(-low - block.low));
      // Memory that neighbouring channel blocks use at the same time.
      const bool last = n % blocks_in_band_ + 1 == blocks_in_band_;
      most_sums = std::max(most_sums,
                           block.sums_words() + (last ? 0 : channel_blocks_[n + 1].sums_words()));
    }
    most_sums = core::round_up(most_sums, kBanks);
    window_ = range + kTimesAtOnce <= 8 ? 8 : 16;
    const std::size_t bytes = channels_ * window_;
    if (range + kTimesAtOnce > window_ || bytes > kMostSteps * kBytesOfStep ||
        channels_ > shape_.channels_in_sum ||
        core::round_up(before, kAlignedTimes) > kMostTimesBefore)
      return false;
    tiles_ = std::min<std::size_t>(bytes < kMostSteps * kBytesOfStep ? 6 : 5, most_tiles);
    // Rows that are read together begin at different banks.
    row_words_ = with_rest(row_words(entries), window_);
    packet_words_ = core::round_up(kHead + channels_ + trials_ / 2 + most_tiles * channels_, 4);
    const std::size_t room = shape_.shared_bytes / 4 / kBanks * kBanks;
    blocks_in_sum_ = std::max<std::size_t>(1, shape_.channels_in_sum / channels_);
    if (before_sums(kFewestPackets) + most_sums > room || most_sums > kMostSumPlaces) return false;
    if (blocks_in_band_ > blocks_in_sum_) try_carries(room - most_sums);
    // The remaining memory lets producer warps run ahead of consumer warps.
    std::size_t& slots = packet_slots_ = kFewestPackets;
    while (slots < kMostPackets && before_sums(slots + 1) + most_sums <= room) ++slots;
    sums_at_ = before_sums(slots);
    shared_words_ = std::min(room, sums_at_ + kMostPackets * most_sums);
    return true;
  }
  // Barriers, of two words each: one for the first packets, two for each of the two buffers of rows and for every
  // packet.
  std::size_t before_sums(std::size_t slots) const {
    return core::round_up(slots * packet_words_ + core::round_up(trials_, 4) +
                              core::round_up(2 * (5 + 2 * slots), 4) + 2 * channels_ * row_words_,
                          kBanks) +
           (carries_ ? carry_words() : 0);
  }
  // Between rows and sums: eight halves in a word.
  std::size_t carry_words() const { return core::round_up(span_ * trials_ / 4, kBanks); }
  void try_carries(std::size_t room) {
    const std::size_t in_sum = shape_.channels_in_sum * 3 / 4 / channels_;
    if (in_sum == 0 || before_sums(kFewestPackets) + carry_words() > room) return;
    carries_ = true;
    blocks_in_sum_ = in_sum;
  }
  // More words where a row begins inside an aligned run of times.
  std::size_t row_words(std::size_t entries) const {
    return core::round_up((span_ + entries + window_ + kAlignedTimes + 3) / 4, 4);
  }

  double cycles(const ChannelBlock& block) const {
    const std::size_t steps = channels_ * window_ / kBytesOfStep;
    const double columns = static_cast<double>(block.entries / kRun * steps);
    return cost_.channel_block +
           columns * (cost_.columns + cost_.tile_of_columns * static_cast<double>(block.tiles()));
  }

  void write_packet(std::size_t n, const SumsPlace& sums) {
    const ChannelBlock& block = channel_blocks_[n];
    std::uint32_t* packet = packets_.data() + n * packet_words_;
    const std::size_t head[] = {
        block.patterns.size(),    block.entries / kRun, block.stride, sums_at_ + sums.at,
        row_words(block.entries), block.channels,       sums.after};
    std::transform(std::begin(head), std::end(head), packet, core::u32);
    for (std::size_t c = 0; c < block.channels; ++c)
      packet[kHead + c] = static_cast<std::uint32_t>(block.low + block.lows[c]);
    std::uint32_t* places = packet + kHead + channels_;
    for (std::size_t i = 0; i < trials_; ++i) {
      const std::size_t trial = std::min(i, block.shift.size() - 1);
      const std::size_t place = block.pattern_of[trial] * block.stride + block.shift[trial];
      places[i / 2] |= static_cast<std::uint32_t>(place) << (i % 2 * 16);
    }
    auto* delays = reinterpret_cast<std::uint8_t*>(places + trials_ / 2);
    std::fill_n(delays, block.tiles() * kPacketTile * channels_, kNever);
    for (std::size_t p = 0; p < block.patterns.size(); ++p)
      for (std::size_t c = 0; c < block.channels; ++c)
        delays[p * channels_ + c] = static_cast<std::uint8_t>(block.patterns[p][c] - block.lows[c]);
    patterns_ += static_cast<double>(block.patterns.size());
    list_.cycles += cycles(block);
    adds_ += static_cast<double>(block.patterns.size() * (block.channels - 1) * block.entries +
                                 block.shift.size() * span_);
  }

  const DelayPlan& plan_;
  const GroupShape& shape_;
  std::size_t span_, trials_;
  std::size_t channels_;        // of a channel block
  std::size_t blocks_in_band_;  // channel blocks of all channels
  const GpuCost& cost_;
  std::vector<ChannelBlock> channel_blocks_;  // [block][channel block]
  std::size_t window_ = 8;                    // bytes of a channel for four times: 8 or 16
  std::size_t tiles_ = 1;         // tiles of four patterns in a producer warp's registers
  std::size_t packet_slots_ = 4;  // packets that fit in shared memory at once
  std::size_t row_words_ = 0, packet_words_ = 0, shared_words_ = 0, sums_at_ = 0;
  bool carries_ = false;           // bits of sums beyond 14 are carried to shared memory
  std::size_t blocks_in_sum_ = 1;  // channel blocks whose sum fits 16 bits, or 14 with carries
  std::vector<std::uint32_t> packets_;
  double adds_ = 0, patterns_ = 0;
  GpuWorkList list_;
};

// Allocates places for the sums of channel blocks, one after the other.
class Placer {
 public:
  Placer(std::span<const std::size_t> words, std::size_t ahead) : words_(words), ahead_(ahead) {}

  void add(std::size_t at) { places_.push_back({at, after(at)}); }
  // Adds the place at which the next channel block waits least; of several the first.
  void add_best(std::initializer_list<std::size_t> all) {
    add(*std::min_element(all.begin(), all.end(),
                          [&](std::size_t a, std::size_t b) { return after(a) < after(b); }));
  }
  std::size_t begin() const { return places_.back().at; }  // of the last one
  std::size_t end() const { return begin() + words_[places_.size() - 1]; }
  const std::vector<SumsPlace>& places() const { return places_; }
  bool waits_for_neighbours() const {
    for (std::size_t b = 1; b < places_.size(); ++b)
      if (places_[b].after == b) return true;
    return false;
  }

 private:
  // SumsPlace::after of the next channel block at a place: one after the last channel block that overlaps it.
  std::size_t after(std::size_t at) const {
    const std::size_t n = places_.size(), least = n < ahead_ ? 0 : n + 1 - ahead_;
    for (std::size_t b = n; b > least; --b)
      if (at < places_[b - 1].at + words_[b - 1] && places_[b - 1].at < at + words_[n]) return b;
    return least;
  }

  std::span<const std::size_t> words_;
  std::size_t ahead_;
  std::vector<SumsPlace> places_;
};

}  // namespace

std::vector<SumsPlace> place_sums(std::span<const std::size_t> words, std::size_t room,
                                  std::size_t ahead) {
  Placer ring(words, ahead), ends(words, ahead);
  for (std::size_t b = 0; b < words.size(); ++b) {
    const std::size_t last = room - words[b];
    if (b == 0) {
      ring.add(0);
    } else {
      ring.add_best(
          {std::min(last, ring.end()), 0, last, ring.begin() - std::min(ring.begin(), words[b])});
    }
    ends.add(b % 2 == 0 ? 0 : last);
  }
  // Small channel blocks in the middle may leave no space for two large ones; both ends always have it.
  return (ring.waits_for_neighbours() ? ends : ring).places();
}

std::optional<GpuWorkList> make_channel_block_work_list(const DelayPlan& plan, const Delays& delays,
                                                        const GroupShape& shape,
                                                        std::size_t channels, const GpuCost& cost) {
  return ChannelBlockWriter(plan, delays, shape, channels, cost).write();
}

}  // namespace tautline::stages::dedisperse

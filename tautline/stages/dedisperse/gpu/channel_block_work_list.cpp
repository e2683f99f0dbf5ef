#include "tautline/stages/dedisperse/gpu/channel_block_work_list.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "tautline/stages/dedisperse/gpu/place_sums.h"

namespace tautline::stages::dedisperse {

namespace {

// As bands.kernel has them.
constexpr std::size_t kHead = 8, kFewestPackets = 4, kMostPackets = 8, kTile = 4, kRun = 32;
constexpr std::size_t kAligned = ChannelBlockWorkList::kAligned;
constexpr std::size_t kTimesAtOnce = 4;  // that one window serves
constexpr std::uint32_t kNever = 255;
constexpr std::size_t kBytesOfStep = 32;  // that the matrix units take of all channels
constexpr std::size_t kBanks = 32, kMostPlaces = 65536;

std::size_t rounded(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// The least number from `value` on that leaves `rest` of the local memory's banks.
std::size_t with_rest(std::size_t value, std::size_t rest) {
  return value + (rest + kBanks - value % kBanks) % kBanks;
}

// A band for a block of trials. Delays are told from those of a channel in the middle, about which
// patterns differ least.
struct Band {
  std::size_t first = 0, channels = 0;           // positions
  std::int32_t low = 0, high = 0;                // delays of the middle channel
  std::vector<std::int32_t> lows;                // [channel] least delay after the middle one's
  std::vector<std::vector<std::int32_t>> all;    // [pattern][channel] after the middle one's
  std::vector<std::uint32_t> pattern_of, shift;  // [trial of the block]
  std::size_t range = 0;                         // greatest, of any channel's `all`

  std::size_t tiles() const { return (all.size() + kTile - 1) / kTile; }
  std::size_t entries(std::size_t span) const {
    return rounded(span + static_cast<std::size_t>(high - low), kRun);
  }
  // Sums of two patterns are written together: they lie half of the banks apart.
  std::size_t stride(std::size_t span) const { return with_rest(entries(span), kBanks / 2); }
  std::size_t sums_words(std::size_t span) const { return all.size() * stride(span); }
};

Band make_band(const Delays& delays, std::span<const std::uint32_t> block, std::size_t first,
               std::size_t channels) {
  Band band;
  band.first = first;
  band.channels = std::min(channels, delays.positions - first);
  const std::size_t middle = first + band.channels / 2;
  std::map<std::vector<std::int32_t>, std::uint32_t> known;
  std::vector<std::int32_t> highs(band.channels, INT32_MIN);
  band.lows.assign(band.channels, INT32_MAX);
  band.low = band.high = delays(block[0], middle);
  for (const std::uint32_t trial : block) {
    const std::int32_t* row = delays.row(trial);
    std::vector<std::int32_t> pattern(row + first, row + first + band.channels);
    for (std::size_t c = 0; c < band.channels; ++c) {
      pattern[c] -= row[middle];
      band.lows[c] = std::min(band.lows[c], pattern[c]);
      highs[c] = std::max(highs[c], pattern[c]);
    }
    band.low = std::min(band.low, row[middle]);
    band.high = std::max(band.high, row[middle]);
    const auto [place, fresh] =
        known.try_emplace(pattern, static_cast<std::uint32_t>(band.all.size()));
    if (fresh) band.all.push_back(pattern);
    band.pattern_of.push_back(place->second);
  }
  for (const std::uint32_t trial : block)
    band.shift.push_back(static_cast<std::uint32_t>(delays(trial, middle) - band.low));
  for (std::size_t c = 0; c < band.channels; ++c)
    band.range = std::max(band.range, static_cast<std::size_t>(highs[c] - band.lows[c]));
  return band;
}

class BandWriter {
 public:
  BandWriter(const DelayPlan& plan, const Delays& delays, const BandShape& shape,
             const GpuCost& cost)
      : delays_(delays), shape_(shape), cost_(cost), blocks_(plan.blocks(shape.trials)) {
    list_.bands = (delays.positions + shape.channels - 1) / shape.channels;
    for (const auto block : blocks_)
      for (std::size_t g = 0; g < list_.bands; ++g)
        bands_.push_back(make_band(delays, block, g * shape.channels, shape.channels));
  }

  std::optional<ChannelBlockWorkList> write() {
    if (!lay_out()) return std::nullopt;
    list_.packets.resize(bands_.size() * list_.packet_words);
    for (std::size_t n = 0; n < bands_.size(); n += list_.bands) place_block(n);
    for (std::size_t n = 0; n < bands_.size(); n += list_.bands) {
      const double before = list_.cycles;
      for (std::size_t b = n; b < n + list_.bands; ++b) write_packet(b);
      list_.dearest = std::max(list_.dearest, list_.cycles - before);
    }
    list_.adds /= static_cast<double>(shape_.span);
    list_.patterns /= static_cast<double>(bands_.size());
    return std::move(list_);
  }

 private:
  bool lay_out() {
    std::size_t range = 0, entries = 0, before = 0;
    for (const Band& band : bands_) {
      list_.most_tiles = std::max(list_.most_tiles, band.tiles());
      range = std::max(range, band.range);
      entries = std::max(entries, band.entries(shape_.span));
      for (const std::int32_t low : band.lows)
        if (low + band.low < 0)
          before = std::max(before, static_cast<std::size_t>(-low - band.low));
    }
    for (list_.window = 8; list_.window < range + kTimesAtOnce; list_.window *= 2)
      if (list_.window == 32) return false;
    if (shape_.channels > shape_.channels_in_sum || rounded(before, kAligned) > kMostTimesBefore)
      return false;
    if (shape_.channels * list_.window % kBytesOfStep != 0) return false;
    // Rows that are read together begin at different banks.
    list_.row_words = with_rest(row_words(entries), list_.window == 8 ? 8 : 16);
    list_.packet_words =
        kHead + shape_.channels + shape_.trials / 2 + list_.most_tiles * shape_.channels;
    list_.packet_words = rounded(list_.packet_words, 4);
    const std::size_t room = shape_.local_bytes / 4 / kBanks * kBanks, least = most_sums();
    list_.bands_in_sum = std::max<std::size_t>(1, shape_.channels_in_sum / shape_.channels);
    if (before_sums(kFewestPackets) + least > room || least > kMostPlaces) return false;
    if (shape_.carries && list_.bands > list_.bands_in_sum) try_carries(room - least);
    // What is left lets makers run ahead of those who add.
    std::size_t packets = kFewestPackets;
    while (packets < kMostPackets && before_sums(packets + 1) + least <= room) ++packets;
    list_.packets_held = packets;
    sums_at_ = before_sums(packets);
    list_.local_words = std::min(room, sums_at_ + kMostPackets * least);
    return true;
  }
  // Counts, of two words: of the first packets, two of either buffer of rows and of every packet.
  std::size_t before_sums(std::size_t packets) const {
    return rounded(packets * list_.packet_words + rounded(shape_.trials, 4) +
                       rounded(2 * (5 + 2 * packets), 4) + 2 * shape_.channels * list_.row_words,
                   kBanks) +
           (list_.carries ? carry_words() : 0);
  }
  // Between rows and sums: eight halves in a word.
  std::size_t carry_words() const { return rounded(shape_.span * shape_.trials / 4, kBanks); }
  void try_carries(std::size_t room) {
    const std::size_t in_sum = shape_.channels_in_sum * 3 / 4 / shape_.channels;
    if (in_sum == 0 || before_sums(kFewestPackets) + carry_words() > room) return;
    list_.carries = true;
    list_.bands_in_sum = in_sum;
  }
  // More where a row begins inside an aligned run of times.
  std::size_t row_words(std::size_t entries) const {
    return rounded((shape_.span + entries + list_.window + kAligned + 3) / 4, 4);
  }
  // What neighbouring bands need at once.
  std::size_t most_sums() const {
    std::size_t most = 0;
    for (std::size_t n = 0; n < bands_.size(); ++n) {
      const bool last = n % list_.bands + 1 == list_.bands;
      most = std::max(most, bands_[n].sums_words(shape_.span) +
                                (last ? 0 : bands_[n + 1].sums_words(shape_.span)));
    }
    return rounded(most, kBanks);
  }

  // Of the block whose bands begin with the n-th.
  void place_block(std::size_t n) {
    std::vector<std::size_t> words;
    for (std::size_t b = n; b < n + list_.bands; ++b)
      words.push_back(bands_[b].sums_words(shape_.span));
    const auto places = place_sums(words, list_.local_words - sums_at_, list_.packets_held);
    places_.insert(places_.end(), places.begin(), places.end());
  }

  double cycles(const Band& band) const {
    const std::size_t steps = shape_.channels * list_.window / kBytesOfStep;
    const std::size_t runs = band.entries(shape_.span) / kRun, tiles = band.tiles();
    const std::size_t passes = (tiles + cost_.tiles_at_once - 1) / cost_.tiles_at_once;
    return cost_.band +
           static_cast<double>(runs * steps) * (cost_.columns * static_cast<double>(passes) +
                                                cost_.tile_of_columns * static_cast<double>(tiles));
  }

  void write_packet(std::size_t n) {
    const Band& band = bands_[n];
    std::uint32_t* packet = list_.packets.data() + n * list_.packet_words;
    const auto set = [&](std::size_t at, std::size_t value) {
      packet[at] = static_cast<std::uint32_t>(value);
    };
    const std::size_t entries = band.entries(shape_.span), stride = band.stride(shape_.span);
    set(0, band.all.size());
    set(1, entries / kRun);
    set(2, stride);
    set(3, sums_at_ + places_[n].at);
    set(4, row_words(entries));
    set(5, band.channels);
    set(6, places_[n].after);
    for (std::size_t c = 0; c < band.channels; ++c)
      packet[kHead + c] = static_cast<std::uint32_t>(band.low + band.lows[c]);
    std::uint32_t* places = packet + kHead + shape_.channels;
    for (std::size_t i = 0; i < shape_.trials; ++i) {
      const std::size_t trial = std::min(i, band.shift.size() - 1);
      const std::size_t place = band.pattern_of[trial] * stride + band.shift[trial];
      places[i / 2] |= static_cast<std::uint32_t>(place) << (i % 2 * 16);
    }
    auto* delays = reinterpret_cast<std::uint8_t*>(places + shape_.trials / 2);
    std::fill_n(delays, band.tiles() * kTile * shape_.channels, kNever);
    for (std::size_t p = 0; p < band.all.size(); ++p)
      for (std::size_t c = 0; c < band.channels; ++c)
        delays[p * shape_.channels + c] = static_cast<std::uint8_t>(band.all[p][c] - band.lows[c]);
    list_.patterns += static_cast<double>(band.all.size());
    list_.cycles += cycles(band);
    list_.adds += static_cast<double>(band.all.size() * (band.channels - 1) * entries +
                                      band.shift.size() * shape_.span);
  }

  const Delays& delays_;
  const BandShape& shape_;
  const GpuCost& cost_;
  std::vector<std::span<const std::uint32_t>> blocks_;
  std::vector<Band> bands_;  // [block][band]
  std::size_t sums_at_ = 0;
  std::vector<SumsPlace> places_;  // [block][band]
  ChannelBlockWorkList list_;
};

}  // namespace

std::optional<ChannelBlockWorkList> make_channel_block_work_list(const DelayPlan& plan,
                                                                 const Delays& delays,
                                                                 const BandShape& shape,
                                                                 const GpuCost& cost) {
  if (shape.span % kRun != 0 || shape.trials % 2 != 0 || shape.channels % 4 != 0)
    return std::nullopt;
  return BandWriter(plan, delays, shape, cost).write();
}

}  // namespace tautline::stages::dedisperse

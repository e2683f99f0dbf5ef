#include "tautline/stream/zeroed_channels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>
#include <utility>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"
#include "tautline/core/threads.h"

namespace tautline::stream {

namespace {

constexpr std::size_t kLeastChannels = 4, kShareOfChannels = 16;
// One spectrum in so many is looked at for all channels of an input, and for some of them.
constexpr std::size_t kEveryForAll = 4, kEveryForSome = 16, kLooksForAll = 4;
constexpr std::size_t kLeastSpectra = 2, kLeastSpectraOfOne = 8;
// Spectra around a suspect in which its zeros are followed, and times beside these zeros, each fourth, in which zeros
// are counted. Channels that are zero at both ends of the former are so most of the time.
constexpr std::size_t kFollowedBefore = 256, kFollowedBehind = 64, kBeside = 64, kBesideEvery = 4;
// After so many suspects that were none the rest of a part of the stream is not looked at: so much noise is zero.
constexpr std::size_t kMostRefused = 64, kRefusedPart = 4096;
// Spectra of an input that are looked at before those of the next one, where times are contiguous.
constexpr std::size_t kInTurn = 512;
constexpr std::size_t kValuesOfPiece = std::size_t{1} << 20;

// Stirling's series, to 3e-4 from 1 on.
double log_gamma(double x) {
  return (x - 0.5) * std::log(x) - x + 0.5 * std::log(2 * std::numbers::pi) + 1 / (12 * x) -
         1 / (360 * x * x * x);
}

// That n further values are zero if c of m were, and every chance of a zero was as likely before: the product over k
// from 0 to n - 1 of (c + 1 + k) / (m + 2 + k).
double log_chance_of_zeros(std::size_t n, std::size_t c, std::size_t m) {
  const auto further = static_cast<double>(n), zeros = static_cast<double>(c + 1),
             values = static_cast<double>(m + 2);
  return log_gamma(zeros + further) - log_gamma(zeros) - log_gamma(values + further) +
         log_gamma(values);
}

// Of one bit or two there is no zero.
bool has_zeros(const core::SampleFormat& format) {
  return format.bits >= 4 && format.bits_per_sample() >= 8;
}

}  // namespace

// The samples of a block and of the one behind it.
class ZeroedChannelFinder::Series {
 public:
  Series(const CameBlock& block, const CameBlock* next)
      : blocks_{Place(block), Place(next != nullptr ? *next : block)},
        count_(block.raw.samples),
        end_(count_ + (next != nullptr ? next->raw.samples : 0)),
        bytes_(static_cast<std::size_t>(block.raw.layout.format.bits_per_sample()) / 8),
        zero_(zero_of(block.raw.layout.format)) {}

  struct Place {
    explicit Place(const CameBlock& block)
        : first(block.raw.bytes.data() + block.raw.layout.offset_bits / 8),
          time(block.raw.layout.time_stride_bits / 8),
          channel(block.raw.layout.channel_stride_bits / 8),
          antenna(block.raw.layout.antenna_stride_bits / 8),
          polarisation(block.raw.layout.polarisation_stride_bits / 8),
          came(&block.came) {
      const std::size_t polarisations = block.raw.layout.polarisations;
      for (std::size_t i = 0; i < block.raw.layout.inputs(); ++i)
        inputs.push_back(i / polarisations * antenna + i % polarisations * polarisation);
    }
    const std::byte* first;
    std::size_t time, channel, antenna, polarisation;
    std::vector<std::size_t> inputs;  // [input] bytes from the first one
    const core::ValidityMask* came;
  };

  std::size_t samples() const { return count_; }  // of the block
  std::size_t end() const { return end_; }
  const Place& place(std::size_t t) const { return blocks_[t < count_ ? 0 : 1]; }
  std::size_t time_in_block(std::size_t t) const { return t < count_ ? t : t - count_; }

  /// Whether an input's samples of one channel lie closer together than inputs do.
  bool times_contiguous() const {
    return blocks_[0].time < std::max(blocks_[0].antenna, blocks_[0].polarisation);
  }
  /// Whether the sample is zero, whether it came or not.
  template <class Word>
  bool is_zero(std::size_t channel, std::size_t input, std::size_t t) const {
    const Place& in = place(t);
    Word value;
    std::memcpy(&value,
                in.first + in.inputs[input] + time_in_block(t) * in.time + channel * in.channel,
                sizeof(Word));
    return ((value ^ zero_.value) & zero_.mask) == 0;
  }
  bool came(std::size_t channel, std::size_t input, std::size_t t) const {
    const Place& in = place(t);
    const std::size_t rows = in.came->rows(), inputs = in.inputs.size();
    return rows == 0 ||
           in.came->valid(rows == inputs ? input : channel * inputs + input, time_in_block(t));
  }
  /// look(Word{}) for unsigned integers of a sample's size.
  template <class Look>
  auto with_word(const Look& look) const {
    switch (bytes_) {
      case 1:
        return look(std::uint8_t{});
      case 2:
        return look(std::uint16_t{});
      case 4:
        return look(std::uint32_t{});
      default:
        return look(std::uint64_t{});
    }
  }
  /// Whether the sample came and is zero.
  bool zero(std::size_t channel, std::size_t input, std::size_t t) const {
    const auto is = [&]<class Word>(Word) { return is_zero<Word>(channel, input, t); };
    return with_word(is) && came(channel, input, t);
  }
  /// The first time from t on, up to `last`, that is not zero, or `last`.
  std::size_t end_of_zeros(std::size_t channel, std::size_t input, std::size_t t,
                           std::size_t last) const {
    while (t < last && zero(channel, input, t)) ++t;
    return t;
  }
  /// The first time, not before `least`, of the zeros that t is among.
  std::size_t begin_of_zeros(std::size_t channel, std::size_t input, std::size_t t,
                             std::size_t least) const {
    while (t > least && zero(channel, input, t - 1)) --t;
    return t;
  }

 private:
  // The bits of a sample whose components are zero, and those that tell it.
  struct ZeroCode {
    std::uint64_t value = 0, mask = ~std::uint64_t{0};
  };

  static ZeroCode zero_of(const core::SampleFormat& format) {
    ZeroCode code;
    const auto bits = static_cast<std::size_t>(format.bits);
    code.mask = core::low_bits(static_cast<std::size_t>(format.bits_per_sample()));
    for (std::size_t part = 0; part < (format.complex ? 2u : 1u); ++part) {
      const std::uint64_t top = std::uint64_t{1} << (part * bits + bits - 1);
      if (format.encoding == core::Encoding::offset_binary) code.value |= top;
      if (format.is_float()) code.mask &= ~top;  // the sign
    }
    return code;
  }

  Place blocks_[2];
  std::size_t count_, end_, bytes_;
  ZeroCode zero_;
};

ZeroedChannelFinder::ZeroedChannelFinder(const core::VoltageDescription& description,
                                         std::size_t threads)
    : inputs_(description.inputs()),
      channels_(description.channels),
      least_(std::min(channels_,
                      std::max(kLeastChannels, core::divide_up(channels_, kShareOfChannels)))),
      threads_(threads),
      used_(has_zeros(description.format)),
      log_of_nothing_(
          core::log_chance_of_nothing(description.rate_hz.value() * static_cast<double>(inputs_))),
      until_(used_ ? inputs_ * channels_ : 0),
      refused_(inputs_) {}

// Whether the channel may be one of those that stop at t: it is zero for some spectra, and not for most of the time.
bool ZeroedChannelFinder::may_stop(const Series& series, std::size_t channel, std::size_t input,
                                   std::size_t t) const {
  if (!series.zero(channel, input, t)) return false;
  if (t >= kFollowedBefore && t + kFollowedBehind < series.end() &&
      series.zero(channel, input, t - kFollowedBefore) &&
      series.zero(channel, input, t + kFollowedBehind))
    return false;
  const std::size_t least = t - std::min(t, kEveryForSome),
                    most = std::min(series.end(), t + kEveryForSome);
  return series.end_of_zeros(channel, input, t, most) -
             series.begin_of_zeros(channel, input, t, least) >=
         kLeastSpectraOfOne;
}

// Of some of the channels those are looked at that are one less apart than the fewest that stop: so many neighbours have
// one of them, and so have packets of each eighth or sixteenth channel.
template <class Word>
void ZeroedChannelFinder::suspects_in(const Series& series, std::size_t first, std::size_t end,
                                      std::vector<Suspect>& found) const {
  const std::size_t together = series.times_contiguous() ? kInTurn : kEveryForSome;
  const std::size_t apart = std::max<std::size_t>(1, least_ - 1);
  const auto next_multiple = [&](std::size_t t, std::size_t of) {
    return t + static_cast<std::size_t>((of - (position_ + t) % of) % of);
  };
  std::array<bool, kInTurn> suspect;
  for (std::size_t from = first; from < end; from += together) {
    const std::size_t to = std::min(end, from + together);
    for (std::size_t input = 0; input < inputs_; ++input) {
      bool any = false;
      const auto look = [&](std::size_t c, std::size_t every, const auto& stops) {
        for (std::size_t t = next_multiple(from, every); t < to; t += every)
          if (series.is_zero<Word>(c, input, t) && stops(t)) {
            if (!std::exchange(any, true)) suspect.fill(false);
            suspect[t - from] = true;
          }
      };
      look(channels_ / 2, kEveryForAll, [&](std::size_t t) {
        for (std::size_t k = 0; k < kLooksForAll; ++k)
          if (!series.zero(k * channels_ / kLooksForAll, input, t)) return false;
        return series.zero(channels_ / 2, input, t);
      });
      for (std::size_t c = apart / 2; c < channels_; c += apart)
        look(c, kEveryForSome, [&](std::size_t t) { return may_stop(series, c, input, t); });
      for (std::size_t t = from; any && t < to; ++t)
        if (suspect[t - from]) found.push_back({t, input});
    }
  }
}

ZeroedChannelFinder::Zeros ZeroedChannelFinder::zeros_around(const Series& series,
                                                             std::size_t channel,
                                                             const Suspect& suspect) const {
  const auto [t, input] = suspect;
  const std::size_t least = t - std::min(t, kFollowedBefore),
                    most = std::min(series.end(), t + kFollowedBehind);
  Zeros found{.channel = channel,
              .first = series.begin_of_zeros(channel, input, t, least),
              .end = series.end_of_zeros(channel, input, t, most)};
  // The sample next to them is not zero by definition.
  const auto look = [&](int side, std::size_t at) {
    if (series.came(channel, input, at)) ++found.looks[side];
    if (series.zero(channel, input, at)) ++found.zeros[side];
  };
  if (found.first > least)
    for (std::size_t apart = 2; apart < kBeside && apart <= found.first; apart += kBesideEvery)
      look(0, found.first - apart);
  if (found.end < most)
    for (std::size_t apart = 1; apart < kBeside && found.end + apart < series.end();
         apart += kBesideEvery)
      look(1, found.end + apart);
  return found;
}

// Of C channels k or more are zero in m spectra with a probability below (C e / k)^k times that of m k further zeros:
// the larger one by the values before and behind, since the level may have changed.
bool ZeroedChannelFinder::too_rare(const std::vector<Zeros>& sums, std::size_t channels,
                                   std::size_t spectra) const {
  const Zeros& of = sums[channels - 1];
  const auto k = static_cast<double>(channels);
  const double choices = k * (std::log(static_cast<double>(channels_) / k) + 1);
  bool known = false;
  for (int side = 0; side < 2; ++side) {
    if (of.looks[side] == 0) continue;
    known = true;
    if (choices + log_chance_of_zeros(channels * spectra, of.zeros[side], of.looks[side]) >
        log_of_nothing_)
      return false;
  }
  return known;
}

// Brings the channels that stop to the begin of zeros_, the longest first, and returns their number: as many as chance
// does not explain.
std::size_t ZeroedChannelFinder::channels_of_stop() {
  std::erase_if(zeros_, [](const Zeros& one) {
    return 2 * (one.zeros[0] + one.zeros[1]) >= one.looks[0] + one.looks[1];
  });
  if (zeros_.size() < least_) return 0;
  std::ranges::stable_sort(zeros_, std::greater(), &Zeros::length);
  std::vector<Zeros> sums(zeros_.size());
  for (std::size_t k = 0; k < zeros_.size(); ++k) {
    if (k > 0) sums[k] = sums[k - 1];
    for (int side = 0; side < 2; ++side) {
      sums[k].looks[side] += zeros_[k].looks[side];
      sums[k].zeros[side] += zeros_[k].zeros[side];
    }
  }
  for (std::size_t channels = zeros_.size(); channels >= least_; --channels) {
    const std::size_t spectra = zeros_[channels - 1].length();
    if (channels < zeros_.size() && zeros_[channels].length() == spectra) continue;
    if (spectra >= kLeastSpectra && too_rare(sums, channels, spectra)) return channels;
  }
  return 0;
}

void ZeroedChannelFinder::decide(const Series& series, const Suspect& suspect,
                                 std::vector<InputTurn>& turns) {
  const auto [t, input] = suspect;
  Refused& refused = refused_[input];
  if (const std::uint64_t part = (position_ + t) / kRefusedPart; part != refused.part)
    refused = {part, 0};
  if (refused.count == kMostRefused) return;
  zeros_.clear();
  bool stopped = false;
  for (std::size_t c = 0; c < channels_; ++c) {
    if (until_[c * inputs_ + input] > position_ + t)
      stopped = true;
    else if (series.zero(c, input, t))
      zeros_.push_back({.channel = c});
  }
  if (zeros_.size() < least_) {
    if (!stopped) ++refused.count;
    return;
  }
  for (Zeros& one : zeros_) one = zeros_around(series, one.channel, suspect);
  const std::size_t channels = channels_of_stop();
  if (channels == 0) {
    ++refused.count;
    return;
  }
  for (std::size_t k = 0; k < channels; ++k) {
    const Zeros& one = zeros_[k];
    const std::size_t end = series.end_of_zeros(one.channel, input, one.end, series.end());
    const std::size_t row = one.channel * inputs_ + input;
    stops_.push_back({row, position_ + one.first, position_ + end});
    until_[row] = position_ + end;
  }
  turns.emplace_back(input, stops_.back().first);
  turns.emplace_back(input, stops_.back().end);
}

void ZeroedChannelFinder::look(const CameBlock& block, const CameBlock* next,
                               std::vector<core::InvalidSpan>& spans,
                               std::vector<InputTurn>& turns) {
  if (!used_) return;
  const Series series(block, next);
  // Those that reached the end of what was known.
  for (Stop& stop : stops_) {
    const auto from = static_cast<std::size_t>(stop.end - position_);
    stop.end =
        position_ + series.end_of_zeros(stop.row / inputs_, stop.row % inputs_, from, series.end());
    until_[stop.row] = std::max(until_[stop.row], stop.end);
  }
  const std::size_t first = static_cast<std::size_t>(std::max(decided_, position_) - position_);
  const std::size_t end =
      std::min(series.end(),
               series.samples() + (next != nullptr ? kFollowedBefore + kBeside : std::size_t{0}));
  if (first < end) {
    const std::size_t values = (end - first) * channels_ * inputs_;
    std::vector<std::vector<Suspect>> suspects(
        std::clamp<std::size_t>(values / kValuesOfPiece, 1, threads_));
    core::in_pieces(end - first, suspects.size(),
                    [&](std::size_t piece, std::size_t from, std::size_t to) {
                      const auto look_in = [&]<class Word>(Word) {
                        suspects_in<Word>(series, first + from, first + to, suspects[piece]);
                      };
                      series.with_word(look_in);
                    });
    for (const std::vector<Suspect>& some : suspects)
      for (const Suspect& one : some) decide(series, one, turns);
    decided_ = position_ + end;
  }
  const std::uint64_t behind = position_ + series.samples();
  for (const Stop& stop : stops_) {
    const std::uint64_t from = std::max(stop.first, position_), to = std::min(stop.end, behind);
    if (from < to)
      spans.push_back({stop.row, static_cast<std::size_t>(from - position_),
                       static_cast<std::size_t>(to - from)});
  }
  std::erase_if(stops_, [&](const Stop& stop) { return stop.end < behind; });
  position_ = behind;
}

}  // namespace tautline::stream

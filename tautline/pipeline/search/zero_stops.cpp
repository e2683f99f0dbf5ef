#include "tautline/pipeline/search/zero_stops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"
#include "tautline/pipeline/search/common_stops.h"
#include "tautline/pipeline/search/empty_rule.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kLeastZeroChannels = 4, kShareOfZeros = 64, kLeastZeroSpectra = 3;
// Of one or two spectra.
constexpr std::size_t kShareBeginning = 16;
// That tell whether the level fell in all channels.
constexpr std::size_t kLeastOthers = 32;
// A value is near zero that is nearer than a quarter of the channel's mean.
constexpr float kNear = 4;
// From one spectrum beside the zeros to the next, in which they are counted.
constexpr std::ptrdiff_t kZeroStride = 4;

bool most_of(std::size_t left, std::size_t of) {
  return 4 * left >= 3 * of;
}

// In lanes, which compilers make vectors of.
template <class Value>
std::size_t count_value(const Value* values, Value value, std::size_t count) {
  constexpr std::size_t kLanes = 64 / sizeof(Value), kMostOfLane = 255;
  std::size_t sum = 0, c = 0;
  while (c + kLanes <= count) {
    Value lanes[kLanes] = {};
    for (std::size_t n = 0; n < kMostOfLane && c + kLanes <= count; ++n, c += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] = static_cast<Value>(lanes[lane] + (values[c + lane] == value ? 1 : 0));
    std::uint32_t of_lanes = 0;
    for (const Value lane : lanes) of_lanes += lane;
    sum += of_lanes;
  }
  for (; c < count; ++c) sum += values[c] == value ? 1 : 0;
  return sum;
}

}  // namespace

ZeroStops::ZeroStops(const formats::FilterbankDescription& description,
                     std::span<const std::size_t> left_out)
    : delivered_(description.delivered),
      value_bytes_(formats::bytes_of(description.delivered)),
      zeros_(lost_spectrum(description, channels_counting(description, left_out.size()))),
      all_(description.channels),
      chance_(core::log_chance_of_nothing(description.rate_hz.value())) {
  if (zeros_.empty()) return;
  counting_ = all_ - left_out.size();
  channels_ = std::max(kLeastZeroChannels, core::divide_up(counting_, kShareOfZeros));
  beginning_ = std::max(kLeastZeroChannels, core::divide_up(counting_, kShareBeginning));
  least_of_begin_ = beginning_;
  left_out_.assign(all_, 0);
  for (const std::size_t c : left_out) left_out_[c] = 1;
  counts_.assign(all_, 1);
  for (const std::size_t c : left_out) counts_[c] = 0;
  zero_.assign(all_, 0);
}

std::size_t ZeroStops::count(const std::byte* spectrum) const {
  const auto count = [&]<class Value>(Value value) {
    std::memcpy(&value, zeros_.data(), sizeof value);
    return count_value(reinterpret_cast<const Value*>(spectrum), value, all_);
  };
  if (value_bytes_ == 1) return count(std::uint8_t{});
  if (value_bytes_ == 2) return count(std::uint16_t{});
  return count(std::uint32_t{});
}

// Clears the flags of channels that are not zero; how many are left.
std::size_t ZeroStops::zeros_in(const std::byte* spectrum, std::vector<std::uint8_t>& flags) const {
  return keep_equal(zeros_.data(), spectrum, value_bytes_, flags);
}

// Whether three quarters of `stopped` channels are zero in one more spectrum; `left` of them then.
bool ZeroStops::still_zero(const std::byte* spectrum, std::size_t stopped, std::size_t& left) {
  if (spectrum == nullptr) return false;
  flags_ = inside_;
  const std::size_t there = zeros_in(spectrum, flags_);
  if (!most_of(there, stopped)) return false;
  inside_.swap(flags_);
  left = there;
  return true;
}

// Of C channels k or more are zero in m given spectra with a probability below (C e q^m / k)^k.
double ZeroStops::log_chance(std::size_t channels, std::size_t spectra, double q) const {
  const auto k = static_cast<double>(channels);
  return k * (std::log(static_cast<double>(counting_) / k) + 1 +
              static_cast<double>(spectra) * std::log(q));
}

bool ZeroStops::stop_at(const Spectra& spectra, std::ptrdiff_t t) {
  const std::byte *first = spectra(t), *second = spectra(t + 1);
  if (first == nullptr || second == nullptr) return false;
  stopped_ = counts_;
  if (zeros_in(first, stopped_) < channels_) return false;
  const std::size_t stopped = zeros_in(second, stopped_);
  if (stopped < channels_ || stopped == counting_) return false;

  // The spectra in which most of them are zero: [from, to).
  inside_ = stopped_;
  std::size_t left = stopped;
  const std::ptrdiff_t least = t - static_cast<std::ptrdiff_t>(kBefore),
                       end = t + static_cast<std::ptrdiff_t>(kBehind);
  std::ptrdiff_t from = t, to = t + 2;
  while (to < end && still_zero(spectra(to), stopped, left)) ++to;
  while (from > least && still_zero(spectra(from - 1), stopped, left)) --from;
  // One that equals the one before it tells nothing: each may stand several times.
  std::size_t different = 1;
  for (std::ptrdiff_t at = from + 1; at < to; ++at)
    if (std::memcmp(spectra(at - 1), spectra(at), zeros_.size()) != 0) ++different;
  if (different < kLeastZeroSpectra) return false;

  // How often they are zero beside these.
  std::size_t zeros = 0, values = 0;
  const auto look = [&](std::ptrdiff_t at) {
    const std::byte* spectrum = spectra(at);
    if (spectrum == nullptr) return;
    flags_ = stopped_;
    zeros += zeros_in(spectrum, flags_);
    values += stopped;
  };
  for (std::ptrdiff_t at = from - 2; at >= least; at -= kZeroStride) look(at);
  for (std::ptrdiff_t at = to + 1; at < end; at += kZeroStride) look(at);
  const double q = static_cast<double>(zeros + 1) / static_cast<double>(values + 2);
  return log_chance(left, different, q) <= chance_;
}

// As stop_at(), with each spectrum beside. Channels that were zero before do not begin; spectra that were lost as a
// whole tell nothing.
bool ZeroStops::begins_at(const Spectra& spectra, std::ptrdiff_t t) {
  const auto known = [&](std::ptrdiff_t at) {
    const std::byte* spectrum = spectra(at);
    const bool lost =
        spectrum != nullptr && std::memcmp(spectrum, zeros_.data(), zeros_.size()) == 0;
    return lost ? nullptr : spectrum;
  };
  const auto equal = [&](const std::byte* a, const std::byte* b) {
    return b != nullptr && std::memcmp(a, b, zeros_.size()) == 0;
  };
  const std::byte *first = spectra(t), *before = known(t - 1);
  if (first == nullptr) return false;
  stopped_ = counts_;
  std::size_t stopped = zeros_in(first, stopped_);
  if (stopped < beginning_) return false;
  if (before != nullptr) {
    flags_ = stopped_;
    stopped -= zeros_in(before, flags_);
    for (std::size_t c = 0; c < all_; ++c)
      stopped_[c] = static_cast<std::uint8_t>(stopped_[c] ^ flags_[c]);
  }
  if (stopped < beginning_) return false;

  constexpr auto beside = static_cast<std::ptrdiff_t>(kBeside);
  const std::ptrdiff_t end = t + beside + 1;
  inside_ = stopped_;
  std::size_t left = stopped, different = 1;
  std::ptrdiff_t to = t + 1;
  for (const std::byte* last = first; to < end && still_zero(known(to), stopped, left); ++to) {
    if (!equal(last, spectra(to))) ++different;
    last = spectra(to);
  }
  // So many zeros beside are too many.
  const double q = std::exp((chance_ - log_chance(left, 0, 1)) /
                            static_cast<double>(left * different)),
               most = q * static_cast<double>(2 * kBeside * stopped + 2) - 1;
  std::size_t zeros = 0;
  beside_.clear();
  const auto look = [&](std::ptrdiff_t at, std::ptrdiff_t nearer) {
    const std::byte* spectrum = known(at);
    if (spectrum == nullptr || equal(spectrum, spectra(nearer))) return;
    flags_ = stopped_;
    zeros += zeros_in(spectrum, flags_);
    beside_.push_back(spectrum);
  };
  for (std::ptrdiff_t n = 0; n < beside && static_cast<double>(zeros) <= most; ++n) {
    look(t - 1 - n, t - n);
    if (to + n < end) look(to + n, to + n - 1);
  }
  if (beside_.empty() || static_cast<double>(zeros) > most) return false;
  const NearZero near = near_zero(first, stopped);
  return log_chance(left, different, near.beside) <= chance_ &&
         log_chance(left, 1, near.others) <= chance_;
}

ZeroStops::NearZero ZeroStops::near_zero(const std::byte* first, std::size_t stopped) {
  return formats::with_samples(delivered_, zeros_.data(), [&](const auto* zeros) {
    using Values = decltype(zeros);
    const auto zero = static_cast<float>(zeros[0]);
    const auto count = static_cast<float>(beside_.size());
    sums_.assign(all_, 0);
    for (const std::byte* spectrum : beside_)
      for (std::size_t c = 0; c < all_; ++c)
        sums_[c] += static_cast<float>(reinterpret_cast<Values>(spectrum)[c]) - zero;
    // One step from zero is near it, too; exact for integers.
    const float step = std::is_same_v<Values, const float*> ? 0 : (kNear - 1) * count;
    const auto is_near = [&](const std::byte* spectrum, std::size_t c) {
      const float value = static_cast<float>(reinterpret_cast<Values>(spectrum)[c]) - zero;
      return !(kNear * count * std::fabs(value) > std::fabs(sums_[c]) + step);
    };
    std::size_t near_beside = 0, others = 0, near_others = 0;
    for (const std::byte* spectrum : beside_)
      for (std::size_t c = 0; c < all_; ++c)
        near_beside += stopped_[c] != 0 && is_near(spectrum, c) ? 1 : 0;
    for (std::size_t c = 0; c < all_; ++c) {
      if (counts_[c] == 0 || reinterpret_cast<Values>(first)[c] == zeros[c]) continue;
      ++others;
      near_others += is_near(first, c) ? 1 : 0;
    }
    return NearZero{
        static_cast<double>(near_beside + 1) / static_cast<double>(beside_.size() * stopped + 2),
        others < kLeastOthers ? 1 : static_cast<double>(near_others) / static_cast<double>(others)};
  });
}

// Of the spectra looked at last. Their median number of zeros, which losses leave as it is.
void ZeroStops::learn_chance() {
  std::size_t others = 0;
  for (std::size_t c = 0; c < all_; ++c) {
    counts_[c] = left_out_[c] == 0 && 2 * zero_[c] <= looks_.size() ? 1 : 0;
    others += counts_[c] == 0 ? zero_[c] : 0;
  }
  double q = 0;
  if (!looks_.empty()) {
    others /= looks_.size();
    const auto middle = looks_.begin() + static_cast<std::ptrdiff_t>(looks_.size() / 2);
    std::nth_element(looks_.begin(), middle, looks_.end());
    q = static_cast<double>(*middle - std::min(*middle, others)) / static_cast<double>(counting_);
  }
  beginning_ = std::max(kLeastZeroChannels, core::divide_up(counting_, kShareBeginning));
  while (beginning_ <= counting_ && log_chance(beginning_, 1, q) > chance_) ++beginning_;
  least_of_begin_ = beginning_ + others;
}

void ZeroStops::learn(const std::byte* spectrum, std::uint64_t position) {
  if (position % kLearnEvery != 0) return;
  if (position / kLearnt != piece_) {
    piece_ = position / kLearnt;
    learn_chance();
    std::fill(zero_.begin(), zero_.end(), 0);
    looks_.clear();
  }
  flags_.assign(all_, 1);
  looks_.push_back(zeros_in(spectrum, flags_));
  for (std::size_t c = 0; c < all_; ++c) zero_[c] += flags_[c];
}

}  // namespace tautline::pipeline

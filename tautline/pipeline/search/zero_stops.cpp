#include "tautline/pipeline/search/zero_stops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"
#include "tautline/pipeline/search/common_stops.h"
#include "tautline/pipeline/search/empty_rule.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kLeastZeroChannels = 4, kShareOfZeros = 64, kLeastZeroSpectra = 3;
// From one spectrum beside the zeros to the next, in which they are counted.
constexpr std::ptrdiff_t kZeroStride = 4;

bool most_of(std::size_t left, std::size_t of) {
  return 4 * left >= 3 * of;
}

}  // namespace

ZeroStops::ZeroStops(const formats::FilterbankDescription& description,
                     std::span<const std::size_t> left_out)
    : value_bytes_(formats::bytes_of(description.delivered)),
      zeros_(lost_spectrum(description, channels_counting(description, left_out.size()))),
      all_(description.channels),
      chance_(core::log_chance_of_nothing(description.rate_hz.value())) {
  if (zeros_.empty()) return;
  counting_ = all_ - left_out.size();
  channels_ = std::max(kLeastZeroChannels, core::divide_up(counting_, kShareOfZeros));
  left_out_.assign(all_, 0);
  for (const std::size_t c : left_out) left_out_[c] = 1;
  counts_.assign(all_, 1);
  for (const std::size_t c : left_out) counts_[c] = 0;
  zero_.assign(all_, 0);
}

std::size_t ZeroStops::next_window(std::size_t k, std::uint64_t position) const {
  const auto behind = static_cast<std::size_t>((position + k) % kEvery);
  return behind == 0 ? k : k + kEvery - behind;
}

bool ZeroStops::may_stop_at(const std::byte* spectrum) const {
  return count_equal(spectrum, zeros_.data(), value_bytes_, all_) >= channels_;
}

// Clears the flags of channels that are not zero; how many are left.
std::size_t ZeroStops::zeros_in(const std::byte* spectrum, std::vector<std::uint8_t>& flags) const {
  return keep_equal(zeros_.data(), spectrum, value_bytes_, flags);
}

// Of C channels k or more are zero in m given spectra with a probability below (C e q^m / k)^k.
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
  const auto still_zero = [&](std::ptrdiff_t at) {
    const std::byte* spectrum = spectra(at);
    if (spectrum == nullptr) return false;
    flags_ = inside_;
    const std::size_t there = zeros_in(spectrum, flags_);
    if (!most_of(there, stopped)) return false;
    inside_.swap(flags_);
    left = there;
    return true;
  };
  const std::ptrdiff_t least = t - static_cast<std::ptrdiff_t>(kBefore),
                       end = t + static_cast<std::ptrdiff_t>(kBehind);
  std::ptrdiff_t from = t, to = t + 2;
  while (to < end && still_zero(to)) ++to;
  while (from > least && still_zero(from - 1)) --from;
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
  const auto k = static_cast<double>(left);
  return k * (std::log(static_cast<double>(counting_) / k) + 1 +
              static_cast<double>(different) * std::log(q)) <=
         chance_;
}

void ZeroStops::learn(const std::byte* spectrum, std::uint64_t position) {
  if (position % kLearnEvery != 0) return;
  if (position / kLearnt != piece_) {
    piece_ = position / kLearnt;
    for (std::size_t c = 0; c < all_; ++c)
      counts_[c] = left_out_[c] == 0 && 2 * zero_[c] <= looks_ ? 1 : 0;
    std::fill(zero_.begin(), zero_.end(), 0);
    looks_ = 0;
  }
  flags_.assign(all_, 1);
  zeros_in(spectrum, flags_);
  for (std::size_t c = 0; c < all_; ++c) zero_[c] += flags_[c];
  ++looks_;
}

}  // namespace tautline::pipeline

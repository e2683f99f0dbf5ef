#include "tautline/pipeline/search/empty_rule.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"

namespace tautline::pipeline {

namespace {

// A spectrum that is repeated once is no pulse.
constexpr std::size_t kLeastRepeats = 2;
// A pulse that is clipped in all channels is shorter.
constexpr std::size_t kSureRepeats = 16;
// Of channels that stop together: fewer take more time to look for, and may be a bright pulse that is clipped.
constexpr std::size_t kLeastCommonRepeats = 24, kLeastTogether = 4, kShareTogether = 16;
// Of a wider part of the band.
constexpr std::size_t kLeastWideRepeats = 12, kShareWide = 5;
// Where half of them have other values before and behind, noise is zero in all of them less than once in 1e9 hours.
constexpr std::size_t kLeastOfLost = 64;
constexpr int kLeastBitsOfLost = 8;

// No pulse that is clipped takes longer; and what is read ahead to know, at most.
constexpr double kLongestPulse = 1;
constexpr double kMostClipped = 65'536;

// How often noise has its commonest value at most: 95 % ones, 89 % of one value, an rms of 0.4 steps, of 0.56.
double most_of_one_value(int bits) {
  if (bits <= 2) return bits <= 1 ? 0.95 : 0.89;
  return bits <= 8 ? 0.79 : 0.63;
}

}  // namespace

std::size_t empty_repeats_of_channel(const formats::FilterbankDescription& description) {
  return std::max(
      kSureRepeats,
      core::repeats_of_nothing(description.bits, description.rate_hz.value() *
                                                     static_cast<double>(description.channels)));
}

// Of C channels k or more repeat their values n times from a sample on with a probability below (C e p^n / k)^k.
CommonRule common_rule(const formats::FilterbankDescription& description, std::size_t left_out) {
  if (description.time_series || description.channels <= left_out) return {};
  const std::size_t counting = description.channels - left_out;
  const std::size_t channels = std::max(kLeastTogether, core::divide_up(counting, kShareTogether));
  if (channels >= counting) return {};
  const double chance = core::log_chance_of_nothing(description.rate_hz.value());
  const auto k = static_cast<double>(channels);
  const double repeats = (std::log(static_cast<double>(counting) / k) + 1 - chance / k) /
                         -std::log(core::chance_of_a_repeat(description.bits));
  const std::size_t least =
      std::max(kLeastCommonRepeats, static_cast<std::size_t>(std::ceil(repeats)));
  if (2 * least > empty_repeats_of_channel(description)) return {};
  return {least, channels, least};
}

// Of C channels k or more have one value n + 1 times from a sample on with a probability of at most
// exp(-C (s ln(s / q) + (1 - s) ln((1 - s) / (1 - q)))), s = k / C, q = u^(n + 1) (Chernoff's bound), where u is the
// probability of the commonest value.
CommonRule wide_rule(const formats::FilterbankDescription& description, std::size_t left_out) {
  if (description.time_series || description.channels <= left_out) return {};
  const std::size_t counting = description.channels - left_out;
  const std::size_t channels = std::max(kLeastTogether, core::divide_up(counting, kShareWide));
  if (channels >= counting) return {};
  const double chance = core::log_chance_of_nothing(description.rate_hz.value());
  const double share = static_cast<double>(channels) / static_cast<double>(counting);
  const auto unlikely = [&](std::size_t repeats) {
    const double q =
        std::pow(most_of_one_value(description.bits), static_cast<double>(repeats + 1));
    return q < share &&
           static_cast<double>(counting) *
                   (share * std::log(share / q) + (1 - share) * std::log((1 - share) / (1 - q))) >=
               -chance;
  };
  // Stops that the other rules always find.
  const CommonRule common = common_rule(description, left_out);
  const std::size_t found =
      common.repeats > 0 ? 2 * common.repeats : empty_repeats_of_channel(description) + 1;
  std::size_t repeats = kLeastWideRepeats;
  while (repeats + kWideEvery < found && !unlikely(repeats)) ++repeats;
  if (repeats + kWideEvery >= found) return {};
  return {repeats, channels, kWideEvery};
}

bool spectra_differ(const formats::FilterbankDescription& description, std::size_t counting) {
  return !description.time_series &&
         std::pow(core::chance_of_a_repeat(description.bits), static_cast<double>(counting)) < 1e-3;
}

std::vector<std::byte> lost_spectrum(const formats::FilterbankDescription& description,
                                     std::size_t counting) {
  if (description.time_series || description.bits < kLeastBitsOfLost || counting < kLeastOfLost)
    return {};
  std::vector<std::byte> zeros(description.sample_bytes());
  if (description.delivered == formats::Delivered::f32) return zeros;
  formats::with_samples(description.delivered, zeros.data(), [&](auto* values) {
    using Value = std::remove_pointer_t<decltype(values)>;
    std::fill_n(values, description.channels, static_cast<Value>(description.zero_level));
  });
  return zeros;
}

std::vector<std::byte> largest_value(const formats::FilterbankDescription& description) {
  if (description.time_series || description.delivered == formats::Delivered::f32) return {};
  std::vector<std::byte> value(formats::bytes_of(description.delivered));
  formats::with_samples(description.delivered, value.data(), [&](auto* values) {
    using Value = std::remove_pointer_t<decltype(values)>;
    *values = static_cast<Value>(description.largest_value());
  });
  return value;
}

std::uint64_t clipped_samples(const formats::FilterbankDescription& description) {
  return static_cast<std::uint64_t>(
      std::clamp(std::ceil(kLongestPulse * description.rate_hz.value()), 1.0, kMostClipped));
}

// Trials of series are sums of the same channels: they count as one.
std::size_t channels_counting(const formats::FilterbankDescription& description,
                              std::size_t left_out) {
  if (description.time_series || description.channels <= left_out) return 1;
  return description.channels - left_out;
}

std::size_t empty_repeats_of_spectra(const formats::FilterbankDescription& description,
                                     std::size_t counting) {
  return std::max(kLeastRepeats, core::divide_up(core::repeats_of_nothing(
                                                     description.bits, description.rate_hz.value()),
                                                 counting));
}

std::size_t sure_repeats_of_spectra(const formats::FilterbankDescription& description,
                                    std::size_t counting) {
  return std::max(kSureRepeats, empty_repeats_of_spectra(description, counting));
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/search/empty_rule.h"

#include <algorithm>
#include <cmath>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"

namespace tautline::pipeline {

namespace {

// Shorter stretches are not worth a gap, whatever their probability.
constexpr std::size_t kLeastRepeats = 16;
// Of channels that stop together: fewer take more time to look for, and may be a bright pulse that is clipped.
constexpr std::size_t kLeastCommonRepeats = 24, kLeastTogether = 4, kShareTogether = 16;

}  // namespace

std::size_t empty_repeats_of_channel(const formats::FilterbankDescription& description) {
  return std::max(
      kLeastRepeats,
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
  return {least, channels};
}

// Trials of series are sums of the same channels: they count as one.
std::size_t empty_repeats_of_spectra(const formats::FilterbankDescription& description,
                                     std::size_t left_out) {
  const std::size_t counting = description.time_series ? 1 : description.channels - left_out;
  return std::max(kLeastRepeats, core::divide_up(core::repeats_of_nothing(
                                                     description.bits, description.rate_hz.value()),
                                                 std::max<std::size_t>(1, counting)));
}

}  // namespace tautline::pipeline

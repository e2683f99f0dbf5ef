#include "tautline/pipeline/search/empty_rule.h"

#include <algorithm>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"

namespace tautline::pipeline {

namespace {

// Shorter stretches are not worth a gap, whatever their probability.
constexpr std::size_t kLeastRepeats = 16;

}  // namespace

std::size_t empty_repeats_of_channel(const formats::FilterbankDescription& description) {
  return std::max(
      kLeastRepeats,
      core::repeats_of_nothing(description.bits, description.rate_hz.value() *
                                                     static_cast<double>(description.channels)));
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

#include "tautline/pipeline/search/search_latency.h"

#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

// Of the latency: short blocks cost overlap, long ones wait.
constexpr double kBlockShare = 1.0 / 16;
// Waits of stages::detect::Plan::latency_samples, in widths of the widest boxcar: for later members, and of the
// shortest block of noise and running mean that there may be.
constexpr double kWidthsBehind = 3, kWidthsOfNoise = 4, kWidthsOfBaseline = 4;
// Of the running mean that must have come behind a sample: 18 of 33 segments.
constexpr double kBaselineAhead = 18.0 / 33;
// Of the latency, or of their shortest delay where that is longer: what the delays of trials that are searched together
// span.
constexpr double kRangeShare = 0.5;
// The running mean that a search has when it may wait.
constexpr double kLongBaseline = 2, kLongBaselineWidths = 16;

}  // namespace

LatencyShares share_latency(double whole_s, double held_s, double block_s, double sample_s,
                            const SearchConfig& config) {
  const double width_s = config.max_width_s, latency_s = whole_s - held_s;
  LatencyShares shares;
  shares.block_s = std::max(block_s, kBlockShare * latency_s);
  shares.noise_s = std::max(kWidthsOfNoise * width_s,
                            static_cast<double>(stages::detect::kLeastNoiseSamples) * sample_s);
  shares.baseline_s = config.baseline_s > 0 ? config.baseline_s : kWidthsOfBaseline * width_s;
  // Segments and blocks are whole samples, some of them even.
  const double fixed_s =
      kWidthsBehind * width_s + static_cast<double>(config.links.time_samples + 64) * sample_s;
  const double left_s = latency_s - shares.block_s - fixed_s;
  const double spare_s = left_s - shares.noise_s - kBaselineAhead * shares.baseline_s;
  if (spare_s < 0)
    throw core::Error(
        core::ErrorKind::config, "latency_s", fmt::format("{:.6g} s", whole_s),
        fmt::format("about {:.3g} s or more, for boxcars of {:.6g} s, samples of {:.6g} s{}",
                    whole_s - spare_s / (1 - kBlockShare), width_s, sample_s,
                    held_s > 0 ? fmt::format(" and {:.3g} s that cleaning takes", held_s) : ""),
        "make `max_width_s` smaller, or allow for more");
  // A third for the noise, the rest for the running mean.
  const double noise_s = std::max(shares.noise_s, std::min(left_s / 3, shares.noise_s + spare_s));
  if (config.baseline_s == 0)
    shares.baseline_s = std::max(shares.baseline_s,
                                 std::min((left_s - noise_s) / kBaselineAhead,
                                          std::max(kLongBaseline, kLongBaselineWidths * width_s)));
  shares.noise_s = noise_s;
  return shares;
}

stages::dedisperse::DmPlan split_by_delay(const stages::dedisperse::DmPlan& trials,
                                          const stages::dedisperse::Band& band, double latency_s) {
  const auto [low, high] =
      std::minmax_element(band.frequencies_mhz.begin(), band.frequencies_mhz.end());
  stages::dedisperse::DmPlan split;
  double end_s = 0;  // of the delays of a range
  for (const auto& range : trials.ranges) {
    bool begins = true;
    for (const double dm : range.dms) {
      const double delay_s = core::dispersion_delay_s(dm, *low, *high, band.dm_constant);
      if (begins || delay_s > end_s) {
        end_s = delay_s + std::max(latency_s, delay_s) * kRangeShare;
        split.ranges.push_back({{}, range.downsample, split.trials()});
      }
      begins = false;
      split.ranges.back().dms.push_back(dm);
    }
  }
  return split;
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/search/search_noise.h"

#include <fmt/format.h>

#include <algorithm>

namespace tautline::pipeline {

const core::Candidate* widest_of_best(std::span<const core::Candidate> candidates) {
  constexpr std::size_t kBest = 10, kLeastWidth = 4;
  const auto best = candidates.first(std::min(kBest, candidates.size()));
  const auto widest = std::max_element(best.begin(), best.end(), [](const auto& a, const auto& b) {
    return a.width_samples < b.width_samples;
  });
  return widest == best.end() || widest->width_samples < kLeastWidth ? nullptr : &*widest;
}

std::size_t samples_for_noise(std::size_t width_samples) {
  constexpr std::size_t kSums = 256, kLeast = 65536, kMost = std::size_t{1} << 20;
  return std::clamp(kSums * width_samples, kLeast, kMost);
}

bool channels_stopped(const EmptyFound& found) {
  return std::ranges::any_of(found.channels, [](std::uint64_t samples) { return samples > 0; });
}

std::string noise_warning(const WidthNoise& noise, double dm, double rate_hz,
                          const ZeroDmAgainstNoise& zero_dm) {
  constexpr double kHelps = 0.75;
  std::string text = fmt::format(
      "sums of {} samples ({:.4g} s, DM {:.6g}) scatter {:.3g} times as much as those of white "
      "noise: S/N of pulses as wide are too high by about that. `noise` width measures the "
      "noise of each width, a shorter `baseline_s` takes slow drifts off",
      noise.width, static_cast<double>(noise.width) / rate_hz, dm, noise.excess);
  if (!zero_dm.possible) return text;
  const bool helps = zero_dm.excess && *zero_dm.excess < kHelps * noise.excess;
  if (zero_dm.excess && !helps) return text;
  if (zero_dm.stopped)
    return text +
           ". Channels stopped for a while in these data: `zero_dm` is no remedy, as it makes "
           "losses of some channels pulses of all";
  if (helps)
    text += fmt::format(
        ". The channels have this noise in common: with `zero_dm` the sums scatter {:.3g} times as "
        "much as those of white noise",
        *zero_dm.excess);
  else
    text += ", `zero_dm` what all channels have in common";
  return text +
         ". Leave `zero_dm` out where packets of some channels are lost, of which it makes pulses, "
         "and for pulses whose sweep is shorter than their width, which it takes off";
}

}  // namespace tautline::pipeline

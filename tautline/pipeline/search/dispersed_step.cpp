#include "tautline/pipeline/search/dispersed_step.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tautline/core/step_fit.h"
#include "tautline/pipeline/search/level_blocks.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kGroups = 16;  // of channels, by delay
constexpr std::uint64_t kFarthest = core::kStepSide * kMostStepSpectra;
constexpr std::size_t kLeastDelay = 32;  // spectra from the highest to the lowest channel
constexpr double kDelayRatio = 1.15;     // of one that is tried to the next
// Chi squared: noise gains as much by the best of some 40 delays less than once in a million steps.
constexpr double kGain = 40;

// Channels of similar delay: sums of their values before each time, in their noise, [time].
struct Group {
  double delay = 0;  // 0 of the highest channel, 1 of the lowest
  std::vector<double> sums;
};

// By delay: the channels that count, and the delays of all.
std::vector<std::size_t> by_delay(const std::vector<double>& mhz, const std::vector<bool>& counts,
                                  const BlockLevels& levels, std::vector<double>& delays) {
  const auto [low, high] = std::ranges::minmax(mhz);
  const double least = 1 / (high * high), most = 1 / (low * low);
  std::vector<std::size_t> channels;
  for (std::size_t c = 0; c < mhz.size(); ++c) {
    delays.push_back(most > least ? (1 / (mhz[c] * mhz[c]) - least) / (most - least) : 0);
    if (counts[c] && levels.deviation[c] > 0) channels.push_back(c);
  }
  std::ranges::stable_sort(channels, {}, [&](std::size_t c) { return delays[c]; });
  return channels;
}

template <class Sample>
std::vector<Group> sum_groups(const Sample* samples, std::size_t count, const BlockLevels& levels,
                              const std::vector<std::size_t>& channels,
                              const std::vector<double>& delays) {
  const std::size_t groups = std::min(kGroups, channels.size()), all = delays.size();
  std::vector<Group> sums(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t begin = g * channels.size() / groups;
    const std::size_t end = (g + 1) * channels.size() / groups;
    sums[g].sums.assign(count + 1, 0);
    for (std::size_t k = begin; k < end; ++k)
      sums[g].delay += delays[channels[k]] / static_cast<double>(end - begin);
    for (std::size_t t = 0; t < count; ++t) {
      double sum = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t c = channels[k];
        const double x =
            (static_cast<double>(samples[t * all + c]) - levels.mean[c]) / levels.deviation[c];
        sum += std::isfinite(x) ? x : 0;
      }
      sums[g].sums[t + 1] = sums[g].sums[t] + sum;
    }
  }
  return sums;
}

// Sums before each time become the chi squared that a change at that time takes away, in the group's noise from one time
// to the next: levels that change slowly do not count.
void explain(Group& group) {
  std::vector<double>& sums = group.sums;
  const std::size_t count = sums.size() - 1;
  double squares = 0;
  for (std::size_t t = 2; t <= count; ++t) {
    const double change = sums[t] - 2 * sums[t - 1] + sums[t - 2];
    squares += change * change;
  }
  const double variance = squares / (2 * static_cast<double>(count - 1));
  const double all = sums[count];
  const auto n = static_cast<double>(count);
  for (std::size_t t = 0; t <= count; ++t) {
    const auto k = static_cast<double>(t);
    const double step = sums[t] - all * k / n;
    sums[t] = t > 0 && t < count && variance > 0 ? step * step * n / (k * (n - k) * variance) : 0;
  }
}

// At the best place of a change with this delay.
double chi_squared(const std::vector<Group>& groups, std::size_t delay) {
  const std::size_t count = groups.front().sums.size() - 1 - delay;
  std::vector<double> explained(count, 0);
  for (const Group& group : groups) {
    const auto shift =
        static_cast<std::size_t>(std::lround(group.delay * static_cast<double>(delay)));
    for (std::size_t t = 0; t < count; ++t) explained[t] += group.sums[t + shift];
  }
  return *std::max_element(explained.begin(), explained.end());
}

}  // namespace

bool step_is_dispersed(formats::FilterbankReader& reader, const StepBounds& bounds,
                       const std::vector<bool>& counts) {
  const formats::FilterbankDescription& description = reader.description();
  const std::uint64_t side =
      std::min({kFarthest, bounds.sample - bounds.low, bounds.high - bounds.sample});
  if (description.channel_mhz.size() != description.channels || side < 2 * kLeastDelay)
    return false;
  const BlockLevels levels = levels_in(reader, {{bounds.sample - side, side}});
  std::vector<double> delays;
  const std::vector<std::size_t> channels =
      by_delay(description.channel_mhz, counts, levels, delays);
  if (channels.size() < 2) return false;
  std::vector<std::byte> bytes(2 * static_cast<std::size_t>(side) * description.sample_bytes());
  const std::size_t got =
      reader.read_across(bounds.sample - side, 2 * static_cast<std::size_t>(side), bytes);
  if (got < 4 * kLeastDelay) return false;
  std::vector<Group> groups = formats::with_samples(
      description.delivered, bytes.data(),
      [&](const auto* samples) { return sum_groups(samples, got, levels, channels, delays); });
  for (Group& group : groups) explain(group);
  const double at_once = chi_squared(groups, 0);
  for (double delay = kLeastDelay; delay <= static_cast<double>(got / 2); delay *= kDelayRatio)
    if (chi_squared(groups, static_cast<std::size_t>(delay)) > at_once + kGain) return true;
  return false;
}

}  // namespace tautline::pipeline

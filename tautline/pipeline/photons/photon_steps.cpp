#include "tautline/pipeline/photons/photon_steps.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tautline::pipeline {

void PhotonSteps::join() {
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Step step = steps_[k];
    if (k > 0) steps_[k] = {};
    Step& to = steps_[k / 2];
    if (step.photons == 0 || k == 0) continue;
    if (to.photons == 0) to.first = step.first;
    to.photons += step.photons;
    to.last = step.last;
  }
  steps_.resize((steps_.size() + 1) / 2);
  ++shift_;
}

void PhotonSteps::add_all(std::span<const std::uint64_t> ticks) {
  if (ticks.empty()) return;
  LongestGaps own(gaps_.least());
  own.add(0, ticks.front());
  own.add_between(ticks);
  own.add(ticks.back() + 1, std::numeric_limits<std::uint64_t>::max());
  if (any_detector_)
    gaps_.intersect(own);
  else
    gaps_ = std::move(own);
  any_detector_ = true;
  while (ticks.back() >> shift_ >= kMost) join();
  steps_.resize(std::max<std::size_t>(steps_.size(), (ticks.back() >> shift_) + 1));
  for (auto from = ticks.begin(); from != ticks.end();) {
    const std::uint64_t k = *from >> shift_;
    const auto end = std::partition_point(from, ticks.end(),
                                          [&](std::uint64_t tick) { return tick >> shift_ == k; });
    Step& step = steps_[k];
    step.first = step.photons == 0 ? *from : std::min(step.first, *from);
    step.last = std::max(step.last, *(end - 1));
    step.photons += static_cast<std::uint64_t>(end - from);
    from = end;
  }
}

std::uint64_t PhotonSteps::begin_of_run(std::uint64_t ticks) const {
  constexpr std::uint64_t kTimesTheRest = 24, kFewestPhotons = 100;
  std::uint64_t photons = 0, first = 0;
  for (const Step& step : steps_) {
    if (photons == 0) first = step.first;
    photons += step.photons;
  }
  const bool late = photons >= kFewestPhotons && first / kTimesTheRest > ticks - first;
  return late ? first : 0;
}

Stops PhotonSteps::stops(std::uint64_t ticks, std::uint64_t ticks_per_bin, double bin_s,
                         std::size_t detectors) {
  while ((ticks - 1) >> shift_ >= kMost) join();
  std::vector<double> counts(static_cast<std::size_t>(((ticks - 1) >> shift_) + 1));
  for (std::size_t k = 0; k < std::min(counts.size(), steps_.size()); ++k)
    counts[k] = static_cast<double>(steps_[k].photons);
  const auto in_bins = [&](const BinRange& stop) {
    return BinRange{stop.first == 0 ? 0 : (stop.first - 1) / ticks_per_bin + 1,
                    stop.end / ticks_per_bin};
  };
  Stops stops;
  std::vector<BinRange> known;  // in ticks
  for (const StepRange& range : stopped_steps(counts, 1)) {
    known.push_back({range.first == 0 ? 0 : steps_[range.first - 1].last + 1,
                     range.end >= steps_.size() ? ticks : steps_[range.end].first});
    const BinRange stop = in_bins(known.back());
    if (stop.end > stop.first && is_left_out(stop, in_bins({0, ticks}), bin_s, detectors))
      stops.left_out.push_back(stop);
  }
  if (const std::uint64_t begin = begin_of_run(ticks); begin > 0 && known.empty()) {
    known.push_back({0, begin});
    stops.left_out.push_back(in_bins(known.back()));
  }
  const auto counted = [](const Step& step) { return step.photons > 0; };
  const auto first = std::find_if(steps_.begin(), steps_.end(), counted);
  if (first == steps_.end()) return stops;
  const auto last = std::find_if(steps_.rbegin(), steps_.rend(), counted);
  const RepeatedStops repeated =
      repeated_stops({.counts = counts,
                      .step = std::uint64_t{1} << shift_,
                      .all = {0, ticks},
                      .counted = {first->first, last->last + 1},
                      .unit_s = bin_s / static_cast<double>(ticks_per_bin),
                      .sensors = detectors},
                     gaps_, known);
  std::vector<BinRange>& to = repeated.certain ? stops.left_out : stops.named;
  for (const BinRange& stop : repeated.stops)
    if (const BinRange bins = in_bins(stop); bins.end > bins.first) to.push_back(bins);
  sort_by_time(to);
  return stops;
}

}  // namespace tautline::pipeline

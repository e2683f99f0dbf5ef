#include "tautline/pipeline/photons/photon_steps.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tautline::pipeline {

namespace {

// Of time tags, whose detectors are looked at one by one.
constexpr std::size_t kMostDetectors = 64;

// From behind the last bin with a photon to the next one.
BinRange in_bins(const BinRange& stop, std::uint64_t ticks_per_bin) {
  return {stop.first == 0 ? 0 : (stop.first - 1) / ticks_per_bin + 1, stop.end / ticks_per_bin};
}

}  // namespace

PhotonSteps::OneDetector* PhotonSteps::new_detector(std::uint16_t channel) {
  if (channel >= place_.size()) place_.resize(std::size_t{channel} + 1, kNoPlace);
  if (each_.size() == kMostDetectors) {
    place_[channel] = kTooMany;
    return nullptr;
  }
  place_[channel] = static_cast<std::uint8_t>(each_.size());
  each_.push_back({LongestGaps(least_, kMostGapsOfOne), {}});
  return &each_.back();
}

void PhotonSteps::see_detector(std::uint16_t channel) {
  if (only_ == kNone) {
    only_ = channel;
    return;
  }
  OneDetector& one = *new_detector(static_cast<std::uint16_t>(only_));
  only_ = kSeveral;
  one.take_gaps(gaps_);
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Step& step = steps_[k];
    if (step.photons == 0) continue;
    const std::uint64_t first = one.any ? one.counted.first : step.first;
    one.add(step.last, k, step.photons);
    one.counted.first = first;
  }
}

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
  for (OneDetector& one : each_) {
    std::vector<std::uint64_t>& photons = one.photons;
    for (std::size_t k = 0; k < photons.size(); ++k) {
      const std::uint64_t here = photons[k];
      if (k > 0) photons[k] = 0;
      if (k > 0) photons[k / 2] += here;
    }
    photons.resize((photons.size() + 1) / 2);
  }
  ++shift_;
}

void PhotonSteps::add_all(std::span<const std::uint64_t> ticks, std::uint16_t detector) {
  if (ticks.empty()) return;
  LongestGaps own(gaps_.least());
  own.add(0, ticks.front());
  own.add_between(ticks);
  own.add(ticks.back() + 1, std::numeric_limits<std::uint64_t>::max());
  OneDetector* const one = detector_of(detector);
  only_ = kSeveral;
  if (one != nullptr) one->take_gaps(own);
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
    if (one != nullptr) one->add(*(end - 1), k, static_cast<std::uint64_t>(end - from));
    from = end;
  }
  if (one != nullptr) one->counted.first = ticks.front();
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
                         std::size_t detectors, std::span<const std::uint16_t> channels) {
  while ((ticks - 1) >> shift_ >= kMost) join();
  std::vector<double> counts(static_cast<std::size_t>(((ticks - 1) >> shift_) + 1));
  for (std::size_t k = 0; k < std::min(counts.size(), steps_.size()); ++k)
    counts[k] = static_cast<double>(steps_[k].photons);
  Stops stops;
  std::vector<BinRange> known;  // in ticks
  const std::vector<StepRange> stopped = stopped_steps(counts, 1);
  for (const StepRange& range : stopped) {
    const BinRange ticks_of_stop{range.first == 0 ? 0 : steps_[range.first - 1].last + 1,
                                 range.end >= steps_.size() ? ticks : steps_[range.end].first};
    const BinRange stop = in_bins(ticks_of_stop, ticks_per_bin);
    if (stop.end <= stop.first ||
        !is_left_out(stop, in_bins({0, ticks}, ticks_per_bin), bin_s, detectors))
      continue;
    known.push_back(ticks_of_stop);
    stops.left_out.push_back(stop);
  }
  if (const std::uint64_t begin = begin_of_run(ticks); begin > 0 && stopped.empty()) {
    known.push_back({0, begin});
    stops.left_out.push_back(in_bins(known.back(), ticks_per_bin));
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
    if (const BinRange bins = in_bins(stop, ticks_per_bin); bins.end > bins.first)
      to.push_back(bins);
  sort_by_time(to);
  known.insert(known.end(), repeated.stops.begin(), repeated.stops.end());
  if (channels.size() > 1 && only_ == kSeveral)
    add_single_stops(stops, ticks, ticks_per_bin, bin_s, channels, known);
  return stops;
}

void PhotonSteps::add_single_stops(Stops& stops, std::uint64_t ticks, std::uint64_t ticks_per_bin,
                                   double bin_s, std::span<const std::uint16_t> channels,
                                   std::span<const BinRange> known) {
  const double tick_s = bin_s / static_cast<double>(ticks_per_bin);
  for (std::size_t sensor = 0; sensor < channels.size(); ++sensor) {
    const OneDetector* const one = detector_of(channels[sensor]);
    if (one == nullptr || !may_be_repeated(one->counted, tick_s, one->gaps, known)) continue;
    std::vector<double> counts(one->photons.begin(), one->photons.end());
    counts.resize(static_cast<std::size_t>(((ticks - 1) >> shift_) + 1));
    SensorStops found{static_cast<std::uint32_t>(sensor), {}};
    for (const BinRange& stop : single_stops({.counts = counts,
                                .step = std::uint64_t{1} << shift_,
                                .all = {0, ticks},
                                .counted = one->counted,
                                .unit_s = tick_s,
                                .sensors = 1},
                                             one->gaps, known))
      if (const BinRange bins = in_bins(stop, ticks_per_bin); bins.end > bins.first)
        found.stops.push_back(bins);
    if (!found.stops.empty()) stops.single.push_back(std::move(found));
  }
}

}  // namespace tautline::pipeline

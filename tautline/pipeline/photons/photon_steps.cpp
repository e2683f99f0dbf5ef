#include "tautline/pipeline/photons/photon_steps.h"

#include <algorithm>

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
  while (ticks.back() >> shift_ >= kMost) join();
  steps_.resize(std::max<std::size_t>(steps_.size(), (ticks.back() >> shift_) + 1));
  for (auto from = ticks.begin(); from != ticks.end();) {
    const std::uint64_t k = *from >> shift_;
    const auto end = std::partition_point(
        from, ticks.end(), [&](std::uint64_t tick) { return tick >> shift_ == k; });
    Step& step = steps_[k];
    step.first = step.photons == 0 ? *from : std::min(step.first, *from);
    step.last = std::max(step.last, *(end - 1));
    step.photons += static_cast<std::uint64_t>(end - from);
    from = end;
  }
}

std::vector<BinRange> PhotonSteps::stops(std::uint64_t ticks, std::uint64_t ticks_per_bin,
                                         double bin_s, std::size_t detectors) {
  while ((ticks - 1) >> shift_ >= kMost) join();
  std::vector<double> counts(static_cast<std::size_t>(((ticks - 1) >> shift_) + 1));
  for (std::size_t k = 0; k < std::min(counts.size(), steps_.size()); ++k)
    counts[k] = static_cast<double>(steps_[k].photons);
  std::vector<BinRange> stops;
  for (const StepRange& range : stopped_steps(counts, 1)) {
    const BinRange stop{range.first == 0 ? 0 : steps_[range.first - 1].last / ticks_per_bin + 1,
                        range.end >= steps_.size() ? ticks / ticks_per_bin
                                                   : steps_[range.end].first / ticks_per_bin};
    if (stop.end > stop.first &&
        beyond_darkness(static_cast<double>(stop.bins()) * bin_s, detectors))
      stops.push_back(stop);
  }
  return stops;
}

}  // namespace tautline::pipeline

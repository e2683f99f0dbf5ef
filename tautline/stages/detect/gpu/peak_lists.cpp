#include "tautline/stages/detect/gpu/peak_lists.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tautline::stages::detect {

PeakLists::PeakLists(const Config& config, const Sizes& sizes)
    : sizes_(sizes), refines_(config.noise == Noise::trial) {
  trials_.reserve(config.trials);
  for (std::size_t t = 0; t < config.trials; ++t)
    trials_.push_back({Events(t, length_of(config, t), config.links), {}});
}

void PeakLists::add(const Step& step, std::vector<FoundPeak>& peaks,
                    std::vector<RefineRequest>& requests) {
  order(step, peaks);
  for (std::size_t n = 0; n < order_.size(); ++n) {
    const BlockJob& job = step.blocks[order_[n]];
    add_block(job, peaks);
    const bool more = n + 1 < order_.size() && step.blocks[order_[n + 1]].trial == job.trial;
    if (!more) request(job, step.baselined[job.trial], requests);
  }
}

// Sorts the blocks by trial and time, and the peaks, which come in no order, likewise.
void PeakLists::order(const Step& step, std::vector<FoundPeak>& peaks) {
  order_.resize(step.blocks.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(step.blocks[a].trial, step.blocks[a].first) <
           std::pair(step.blocks[b].trial, step.blocks[b].first);
  });
  rank_.resize(order_.size());
  for (std::size_t n = 0; n < order_.size(); ++n) rank_[order_[n]] = n;
  for (FoundPeak& peak : peaks) peak.job = static_cast<std::uint32_t>(rank_[peak.job]);
  std::sort(peaks.begin(), peaks.end(), [](const FoundPeak& a, const FoundPeak& b) {
    return std::tuple(a.job, a.time) < std::tuple(b.job, b.time);
  });
  next_ = next_block_ = 0;
}

void PeakLists::add_block(const BlockJob& job, const std::vector<FoundPeak>& peaks) {
  Trial& trial = trials_[job.trial];
  merged_ = trial.carried;
  trial.carried.clear();
  const std::size_t rank = next_block_++;
  for (; next_ < peaks.size() && peaks[next_].job == rank; ++next_)
    merged_.push_back({job.first + peaks[next_].time, peaks[next_].snr, peaks[next_].width_index});
  // At each time the best peak is used; among equal ones, the narrowest.
  std::sort(merged_.begin(), merged_.end(), [](const Peak& a, const Peak& b) {
    return std::tuple(a.time, -a.snr, a.width_index) < std::tuple(b.time, -b.snr, b.width_index);
  });
  const std::uint64_t last = job.first + job.starts;
  for (std::size_t i = 0; i < merged_.size(); ++i) {
    const Peak& peak = merged_[i];
    if (i > 0 && merged_[i - 1].time == peak.time) continue;
    if (job.last || peak.time < last)
      trial.events.add(peak.time, peak.snr, sizes_.widths[peak.width_index], peak.width_index);
    else
      trial.carried.push_back(peak);
  }
  trial.events.settle(job.last ? ~std::uint64_t{0} : last);
}

// Requests the samples that refine_peak reads.
void PeakLists::request(const BlockJob& job, std::uint64_t baselined,
                        std::vector<RefineRequest>& requests) {
  if (!refines_) return;
  trials_[job.trial].events.refine([&](Events::Event& event) {
    const std::uint64_t listed = sizes_.widths[event.width_index];
    const std::uint64_t first = event.detection.first;
    const std::uint64_t widest = std::min<std::uint64_t>(2 * listed, sizes_.widest());
    requests.push_back({&event, first - std::min(listed, first),
                        std::min(first + listed + widest, baselined), job.window});
  });
}

void PeakLists::take(std::vector<Detection>& detections) {
  for (Trial& trial : trials_) trial.events.take(detections);
}

}  // namespace tautline::stages::detect

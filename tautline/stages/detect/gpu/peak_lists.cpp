#include "tautline/stages/detect/gpu/peak_lists.h"

#include <algorithm>
#include <tuple>

#include "tautline/core/integers.h"

namespace tautline::stages::detect {

namespace {

// Peaks of one piece of those that are sorted: fewer are not worth a thread.
constexpr std::size_t kPeaksOfPiece = 32768;
// Of fewer peaks a block's best ones are found by sorting, of more by their times.
constexpr std::size_t kFewPeaks = 512;

// At each time the best peak is used; among equal ones, the narrowest.
bool is_better(const Peak& a, const Peak& b) {
  return a.snr > b.snr || (a.snr == b.snr && a.width_index < b.width_index);
}

// The best of each time, in order of time.
void keep_best(std::vector<Peak>& peaks) {
  std::sort(peaks.begin(), peaks.end(), [](const Peak& a, const Peak& b) {
    return a.time < b.time || (a.time == b.time && is_better(a, b));
  });
  const auto alike = [](const Peak& a, const Peak& b) { return a.time == b.time; };
  peaks.erase(std::unique(peaks.begin(), peaks.end(), alike), peaks.end());
}

// The same in time that grows with the number of peaks and the length of the block. `best` is work
// memory.
void keep_best_of_many(std::vector<Peak>& peaks, std::uint64_t first, std::vector<Peak>& best) {
  std::uint64_t last = first;
  for (const Peak& peak : peaks) last = std::max(last, peak.time);
  best.assign(last - first + 1, {});
  for (const Peak& peak : peaks) {
    Peak& there = best[peak.time - first];
    if (there.snr == 0 || is_better(peak, there)) there = peak;
  }
  peaks.clear();
  for (const Peak& peak : best)
    if (peak.snr > 0) peaks.push_back(peak);
}

}  // namespace

PeakLists::PeakLists(const Config& config, const Sizes& sizes)
    : sizes_(sizes), refines_(config.noise == Noise::trial) {
  trials_.reserve(config.trials);
  for (std::size_t t = 0; t < config.trials; ++t)
    trials_.push_back({Events(t, length_of(config, t), config.links), {}});
}

void PeakLists::add(const Step& step, std::size_t first, std::size_t last,
                    std::span<const PeakRecord> peaks, device::Queue& host) {
  merging_.resize(std::max(merging_.size(), host.workers()));
  sort_by_block(first, last, peaks, host);
  // Blocks that keep a sigma end their trials, and come behind those of all trials that measure it.
  const std::size_t measuring = std::clamp(step.measuring, first, last);
  add_blocks(step, first, measuring, host);
  add_blocks(step, measuring, last, host);
}

void PeakLists::sort_by_block(std::size_t first, std::size_t last,
                              std::span<const PeakRecord> peaks, device::Queue& host) {
  const std::size_t blocks = last - first;
  const std::size_t pieces =
      std::clamp<std::size_t>(peaks.size() / kPeaksOfPiece, 1, host.workers());
  const auto piece = [&](std::size_t k) {
    const std::size_t from = k * peaks.size() / pieces, to = (k + 1) * peaks.size() / pieces;
    return peaks.subspan(from, to - from);
  };
  const auto for_pieces = [&](const auto& work) {
    host.parallel_for(pieces, 1, [&](std::size_t from, std::size_t to, std::size_t) {
      for (std::size_t k = from; k < to; ++k) work(k);
    });
  };
  added_first_ = first;
  places_.resize(std::max(places_.size(), pieces));
  for_pieces([&](std::size_t k) {
    places_[k].assign(blocks, 0);
    for (const PeakRecord& peak : piece(k)) ++places_[k][peak.job() - first];
  });
  starts_.assign(blocks + 1, 0);
  for (std::size_t b = 0, place = 0; b < blocks; ++b) {
    for (std::size_t k = 0; k < pieces; ++k) {
      const std::size_t count = places_[k][b];
      places_[k][b] = place;
      place += count;
    }
    starts_[b + 1] = place;
  }
  sorted_.resize(peaks.size());
  for_pieces([&](std::size_t k) {
    for (const PeakRecord& peak : piece(k)) sorted_[places_[k][peak.job() - first]++] = peak;
  });
}

void PeakLists::add_blocks(const Step& step, std::size_t first, std::size_t last,
                           device::Queue& host) {
  of_trials_.clear();
  for (std::size_t b = first; b < last; ++b) {
    if (b > first && step.blocks[b].trial == step.blocks[b - 1].trial)
      of_trials_.back().second = b + 1;
    else
      of_trials_.emplace_back(b, b + 1);
  }
  constexpr std::size_t kTrialsOfTask = 4;
  host.parallel_for(
      of_trials_.size(), kTrialsOfTask, [&](std::size_t from, std::size_t to, std::size_t worker) {
        for (std::size_t k = from; k < to; ++k)
          for (std::size_t b = of_trials_[k].first; b < of_trials_[k].second; ++b) {
            const std::size_t own = b - added_first_, count = starts_[own + 1] - starts_[own];
            add_block(step.blocks[b], std::span(sorted_).subspan(starts_[own], count),
                      merging_[worker]);
          }
      });
}

void PeakLists::add_block(const BlockJob& job, std::span<const PeakRecord> peaks,
                          Merging& merging) {
  Trial& trial = trials_[job.trial];
  std::vector<Peak>& merged = merging.peaks;
  merged.assign(trial.carried.begin(), trial.carried.end());
  trial.carried.clear();
  for (const PeakRecord& peak : peaks)
    merged.push_back({job.first + peak.time(), peak.snr, peak.width_index()});
  if (merged.size() < kFewPeaks)
    keep_best(merged);
  else
    keep_best_of_many(merged, job.first, merging.best);
  const std::uint64_t last = job.first + job.starts;
  for (const Peak& peak : merged) {
    if (job.last || peak.time < last)
      trial.events.add(peak.time, peak.snr, sizes_.widths[peak.width_index], peak.width_index);
    else
      trial.carried.push_back(peak);
  }
  trial.events.settle(job.last ? ~std::uint64_t{0} : last);
}

// Requests the samples that refine_peak reads. A trial's last block of the step says how long its
// running mean is.
void PeakLists::request(const Step& step, std::vector<RefineRequest>& requests) {
  if (!refines_) return;
  for (std::size_t b = step.blocks.size(); b-- > 0;) {
    const BlockJob& job = step.blocks[b];
    const std::uint64_t baselined = step.baselined[job.trial];
    trials_[job.trial].events.refine([&](Events::Event& event) {
      const std::uint64_t listed = sizes_.widths[event.width_index];
      const std::uint64_t first = event.detection.first;
      const std::uint64_t widest = std::min<std::uint64_t>(2 * listed, sizes_.widest());
      requests.push_back({&event, first - std::min(listed, first),
                          std::min(first + listed + widest, baselined), job.window});
    });
  }
}

void PeakLists::take(std::vector<Detection>& detections) {
  for (Trial& trial : trials_) trial.events.take(detections);
}

}  // namespace tautline::stages::detect

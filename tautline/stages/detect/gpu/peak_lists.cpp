#include "tautline/stages/detect/gpu/peak_lists.h"

#include <algorithm>

namespace tautline::stages::detect {

namespace {

// Runs of one piece of those that are sorted: fewer are not worth a thread.
constexpr std::size_t kRunsOfPiece = 32768;

// At each time the best peak is used; among equal ones, the narrowest.
bool is_better(const Peak& a, const Peak& b) {
  return a.snr > b.snr || (a.snr == b.snr && a.width_index < b.width_index);
}

// Joins runs that overlap, and those that are less than `apart` times apart, so that each time is in
// one run. Neighbouring times belong to one event, whatever the peaks between a run's ends are.
void join_runs(std::uint64_t apart, std::vector<PeakRun>& runs) {
  std::sort(runs.begin(), runs.end(),
            [](const PeakRun& a, const PeakRun& b) { return a.first.time < b.first.time; });
  std::size_t count = 0;
  for (const PeakRun& run : runs) {
    if (count == 0 || run.first.time > runs[count - 1].last.time + apart) {
      runs[count++] = run;
      continue;
    }
    PeakRun& into = runs[count - 1];
    if (run.first.time == into.first.time && is_better(run.first, into.first))
      into.first = run.first;
    if (run.last.time > into.last.time ||
        (run.last.time == into.last.time && is_better(run.last, into.last)))
      into.last = run.last;
    // Of equal ones the earliest, as in order of time.
    if (run.best.snr > into.best.snr ||
        (run.best.snr == into.best.snr && std::pair(run.best.time, run.best.width_index) <
                                              std::pair(into.best.time, into.best.width_index)))
      into.best = run.best;
  }
  runs.resize(count);
}

}  // namespace

PeakLists::PeakLists(const Config& config, const Sizes& sizes)
    : sizes_(sizes),
      refines_(config.noise == Noise::trial),
      joins_neighbours_(config.links.time_samples > 0) {
  trials_.reserve(config.trials);
  for (std::size_t t = 0; t < config.trials; ++t)
    trials_.push_back({Events(t, length_of(config, t), config.links), {}});
}

void PeakLists::add(const Step& step, std::size_t first, std::size_t last,
                    std::span<const RunRecord> peaks, device::Queue& host) {
  merging_.resize(std::max(merging_.size(), host.workers()));
  sort_by_block(first, last, peaks, host);
  // Blocks that keep a sigma end their trials, and come behind those of all trials that measure it.
  const std::size_t measuring = std::clamp(step.measuring, first, last);
  add_blocks(step, first, measuring, host);
  add_blocks(step, measuring, last, host);
}

void PeakLists::sort_by_block(std::size_t first, std::size_t last, std::span<const RunRecord> peaks,
                              device::Queue& host) {
  const std::size_t blocks = last - first;
  const std::size_t pieces =
      std::clamp<std::size_t>(peaks.size() / kRunsOfPiece, 1, host.workers());
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
    for (const RunRecord& peak : piece(k)) ++places_[k][peak.job() - first];
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
    for (const RunRecord& peak : piece(k)) sorted_[places_[k][peak.job() - first]++] = peak;
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

void PeakLists::add_block(const BlockJob& job, std::span<const RunRecord> runs,
                          std::vector<PeakRun>& merged) {
  Trial& trial = trials_[job.trial];
  const std::uint64_t last = job.first + job.starts;
  merged.assign(trial.carried.begin(), trial.carried.end());
  trial.carried.clear();
  // No run goes across `last`. Those behind it wait for the next block's peaks of the same times.
  for (const RunRecord& record : runs) {
    const PeakRun run = record.run(job.first);
    (job.last || run.first.time < last ? merged : trial.carried).push_back(run);
  }
  join_runs(joins_neighbours_ ? 1 : 0, merged);
  for (const PeakRun& run : merged) trial.events.add(run, sizes_.widths);
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

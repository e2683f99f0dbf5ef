#include "tautline/stages/detect/gpu/schedule.h"

#include <algorithm>

namespace tautline::stages::detect {

namespace {

constexpr std::uint64_t kHalf = kWindowSegments / 2;

}  // namespace

GpuSchedule::GpuSchedule(const Config& config, const Sizes& sizes, const GpuRings& rings)
    : sizes_(sizes), rings_(rings), trials_(config.trials) {
  for (std::size_t t = 0; t < config.trials; ++t)
    lengths_.push_back(config.lengths.empty() ? ~std::uint64_t{0} : config.lengths[t]);
}

void GpuSchedule::receive(std::uint64_t samples) {
  received_ += samples;
  for (std::size_t t = 0; t < trials_.size(); ++t) {
    trials_[t].total = std::min(received_, lengths_[t]);
    trials_[t].ended = trials_[t].ended || received_ >= lengths_[t];
  }
}

void GpuSchedule::finish() {
  for (Trial& trial : trials_) trial.ended = true;
}

// Plans the running means that are final now, and the segments whose neighbours' means are final.
void GpuSchedule::emit(Trial& trial, std::size_t number, Step& step) const {
  const std::uint64_t complete = trial.total / sizes_.segment;
  const bool only_tail = trial.ended && complete == 0 && trial.total > 0;
  std::uint64_t settled = 0, ready = 0;
  if (trial.ended) {
    settled = only_tail ? 1 : complete;
    ready = complete;
  } else if (complete >= kWindowSegments) {
    settled = complete - kHalf;
    ready = settled - 1;
  }
  EmitJob job;
  job.trial = number;
  job.complete = complete;
  job.own = only_tail ? 1 : complete;
  job.first_segment = trial.emitted;
  const std::uint64_t last = std::min(ready, trial.emitted + rings_.step_segments);
  // Only the means that these segments need. Later steps take the others.
  job.first_mean = trial.averaged;
  const std::uint64_t wanted =
      std::min(settled, std::max(only_tail ? std::uint64_t{1} : std::uint64_t{0}, last + 1));
  job.mean_count = wanted > trial.averaged ? wanted - trial.averaged : 0;
  std::uint64_t end = last * sizes_.segment;
  if (trial.ended && last == complete) end = trial.total;
  job.samples = end > trial.y_end ? end - trial.y_end : 0;
  if (job.samples == 0) return;
  trial.averaged += job.mean_count;
  trial.emitted = last;
  trial.y_end = end;
  step.emits.push_back(job);
}

void GpuSchedule::search(Trial& trial, std::size_t number, Step& step,
                         std::vector<BlockJob>& keeping) const {
  const std::uint64_t noise = sizes_.noise, widest = sizes_.widest();
  while (trial.y_end >= trial.block_first + noise + sizes_.beside_block()) {
    step.blocks.push_back(
        {number, trial.block_first, noise, noise + widest, sizes_.baseline(), false, false});
    trial.block_first += noise;
  }
  if (!trial.ended || trial.y_end < trial.total || trial.done) return;
  const std::uint64_t complete = trial.total / sizes_.segment;
  const std::uint64_t window =
      complete == 0 ? trial.total
                    : std::min<std::uint64_t>(complete, kWindowSegments) * sizes_.segment;
  while (trial.block_first < trial.y_end) {
    BlockJob job{number, trial.block_first, 0, 0, window, false, false};
    job.starts = std::min(noise, trial.y_end - trial.block_first);
    job.samples = std::min(job.starts + widest, trial.y_end - trial.block_first);
    job.keeps_sigma = trial.block_first > 0 && 2 * job.starts < noise;
    trial.block_first += job.starts;
    job.last = trial.block_first == trial.y_end;
    (job.keeps_sigma ? keeping : step.blocks).push_back(job);
  }
  trial.done = true;
}

bool GpuSchedule::next(Step& step) {
  step = {};
  std::vector<BlockJob> keeping;
  for (std::size_t t = 0; t < trials_.size(); ++t) {
    emit(trials_[t], t, step);
    search(trials_[t], t, step, keeping);
    step.searched = std::max(step.searched, trials_[t].block_first);
    step.baselined.push_back(trials_[t].y_end);
    step.block_first.push_back(trials_[t].done ? ~std::uint64_t{0} : trials_[t].block_first);
  }
  step.measuring = step.blocks.size();
  step.blocks.insert(step.blocks.end(), keeping.begin(), keeping.end());
  return !step.emits.empty() || !step.blocks.empty();
}

}  // namespace tautline::stages::detect

#include "tautline/pipeline/search/kept_trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tautline/pipeline/search/search_noise.h"
#include "tautline/pipeline/search/times_without_data.h"

namespace tautline::pipeline {

namespace {

// Old samples are dropped when a fourth more than `most` are there.
void drop_oldest(std::vector<TrialStretch>& pieces, std::size_t most) {
  std::size_t all = 0;
  for (const TrialStretch& piece : pieces) all += piece.series.size();
  if (all <= most + most / 4) return;
  while (all - pieces.front().series.size() >= most) {
    all -= pieces.front().series.size();
    pieces.erase(pieces.begin());
  }
  TrialStretch& oldest = pieces.front();
  oldest.series.erase(oldest.series.begin(),
                      oldest.series.begin() + static_cast<std::ptrdiff_t>(all - most));
  oldest.first_sample += all - most;
}

// Times of the input as those of a trial: whole samples that have some of them.
std::vector<SampleRange> in_samples_of(const std::vector<SampleRange>& times,
                                       std::size_t downsample) {
  std::vector<SampleRange> coarse;
  for (const SampleRange& one : times) {
    const std::uint64_t first = one.first / downsample,
                        end = (one.first + one.count + downsample - 1) / downsample;
    coarse.push_back({first, end - first});
  }
  return coarse;
}

}  // namespace

KeptTrials::KeptTrials(std::span<const SearchPart> parts) {
  for (const SearchPart& part : parts) {
    const stages::dedisperse::Config& config = part.dedisperse->config();
    for (std::size_t k = 0; k < config.dms.size(); ++k) {
      Trial trial{part.first_trial + k,
                  config.dms[k],
                  config.downsample,
                  part.detect->baseline_samples(),
                  0,
                  0,
                  {}};
      trial.most_samples = samples_for_noise(part.detect->widths().back());
      for (std::size_t c = 0; c < config.frequencies_mhz.size(); ++c)
        trial.max_delay = std::max(
            trial.max_delay,
            static_cast<std::uint64_t>(std::max<std::int64_t>(0, part.dedisperse->delay(k, c))));
      trials_.push_back(std::move(trial));
    }
  }
  const std::size_t all = trials_.size(), kept = std::min(kMost, all);
  for (std::size_t k = 1; k < kept; ++k) trials_[k] = trials_[k * (all - 1) / (kept - 1)];
  trials_.resize(kept);
}

void KeptTrials::begin_segment(std::uint64_t first_sample) {
  for (Trial& trial : trials_) {
    std::erase_if(trial.pieces, [](const TrialStretch& piece) { return piece.series.empty(); });
    trial.pieces.push_back({{}, false, first_sample / trial.downsample, trial.max_delay});
  }
}

void KeptTrials::take(const SearchPart& part, const core::SampleView<2>& series,
                      device::Queue& queue) {
  const std::size_t samples = series.extent(1);
  for (Trial& trial : trials_) {
    if (trial.index < part.first_trial || trial.index >= part.first_trial + series.extent(0))
      continue;
    block_.resize(4 * samples);
    queue.copy(
        block_.data(),
        static_cast<const std::byte*>(series.data()) +
            4 * static_cast<std::ptrdiff_t>(trial.index - part.first_trial) * series.stride(0),
        block_.size());
    TrialStretch& newest = trial.pieces.back();
    newest.whole_numbers = series.type() == core::SampleType::i32;
    append_samples(block_.data(), series.type(), samples, newest.series);
    drop_oldest(trial.pieces, trial.most_samples);
  }
}

std::vector<WidthNoise> KeptTrials::noise_in(const Trial& trial, std::size_t width_samples,
                                             bool whole_numbers, const EmptyFound& empty) const {
  std::vector<std::span<const float>> pieces;
  for (const TrialStretch& piece : trial.pieces) {
    const SampleRange needed{piece.first_sample * trial.downsample,
                             (piece.series.size() + piece.max_delay) * trial.downsample};
    for (const std::span<const float> one :
         pieces_of_data(piece, in_samples_of(empty_times(empty, 0, needed), trial.downsample)))
      pieces.push_back(one);
  }
  if (pieces.empty()) return {};
  const std::array widths{std::max<std::size_t>(1, width_samples / trial.downsample)};
  return noise_of_widths(pieces, whole_numbers || trial.pieces.back().whole_numbers,
                         trial.baseline_samples, widths);
}

std::optional<WidthNoise> KeptTrials::noise_of(double dm, std::size_t width_samples,
                                               bool whole_numbers, const EmptyFound& empty) const {
  std::vector<const Trial*> nearest;
  for (const Trial& trial : trials_) nearest.push_back(&trial);
  std::stable_sort(nearest.begin(), nearest.end(), [&](const Trial* a, const Trial* b) {
    return std::fabs(a->dm - dm) < std::fabs(b->dm - dm);
  });
  for (const Trial* trial : nearest) {
    const auto noise = noise_in(*trial, width_samples, whole_numbers, empty);
    if (noise.empty()) continue;
    WidthNoise found = noise.front();
    found.width = width_samples;
    return found;
  }
  return {};
}

}  // namespace tautline::pipeline

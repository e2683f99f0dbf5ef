#include "tautline/stages/detect/cpu/trial_search.h"

#include <algorithm>
#include <cstring>

namespace tautline::stages::detect {

namespace {

// A block, the samples on either side of it, and a segment, which is added at once.
std::size_t kept_samples(const Sizes& sizes) {
  return 2 * sizes.beside_block() + sizes.noise + sizes.segment;
}

}  // namespace

TrialBlocks::TrialBlocks(const CpuSetting& setting, std::size_t trial, float* memory)
    : setting_(setting),
      y_(memory, kept_samples(setting.sizes)),
      events_(trial, length_of(setting.config, trial), setting.config.links) {
  carried_.reserve(setting.sizes.widest() / 2 + 1);
}

std::size_t TrialBlocks::sample_bytes(const Sizes& sizes) {
  return kept_samples(sizes) * sizeof(float);
}

std::size_t TrialBlocks::bytes(const Sizes& sizes) {
  return sample_bytes(sizes) + (sizes.widest() / 2 + 1) * sizeof(Peak);
}

float* TrialBlocks::grow(std::size_t n) {
  float* to = y_.data() + (y_end_ - y_first_);
  y_end_ += n;
  return to;
}

void TrialBlocks::drop_before(std::uint64_t sample) {
  if (sample <= y_first_) return;
  std::memmove(y_.data(), at(sample), (y_end_ - sample) * sizeof(float));
  y_first_ = sample;
}

void TrialBlocks::advance(std::uint64_t missing, Workspace& workspace, std::uint64_t* over) {
  missing_ += missing;
  const Sizes& sizes = setting_.sizes;
  while (y_end_ >= block_first_ + sizes.noise + sizes.beside_block()) {
    const std::uint64_t last = block_first_ + sizes.noise;
    search(last, last + sizes.widest(), false, sizes.baseline(), setting_.scales, workspace, over);
    block_first_ = last;
    drop_before(last - std::min<std::uint64_t>(last, sizes.beside_block()));
  }
}

void TrialBlocks::finish(std::uint64_t window, Workspace& workspace, std::uint64_t* over) {
  const Sizes& sizes = setting_.sizes;
  const std::uint64_t n = std::min<std::uint64_t>(window, sizes.baseline());
  const Scales scales = derive_scales(setting_.config, sizes, std::max<std::uint64_t>(n, 1));
  while (block_first_ < y_end_) {
    const std::uint64_t last = std::min(y_end_, block_first_ + sizes.noise);
    search(last, std::min(y_end_, last + sizes.widest()), last == y_end_, n, scales, workspace,
           over);
    block_first_ = last;
  }
  events_.settle(~std::uint64_t{0});
}

// Searches the boxcars that begin in [block_first_, last) and end by `end`.
void TrialBlocks::search(std::uint64_t last, std::uint64_t end, bool final, std::uint64_t n,
                         const Scales& scales, Workspace& workspace, std::uint64_t* over) {
  const Config& config = setting_.config;
  const Sizes& sizes = setting_.sizes;
  const auto starts = static_cast<std::size_t>(last - block_first_);
  const double previous_sigma = sigma_;
  // A last block shorter than half a block keeps the sigma of the block before.
  if (block_first_ == 0 || 2 * starts >= sizes.noise)
    sigma_ = workspace.noise.sigma(at(block_first_), starts, block_first_, config.type,
                                   missing_ > 0, *setting_.kernels, guess_);
  BlockSearch& blocks = workspace.blocks;
  blocks.put(carried_, block_first_);
  carried_.clear();
  blocks.search({at(block_first_), starts, static_cast<std::size_t>(end - block_first_),
                 block_first_, sigma_},
                scales, config.noise, config.threshold, *setting_.kernels, over);
  blocks.take(block_first_, [&](const Peak& peak) {
    if (final || peak.time < last)
      events_.add(peak.time, peak.snr, sizes.widths[peak.width_index], peak.width_index);
    else
      carried_.push_back(peak);
  });
  events_.settle(last);
  if (config.noise == Noise::width) return;  // only the listed widths have a noise of their own
  events_.refine([&](Events::Event& event) {
    const double sigma = event.detection.first < block_first_ ? previous_sigma : sigma_;
    refine_peak({y_.data(), y_first_, y_end_}, sizes, sigma, n, config.threshold,
                workspace.refining, event);
  });
}

}  // namespace tautline::stages::detect

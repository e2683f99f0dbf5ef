// The search of one trial's stream: baseline, blocks, events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/core/integers.h"
#include "tautline/stages/detect/baseline.h"
#include "tautline/stages/detect/cpu/block_search.h"
#include "tautline/stages/detect/cpu/noise.h"
#include "tautline/stages/detect/events.h"

namespace tautline::stages::detect {

/// Work memory of one thread.
struct Workspace {
  explicit Workspace(const Sizes& sizes) : noise(sizes.noise), blocks(sizes) {
    refining.reserve(sums_length(sizes));
  }
  static std::size_t bytes(const Sizes& sizes) {
    return NoiseMeter::bytes(sizes.noise) + BlockSearch::bytes(sizes) +
           RefineScratch::bytes(sums_length(sizes));
  }
  static std::size_t sums_length(const Sizes& sizes) {
    return sizes.widest() + 4 * sizes.margin + 2;
  }
  NoiseMeter noise;
  BlockSearch blocks;
  RefineScratch refining;
};

struct CpuSetting : Setting {
  using Setting::Setting;
  const Kernels* kernels = nullptr;
  std::size_t task_trials = 1;
};

/// One trial's baselined samples that are still needed, and its events. The next block to be
/// searched begins at block_first().
class TrialBlocks {
 public:
  /// `memory`: of sample_bytes(), the caller's.
  TrialBlocks(const CpuSetting& setting, std::size_t trial, float* memory);
  static std::size_t sample_bytes(const Sizes& sizes);
  static std::size_t bytes(const Sizes& sizes);

  /// Appends n baselined samples, a segment at most, and returns where to write them.
  float* grow(std::size_t n);
  /// Searches every complete block. `missing` is the number of new samples that are NaN.
  void advance(std::uint64_t missing, Workspace& workspace, std::uint64_t* over);
  /// Ends the stream. `window` is the samples of the running mean.
  void finish(std::uint64_t window, Workspace& workspace, std::uint64_t* over);

  std::uint64_t block_first() const { return block_first_; }
  std::uint64_t missing() const { return missing_; }
  Events& events() { return events_; }
  template <class Archive>
  void exchange(Archive& archive) {
    exchange_values(archive, y_);
    archive(y_first_, y_end_, block_first_, missing_, sigma_, guess_, carried_);
    events_.exchange(archive);
  }

 private:
  void search(std::uint64_t last, std::uint64_t end, bool final, std::uint64_t n,
              const Scales& scales, Workspace& workspace, std::uint64_t* over);
  const float* at(std::uint64_t sample) const { return y_.data() + (sample - y_first_); }
  void drop_before(std::uint64_t sample);

  const CpuSetting& setting_;
  std::span<float> y_;
  std::uint64_t y_first_ = 0, y_end_ = 0;  // samples in y_
  std::uint64_t block_first_ = 0;
  std::uint64_t missing_ = 0;
  double sigma_ = 0;  // of the last block
  NoiseGuess guess_;
  std::vector<Peak> carried_;  // of the last block's boxcars, with centres after the block
  Events events_;
};

/// One trial's search, from its samples on.
template <class T>
class TrialSearch {
 public:
  /// `memory`: of sample_bytes(), on a cache line, the caller's; zeros.
  TrialSearch(const CpuSetting& setting, std::size_t trial, std::byte* memory)
      : setting_(setting),
        filter_(setting.sizes.segment, reinterpret_cast<T*>(memory)),
        blocks_(setting, trial, reinterpret_cast<float*>(memory + filter_bytes(setting.sizes))),
        left_(setting.config.lengths.empty() ? ~std::uint64_t{0} : setting.config.lengths[trial]) {}
  /// Whole cache lines.
  static std::size_t sample_bytes(const Sizes& sizes) {
    return filter_bytes(sizes) + core::round_up(TrialBlocks::sample_bytes(sizes), kLineBytes);
  }
  static std::size_t bytes(const Sizes& sizes) {
    return BaselineFilter<T>::bytes(sizes.segment) + TrialBlocks::bytes(sizes) +
           sizeof(TrialSearch);
  }

  void execute(const T* x, std::size_t n, Workspace& workspace, std::uint64_t* over) {
    n = static_cast<std::size_t>(std::min<std::uint64_t>(n, left_));
    left_ -= n;
    while (n > 0) {
      const std::size_t taken = filter_.accept(x, n, *setting_.kernels);
      x += taken;
      n -= taken;
      search_ready(workspace, over);
    }
    if (left_ == 0) finish(workspace, over);
  }
  /// Samples that will not come.
  void shorten(std::uint64_t samples) { left_ -= samples; }
  void finish(Workspace& workspace, std::uint64_t* over) {
    if (ended_) return;
    ended_ = true;
    filter_.finish(*setting_.kernels);
    search_ready(workspace, over);
    blocks_.finish(filter_.window_samples(), workspace, over);
  }
  TrialBlocks& blocks() { return blocks_; }
  template <class Archive>
  void exchange(Archive& archive) {
    filter_.exchange(archive);
    blocks_.exchange(archive);
    archive(left_, ended_);
  }
  /// Later events begin at this time or after it; `never` once the trial has ended.
  std::uint64_t horizon(std::uint64_t never) {
    return ended_ ? never : blocks_.events().open_since(blocks_.block_first());
  }

 private:
  static constexpr std::size_t kLineBytes = 64;

  static std::size_t filter_bytes(const Sizes& sizes) {
    return core::round_up(BaselineFilter<T>::bytes(sizes.segment), kLineBytes);
  }
  void search_ready(Workspace& workspace, std::uint64_t* over) {
    while (const std::size_t n = filter_.ready()) {
      float* y = blocks_.grow(n);
      blocks_.advance(filter_.emit(y, *setting_.kernels), workspace, over);
    }
  }

  const CpuSetting& setting_;
  BaselineFilter<T> filter_;
  TrialBlocks blocks_;
  std::uint64_t left_;  // samples that are still the trial's
  bool ended_ = false;
};

}  // namespace tautline::stages::detect

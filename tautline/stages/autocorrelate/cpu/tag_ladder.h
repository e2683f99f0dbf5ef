// One pair of sensors in lists of windows: not part of the stage's interface (see tags.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/ladder.h"

namespace tautline::stages::autocorrelate {

/// A window that holds something.
struct Window {
  std::uint64_t index = 0;
  std::uint64_t count = 0;
};

class TagLadder {
 public:
  /// `same`: a is b.
  TagLadder(const Config& config, bool same);

  /// Adds the bins of a and b from the last call's `until` to this one's.
  void push(std::span<const Window> a, std::span<const Window> b, std::uint64_t until);
  /// Whether a sum could have reached 2^63.
  bool refused() const { return refused_; }
  void read(std::uint64_t samples, std::size_t pair, const Sums<std::int64_t>& out) const;

  /// Hands everything but what the config says to archive(value) and archive(vector), which write
  /// or read it.
  template <class Archive>
  void exchange(Archive& archive) {
    archive(refused_);
    for (Level& level : levels_) {
      for (Series* series : {&level.direct, &level.delayed}) {
        archive(series->whole);
        archive(series->open);
        archive(series->total);
      }
      archive(level.first);
      archive(level.sums);
      for (std::uint64_t* value : {&level.lead, &level.most, &level.oldest, &level.fresh})
        archive(*value);
    }
  }

 private:
  // Windows in order of time. The last one may not have ended.
  struct Series {
    std::vector<Window> whole;  // windows that have ended
    Window open;
    std::uint64_t total = 0;  // of windows that have ended
    void add(const Window& window);
    void close(std::uint64_t end);
  };
  struct Level {
    Rung rung;
    bool shared = false;  // the delayed series is the direct one
    Series direct, delayed;
    std::vector<Window> first;  // direct ones that monitors leave out
    std::uint64_t lead = 0;     // of the delayed window that reaches before the first sample
    std::uint64_t most = 0;     // in a delayed window
    std::vector<std::uint64_t> sums;
    std::uint64_t oldest = 0;  // delayed windows before it are out of reach
    std::uint64_t fresh = 0;   // delayed windows that the next level does not have yet
  };

  void multiply(Level& level);
  void multiply_lists(Level& level);
  bool multiply_arrays(Level& level);
  void keep(Level& level);
  void forget(Level& level, std::uint64_t end);

  std::size_t bins_;  // by which a level's delayed series lags more than the one before
  std::vector<Level> levels_;
  std::vector<std::uint32_t> direct_array_, delayed_array_;
  bool refused_ = false;
};

}  // namespace tautline::stages::autocorrelate

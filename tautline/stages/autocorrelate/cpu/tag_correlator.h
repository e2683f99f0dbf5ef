// The sums of one pair of sensors from lists of nonzero windows: not part of the stage's interface
// (see tags.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tautline/stages/autocorrelate/backend.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate {

/// A window whose count is not zero.
struct Window {
  std::uint64_t index = 0;
  std::uint64_t count = 0;
};

class TagCorrelator {
 public:
  /// `same`: the pair is a sensor with itself.
  TagCorrelator(const Config& config, bool same);

  /// Adds the nonzero bins of a and b from the previous call's `until` to this one's, to every level. After it
  /// multiply_level() of each, in any order or at the same time, and settle().
  void push(std::span<const Window> a, std::span<const Window> b, std::uint64_t until);
  void multiply_level(std::size_t index, std::uint64_t until);
  void settle();
  /// Whether a sum could have reached 2^63.
  bool refused() const { return refused_; }
  void read(std::uint64_t samples, std::size_t pair, const TypedSums<std::int64_t>& out) const;

  /// Saves or loads everything that does not follow from the config: calls archive(value) and
  /// archive(vector), which write or read. Throws Error(format) when it reads other sizes.
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
      if constexpr (std::is_same_v<Archive, core::ByteReader>)
        if (level.sums.size() != level.range.steps) archive.refuse();
      for (std::uint64_t* value : {&level.lead, &level.most, &level.oldest, &level.fresh})
        archive(*value);
    }
  }

 private:
  // Nonzero windows in order of time.
  struct Series {
    std::vector<Window> whole;  // windows that have ended
    Window open;                // the last window, which has not ended
    std::uint64_t total = 0;    // counts of all windows that have ended
    /// Windows of a finer series, `later` of its windows on, of which 2^halvings make one of these.
    void add(std::span<const Window> finer, std::uint64_t later, int halvings);
    void close(std::uint64_t end);
  };
  struct Level {
    LagRange range;
    bool shared = false;  // the direct series is the delayed one, too
    Series direct, delayed;
    std::vector<Window> first;  // first direct windows, which the monitors leave out
    std::uint64_t lead = 0;     // count of the delayed window that starts before the first sample
    std::uint64_t most = 0;     // largest count of a delayed window
    std::vector<std::uint64_t> sums;
    std::uint64_t oldest = 0;  // index of the first delayed window within reach of the lags
    std::uint64_t fresh = 0;   // index of the first delayed window that the next level lacks
    bool refused = false;      // until settle()
  };

  void multiply(Level& level);
  void multiply_lists(Level& level);
  bool multiply_arrays(Level& level);
  template <class Count>
  void multiply_arrays_of(Level& level, std::size_t from);
  void keep(Level& level);
  void forget(Level& level, std::uint64_t end);

  std::size_t bins_;  // extra delay of a level's delayed series over the previous level's
  std::vector<Level> levels_;
  bool refused_ = false;
};

}  // namespace tautline::stages::autocorrelate

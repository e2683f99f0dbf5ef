// The sums of one pair of sensors from lists of nonzero windows: not part of the stage's interface
// (see tags.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/cpu/near_pairs.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate {

class TagCorrelator {
 public:
  /// `same`: the pair is a sensor with itself.
  TagCorrelator(const Config& config, bool same);

  /// Adds the nonzero bins of a and b from the previous call's `until` to this one's, to every level. After it
  /// multiply_level() of each, in any order or at the same time, and settle().
  void push(std::span<const Window> a, std::span<const Window> b, std::uint64_t until);
  void multiply_level(std::size_t index, std::uint64_t until);
  void settle(std::uint64_t until);
  /// Whether a sum could have reached 2^63.
  bool refused() const { return refused_; }
  void read(std::uint64_t samples, std::size_t pair, const TypedSums<std::int64_t>& out) const;

  /// Saves or loads everything that does not follow from the config: calls archive(value) and
  /// archive(vector), which write or read. Throws Error(format) when it reads other sizes.
  template <class Archive>
  void exchange(Archive& archive) {
    archive(refused_);
    for (std::uint64_t* value : {&near_, &now_}) archive(*value);
    if constexpr (std::is_same_v<Archive, core::ByteReader>)
      if (near_ > levels_.size()) archive.refuse();
    for (Level& level : levels_) {
      for (Series* series : {&level.direct, &level.delayed}) {
        archive(series->whole);
        archive(series->open);
        archive(series->total);
        archive(series->most);
      }
      archive(level.first);
      archive(level.sums);
      if constexpr (std::is_same_v<Archive, core::ByteReader>)
        if (level.sums.size() != level.range.steps) archive.refuse();
      for (std::uint64_t* value : {&level.lead, &level.oldest, &level.fresh, &level.fresh_direct})
        archive(*value);
      if constexpr (std::is_same_v<Archive, core::ByteReader>)
        if (std::max(level.oldest, level.fresh) > level.earlier().whole.size() ||
            level.fresh_direct > level.direct.whole.size())
          archive.refuse();
    }
  }

 private:
  // Nonzero windows in order of time.
  struct Series {
    std::vector<Window> whole;  // windows that have ended
    Window open;                // the last window, which has not ended
    std::uint64_t total = 0;    // counts of all windows that have ended
    std::uint64_t most = 0;     // the largest count of a window
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
    std::vector<std::uint64_t> sums;
    std::uint64_t oldest = 0;  // index of the first delayed window within reach of the lags
    std::uint64_t fresh = 0;   // index of the first delayed window that is not multiplied yet
    std::uint64_t fresh_direct =
        0;                 // the same of the direct ones, where they have a list of their own
    bool refused = false;  // until settle()

    const Series& earlier() const { return shared ? direct : delayed; }
    std::size_t first_direct() const { return shared ? fresh : fresh_direct; }
    std::span<const Window> new_direct() const {
      return std::span(direct.whole).subspan(first_direct());
    }
    std::span<const Window> new_delayed() const {
      return std::span(earlier().whole).subspan(fresh);
    }
    /// Sum of the direct windows before x, for small x; and of the delayed ones from x on, for large x.
    std::uint64_t head(std::uint64_t x) const;
    std::uint64_t tail(std::uint64_t x) const;
  };
  void choose_near_levels();
  void leave_near(std::size_t index);
  void find_leads();
  void multiply_near(std::uint64_t until);
  void multiply(Level& level);
  void multiply_lists(Level& level);
  bool multiply_arrays(Level& level);
  template <class Count>
  void multiply_arrays_of(Level& level, std::size_t from);
  static void keep(Level& level, std::uint64_t end);
  static void forget(Level& level, std::uint64_t end);

  std::size_t bins_;  // extra delay of a level's delayed series over the previous level's
  std::vector<Level> levels_;
  NearPairs pairs_;
  // Levels, from the first on, whose products come from pairs_: as many as the first photons make worth while, and
  // fewer when there are more photons. Of these levels level 0 alone has windows, as long ago as the coarsest one
  // reaches; the others have sums and a lead-in.
  std::uint64_t near_ = 0;
  std::uint64_t now_ = 0;  // `until` of the last call whose products are in the sums
  bool refused_ = false;
};

}  // namespace tautline::stages::autocorrelate

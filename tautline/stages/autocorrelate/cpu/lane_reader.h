// The outputs of `read` from a flushed tile of the CPU autocorrelator.
#pragma once

#include <algorithm>
#include <cstring>

#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/cpu/layout.h"

namespace tautline::stages::autocorrelate::cpu {

inline bool any_refused(const Layout& layout, const std::byte* tile) {
  const auto* progress = reinterpret_cast<const Progress*>(tile);
  return std::any_of(progress, progress + layout.levels.size(),
                     [](const Progress& p) { return p.refused != 0; });
}

/// The sums of one lane of a flushed tile.
template <class Value>
class LaneReader {
 public:
  LaneReader(const Layout& layout, const std::byte* tile, std::size_t lane)
      : layout_(layout), tile_(tile), lane_(lane) {}

  /// Reads all levels of the layout.
  void read_levels(std::size_t pair, const TypedSums<Value>& out) const {
    for (std::size_t l = 0; l < layout_.levels.size(); ++l) read_level(l, pair, out);
  }
  void read(std::size_t pair, const TypedSums<Value>& out) const {
    read_levels(pair, out);
    const Level& level = layout_.levels[0];
    out.put_totals(pair, value(level.totals_at, level.separate ? 1 : 0), value(level.totals_at, 0));
  }

 private:
  Value value(std::size_t at, std::size_t row) const {
    Value v;
    std::memcpy(&v, tile_ + at + (row * layout_.lanes + lane_) * sizeof v, sizeof v);
    return v;
  }

  // The delayed sample `back` before the newest one.
  Value delayed(std::size_t l, std::size_t back) const {
    const Level& level = layout_.levels[l];
    const std::size_t t =
        level.history + reinterpret_cast<const Progress*>(tile_)[l].pending - 1 - back;
    const std::size_t at = place_of(level.storage, layout_.lanes, t, lane_);
    const std::byte* from = tile_ + level.delayed_at + at * bytes_of(level.storage);
    if (level.storage == Storage::doubles) {
      double v;
      std::memcpy(&v, from, sizeof v);
      return static_cast<Value>(v);
    }
    std::uint64_t v = 0;
    std::memcpy(&v, from, bytes_of(level.storage));  // little-endian
    return static_cast<Value>(v);
  }

  void read_level(std::size_t l, std::size_t pair, const TypedSums<Value>& out) const {
    const Level& level = layout_.levels[l];
    const LagRange& range = level.range;
    const std::uint64_t done = reinterpret_cast<const Progress*>(tile_)[l].done;
    const Value direct = value(level.totals_at, 0);
    const Value whole_delayed = value(level.totals_at, level.separate ? 1 : 0);
    const Value lead = value(level.totals_at, 2);
    Value newest{};  // sum of the newest k delayed samples
    for (std::size_t k = 0; k < level.first; ++k) newest += delayed(l, k);
    for (std::size_t i = 0; i < range.steps; ++i) {
      const std::size_t k = range.first_steps + i, lag = range.first_lag + i;
      const std::uint64_t first = range.whole + k;
      const bool pairs = done > first;
      // Sum of d below x. Heads are stored once sample x has arrived; until then it is the total.
      const auto head = [&](std::uint64_t x) {
        return done > x ? value(level.heads_at, x + 1 - range.whole - range.first_steps) : direct;
      };
      Value lead_in{};
      if (range.has_lead_in() && done >= first) lead_in = lead * (head(first) - head(first - 1));
      // Kernels of bytes subtract 128 from the delayed samples.
      const Value bias = level.storage == Storage::bytes ? 128 * direct : Value{};
      out.put(pair, lag, value(level.sums_at, i) + bias, lead_in,
              pairs ? whole_delayed - lead - newest : Value{},
              pairs ? direct - head(first) : Value{});
      newest += delayed(l, level.first + i);
    }
  }

  const Layout& layout_;
  const std::byte* tile_;
  std::size_t lane_;
};

}  // namespace tautline::stages::autocorrelate::cpu

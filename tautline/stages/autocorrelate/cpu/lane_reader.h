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

  void read_level(std::size_t l, std::size_t pair, const TypedSums<Value>& out) const {
    switch (layout_.levels[l].storage) {
      case Storage::bytes:
        return read_stored<std::uint8_t, Storage::bytes>(l, pair, out);
      case Storage::halves:
        return read_stored<std::uint16_t, Storage::halves>(l, pair, out);
      case Storage::words:
        return read_stored<std::uint32_t, Storage::words>(l, pair, out);
      case Storage::longs:
        return read_stored<std::uint64_t, Storage::longs>(l, pair, out);
      case Storage::doubles:
        return read_stored<double, Storage::doubles>(l, pair, out);
    }
  }

  // A stop of the counts costs a reading of all sums: so storage is a constant here, and what the loop needs lies in
  // variables that no output can change.
  template <class Stored, Storage kStorage>
  void read_stored(std::size_t l, std::size_t pair, const TypedSums<Value>& out) const {
    const Level& level = layout_.levels[l];
    const LagRange range = level.range;
    const TypedSums<Value> to = out;
    const Progress progress = reinterpret_cast<const Progress*>(tile_)[l];
    const std::uint64_t done = progress.done;
    const std::size_t lanes = layout_.lanes, lane = lane_, level_first = level.first;
    const std::byte* const samples = tile_ + level.delayed_at;
    const std::size_t newest_sample = level.history + progress.pending - 1;
    // The delayed sample `back` before the newest one.
    const auto delayed = [&](std::size_t back) {
      Stored v;
      const std::size_t at = place_of(kStorage, lanes, newest_sample - back, lane);
      std::memcpy(&v, samples + at * sizeof v, sizeof v);  // little-endian
      return static_cast<Value>(v);
    };
    const auto row_of = [&](std::size_t at, std::size_t row) {
      Value v;
      std::memcpy(&v, tile_ + at + (row * lanes + lane) * sizeof v, sizeof v);
      return v;
    };
    const std::size_t sums_at = level.sums_at, heads_at = level.heads_at;
    const Value direct = value(level.totals_at, 0);
    const Value whole_delayed = value(level.totals_at, level.separate ? 1 : 0);
    const Value lead = value(level.totals_at, 2);
    const bool has_lead_in = range.has_lead_in();
    // Kernels of bytes subtract 128 from the delayed samples.
    const Value bias = kStorage == Storage::bytes ? 128 * direct : Value{};
    Value newest{};  // sum of the newest k delayed samples
    for (std::size_t k = 0; k < level_first; ++k) newest += delayed(k);
    for (std::size_t i = 0; i < range.steps; ++i) {
      const std::size_t k = range.first_steps + i, lag = range.first_lag + i;
      const std::uint64_t first = range.whole + k;
      const bool pairs = done > first;
      // Sum of d below x. Heads are stored once sample x has arrived; until then it is the total.
      const auto head = [&](std::uint64_t x) {
        return done > x ? row_of(heads_at, x + 1 - range.whole - range.first_steps) : direct;
      };
      Value lead_in{};
      if (has_lead_in && done >= first) lead_in = lead * (head(first) - head(first - 1));
      to.put(pair, lag, row_of(sums_at, i) + bias, lead_in,
             pairs ? whole_delayed - lead - newest : Value{},
             pairs ? direct - head(first) : Value{});
      newest += delayed(level_first + i);
    }
  }

  const Layout& layout_;
  const std::byte* tile_;
  std::size_t lane_;
};

}  // namespace tautline::stages::autocorrelate::cpu

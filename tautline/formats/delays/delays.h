// delays.toml: piecewise-linear delay models that point an array, one for each input.
//
// A delay d makes output(t) = input(t - d(t)): an antenna that a wavefront reaches late gets a
// negative delay. docs/guide/delays.md describes the file, docs/maths/delays.md the correction.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/formats/array_layout.h"

namespace tautline::formats::delays {

/// From `start` until the next piece's start: delay(t) = delay_s + delay_rate (t - start).
struct DelayPiece {
  core::Instant start;
  double delay_s = 0;
  double delay_rate = 0;  ///< seconds per second

  friend bool operator==(const DelayPiece&, const DelayPiece&) = default;
};

/// One input's pieces in order of time, one at least.
using Model = std::vector<DelayPiece>;

struct Position {
  double ra_deg = 0, dec_deg = 0;  ///< ICRS
};

struct Table {
  std::string phase_centre;  ///< the name that the output carries
  std::optional<Position> position;
  std::vector<Model> inputs;                 ///< in data order
  std::optional<core::Instant> valid_until;  ///< absent: the last pieces hold for ever
};

/// A model's value at one instant.
struct Delay {
  double delay_s = 0;
  double delay_rate = 0;
};

/// The delay at `t`. Doubles are enough: a delay of 1 ms is held to 2e-19 s, 1e-8 turns at 40 GHz.
/// Throws Error(config) when `t` is before the first piece.
Delay evaluate(const Model& model, const core::Instant& t);

/// The phase 2 pi f d reduced to one turn, in turns in [-0.5, 0.5].
double phase_turns(double frequency_hz, double delay_s);

/// Throws Error(config) unless there is a model for each of `inputs` inputs and all of them cover
/// [from, to].
void require_cover(const Table& table, std::size_t inputs, const core::Instant& from,
                   const core::Instant& to);

/// Throws Error(io) or Error(format) naming the file, table, field and line: an antenna or feed
/// that the array does not have, an input described twice or not at all, pieces out of order.
Table read_delays(const std::string& path, const ArrayLayout& array);
/// The same for text in memory; `name` stands for the file in messages.
Table parse_delays(std::string_view text, const std::string& name, const ArrayLayout& array);

/// The table as a file that read_delays gives back unchanged, to the last bit.
std::string to_toml(const Table& table, const ArrayLayout& array);

}  // namespace tautline::formats::delays

// The parts of a run whose curves are cut: where one ends, and what of the run's stretches lies in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/file_parts.h"
#include "tautline/pipeline/photons/count_source_node.h"

namespace tautline::pipeline {

/// Parts follow each other without a gap. Bins are counted from the run's first one, but where the part is said to count
/// them.
class CurveParts {
 public:
  /// Without limits: the run is one, and no part is begun.
  explicit CurveParts(const PartLimits& limits = {}) : limits_(limits), files_({}, limits) {}
  bool several() const { return files_.several(); }
  /// The stream that is cut, of counts or photons, before the first part.
  void open(const CountStream& input, bool photons);

  /// The part at hand: its number, from 1 (0: none was begun), and its first bin.
  std::size_t number() const { return number_; }
  std::uint64_t first() const { return first_; }
  /// The next part, behind the `bins` of that at hand.
  void begin(std::uint64_t bins);

  /// The part can take no bin beyond these.
  bool full(std::uint64_t bins) const { return bins >= most_bins_; }
  /// Whether new files were wished for since the last call.
  bool wished(const engine::Outputs& outputs);
  struct Piece {
    std::uint64_t end;  ///< the bin behind its last one
    bool last;          ///< of the part, for its photons
  };
  /// The next piece of the part: from bin `from` to `end` at most, with `photons` in order from there on.
  Piece next_piece(std::uint64_t from, std::uint64_t end,
                   std::span<const BinnedPhoton> photons) const;
  void count_photons(std::uint64_t photons);

  /// Of the ranges what lies in the part's first `bins`, as the part counts.
  std::vector<BinRange> inside(
      const std::vector<BinRange>& ranges,
      std::uint64_t bins = std::numeric_limits<std::uint64_t>::max()) const;
  /// The input's stretches of the part's first `bins`, as if the part were all of the run. `last`: no part follows.
  CountStream input_of(const CountStream& input, std::uint64_t bins, bool last) const;

 private:
  PartLimits limits_;
  FileParts files_;
  std::uint64_t most_bins_ = 0, most_photons_ = 0;  // of a part; photons: 0 is no limit
  std::uint64_t rotations_ = 0;
  std::size_t number_ = 0;
  std::uint64_t first_ = 0, photons_ = 0;  // of the part at hand
};

}  // namespace tautline::pipeline

#include "tautline/pipeline/filterbank_stream.h"

#include <algorithm>

namespace tautline::pipeline {

FilterbankStream::Turn FilterbankStream::turn_of(std::uint64_t segment) const {
  if (live) return {};
  Turn turn{0, static_cast<std::size_t>(segment)};
  while (turn.pass >= parts.at(turn.part).passes) turn.pass -= parts[turn.part++].passes;
  return turn;
}

std::uint64_t grid_sample_of(const FilterbankStream& filterbank, const engine::Block& first) {
  const FilterbankPart& part = filterbank.parts[filterbank.turn_of(first.segment).part];
  if (!filterbank.live) return part.placed.grid_first + first.first;
  const formats::FilterbankDescription& description = filterbank.beam_of(part);
  const std::int64_t before =
      core::samples_between(description.start, first.segment_start, description.rate_hz);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, before)) + first.first;
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/filterbank_stream.h"

namespace tautline::pipeline {

FilterbankStream::Turn FilterbankStream::turn_of(std::uint64_t segment) const {
  if (live) return {};
  Turn turn{0, static_cast<std::size_t>(segment)};
  while (turn.pass >= parts.at(turn.part).passes) turn.pass -= parts[turn.part++].passes;
  return turn;
}

}  // namespace tautline::pipeline

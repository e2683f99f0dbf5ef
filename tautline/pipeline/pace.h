// Paces files as if their samples arrived live: at which rate, and in which pieces.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tautline/core/field_text.h"
#include "tautline/core/fields.h"
#include "tautline/pipeline/node_type.h"

namespace tautline::pipeline {

/// The field `rate` of a source of files.
inline core::FieldDescription rate_field() {
  return {.name = "rate",
          .help =
              "gives samples as if they came now, at so many times real time; 0: as fast as they "
              "are taken"};
}

/// engine::Stream::pace, of a source whose field says `rate`.
inline double pace_of(double rate, const NodeContext& context) {
  return context.pace > 0 ? context.pace : rate;
}

/// Samples of a block, of `most` that are worth it: what comes live comes in pieces of no more than `longest_s`.
inline std::size_t paced_block_samples(std::size_t most, double samples_per_s, double longest_s) {
  const double samples = samples_per_s * longest_s;
  return samples < static_cast<double>(most)
             ? std::max<std::size_t>(1, static_cast<std::size_t>(samples))
             : most;
}

}  // namespace tautline::pipeline

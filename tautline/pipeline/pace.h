// Sources that are live or pretend to be: the rate and the pieces of files that are paced, pipes that are only planned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "tautline/core/error.h"
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

/// Before a pipe is opened: throws Error(config) where the graph will not run, since only the pipe's header tells what
/// comes, and that is not waited for. `field` names the pipe.
inline void refuse_planned_pipe(const NodeContext& context, const std::string& field,
                                const std::string& pipe) {
  if (context.only_planned)
    throw core::Error(core::ErrorKind::config, field,
                      pipe + ", of which nothing is known before the run reads it", "a file",
                      "name a file of the same form here to check or plan the pipeline");
}

/// Samples of a block, of `most` that are worth it: what comes live comes in pieces of no more than `longest_s`.
inline std::size_t paced_block_samples(std::size_t most, double samples_per_s, double longest_s) {
  const double samples = samples_per_s * longest_s;
  return samples < static_cast<double>(most)
             ? std::max<std::size_t>(1, static_cast<std::size_t>(samples))
             : most;
}

}  // namespace tautline::pipeline

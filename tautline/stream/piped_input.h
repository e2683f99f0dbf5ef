// Pipes that are read as they come.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include "tautline/formats/forward_bytes.h"

namespace tautline::stream {

/// Opens a pipe ("-": standard input), which is read on a thread of its own into a buffer. `memory_bytes` is the run's:
/// it takes a part of that. Once `stop` is requested it ends with what has come. Throws Error(io).
std::shared_ptr<formats::ForwardBytes> open_pipe(const std::string& path, std::size_t memory_bytes,
                                                 const std::stop_token& stop);

}  // namespace tautline::stream

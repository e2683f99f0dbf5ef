// Pipes that are read as they come.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include "tautline/formats/forward_bytes.h"

namespace tautline::stream {

/// Opens a pipe ("-": standard input), which a thread of its own reads into a buffer. The buffer is a part of
/// `memory_bytes`, the run's memory. After a stop the stream ends with the bytes that have come. Throws Error(io).
std::shared_ptr<formats::ForwardBytes> open_pipe(const std::string& path, std::size_t memory_bytes,
                                                 const std::stop_token& stop);

}  // namespace tautline::stream

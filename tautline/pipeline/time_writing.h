// How long a sink writes for a second of its stream.
#pragma once

#include <optional>
#include <string>

#include "tautline/engine/node.h"

namespace tautline::pipeline {

/// In place of a device in the load of a sink.
inline constexpr const char* kWriting = "writing";

/// Bytes of a stream's blocks for a second of the stream; 0: not known.
double bytes_per_s(const engine::Stream& stream);

/// Writes 64 MiB, on a slow disk for half a second, to a file in the folder of `output` that has no name any more, and
/// is gone afterwards. None: it could not be written.
std::optional<engine::Load> time_writing(const std::string& output, double bytes_per_s);

}  // namespace tautline::pipeline

// Decides by the first bytes of a stream whether a command reads it, before the rest is waited for.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tautline/core/error.h"

namespace tautline::formats {

/// What a command reads. `any`: every kind that some command reads; `compared`: visibilities, curves, candidates and
/// truths.
enum class Contents { any, voltages, filterbanks, curves, visibilities, compared };

struct StreamHead {
  std::span<const std::byte> bytes;
  std::string path;       ///< "-" or the name of a pipe, whose ending may tell
  std::string name;       ///< in messages
  bool complete = false;  ///< more bytes would tell no more
};

/// By so many first bytes every kind of stream is told; of VDIF two frames are needed.
inline constexpr std::size_t kStreamHeadBytes = std::size_t{1} << 17;

/// An Error(format), as other_kind() makes it of files, where the first bytes prove that the stream is of a kind that a
/// reader of `contents` does not read. None: it may be, or more bytes are needed.
std::optional<core::Error> refusal_of_stream(const StreamHead& head, Contents contents);

}  // namespace tautline::formats

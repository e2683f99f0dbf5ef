// The header that the frames of a recording agree about. A single one may be damaged, the first as any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "tautline/formats/vdif/header.h"

namespace tautline::formats::vdif {

/// The header at an offset; none where there are no bytes for it.
using HeaderAt = std::function<std::optional<Header>(std::uint64_t offset)>;

/// The first header, at a whole number of its frames, that most of the next 16 frames agree with; its extended data are
/// those that most of these have. Looks at the first frame, and where most others differ from it up to `search_bytes`.
/// None: no frames agree, or there is only one.
std::optional<Header> agreed_header(const HeaderAt& header_at, std::uint64_t search_bytes);

/// Whether these bytes begin with two frames that agree, or with damaged ones behind which three follow each other in
/// time.
bool begins_with_frames(const HeaderAt& header_at, std::uint64_t search_bytes);

}  // namespace tautline::formats::vdif

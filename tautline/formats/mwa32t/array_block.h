// Receivers side by side in a block: the description of an array of receivers, and the places of their samples.
#pragma once

#include <cstddef>
#include <span>

#include "tautline/core/voltage.h"
#include "tautline/formats/mwa32t/mwa32t.h"

namespace tautline::formats::mwa32t {

/// Fields that are not in `assumed` come from the instrument.
core::VoltageDescription describe_array(const core::VoltageDescription& assumed,
                                        std::size_t receivers, Mode mode);

/// Bytes of one receiver's samples of one time in a block.
std::size_t slice_bytes(Mode mode);

/// Puts the samples of `count` records into a block of an array, from its time `start` on, as those of receiver
/// `index`.
void place_records(Mode mode, const std::byte* records, std::size_t count,
                   std::span<std::byte> block, std::size_t receivers, std::size_t index,
                   std::size_t start);

}  // namespace tautline::formats::mwa32t

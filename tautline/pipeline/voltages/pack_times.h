// Converts raw voltages of any block layout to times of [channel][antenna][polarisation], as DADA files store them
// (ORDER TFAP).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tautline/core/voltage.h"

namespace tautline::pipeline {

/// Bits of one time, of all channels and inputs.
std::size_t bits_of_a_time(const core::RawLayout& layout);

/// `count` times of a block from `first` on, bit for bit. A time fills whole bytes. The bytes are the block's own where
/// these have this layout already, else in `packed`.
std::span<const std::byte> pack_times(std::span<const std::byte> bytes,
                                      const core::RawLayout& layout, std::size_t first,
                                      std::size_t count, std::vector<std::byte>& packed);

}  // namespace tautline::pipeline

// Samples as coded in payloads, and as stored in blocks.
#pragma once

#include <cstddef>
#include <span>

#include "tautline/formats/packets/packet_layout.h"

namespace tautline::formats::packets {

/// The bytes of so many components in a payload, and in a block. They fill whole bytes.
std::size_t wire_bytes(const WireSample& sample, std::size_t components);
std::size_t placed_bytes(const WireSample& sample, std::size_t components);

/// Codes of a payload to samples of `sample.placed()`.
void from_wire(const WireSample& sample, const std::byte* wire, std::size_t components,
               std::byte* placed);
/// The inverse; integers that do not fit the payload's bits are clipped.
void to_wire(const WireSample& sample, const std::byte* placed, std::size_t components,
             std::byte* wire);
/// Integers to a payload's codes: how many were clipped. Not for floats.
std::size_t integers_to_wire(const WireSample& sample, std::span<const int> components,
                             std::byte* wire);

}  // namespace tautline::formats::packets

// From a frame's payload to integers or floats, one row a channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tautline/core/sample_format.h"
#include "tautline/formats/vdif/header.h"

namespace tautline::formats::vdif {

/// The type that samples of a frame are delivered as.
core::SampleFormat delivered_format(const Header& header);

/// Decodes samples [first, first + count) into rows of `row_stride_bytes`, one a channel, from
/// their beginning on. `words` holds the payload from word packing.words_before(first) on.
///   row[channel][t] = the code of sample first + t minus its offset, complex ones re first
void decode_samples(const Header& header, const Packing& packing, std::span<const std::byte> words,
                    std::size_t first, std::size_t count, std::byte* rows,
                    std::size_t row_stride_bytes);

/// The word that recorders and correlators write where a frame lacks its data: all words of its payload, behind a header
/// that is as good as any.
inline constexpr std::uint32_t kFillWord = 0x11223344;
/// Of whole words, one at least, in either order of their bytes.
bool begins_with_fill(std::span<const std::byte> words);
bool is_fill(std::span<const std::byte> words);

}  // namespace tautline::formats::vdif

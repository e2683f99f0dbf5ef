// Transposes rows of consecutive times (the output of stages) to times of neighbouring rows (the order of files).
#pragma once

#include <cstddef>
#include <span>

namespace tautline::formats::dada {

/// out[t][k] = element `first` + t of rows[k], for t < `count`, elements of 1, 2, 4 or 8 bytes. Divided into
/// `pieces` for several threads; 0: by the length.
void times_of_rows(std::span<const std::byte* const> rows, std::size_t element_bytes,
                   std::size_t first, std::size_t count, std::byte* out, std::size_t pieces = 0);

}  // namespace tautline::formats::dada

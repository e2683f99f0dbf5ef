#include "tautline/formats/dada/times_of_rows.h"

#include <algorithm>
#include <cstring>

#include "tautline/core/threads.h"

namespace tautline::formats::dada {

namespace {

constexpr std::size_t kLineBytes = 64;

// A tile is a cache line of times of as many rows as fill a line of the output: both sides' lines are touched once.
template <std::size_t kBytes>
void transpose(std::span<const std::byte* const> rows, std::size_t first, std::size_t count,
               std::byte* out) {
  constexpr std::size_t kTile = kLineBytes / kBytes;
  for (std::size_t begin = 0; begin < count; begin += kTile) {
    const std::size_t end = std::min(begin + kTile, count);
    for (std::size_t row = 0; row < rows.size(); row += kTile) {
      const std::size_t wide = std::min(kTile, rows.size() - row);
      for (std::size_t t = begin; t < end; ++t) {
        std::byte* to = out + (t * rows.size() + row) * kBytes;
        const std::size_t from = (first + t) * kBytes;
        for (std::size_t k = 0; k < wide; ++k)
          std::memcpy(to + k * kBytes, rows[row + k] + from, kBytes);
      }
    }
  }
}

}  // namespace

void times_of_rows(std::span<const std::byte* const> rows, std::size_t element_bytes,
                   std::size_t first, std::size_t count, std::byte* out, std::size_t pieces) {
  // Less is moved in the time that it takes to hand it to another thread.
  constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
  const std::size_t time_bytes = rows.size() * element_bytes;
  const std::size_t lines = (count * element_bytes + kLineBytes - 1) / kLineBytes;
  const std::size_t line_times = kLineBytes / element_bytes;
  core::in_pieces(lines, pieces > 0 ? pieces : count * time_bytes / kLeastBytes,
                  [&](std::size_t, std::size_t begin, std::size_t end) {
                    const std::size_t from = begin * line_times;
                    const std::size_t times = std::min(count, end * line_times) - from;
                    std::byte* to = out + from * time_bytes;
                    switch (element_bytes) {
                      case 1:
                        return transpose<1>(rows, first + from, times, to);
                      case 2:
                        return transpose<2>(rows, first + from, times, to);
                      case 4:
                        return transpose<4>(rows, first + from, times, to);
                      default:
                        return transpose<8>(rows, first + from, times, to);
                    }
                  });
}

}  // namespace tautline::formats::dada

// Prefetching of the next chunk's samples while this chunk is multiplied.
#pragma once

#include <cstddef>

namespace tautline::stages::correlate::cpu {

/// Rows of memory, prefetched a few cache lines at a time. Without prefetching, packing waits for
/// memory (a sixth of the time of the VNNI kernel at 256 inputs) that is idle during
/// multiplications. Prefetching an address past the end of a buffer is harmless.
///
/// Always inlined: files that compile for different instruction sets share this code.
class Prefetch {
 public:
  /// Prefetches nothing.
  Prefetch() = default;

  /// `rows` rows of `row_bytes`, spread evenly over `blocks` blocks.
  Prefetch(const void* first, std::ptrdiff_t row_stride_bytes, std::size_t rows,
           std::size_t row_bytes, std::size_t blocks)
      : row_(static_cast<const char*>(first)),
        row_stride_bytes_(row_stride_bytes),
        rows_left_(rows),
        lines_per_row_(row_bytes / kLineBytes + 1),
        lines_per_block_((rows * lines_per_row_ + blocks - 1) / blocks) {}

  /// Lines to prefetch in each of `parts` equal parts of a block's work.
  [[gnu::always_inline]] std::size_t lines_in(std::size_t parts) const {
    return (lines_per_block_ + parts - 1) / parts;
  }

  [[gnu::always_inline]] void fetch(std::size_t lines) {
    for (; lines > 0 && rows_left_ > 0; --lines) {
      __builtin_prefetch(row_ + line_ * kLineBytes, 0, kSecondLevel);
      if (++line_ < lines_per_row_) continue;
      line_ = 0;
      row_ += row_stride_bytes_;
      --rows_left_;
    }
  }

 private:
  static constexpr std::size_t kLineBytes = 64;
  static constexpr int kSecondLevel = 2;  // of __builtin_prefetch: keep in the second-level cache

  const char* row_ = nullptr;
  std::ptrdiff_t row_stride_bytes_ = 0;
  std::size_t rows_left_ = 0;
  std::size_t lines_per_row_ = 0;
  std::size_t lines_per_block_ = 0;
  std::size_t line_ = 0;
};

}  // namespace tautline::stages::correlate::cpu

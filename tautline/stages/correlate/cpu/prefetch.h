// Fetching the next chunk's samples from memory while this one is multiplied.
#pragma once

#include <cstddef>

namespace tautline::stages::correlate::cpu {

/// A rectangle of memory, touched a few cache lines at a time. Packing would otherwise wait for
/// memory (a sixth of the time of the VNNI code at 256 inputs) and multiplying leave it idle. Which
/// lines are touched changes no result, and addresses past the end of a buffer are harmless.
///
/// Always inlined: files that compile for different instruction sets share this code.
class Prefetch {
 public:
  /// Nothing to fetch.
  Prefetch() = default;

  /// `rows` rows of `row_bytes`, spread evenly over `blocks` blocks.
  Prefetch(const void* first, std::ptrdiff_t row_stride_bytes, std::size_t rows,
           std::size_t row_bytes, std::size_t blocks)
      : row_(static_cast<const char*>(first)),
        row_stride_bytes_(row_stride_bytes),
        rows_left_(rows),
        lines_per_row_(row_bytes / kLineBytes + 1),
        lines_per_block_((rows * lines_per_row_ + blocks - 1) / blocks) {}

  /// Lines to fetch in each of `parts` equal parts of a block's work.
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

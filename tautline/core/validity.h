// Validity masks: one bit a sample beside the samples, 1 = valid.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/core/view.h"

namespace tautline::core {

/// [row][word], bit t % 64 of word t / 64 tells sample t of that row. Bits at and beyond the number
/// of samples are zero. An empty view means that every sample is valid.
using ValidityView = View<const std::uint64_t, 2>;

constexpr std::size_t validity_words(std::size_t samples) {
  return (samples + 63) / 64;
}

/// The low `count` bits set, the rest clear.
constexpr std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// Number of valid samples among [first, first + count) of one row.
std::uint64_t count_valid(const std::uint64_t* row, std::size_t first, std::size_t count);

/// Sets or clears [first, first + count) of one row.
void set_range(std::uint64_t* row, std::size_t first, std::size_t count, bool valid);

/// Copies bits [first, first + count) of `from` to bits [to_first, to_first + count) of `to`.
void copy_bits(const std::uint64_t* from, std::size_t first, std::size_t count, std::uint64_t* to,
               std::size_t to_first);

/// An owned mask of `rows` x `samples`, all valid at first.
class ValidityMask {
 public:
  ValidityMask() = default;
  ValidityMask(std::size_t rows, std::size_t samples, bool valid = true);

  std::size_t rows() const { return rows_; }
  std::size_t samples() const { return samples_; }
  std::uint64_t* row(std::size_t r) { return words_.data() + r * stride_; }
  const std::uint64_t* row(std::size_t r) const { return words_.data() + r * stride_; }
  bool valid(std::size_t r, std::size_t t) const { return row(r)[t / 64] >> (t % 64) & 1; }
  void set(std::size_t r, std::size_t first, std::size_t count, bool valid) {
    set_range(row(r), first, count, valid);
  }
  void fill(bool valid);
  /// Number of valid samples in all rows.
  std::uint64_t count() const;
  bool all_valid() const { return count() == std::uint64_t{rows_} * samples_; }
  ValidityView view() const { return {words_.data(), {rows_, stride_}}; }
  View<std::uint64_t, 2> mutable_view() { return {words_.data(), {rows_, stride_}}; }

 private:
  std::size_t rows_ = 0, samples_ = 0, stride_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace tautline::core

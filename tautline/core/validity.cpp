#include "tautline/core/validity.h"

#include <algorithm>

namespace tautline::core {

namespace {

// Calls body(word index, mask of the bits of that word inside the range).
template <class Body>
void for_words(std::size_t first, std::size_t count, Body body) {
  const std::size_t end = first + count;
  while (first < end) {
    const std::size_t bit = first % 64;
    const std::size_t take = std::min<std::size_t>(64 - bit, end - first);
    body(first / 64, low_bits(take) << bit);
    first += take;
  }
}

}  // namespace

std::uint64_t count_valid(const std::uint64_t* row, std::size_t first, std::size_t count) {
  std::uint64_t total = 0;
  for_words(first, count, [&](std::size_t w, std::uint64_t bits) {
    total += static_cast<std::uint64_t>(std::popcount(row[w] & bits));
  });
  return total;
}

void set_range(std::uint64_t* row, std::size_t first, std::size_t count, bool valid) {
  for_words(first, count, [&](std::size_t w, std::uint64_t bits) {
    row[w] = valid ? row[w] | bits : row[w] & ~bits;
  });
}

void copy_bits(const std::uint64_t* from, std::size_t first, std::size_t count, std::uint64_t* to,
               std::size_t to_first) {
  const std::size_t end = first + count;
  while (first < end) {
    const std::size_t bit = first % 64, to_bit = to_first % 64;
    const std::size_t take = std::min({64 - bit, 64 - to_bit, end - first});
    const std::uint64_t bits = from[first / 64] >> bit & low_bits(take);
    std::uint64_t& word = to[to_first / 64];
    word = (word & ~(low_bits(take) << to_bit)) | bits << to_bit;
    first += take;
    to_first += take;
  }
}

ValidityMask::ValidityMask(std::size_t rows, std::size_t samples, bool valid)
    : rows_(rows),
      samples_(samples),
      stride_(validity_words(samples)),
      words_(rows * stride_, 0) {
  if (valid) fill(true);
}

void ValidityMask::fill(bool valid) {
  for (std::size_t r = 0; r < rows_; ++r) set_range(row(r), 0, samples_, valid);
}

std::uint64_t ValidityMask::count() const {
  std::uint64_t total = 0;
  for (std::size_t r = 0; r < rows_; ++r) total += count_valid(row(r), 0, samples_);
  return total;
}

}  // namespace tautline::core

#include "tautline/stages/correlate/cpu_counts.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tautline/core/validity.h"

namespace tautline::stages::correlate::cpu {

PairCounter::PairCounter(std::size_t inputs)
    : class_of_(inputs), representative_(kMaxClasses), table_(kMaxClasses * kMaxClasses) {}

std::size_t PairCounter::bytes(std::size_t inputs) {
  return inputs * sizeof(std::uint16_t) + kMaxClasses * sizeof(std::uint16_t) +
         kMaxClasses * kMaxClasses * sizeof(std::int64_t);
}

const std::uint64_t* PairCounter::row(std::size_t input) const {
  return words_ + static_cast<std::ptrdiff_t>(input) * stride_;
}

// Bits beyond the last sample are not trusted to be clear.
std::uint64_t PairCounter::count(const std::uint64_t* a, const std::uint64_t* b) const {
  const std::size_t whole = samples_ / 64;
  std::uint64_t total = loops_->count_both(a, b, whole);
  if (samples_ % 64 != 0) {
    const std::uint64_t bits = core::low_bits(samples_ % 64);
    total += static_cast<std::uint64_t>(std::popcount(a[whole] & b[whole] & bits));
  }
  return total;
}

// False when the input's mask is new and there is no class left for it.
bool PairCounter::classify(std::size_t input) {
  const std::size_t bytes = core::validity_words(samples_) * sizeof(std::uint64_t);
  const auto same = [&](std::size_t k) {
    const std::uint64_t* other = row(representative_[k]);
    return other == row(input) || std::memcmp(other, row(input), bytes) == 0;
  };
  const std::size_t before = input == 0 ? 0 : class_of_[input - 1];
  std::size_t k = before < classes_ && same(before) ? before : 0;
  while (k < classes_ && !same(k)) ++k;
  if (k == kMaxClasses) return false;
  if (k == classes_) representative_[classes_++] = static_cast<std::uint16_t>(input);
  class_of_[input] = static_cast<std::uint16_t>(k);
  return true;
}

void PairCounter::prepare(const RowLoops& loops, const std::uint64_t* words, std::ptrdiff_t stride,
                          std::size_t samples) {
  loops_ = &loops;
  words_ = words;
  stride_ = stride;
  samples_ = samples;
  classes_ = 0;
  classified_ = true;
  for (std::size_t i = 0; i < class_of_.size() && classified_; ++i) classified_ = classify(i);
  if (!classified_) return;
  for (std::size_t a = 0; a < classes_; ++a)
    for (std::size_t b = 0; b <= a; ++b)
      table_[a * kMaxClasses + b] = table_[b * kMaxClasses + a] =
          static_cast<std::int64_t>(count(row(representative_[a]), row(representative_[b])));
}

void PairCounter::count_row(std::size_t i, std::int64_t* counts) const {
  if (classified_) {
    const std::int64_t* table = table_.data() + class_of_[i] * kMaxClasses;
    for (std::size_t j = 0; j <= i; ++j) counts[j] = table[class_of_[j]];
    return;
  }
  for (std::size_t j = 0; j <= i; ++j) counts[j] = static_cast<std::int64_t>(count(row(i), row(j)));
}

}  // namespace tautline::stages::correlate::cpu

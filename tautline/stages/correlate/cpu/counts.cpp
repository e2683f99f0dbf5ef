#include "tautline/stages/correlate/cpu/counts.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tautline/core/validity.h"

namespace tautline::stages::correlate::cpu {

namespace {

// Calls body(element, index) over a row of counts. The dense case is a loop of its own because the
// compiler vectorises it.
template <class Body>
void for_row(const Counts& counts, std::size_t channel, std::size_t row, const Body& body) {
  std::int64_t* out = &counts(channel, core::baseline_index(row, 0));
  const std::ptrdiff_t stride = counts.stride(1);
  if (stride == 1) {
    for (std::size_t j = 0; j <= row; ++j) body(out[j], j);
  } else {
    for (std::size_t j = 0; j <= row; ++j) body(out[static_cast<std::ptrdiff_t>(j) * stride], j);
  }
}

}  // namespace

PairCounter::PairCounter(std::size_t inputs)
    : class_of_(inputs), representative_(kMaxClasses), table_(kMaxClasses * kMaxClasses) {}

std::size_t PairCounter::bytes(std::size_t inputs) {
  return inputs * sizeof(std::uint16_t) + kMaxClasses * sizeof(std::uint16_t) +
         kMaxClasses * kMaxClasses * sizeof(std::int64_t);
}

const std::uint64_t* PairCounter::row(std::size_t input) const {
  return words_ + static_cast<std::ptrdiff_t>(input) * stride_;
}

// Masks out bits beyond the last sample: callers need not clear them.
std::uint64_t PairCounter::count(const std::uint64_t* a, const std::uint64_t* b) const {
  const std::size_t whole = samples_ / 64;
  std::uint64_t total = loops_->count_both(a, b, whole);
  if (samples_ % 64 != 0) {
    const std::uint64_t bits = core::low_bits(samples_ % 64);
    total += static_cast<std::uint64_t>(std::popcount(a[whole] & b[whole] & bits));
  }
  return total;
}

// False when the input's mask is new and the table has no room for another class.
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

CountEngine::CountEngine(std::size_t inputs, std::size_t workers)
    : inputs_(inputs), counters_(workers, PairCounter(inputs)), row_counts_(workers * inputs) {}

std::size_t CountEngine::bytes(std::size_t inputs, std::size_t workers) {
  return workers * (PairCounter::bytes(inputs) + inputs * sizeof(std::int64_t));
}

void CountEngine::add(device::Queue& queue, const RowLoops& loops, const Validity& validity,
                      std::size_t samples, const Counts& counts) {
  const std::size_t channels = counts.extent(0);
  const auto prepare = [&](std::size_t counter, std::size_t channel) {
    counters_[counter].prepare(loops, validity.row(channel, 0), validity.stride(1), samples);
  };
  if (validity.data() == nullptr) {
    add_full(queue, static_cast<std::int64_t>(samples), counts);
  } else if (validity.stride(0) == 0) {
    prepare(0, 0);
    add_rows(queue, counts, 0, channels);
  } else if (channels >= queue.workers()) {
    for_range(&queue, 0, channels, [&](std::size_t c, std::size_t last, std::size_t worker) {
      for (; c < last; ++c) {
        prepare(worker, c);
        for (std::size_t i = 0; i < inputs_; ++i) add_row(worker, worker, i, counts, c, c + 1);
      }
    });
  } else {
    for (std::size_t c = 0; c < channels; ++c) {
      prepare(0, c);
      add_rows(queue, counts, c, c + 1);
    }
  }
}

void CountEngine::add_full(device::Queue& queue, std::int64_t samples, const Counts& counts) const {
  for_range(&queue, 0, counts.extent(0) * inputs_,
            [&](std::size_t k, std::size_t last, std::size_t) {
              for (; k < last; ++k)
                for_row(counts, k / inputs_, k % inputs_,
                        [samples](std::int64_t& n, std::size_t) { n += samples; });
            });
}

// Adds all rows, counted by the first counter, on all workers.
void CountEngine::add_rows(device::Queue& queue, const Counts& counts, std::size_t first_channel,
                           std::size_t last_channel) {
  for_range(&queue, 0, inputs_, [&](std::size_t i, std::size_t last, std::size_t worker) {
    for (; i < last; ++i) add_row(0, worker, i, counts, first_channel, last_channel);
  });
}

void CountEngine::add_row(std::size_t counter, std::size_t worker, std::size_t row,
                          const Counts& counts, std::size_t first_channel,
                          std::size_t last_channel) {
  std::int64_t* counted = row_counts_.data() + worker * inputs_;
  counters_[counter].count_row(row, counted);
  for (std::size_t c = first_channel; c < last_channel; ++c)
    for_row(counts, c, row, [counted](std::int64_t& n, std::size_t j) { n += counted[j]; });
}

}  // namespace tautline::stages::correlate::cpu

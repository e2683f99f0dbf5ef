#include "tautline/stages/channelize/history_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "tautline/core/error.h"
#include "tautline/core/saved_state.h"
#include "tautline/core/validity.h"

namespace tautline::stages::channelize {

namespace {

// What the content of a saved state begins with: samples held, then the index of the next spectrum.
using Head = std::array<std::uint64_t, 2>;

// Calls body(first, last) for every run of zero bits among [0, count).
template <class Body>
void for_invalid_runs(const std::uint64_t* row, std::size_t count, Body body) {
  std::size_t n = 0;
  while (n < count) {
    const std::uint64_t zeros = ~row[n / 64] >> (n % 64);
    if (zeros == 0) {
      n = (n / 64 + 1) * 64;
      continue;
    }
    const std::size_t first = n + static_cast<std::size_t>(std::countr_zero(zeros));
    const std::size_t length =
        static_cast<std::size_t>(std::countr_one(zeros >> std::countr_zero(zeros)));
    if (first >= count) return;
    body(first, std::min(first + length, count));
    n = first + length;
  }
}

}  // namespace

HistoryMask::HistoryMask(const Bank& bank)
    : plan_(fmt::format("1 {} {} {} {}", bank.config.inputs, core::to_string(bank.config.input),
                        bank.span(), bank.hop)),
      inputs_(bank.config.inputs),
      sample_bytes_(bank.sample_bytes),
      span_(bank.span()),
      hop_(bank.hop),
      row_words_(core::validity_words(bank.span())),
      bits_(inputs_ * row_words_) {}

std::size_t HistoryMask::bytes(const Bank& bank) {
  return bank.config.inputs * core::validity_words(bank.span()) * sizeof(std::uint64_t);
}

void HistoryMask::reset() {
  held_ = 0, index_ = 0;
  all_valid_ = true;
}

Leftover HistoryMask::leftover(std::size_t count, std::size_t spectra) const {
  const std::size_t used = spectra * hop_;
  Leftover left;
  left.old_first = std::min(used, held_);
  left.old = held_ - left.old_first;
  left.fresh_first = used > held_ ? used - held_ : 0;
  left.fresh = count - left.fresh_first;
  return left;
}

bool HistoryMask::row_valid(std::size_t input) const {
  return core::count_valid(row(input), 0, held_) == held_;
}

void HistoryMask::advance(const core::ValidityView& validity, std::size_t count,
                          std::size_t spectra) {
  const Leftover left = leftover(count, spectra);
  const bool fresh_valid = validity.empty();
  for (std::size_t input = 0; input < inputs_; ++input) {
    std::uint64_t* bits = bits_.data() + input * row_words_;
    if (left.old > 0 && left.old_first > 0)
      core::copy_bits(bits, left.old_first, left.old, bits, 0);
    if (left.fresh == 0) continue;
    if (fresh_valid)
      core::set_range(bits, left.old, left.fresh, true);
    else
      core::copy_bits(validity.row(input), left.fresh_first, left.fresh, bits, left.old);
  }
  held_ = left.count();
  index_ += spectra;
  if (all_valid_ && fresh_valid) return;
  all_valid_ = true;
  for (std::size_t input = 0; input < inputs_ && all_valid_; ++input) all_valid_ = row_valid(input);
}

std::vector<std::byte> HistoryMask::save(
    const std::function<const std::byte*(std::size_t row)>& samples) const {
  std::vector<std::byte> content;
  const auto put = [&content](const void* from, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(from);
    content.insert(content.end(), first, first + bytes);
  };
  const Head head{held_, index_};
  put(&head, sizeof head);
  for (std::size_t input = 0; input < inputs_; ++input) {
    put(row(input), core::validity_words(held_) * 8);
    put(samples(input), held_ * sample_bytes_);
  }
  return core::seal_state("channelize", plan_, content);
}

void HistoryMask::load(
    std::span<const std::byte> saved,
    const std::function<void(std::size_t row, const std::byte* samples)>& restore) {
  const std::span<const std::byte> content = core::open_state("channelize", plan_, saved);
  Head head{span_, 0};
  if (content.size() >= sizeof head) std::memcpy(&head, content.data(), sizeof head);
  const auto [held, index] = head;
  const std::size_t words = core::validity_words(held);
  if (held >= span_ || content.size() != sizeof head + inputs_ * (words * 8 + held * sample_bytes_))
    throw core::Error(core::ErrorKind::format, "saved filter bank state",
                      fmt::format("{} bytes, {} samples held", saved.size(), held),
                      fmt::format("fewer than {} samples and bytes to match", span_));
  held_ = held;
  index_ = index;
  all_valid_ = true;
  const std::byte* from = content.data() + sizeof head;
  for (std::size_t input = 0; input < inputs_ && held_ > 0; ++input) {
    std::memcpy(bits_.data() + input * row_words_, from, words * 8);
    all_valid_ = all_valid_ && row_valid(input);
    restore(input, from + words * 8);
    from += words * 8 + held_ * sample_bytes_;
  }
}

void spectrum_validity(const Bank& bank, const HistoryMask& held,
                       const core::ValidityView& validity, std::size_t count, std::size_t row,
                       std::size_t spectra, std::uint64_t* bits) {
  core::set_range(bits, 0, spectra, true);
  // Samples [first, last) touch the spectra s with s D < last and s D + T M > first.
  const auto clear = [&](std::size_t first, std::size_t last) {
    const std::size_t begin = first < bank.span() ? 0 : (first - bank.span()) / bank.hop + 1;
    const std::size_t end = std::min(spectra, (last - 1) / bank.hop + 1);
    if (begin < end) core::set_range(bits, begin, end - begin, false);
  };
  for_invalid_runs(held.row(row), held.held(), clear);
  if (validity.empty()) return;
  for_invalid_runs(validity.row(row), count, [&](std::size_t first, std::size_t last) {
    clear(held.held() + first, held.held() + last);
  });
}

}  // namespace tautline::stages::channelize

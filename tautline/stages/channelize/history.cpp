#include "tautline/stages/channelize/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "tautline/core/error.h"
#include "tautline/core/validity.h"

namespace tautline::stages::channelize {

namespace {

constexpr std::size_t kAlignment = 64;
// "TLchan01": format of a saved state.
constexpr std::uint64_t kMagic = 0x31306e6168634c54;

std::size_t padded(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t row_bytes(const Bank& bank) {
  return padded(bank.span() * bank.sample_bytes);
}

std::uint64_t read_bits(const std::uint64_t* row, std::size_t first, std::size_t count) {
  const std::size_t word = first / 64, shift = first % 64;
  std::uint64_t bits = row[word] >> shift;
  if (shift != 0 && shift + count > 64) bits |= row[word + 1] << (64 - shift);
  return bits & core::low_bits(count);
}

// Copies bits to an earlier or the same place of the same row, or of another row.
void copy_bits(std::uint64_t* to, std::size_t to_first, const std::uint64_t* from,
               std::size_t from_first, std::size_t count) {
  while (count > 0) {
    const std::size_t shift = to_first % 64;
    const std::size_t take = std::min<std::size_t>(64 - shift, count);
    const std::uint64_t bits = read_bits(from, from_first, take);
    std::uint64_t& word = to[to_first / 64];
    word = (word & ~(core::low_bits(take) << shift)) | bits << shift;
    to_first += take, from_first += take, count -= take;
  }
}

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

History::History(const Bank& bank)
    : inputs_(bank.config.inputs),
      sample_bytes_(bank.sample_bytes),
      span_(bank.span()),
      hop_(bank.hop),
      row_bytes_(row_bytes(bank)),
      row_words_(core::validity_words(bank.span())),
      samples_(inputs_ * row_bytes_),
      validity_(inputs_ * row_words_) {}

std::size_t History::bytes(const Bank& bank) {
  return bank.config.inputs *
         (row_bytes(bank) + core::validity_words(bank.span()) * sizeof(std::uint64_t));
}

void History::reset() {
  held_ = 0, index_ = 0;
}

void History::advance(const Input& input, std::size_t spectra) {
  const std::size_t used = spectra * hop_;
  const std::size_t keep = held_ + input.count - used;
  const std::size_t old = used < held_ ? held_ - used : 0;  // samples kept of those held
  const std::size_t skipped = used > held_ ? used - held_ : 0;
  for (std::size_t row = 0; row < inputs_; ++row) {
    std::byte* samples = samples_.as<std::byte>() + row * row_bytes_;
    std::uint64_t* bits = validity_.data() + row * row_words_;
    if (old > 0 && used > 0) {
      std::memmove(samples, samples + used * sample_bytes_, old * sample_bytes_);
      copy_bits(bits, 0, bits, used, old);
    }
    if (keep == old) continue;
    const auto* fresh = static_cast<const std::byte*>(input.samples) + row * input.row_stride_bytes;
    std::memcpy(samples + old * sample_bytes_, fresh + skipped * sample_bytes_,
                (keep - old) * sample_bytes_);
    if (input.validity.empty())
      core::set_range(bits, old, keep - old, true);
    else
      copy_bits(bits, old, input.validity.row(row), skipped, keep - old);
  }
  held_ = keep;
  index_ += spectra;
}

std::vector<std::uint64_t> History::fingerprint() const {
  return {kMagic, inputs_, sample_bytes_, span_, hop_};
}

std::vector<std::byte> History::save() const {
  std::vector<std::uint64_t> head = fingerprint();
  head.push_back(held_);
  head.push_back(index_);
  const std::size_t words = core::validity_words(held_);
  std::vector<std::byte> saved(head.size() * 8 + inputs_ * (words * 8 + held_ * sample_bytes_));
  std::byte* to = saved.data();
  const auto put = [&to](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    to += bytes;
  };
  put(head.data(), head.size() * 8);
  for (std::size_t row = 0; row < inputs_; ++row) {
    put(validity(row), words * 8);
    put(samples(row), held_ * sample_bytes_);
  }
  return saved;
}

void History::load(const std::vector<std::byte>& saved) {
  const std::vector<std::uint64_t> expected = fingerprint();
  std::vector<std::uint64_t> head(expected.size() + 2);
  const bool whole = saved.size() >= head.size() * 8;
  if (whole) std::memcpy(head.data(), saved.data(), head.size() * 8);
  if (!whole || !std::equal(expected.begin(), expected.end(), head.begin()))
    throw core::Error(core::ErrorKind::format, "saved filter bank state",
                      fmt::format("{} bytes", saved.size()),
                      "one that a state of this configuration saved",
                      "inputs, sample format, channels, taps and oversampling must be the same");
  const std::uint64_t held = head[expected.size()];
  const std::size_t words = core::validity_words(held);
  if (held >= span_ ||
      saved.size() != head.size() * 8 + inputs_ * (words * 8 + held * sample_bytes_))
    throw core::Error(core::ErrorKind::format, "saved filter bank state",
                      fmt::format("{} bytes, {} samples held", saved.size(), held),
                      fmt::format("fewer than {} samples and bytes to match", span_));
  held_ = held;
  index_ = head.back();
  const std::byte* from = saved.data() + head.size() * 8;
  for (std::size_t row = 0; row < inputs_ && held_ > 0; ++row) {
    std::memcpy(validity_.data() + row * row_words_, from, words * 8);
    std::memcpy(samples_.as<std::byte>() + row * row_bytes_, from + words * 8,
                held_ * sample_bytes_);
    from += words * 8 + held_ * sample_bytes_;
  }
}

void spectrum_validity(const Bank& bank, const History& history, const Input& input,
                       std::size_t row, std::size_t spectra, std::uint64_t* bits) {
  core::set_range(bits, 0, spectra, true);
  // Samples [first, last) touch the spectra s with s D < last and s D + T M > first.
  const auto clear = [&](std::size_t first, std::size_t last) {
    const std::size_t begin = first < bank.span() ? 0 : (first - bank.span()) / bank.hop + 1;
    const std::size_t end = std::min(spectra, (last - 1) / bank.hop + 1);
    if (begin < end) core::set_range(bits, begin, end - begin, false);
  };
  for_invalid_runs(history.validity(row), history.held(), clear);
  if (input.validity.empty()) return;
  for_invalid_runs(input.validity.row(row), input.count, [&](std::size_t first, std::size_t last) {
    clear(history.held() + first, history.held() + last);
  });
}

}  // namespace tautline::stages::channelize

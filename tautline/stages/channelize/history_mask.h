// The part of the history that all backends share: the number of samples, their validity, and the
// number of spectra so far. Saved states are the same for all backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tautline/stages/channelize/bank.h"

namespace tautline::stages::channelize {

/// The samples that a call leaves in the history: `old` samples of the previous history, then
/// `fresh` samples of the call.
struct Leftover {
  std::size_t old_first = 0, old = 0;
  std::size_t fresh_first = 0, fresh = 0;
  std::size_t count() const { return old + fresh; }
};

class HistoryMask {
 public:
  explicit HistoryMask(const Bank& bank);

  std::size_t held() const { return held_; }
  /// Spectra written since the stream's first sample.
  std::uint64_t index() const { return index_; }
  const std::uint64_t* row(std::size_t input) const { return bits_.data() + input * row_words_; }
  /// True only if every sample of the history is valid.
  bool all_valid() const { return all_valid_; }

  void reset();
  /// For a call of `count` samples that writes `spectra` spectra.
  Leftover leftover(std::size_t count, std::size_t spectra) const;
  void advance(const core::ValidityView& validity, std::size_t count, std::size_t spectra);

  /// `samples(row)`: the held() samples of an input.
  std::vector<std::byte> save(
      const std::function<const std::byte*(std::size_t row)>& samples) const;
  /// Checks the saved state, then calls `restore(row, samples)` for each input. Throws
  /// Error(format).
  void load(std::span<const std::byte> saved,
            const std::function<void(std::size_t row, const std::byte* samples)>& restore);

  static std::size_t bytes(const Bank& bank);

 private:
  bool row_valid(std::size_t input) const;

  std::string plan_;  // of core::seal_state
  std::size_t inputs_, sample_bytes_, span_, hop_, row_words_;
  std::size_t held_ = 0;
  std::uint64_t index_ = 0;
  bool all_valid_ = true;
  std::vector<std::uint64_t> bits_;
};

/// Writes one bit a spectrum: 1 if all of its samples are valid. Samples are those of the history,
/// then `count` samples with `validity` (empty: all valid).
void spectrum_validity(const Bank& bank, const HistoryMask& held,
                       const core::ValidityView& validity, std::size_t count, std::size_t row,
                       std::size_t spectra, std::uint64_t* bits);

}  // namespace tautline::stages::channelize

// The samples that later spectra still need, kept between calls for every input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/bank.h"

namespace tautline::stages::channelize {

class History {
 public:
  explicit History(const Bank& bank);

  std::size_t held() const { return held_; }
  /// Spectra given since the stream's first sample.
  std::uint64_t index() const { return index_; }
  const std::byte* samples(std::size_t input) const {
    return samples_.as<std::byte>() + input * row_bytes_;
  }
  const std::uint64_t* validity(std::size_t input) const {
    return validity_.data() + input * row_words_;
  }

  void reset();
  /// Takes in a call's samples, of which `spectra` spectra have been given.
  void advance(const Input& input, std::size_t spectra);

  std::vector<std::byte> save() const;
  void load(const std::vector<std::byte>& saved);

  static std::size_t bytes(const Bank& bank);

 private:
  std::vector<std::uint64_t> fingerprint() const;

  std::size_t inputs_, sample_bytes_, span_, hop_;
  std::size_t row_bytes_, row_words_;
  std::size_t held_ = 0;
  std::uint64_t index_ = 0;
  device::Buffer samples_;
  std::vector<std::uint64_t> validity_;
};

/// Writes one bit a spectrum, 1 = valid: 0 when any of its samples is invalid. Samples are
/// history's held ones, then input's.
void spectrum_validity(const Bank& bank, const History& history, const Input& input,
                       std::size_t row, std::size_t spectra, std::uint64_t* bits);

}  // namespace tautline::stages::channelize

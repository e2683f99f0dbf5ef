// The samples of every input that later spectra need, kept between calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/history_mask.h"

namespace tautline::stages::channelize {

class History {
 public:
  explicit History(const Bank& bank);

  const HistoryMask& mask() const { return mask_; }
  std::size_t held() const { return mask_.held(); }
  /// Spectra written since the stream's first sample.
  std::uint64_t index() const { return mask_.index(); }
  const std::byte* samples(std::size_t input) const {
    return samples_.as<std::byte>() + input * row_bytes_;
  }

  void reset() { mask_.reset(); }
  /// Takes in the samples of a call that wrote `spectra` spectra.
  void advance(const Input& input, std::size_t spectra);

  std::vector<std::byte> save() const;
  void load(std::span<const std::byte> saved);

  static std::size_t bytes(const Bank& bank);

 private:
  std::size_t inputs_, sample_bytes_, row_bytes_;
  HistoryMask mask_;
  device::Buffer samples_;
};

}  // namespace tautline::stages::channelize

// The samples that later spectra still need, kept between calls for every input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/held_mask.h"

namespace tautline::stages::channelize {

class History {
 public:
  explicit History(const Bank& bank);

  const HeldMask& mask() const { return mask_; }
  std::size_t held() const { return mask_.held(); }
  /// Spectra given since the stream's first sample.
  std::uint64_t index() const { return mask_.index(); }
  const std::byte* samples(std::size_t input) const {
    return samples_.as<std::byte>() + input * row_bytes_;
  }

  void reset() { mask_.reset(); }
  /// Takes in a call's samples, of which `spectra` spectra have been given.
  void advance(const Input& input, std::size_t spectra);

  std::vector<std::byte> save() const;
  void load(const std::vector<std::byte>& saved);

  static std::size_t bytes(const Bank& bank);

 private:
  std::size_t inputs_, sample_bytes_, row_bytes_;
  HeldMask mask_;
  device::Buffer samples_;
};

}  // namespace tautline::stages::channelize

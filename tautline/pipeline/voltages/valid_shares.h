// How much of each input is valid, before and after the filter bank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/core/validity.h"
#include "tautline/core/voltage.h"

namespace tautline::pipeline {

struct SpectraChunk;

/// A spectrum takes the samples of all taps, and is invalid where one of them is. So an input that stops again and again
/// for short times may have many valid samples and no valid spectrum.
class ValidShares {
 public:
  ValidShares() = default;
  ValidShares(std::size_t inputs, std::size_t span_samples)
      : span_samples_(span_samples), valid_samples_(inputs), valid_spectra_(inputs) {}

  /// `valid`: [input] of the block's samples, where some are not finite, which the block's spans do not tell.
  void add_samples(const core::RawBlock& block, const core::ValidityView& valid = {});
  void add_spectra(const SpectraChunk& chunk);
  /// Of the same samples: other channels, on another device.
  void add_channels(const ValidShares& others);

  /// The warning about inputs that lose more than half of their valid samples in this way; empty where none does, or
  /// where the validity of channels differs.
  std::string text(const std::vector<std::string>& names) const;
  /// The warning about a run without a single valid spectrum; empty where there is one.
  std::string nothing_text() const;

 private:
  std::size_t span_samples_ = 1;
  std::uint64_t samples_ = 0, spectra_ = 0;                   // times
  std::vector<std::uint64_t> valid_samples_, valid_spectra_;  // [input]
  bool by_channel_ = false;
};

}  // namespace tautline::pipeline

// Single values of a filterbank of floats that are NaN or infinite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// In their place comes the channel's last value before, which is near its mean, as zero may not be. At the begin it is
/// the first finite one of the kLooked spectra that follow, or zero. The same for any cut into blocks.
class FiniteValues {
 public:
  static constexpr std::uint64_t kLooked = 4096;
  /// `reader` outlives this.
  FiniteValues(formats::FilterbankReader& reader, const SampleRange& range);

  /// Spectra from `position` of the range on, in order of time. Returns how many values were replaced: none of integers,
  /// nor of series, whose samples may be missing.
  std::uint64_t replace(std::span<std::byte> spectra, std::uint64_t position);

 private:
  void begin_with(std::span<const std::byte> spectrum, std::uint64_t position);

  formats::FilterbankReader& reader_;
  SampleRange range_;
  bool floats_;
  std::vector<float> last_;            // [channel] of the last spectrum
  std::vector<std::uint8_t> has_bad_;  // [spectrum] of a block
};

}  // namespace tautline::pipeline

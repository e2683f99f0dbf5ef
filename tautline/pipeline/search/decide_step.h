// Whether the level of a filterbank steps at a given sample (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::pipeline {

/// Spectra of each of the 16 blocks on either side.
inline constexpr std::size_t kMostStepSpectra = 256, kLeastStepSpectra = 16;

/// A sample where the level may step, and what is compared around it.
struct StepBounds {
  std::uint64_t low = 0, sample = 0, high = 0;
};

struct DecidedStep {
  std::uint64_t sample = 0;  ///< or the end of an empty stretch that has it inside
  bool of_mean = true;       ///< false: of the standard deviation alone
};

/// Compares 16 blocks of kMostStepSpectra on either side, or shorter ones of `least` or more, within the bounds. Empty
/// stretches are passed over. None: there is no step, or too little data. `counts`: [channel].
std::optional<DecidedStep> decide_step(formats::FilterbankReader& reader, const StepBounds& bounds,
                                       std::size_t least, const std::vector<bool>& counts);

}  // namespace tautline::pipeline

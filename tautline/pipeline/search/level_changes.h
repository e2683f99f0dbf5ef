// Compares the levels of blocks that are spread over a part of a filterbank (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

enum class Quantity { mean, noise };

/// A change of the level from one block to the next one.
struct UnusualChange {
  SampleRange from, to;  ///< the blocks are the first spectra with data in these
  Quantity quantity = Quantity::mean;
  double excess = 0;  ///< in changes that are looked at
  bool up = false;
};

/// In order of time, the changes between blocks of `spectra` that are unusual: 8 times what is usual by the changes' lower
/// quartile, or 8 times what white noise has; of the standard deviations 10 % or more. Of the mean, where both change: the
/// noise of a block that has a step inside is neither that before nor that behind. `blocks`: two or more. Blocks hold no
/// empty stretches: where there is one, a block has the data behind it, or, of too few before the next block, is passed
/// over.
std::vector<UnusualChange> unusual_changes(formats::FilterbankReader& reader,
                                           const SampleRange& range, std::size_t blocks,
                                           std::size_t spectra, const std::vector<bool>& counts);

}  // namespace tautline::pipeline

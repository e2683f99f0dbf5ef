// Between which spectra the level of a filterbank changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/level_changes.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// The first spectrum behind a change from the level of the first `spectra` spectra with data in the range `from` to the
/// level of those in the later range `to`: by blocks half-way between, then by the single spectra of the last two.
std::uint64_t place_step(formats::FilterbankReader& reader, const SampleRange& from,
                         const SampleRange& to, std::size_t spectra, Quantity changing,
                         const std::vector<bool>& counts);

}  // namespace tautline::pipeline

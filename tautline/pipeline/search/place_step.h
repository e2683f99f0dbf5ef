// Between which spectra the level of a filterbank changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/level_blocks.h"

namespace tautline::pipeline {

enum class Quantity { mean, noise };

/// Of `spectra` from `first` on.
BlockLevels levels_at(formats::FilterbankReader& reader, std::uint64_t first, std::size_t spectra);

/// The least change that is looked at: 8 times what is usual by the changes' lower quartile, or what white noise would have
/// in blocks of `spectra`; of the standard deviations 10 % or more.
LevelChange unusual_change(const std::vector<LevelChange>& changes, std::size_t spectra,
                           const std::vector<bool>& counts);
/// What changes by more than that; the mean where both do: the noise of a block that has a step inside is neither
/// that before nor that behind.
std::optional<Quantity> changing_quantity(const LevelChange& change, const LevelChange& unusual);

/// The first spectrum behind the change from the level of the block at `low` to that of the block at `high`: by blocks
/// half-way between, then by the single spectra of the last two.
std::uint64_t place_step(formats::FilterbankReader& reader, std::uint64_t low, std::uint64_t high,
                         std::size_t spectra, Quantity changing, const std::vector<bool>& counts);

}  // namespace tautline::pipeline

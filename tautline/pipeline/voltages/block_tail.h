// The last samples of a raw block as a block of their own.
#pragma once

#include <cstddef>

#include "tautline/core/voltage.h"

namespace tautline::pipeline {

/// Whether a block's last samples are its last bytes: time is the slowest axis, in whole bytes.
bool ends_with_last_samples(const core::RawLayout& layout);

/// All but the first `skipped` samples of `block`, whose layout ends_with_last_samples, with the
/// same layout. `tail` is overwritten; its memory is used again.
void take_tail(const core::RawBlock& block, std::size_t skipped, core::RawBlock& tail);

}  // namespace tautline::pipeline

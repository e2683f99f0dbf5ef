// How many samples of every input go through the pipeline at a time.
#pragma once

#include <cstddef>

#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/stream/voltage_stream.h"

namespace tautline::pipeline {

/// Samples (times) a block, so that one copy of it in its largest form (raw, unpacked or spectra)
/// takes about a sixteenth of `memory_bytes` and no more than 16 MiB (it should stay near the
/// caches; 64 MiB for a GPU), but never less than a spectrum's hop, nor more than the stream holds; of a live stream a quarter of a second.
std::size_t choose_block_samples(const stream::VoltageStream& sequence, const FilterConfig& filter,
                                 std::size_t memory_bytes, bool gpu = false);

}  // namespace tautline::pipeline

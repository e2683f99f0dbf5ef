// The number of samples of every input in a block of the pipeline.
#pragma once

#include <cstddef>

#include "tautline/pipeline/voltages/filter_config.h"
#include "tautline/stream/voltage_stream.h"

namespace tautline::pipeline {

/// The longest block of live data, so that results do not wait for it.
inline constexpr double kLongestLive_s = 0.25;

/// Samples (times) in a block, so that one copy of the block in its largest form (raw, unpacked or spectra) takes about
/// a sixteenth of `memory_bytes` and no more than 16 MiB (it should stay near the caches; 64 MiB for a GPU), but never
/// less than a spectrum's hop, nor more than the stream has; at most a quarter of a second of a live stream.
std::size_t choose_block_samples(const stream::VoltageStream& sequence, const FilterConfig& filter,
                                 std::size_t memory_bytes, bool gpu = false);

/// The same of a source that knows no filter: by the bytes of a block as it was sent, in whole multiples of 4,096 where
/// that is more.
std::size_t source_block_samples(const stream::VoltageStream& stream, std::size_t memory_bytes,
                                 bool gpu);

/// Blocks of voltages that stay in the caches of a CPU, and blocks of the spectra that several of them give.
struct ShortBlocks {
  std::size_t samples = 0;  ///< (times) of voltages
  /// Of the first block, so that the others give whole lines of spectra.
  std::size_t first_samples = 0;
  std::size_t spectra = 0;  ///< as many as blocks of the longer length would give
};

/// Replaces blocks of `samples`.
ShortBlocks choose_short_blocks(const stream::VoltageStream& sequence, const FilterConfig& filter,
                                std::size_t samples);

/// Of a run over files: short blocks where a filter bank on a CPU takes them without delays; else blocks of
/// choose_block_samples(), the first one like the others, with spectra of their own (`spectra` is 0).
ShortBlocks choose_blocks(const stream::VoltageStream& sequence, const FilterConfig& filter,
                          std::size_t memory_bytes, bool gpu, bool delayed);

}  // namespace tautline::pipeline

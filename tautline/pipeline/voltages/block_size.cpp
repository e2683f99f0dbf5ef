#include "tautline/pipeline/voltages/block_size.h"

#include <algorithm>
#include <cstdint>

#include "tautline/core/integers.h"
#include "tautline/pipeline/gpu_block_bytes.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kLargestForm_bytes = std::size_t{16} << 20;
// Bytes of voltages on a CPU. The first use of memory costs a run of a second more than short blocks do: 2 and 4 MiB
// took as long or longer (docs/performance/runs.md).
constexpr std::size_t kShortForm_bytes = std::size_t{1} << 20;
constexpr std::size_t kProbe_samples = 1024;
// A correlator with few spectra a call mostly pads; this many are worth some memory.
constexpr std::size_t kFewestSpectra = 8;
constexpr std::size_t kWholeSpectra = 64;
constexpr std::size_t kFewestSamples = 2048;  // of short blocks

// Bytes of one time in the larger of the two forms before the filter.
std::size_t bytes_before_filter(const stream::VoltageStream& sequence) {
  const core::VoltageDescription& d = sequence.description();
  const std::size_t raw = sequence.block_bytes(kProbe_samples) / kProbe_samples;
  const std::size_t unpacked_bits = std::max(8, d.format.bits) * (d.format.complex ? 2 : 1);
  return std::max({raw, d.inputs() * d.channels * unpacked_bits / 8, std::size_t{1}});
}

std::size_t hop_of(const core::VoltageDescription& d, const FilterConfig& filter) {
  return is_filtered(d, filter) ? bank_channels(d, filter) * (d.format.complex ? 1 : 2) : 1;
}

std::size_t largest_block(const stream::VoltageStream& stream, std::size_t bytes_per_time,
                          bool gpu) {
  if (!gpu) return kLargestForm_bytes;
  return stream.live() ? kGpuBlock_bytes : gpu_block_bytes(stream.total_samples() * bytes_per_time);
}

}  // namespace

ShortBlocks choose_short_blocks(const stream::VoltageStream& sequence, const FilterConfig& filter,
                                std::size_t samples) {
  const std::size_t hop = hop_of(sequence.description(), filter), whole = kWholeSpectra * hop;
  const std::size_t wanted =
      std::max(kFewestSamples, kShortForm_bytes / bytes_before_filter(sequence));
  ShortBlocks blocks;
  blocks.samples = std::min(samples, core::round_up(wanted, whole));
  blocks.spectra = samples / hop;
  // The first block gives fewer spectra than its hops, since spectra overlap.
  const std::size_t overlap = (filter.taps - 1) * hop;
  blocks.first_samples = blocks.samples;
  if (blocks.samples > overlap)
    blocks.first_samples = overlap + (blocks.samples - overlap) / whole * whole;
  return blocks;
}

std::size_t choose_block_samples(const stream::VoltageStream& sequence, const FilterConfig& filter,
                                 std::size_t memory_bytes, bool gpu) {
  const core::VoltageDescription& d = sequence.description();
  const bool filtered = is_filtered(d, filter);
  const std::size_t streams = d.inputs() * d.channels;
  // Floats after the filter bank are the largest form; they are kept only where the output needs them.
  const bool floats =
      filtered && (filter.output == stages::channelize::Output::corner_turned_float ||
                   filter.output == stages::channelize::Output::spectra_float);
  const std::size_t bytes_per_time =
      std::max(bytes_before_filter(sequence), streams * (floats ? 8 : 2));
  const std::size_t target =
      std::min(memory_bytes / 16, largest_block(sequence, bytes_per_time, gpu));
  const std::size_t hop = hop_of(d, filter);
  std::size_t samples = target / bytes_per_time;
  // Whole hops, and many of them in such multiples: masks and vectors then align.
  const std::size_t group = samples >= kWholeSpectra * hop ? kWholeSpectra * hop : hop;
  samples = std::max(samples / group * group, kFewestSpectra * hop);
  // Live results do not wait for long blocks.
  const auto soon =
      std::max(kFewestSamples, static_cast<std::size_t>(kLongestLive_s * d.rate_hz.value()));
  if (sequence.live())
    return std::max((std::min(samples, soon) + hop - 1) / hop, kFewestSpectra) * hop;
  const std::uint64_t whole = (sequence.total_samples() + hop - 1) / hop * hop;
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(samples, hop, std::max<std::uint64_t>(whole, hop)));
}

ShortBlocks choose_blocks(const stream::VoltageStream& sequence, const FilterConfig& filter,
                          std::size_t memory_bytes, bool gpu, bool delayed) {
  const std::size_t samples = choose_block_samples(sequence, filter, memory_bytes, gpu);
  if (gpu || delayed || sequence.live() || !is_filtered(sequence.description(), filter))
    return {.samples = samples, .first_samples = samples, .spectra = 0};
  return choose_short_blocks(sequence, filter, samples);
}

std::size_t source_block_samples(const stream::VoltageStream& stream, std::size_t memory_bytes,
                                 bool gpu) {
  constexpr std::size_t kProbe = 4096;
  const std::size_t each = std::max<std::size_t>(1, stream.block_bytes(kProbe) / kProbe);
  const std::size_t most = std::min(memory_bytes / 16, largest_block(stream, each, gpu));
  return most / each > kProbe ? most / each / kProbe * kProbe
                              : std::max<std::size_t>(1, most / each);
}

}  // namespace tautline::pipeline

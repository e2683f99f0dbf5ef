#include "tautline/pipeline/voltages/block_size.h"

#include <algorithm>
#include <cstdint>

namespace tautline::pipeline {

namespace {

constexpr std::size_t kLargestForm_bytes = std::size_t{16} << 20;
// A GPU's launches and copies cost microseconds each, whatever their size.
constexpr std::size_t kLargestFormOnGpu_bytes = std::size_t{64} << 20;
constexpr std::size_t kProbe_samples = 1024;
// A correlator that is given few spectra at a time mostly pads; this many are worth some memory.
constexpr std::size_t kFewestSpectra = 8;
constexpr double kLongestLive_s = 0.25;
constexpr std::size_t kFewestLiveSamples = 2048;

}  // namespace

std::size_t choose_block_samples(const stream::VoltageStream& sequence, const FilterConfig& filter,
                                 std::size_t memory_bytes, bool gpu) {
  const core::VoltageDescription& d = sequence.description();
  const bool filtered = is_filtered(d, filter);
  const std::size_t streams = d.inputs() * d.channels;
  const std::size_t raw = sequence.block_bytes(kProbe_samples) / kProbe_samples;
  // Floats out of the filter bank are the largest form; they are only kept when asked for.
  const bool floats =
      filtered && (filter.output == stages::channelize::Output::corner_turned_float ||
                   filter.output == stages::channelize::Output::spectra_float);
  const std::size_t unpacked_bits = std::max(8, d.format.bits) * (d.format.complex ? 2 : 1);
  const std::size_t bytes_per_time = std::max(
      {raw, streams * unpacked_bits / 8, floats ? streams * 8 : streams * 2, std::size_t{1}});
  const std::size_t most = gpu ? kLargestFormOnGpu_bytes : kLargestForm_bytes;
  const std::size_t target = std::min(memory_bytes / 16, most);
  const std::size_t hop = filtered ? bank_channels(d, filter) * (d.format.complex ? 1 : 2) : 1;
  std::size_t samples = target / bytes_per_time;
  // Whole hops, and many of them in multiples of 64: masks and vectors then align.
  const std::size_t group = samples >= 64 * hop ? 64 * hop : hop;
  samples = std::max(samples / group * group, kFewestSpectra * hop);
  // Results of what comes live are not to wait for long blocks.
  const auto soon =
      std::max(kFewestLiveSamples, static_cast<std::size_t>(kLongestLive_s * d.rate_hz.value()));
  if (sequence.live())
    return std::max((std::min(samples, soon) + hop - 1) / hop, kFewestSpectra) * hop;
  const std::uint64_t whole = (sequence.total_samples() + hop - 1) / hop * hop;
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(samples, hop, std::max<std::uint64_t>(whole, hop)));
}

}  // namespace tautline::pipeline

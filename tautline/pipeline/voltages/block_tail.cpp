#include "tautline/pipeline/voltages/block_tail.h"

#include <algorithm>
#include <span>

namespace tautline::pipeline {

bool ends_with_last_samples(const core::RawLayout& layout) {
  const std::size_t last = (layout.channels - 1) * layout.channel_stride_bits +
                           (layout.antennas - 1) * layout.antenna_stride_bits +
                           (layout.polarisations - 1) * layout.polarisation_stride_bits;
  return layout.time_stride_bits % 8 == 0 && last < layout.time_stride_bits;
}

void take_tail(const core::RawBlock& block, std::size_t skipped, core::RawBlock& tail) {
  tail.layout = block.layout;
  tail.first_sample = block.first_sample + skipped;
  tail.samples = block.samples - skipped;
  const std::size_t time_bits = block.layout.time_stride_bits;
  const std::size_t end_byte =
      std::min(block.bytes.size(), (block.layout.offset_bits + block.samples * time_bits + 7) / 8);
  // The last time's gap need not be there, so that the end of its samples can come first.
  const std::size_t first_byte = std::min(skipped * time_bits / 8, end_byte);
  const auto wanted = std::span(block.bytes).subspan(first_byte, end_byte - first_byte);
  tail.bytes.assign(wanted.begin(), wanted.end());
  tail.invalid.clear();
  for (const core::InvalidSpan& span : block.invalid) {
    // A span may reach beyond the block, as far as numbers go.
    const std::size_t end =
        span.samples > block.samples - std::min(span.first_sample, block.samples)
            ? block.samples
            : span.first_sample + span.samples;
    const std::size_t first = std::max(span.first_sample, skipped);
    if (first < end) tail.invalid.push_back({span.input, first - skipped, end - first});
  }
}

}  // namespace tautline::pipeline

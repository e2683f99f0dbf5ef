// The validity of a captured block's samples.
#include "tautline/core/next_bit.h"
#include "tautline/stream/capture.h"

namespace tautline::stream {

namespace {

using formats::packets::AxisName;
using formats::packets::Box;

}  // namespace

bool CapturedBlock::came(std::size_t payload, std::size_t flow, bool and_valid) const {
  const std::size_t word = ((first_row_ + payload) & (ring_rows_ - 1)) * row_words_ + flow / 64;
  const bool without_flagged = and_valid && flags_ != nullptr;
  const std::uint64_t bits = without_flagged ? come_[word] & ~flags_[word] : come_[word];
  return (bits >> flow % 64 & 1) != 0;
}

void CapturedBlock::validity(bool channels_together, core::ValidityMask& mask) const {
  const auto& shape = placement_->shape();
  const std::size_t inputs = shape.antennas * shape.polarisations;
  const std::size_t rows = channels_together ? inputs : shape.channels * inputs;
  if (mask.rows() != rows || mask.samples() != samples) mask = core::ValidityMask(rows, samples);
  mask.fill(true);
  if (whole()) return;
  const std::size_t flows = placement_->flows();
  for (std::size_t payload = 0; payload * payload_samples_ < samples; ++payload) {
    for (std::size_t flow = 0; flow < flows; ++flow) {
      if (came(payload, flow, true)) continue;
      const Box& box = placement_->box(flow);
      const std::size_t first_sample = payload * payload_samples_ + box.begin(AxisName::time);
      const std::size_t channels = channels_together ? 1 : box.size(AxisName::channel);
      const std::size_t first_channel = channels_together ? 0 : box.begin(AxisName::channel);
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t a = 0; a < box.size(AxisName::antenna); ++a)
          for (std::size_t p = 0; p < box.size(AxisName::polarisation); ++p) {
            const std::size_t input = (box.begin(AxisName::antenna) + a) * shape.polarisations +
                                      box.begin(AxisName::polarisation) + p;
            mask.set((first_channel + c) * inputs + input, first_sample, box.size(AxisName::time),
                     false);
          }
    }
  }
}

void CapturedBlock::clear_missing(std::byte* block) const {
  if (missing == 0) return;
  for (std::size_t payload = 0; payload * payload_samples_ < samples; ++payload)
    for (std::size_t flow = 0; flow < placement_->flows(); ++flow)
      if (!came(payload, flow, false)) placement_->clear(flow, payload * payload_samples_, block);
}

void CapturedBlock::invalid_spans(std::vector<core::InvalidSpan>& spans) const {
  spans.clear();
  if (whole()) return;
  core::ValidityMask mask;
  validity(true, mask);
  for (std::size_t input = 0; input < mask.rows(); ++input) {
    const std::uint64_t* const row = mask.row(input);
    for (std::size_t end = 0; end < samples;) {
      const std::size_t begin = core::next_bit(row, end, samples, false);
      end = core::next_bit(row, begin, samples, true);
      if (begin < end) spans.push_back({input, begin, end - begin});
    }
  }
}

}  // namespace tautline::stream

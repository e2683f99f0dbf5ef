#include "tautline/stages/unpack/gpu/gather.h"

#include <algorithm>

#include "tautline/stages/unpack/backends.h"

namespace tautline::stages::unpack {

namespace {

struct Extent {
  std::size_t core::RawLayout::*stride_bits;
  std::size_t count;
};

}  // namespace

Gather::Gather(const Config& config)
    : layout_(unpacked_layout(config)), max_samples_(config.max_samples) {
  using L = core::RawLayout;
  const bool whole = layout_.channels == config.layout.channels;
  first_byte_ = whole ? 0 : layout_.offset_bits / 8;
  layout_.offset_bits -= first_byte_ * 8;
  std::array<Extent, 4> axes{{{&L::time_stride_bits, max_samples_},
                              {&L::channel_stride_bits, layout_.channels},
                              {&L::antenna_stride_bits, layout_.antennas},
                              {&L::polarisation_stride_bits, layout_.polarisations}}};
  std::sort(axes.begin(), axes.end(), [this](const Extent& a, const Extent& b) {
    return layout_.*a.stride_bits < layout_.*b.stride_bits;
  });
  // Pieces are copied in whole bytes, so their strides must be whole bytes.
  const bool bytewise = std::all_of(axes.begin(), axes.end(), [this](const Extent& axis) {
    return axis.count == 1 || (layout_.*axis.stride_bits) % 8 == 0 ||
           layout_.*axis.stride_bits == static_cast<std::size_t>(layout_.format.bits_per_sample());
  });
  std::size_t bits = static_cast<std::size_t>(layout_.format.bits_per_sample());
  for (const Extent& axis : axes) {
    if (axis.count == 1) continue;
    std::size_t& stride = layout_.*axis.stride_bits;
    const bool time = axis.stride_bits == &L::time_stride_bits;
    // Small gaps (for example a counter) are copied with the samples; other channels are not.
    const bool along = whole || !bytewise || stride <= bits + bits / 8;
    if (loops_count_ == 0 && along) {
      bits += (axis.count - 1) * stride;
      if (time) time_in_piece_ = stride;
      continue;
    }
    if (loops_count_ == 0) piece_bits_ = layout_.offset_bits + bits;
    const Loop* inner = loops_count_ == 0 ? nullptr : &loops_[loops_count_ - 1];
    const std::size_t to_bytes =
        inner == nullptr ? (piece_bits_ + 7) / 8 : inner->to_bytes * inner->count;
    loops_[loops_count_++] = {axis.count, stride / 8, to_bytes, time};
    stride = to_bytes * 8;
  }
  if (loops_count_ == 0) piece_bits_ = layout_.offset_bits + bits;
}

std::size_t Gather::piece_bytes(std::size_t samples) const {
  return (piece_bits_ - (max_samples_ - samples) * time_in_piece_ + 7) / 8;
}

std::size_t Gather::pieces(std::size_t samples) const {
  std::size_t count = 1;
  for (std::size_t k = 0; k < loops_count_; ++k) count *= loops_[k].count_of(samples);
  return count;
}

std::size_t Gather::bytes(std::size_t samples) const {
  std::size_t last = 0;
  for (std::size_t k = 0; k < loops_count_; ++k)
    last += (loops_[k].count_of(samples) - 1) * loops_[k].to_bytes;
  return last + piece_bytes(samples);
}

void Gather::copy(std::span<const std::byte> block, std::byte* gathered, std::size_t samples,
                  std::size_t first, std::size_t last) const {
  const std::size_t size = piece_bytes(samples);
  for (std::size_t piece = first; piece < last; ++piece) {
    std::size_t rest = piece, from = first_byte_, to = 0;
    for (std::size_t k = 0; k < loops_count_; ++k) {
      const std::size_t at = rest % loops_[k].count_of(samples);
      rest /= loops_[k].count_of(samples);
      from += at * loops_[k].from_bytes;
      to += at * loops_[k].to_bytes;
    }
    std::memcpy(gathered + to, block.data() + from, size);
  }
}

}  // namespace tautline::stages::unpack

#include "tautline/stages/channelize/gpu/launch.h"

#include "tautline/core/integers.h"

namespace tautline::stages::channelize::gpu {

Slice part_of(const Slice& slice, const Bank& bank, std::size_t input, std::size_t first,
              std::size_t count) {
  const bool spectra = bank.config.output == Output::spectra_float;
  const auto i = static_cast<std::ptrdiff_t>(input), s = static_cast<std::ptrdiff_t>(first);
  Slice part = slice;
  part.samples += input * slice.row_bytes + first * bank.hop * bank.sample_bytes;
  part.first += first;
  part.index += first;
  part.count = count;
  part.out +=
      (spectra ? i * slice.slow_stride + s * slice.fast_stride : i * slice.fast_stride + s) *
      static_cast<std::ptrdiff_t>(bank.value_bytes());
  if (slice.phases != nullptr) part.phases += 4 * input;
  if (slice.valid != nullptr) part.valid += input * slice.valid_words;
  if (slice.gains != nullptr) part.gains += input * bank.channels;
  if (slice.clipped != nullptr) part.clipped += i * slice.clipped_stride;
  return part;
}

std::uint32_t flags_of(const Slice& slice, const Bank& bank, std::size_t piece) {
  const auto bytes = static_cast<std::ptrdiff_t>(bank.value_bytes());
  const auto whole = [piece](std::ptrdiff_t distance) {
    return distance % static_cast<std::ptrdiff_t>(piece) == 0;
  };
  const bool aligned = reinterpret_cast<std::uintptr_t>(slice.out) % piece == 0 &&
                       whole(slice.slow_stride * bytes) && whole(slice.fast_stride * bytes);
  return (slice.valid != nullptr ? kMasked : 0u) | (slice.phases != nullptr ? kPhased : 0u) |
         (aligned ? kAligned : 0u);
}

std::uint32_t origin_of(const Slice& slice, const Bank& bank) {
  return core::u32(slice.index % bank.frame * bank.hop % bank.frame);
}

}  // namespace tautline::stages::channelize::gpu

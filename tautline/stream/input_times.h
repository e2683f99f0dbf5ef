// The samples of one input in a block, all channels of a time together, and the search for those that are equal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tautline/core/constant_run.h"
#include "tautline/core/validity.h"
#include "tautline/core/voltage.h"
#include "tautline/stream/input_samples.h"

namespace tautline::stream {

/// Samples that one call compares.
inline constexpr std::size_t kPiece = 256;

/// The first sample after `first`, before `end`, that differs from it: equal(t) compares one with `first`, constant(t,
/// piece) says that a whole piece from t on is known to be equal.
template <class Equal, class Constant>
std::size_t find_end_of_run(std::size_t first, std::size_t end, const Equal& equal,
                            const Constant& constant) {
  std::size_t t = first + 1;
  while (t < end) {
    const std::size_t piece = (t - 1) / kPiece, next = (piece + 1) * kPiece;
    if ((t - 1) % kPiece == 0 && next < end && constant(t - 1, piece)) {
      t = next + 1;
      continue;
    }
    for (const std::size_t stop = std::min(end, next + 1); t < stop; ++t)
      if (!equal(t)) return t;
  }
  return end;
}

/// Of one input, in all channels.
inline bool equal_times(const InputSamples& samples, std::size_t channels, std::size_t a,
                        std::size_t b) {
  for (std::size_t c = 0; c < channels; ++c)
    if (samples.value(a, c) != samples.value(b, c)) return false;
  return true;
}

/// Samples that are not finite are counted as such, not as empty.
inline bool finite_at(const InputSamples& samples, std::size_t channels, std::size_t t) {
  for (std::size_t c = 0; c < channels; ++c)
    if (!samples.finite(samples.value(t, c))) return false;
  return true;
}

/// Whether the piece from t on is known to be constant.
inline bool constant_piece(const InputSamples& samples, std::size_t t) {
  return samples.constant(t, t + kPiece);
}

/// The samples of one input in a block, all channels together.
class InputTimes {
 public:
  InputTimes(const core::RawBlock& block, std::size_t input)
      : samples_(block, input), channels_(block.layout.channels) {}

  bool equal(std::size_t a, std::size_t b) const { return equal_times(samples_, channels_, a, b); }
  bool equal(std::size_t t, const std::vector<std::uint64_t>& values) const {
    for (std::size_t c = 0; c < channels_; ++c)
      if (samples_.value(t, c) != values[c]) return false;
    return true;
  }
  void keep(std::size_t t, std::vector<std::uint64_t>& values) const {
    values.resize(channels_);
    for (std::size_t c = 0; c < channels_; ++c) values[c] = samples_.value(t, c);
  }
  template <class Pieces>
  std::size_t end_of_run(std::size_t first, std::size_t end, Pieces& pieces) const {
    return find_end_of_run(
        first, end, [&](std::size_t t) { return equal(first, t); },
        [&](std::size_t t, std::size_t piece) {
          return constant_piece(samples_, t) || pieces.constant(piece);
        });
  }
  bool finite(std::size_t t) const { return finite_at(samples_, channels_, t); }

 private:
  InputSamples samples_;
  std::size_t channels_;
};

/// Inputs whose samples of one time are contiguous are compared together, which is many times as fast.
template <class T>
class SideBySide {
 public:
  explicit SideBySide(const core::RawBlock& block)
      : first_(block.bytes.data() + block.layout.offset_bits / 8),
        time_stride_(block.layout.time_stride_bits / 8),
        inputs_(block.layout.inputs()) {}

  // Brings the inputs' first channels to the caches, without waiting for them.
  void fetch(std::size_t t) const {
    constexpr std::size_t kLine_bytes = 64;
    const std::byte* row = first_ + t * time_stride_;
    for (std::size_t at = 0; at < inputs_ * sizeof(T); at += kLine_bytes)
      __builtin_prefetch(row + at);
  }
  // Calls found(input) for each input whose first channels are equal at two times.
  template <class Found>
  void compare(std::size_t a, std::size_t b, const Found& found) const {
    const std::byte *x = first_ + a * time_stride_, *y = first_ + b * time_stride_;
    unsigned any = 0;
    for (std::size_t i = 0; i < inputs_; ++i) any |= at(x, i) == at(y, i) ? 1u : 0u;
    if (any == 0) return;
    for (std::size_t i = 0; i < inputs_; ++i)
      if (at(x, i) == at(y, i)) found(i);
  }

 private:
  static T at(const std::byte* row, std::size_t i) {
    T value;
    std::memcpy(&value, row + i * sizeof(T), sizeof(T));
    return value;
  }
  const std::byte* first_;
  std::size_t time_stride_, inputs_;
};

inline bool inputs_side_by_side(const core::RawLayout& layout) {
  const auto bits = static_cast<std::size_t>(layout.format.bits_per_sample());
  return bits % 8 == 0 && layout.offset_bits % 8 == 0 && layout.time_stride_bits % 8 == 0 &&
         (layout.polarisations == 1 || layout.polarisation_stride_bits == bits) &&
         (layout.antennas == 1 || layout.antenna_stride_bits == layout.polarisations * bits);
}

inline constexpr std::size_t kAnyInput = core::InvalidSpan::kAllInputs;

/// Parts of a block in which an input's samples are valid; of kAnyInput: those of all inputs.
inline std::vector<core::ConstantRun> valid_parts(const core::RawBlock& block, std::size_t input) {
  std::vector<core::ConstantRun> lost;
  for (const core::InvalidSpan& span : block.invalid)
    if (input == kAnyInput || span.input == input || span.input == kAnyInput)
      lost.push_back({span.first_sample, span.samples > block.samples
                                             ? block.samples
                                             : span.first_sample + span.samples});
  std::sort(lost.begin(), lost.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<core::ConstantRun> parts;
  std::size_t from = 0;
  for (const core::ConstantRun& span : lost) {
    if (span.first > from) parts.push_back({from, std::min(span.first, block.samples)});
    from = std::max(from, span.end);
  }
  if (from < block.samples) parts.push_back({from, block.samples});
  return parts;
}

}  // namespace tautline::stream

// The definition: plain loops, one sample at a time through core/sample_decode.h.
#include <cmath>
#include <cstring>
#include <vector>

#include "tautline/core/half.h"
#include "tautline/core/sample_decode.h"
#include "tautline/stages/unpack/backends.h"

namespace tautline::stages::unpack {

namespace {

bool lost(const core::RawBlock& block, std::size_t input, std::size_t t) {
  for (const core::InvalidSpan& span : block.invalid) {
    const bool mine = span.input == core::InvalidSpan::kAllInputs || span.input == input;
    if (mine && t >= span.first_sample && t - span.first_sample < span.samples) return true;
  }
  return false;
}

template <class T>
void put(std::byte* out, std::size_t index, T value) {
  std::memcpy(out + index * sizeof(T), &value, sizeof(T));
}

// Writes component `component` of the sample at `out`; false when it is a float that is not finite.
bool decode(const core::RawBlock& block, std::size_t bit, std::size_t component, std::byte* out) {
  const core::SampleFormat& format = block.layout.format;
  if (format.is_float() && format.bits == 16) {
    core::Half value;
    std::memcpy(&value, block.bytes.data() + bit / 8, sizeof value);
    put(out, component, value);
    return core::is_finite(value);
  }
  if (format.is_float()) {
    const float value = core::decode_float(block.bytes.data(), bit);
    put(out, component, value);
    return std::isfinite(value);
  }
  const int value = core::decode_integer(block.bytes.data(), bit, format);
  if (format.bits == 16) {
    put(out, component, static_cast<std::int16_t>(value));
  } else {
    put(out, component, static_cast<std::int8_t>(value));
  }
  return true;
}

}  // namespace

std::uint64_t not_finite_elsewhere(const Config& config, const core::RawBlock& block,
                                   std::size_t input, std::size_t t) {
  const core::RawLayout& layout = config.layout;
  const std::size_t end = config.first_channel + config.unpacked_channels();
  std::uint64_t count = 0;
  if (!layout.format.is_float()) return 0;
  for (std::size_t c = 0; c < layout.channels; ++c) {
    if (c >= config.first_channel && c < end) continue;
    const std::size_t bit = row_offset_bits(layout, c, input) + t * layout.time_stride_bits;
    std::byte unused[2 * sizeof(float)];
    bool finite = true;
    for (std::size_t k = 0; k < (layout.format.complex ? 2 : 1); ++k)
      finite &= decode(block, bit + k * static_cast<std::size_t>(layout.format.bits), k, unused);
    if (!finite) ++count;
  }
  return count;
}

Result unpack_reference(const Config& config, const core::RawBlock& block, const Target& target) {
  const core::RawLayout layout = unpacked_layout(config);
  const std::size_t bytes = core::bytes_of(unpacked_type(layout.format));
  const std::size_t components = layout.format.complex ? 2 : 1;
  Result result;
  if (block.samples == 0) return result;
  for (std::size_t i = 0; i < layout.inputs(); ++i) {
    std::vector<std::uint64_t> unread(target.validity.empty() ? core::validity_words(block.samples)
                                                              : 0);
    std::uint64_t* valid = target.validity.empty() ? unread.data() : target.validity.row(i);
    for (std::size_t w = 0; w < core::validity_words(block.samples); ++w) valid[w] = 0;
    for (std::size_t t = 0; t < block.samples; ++t) {
      const bool present = !lost(block, i, t);
      bool good = present;
      for (std::size_t c = 0; c < layout.channels; ++c) {
        const std::size_t bit = row_offset_bits(layout, c, i) + t * layout.time_stride_bits;
        bool finite = true;
        for (std::size_t k = 0; k < components; ++k)
          finite &= decode(block, bit + k * static_cast<std::size_t>(layout.format.bits), k,
                           target.row(c, i) + t * bytes);
        if (present && !finite) ++result.not_finite;
        good = good && finite;
      }
      const std::uint64_t elsewhere = present ? not_finite_elsewhere(config, block, i, t) : 0;
      result.not_finite += elsewhere;
      if (good && elsewhere == 0) {
        valid[t / 64] |= std::uint64_t{1} << (t % 64);
        continue;
      }
      for (std::size_t c = 0; c < layout.channels; ++c)
        std::memset(target.row(c, i) + t * bytes, 0, bytes);
    }
  }
  return result;
}

}  // namespace tautline::stages::unpack

#include "tautline/pipeline/voltages/pack_times.h"

#include <algorithm>
#include <cstring>

namespace tautline::pipeline {

namespace {

// Times whose samples are written while they are in a cache.
constexpr std::size_t kPackedTimes = 64;

// Calls each(offset of the sample at time 0 in bits) for the samples of a time in their order.
template <class Each>
void for_samples(const core::RawLayout& layout, const Each& each) {
  for (std::size_t c = 0; c < layout.channels; ++c)
    for (std::size_t a = 0; a < layout.antennas; ++a)
      for (std::size_t p = 0; p < layout.polarisations; ++p)
        each(layout.offset_bits + c * layout.channel_stride_bits + a * layout.antenna_stride_bits +
             p * layout.polarisation_stride_bits);
}

bool is_packed(const core::RawLayout& layout) {
  const auto bits = static_cast<std::size_t>(layout.format.bits_per_sample());
  std::size_t expected = layout.offset_bits;
  bool packed = layout.time_stride_bits == bits_of_a_time(layout) && layout.offset_bits % 8 == 0;
  for_samples(layout, [&](std::size_t at) {
    packed = packed && at == expected;
    expected += bits;
  });
  return packed;
}

bool fills_bytes(const core::RawLayout& layout) {
  return layout.format.bits_per_sample() % 8 == 0 && layout.offset_bits % 8 == 0 &&
         layout.time_stride_bits % 8 == 0 && layout.channel_stride_bits % 8 == 0 &&
         layout.antenna_stride_bits % 8 == 0 && layout.polarisation_stride_bits % 8 == 0;
}

template <std::size_t kBytes>
void pack_rows(const std::byte* from, const core::RawLayout& layout, std::size_t first,
               std::size_t count, std::byte* to) {
  const std::size_t stride = layout.time_stride_bits / 8, time_bytes = bits_of_a_time(layout) / 8;
  for (std::size_t t0 = 0; t0 < count; t0 += kPackedTimes) {
    const std::size_t t1 = std::min(count, t0 + kPackedTimes);
    std::byte* out = to;
    for_samples(layout, [&](std::size_t at) {
      const std::byte* in = from + at / 8 + first * stride;
      for (std::size_t t = t0; t < t1; ++t)
        std::memcpy(out + t * time_bytes, in + t * stride, kBytes);
      out += kBytes;
    });
  }
}

void pack_bits(const std::byte* from, const core::RawLayout& layout, std::size_t first,
               std::size_t count, std::byte* to) {
  const auto bits = static_cast<std::size_t>(layout.format.bits_per_sample());
  std::size_t out = 0;
  for (std::size_t t = first; t < first + count; ++t)
    for_samples(layout, [&](std::size_t at) {
      at += t * layout.time_stride_bits;
      for (std::size_t b = 0; b < bits; ++b, ++at, ++out) {
        const auto bit = std::to_integer<unsigned>(from[at / 8]) >> at % 8 & 1U;
        to[out / 8] |= std::byte(bit << out % 8);
      }
    });
}

}  // namespace

std::size_t bits_of_a_time(const core::RawLayout& layout) {
  return layout.channels * layout.inputs() *
         static_cast<std::size_t>(layout.format.bits_per_sample());
}

std::span<const std::byte> pack_times(std::span<const std::byte> bytes,
                                      const core::RawLayout& layout, std::size_t first,
                                      std::size_t count, std::vector<std::byte>& packed) {
  const std::size_t time_bytes = bits_of_a_time(layout) / 8;
  if (is_packed(layout))
    return bytes.subspan(layout.offset_bits / 8 + first * time_bytes, count * time_bytes);
  packed.assign(count * time_bytes, std::byte{0});
  const std::size_t sample_bytes = static_cast<std::size_t>(layout.format.bits_per_sample()) / 8;
  const auto copy = [&](auto rows) { rows(bytes.data(), layout, first, count, packed.data()); };
  if (!fills_bytes(layout))
    copy(pack_bits);
  else if (sample_bytes == 1)
    copy(pack_rows<1>);
  else if (sample_bytes == 2)
    copy(pack_rows<2>);
  else if (sample_bytes == 4)
    copy(pack_rows<4>);
  else
    copy(pack_rows<8>);
  return packed;
}

}  // namespace tautline::pipeline

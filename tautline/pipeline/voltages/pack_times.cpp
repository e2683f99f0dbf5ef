#include "tautline/pipeline/voltages/pack_times.h"

#include <algorithm>
#include <cstring>
#include <utility>

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

// Samples that are contiguous both in the block and in the file are copied as one: both polarisations of an antenna,
// for instance.
struct JoinedSamples {
  core::RawLayout layout;  // each "sample" of it has `bytes`
  std::size_t bytes = 0;
};

JoinedSamples join_samples(core::RawLayout layout) {
  std::size_t bits = static_cast<std::size_t>(layout.format.bits_per_sample());
  const auto join = [&bits](std::size_t& count, std::size_t stride_bits) {
    if (count > 1 && stride_bits != bits) return false;
    bits *= std::exchange(count, 1);
    return true;
  };
  if (join(layout.polarisations, layout.polarisation_stride_bits))
    join(layout.antennas, layout.antenna_stride_bits);
  return {layout, bits / 8};
}

// kBytes: of a joined sample; 0: any other number.
template <std::size_t kBytes>
void pack_rows(const std::byte* from, const JoinedSamples& samples, std::size_t time_bytes,
               std::size_t first, std::size_t count, std::byte* to) {
  const std::size_t stride = samples.layout.time_stride_bits / 8,
                    bytes = kBytes == 0 ? samples.bytes : kBytes;
  for (std::size_t t0 = 0; t0 < count; t0 += kPackedTimes) {
    const std::size_t t1 = std::min(count, t0 + kPackedTimes);
    std::byte* out = to;
    for_samples(samples.layout, [&](std::size_t at) {
      const std::byte* in = from + at / 8 + first * stride;
      for (std::size_t t = t0; t < t1; ++t)
        std::memcpy(out + t * time_bytes, in + t * stride, bytes);
      out += bytes;
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
  if (!fills_bytes(layout)) {
    packed.assign(count * time_bytes, std::byte{0});
    pack_bits(bytes.data(), layout, first, count, packed.data());
    return packed;
  }
  packed.resize(count * time_bytes);
  const JoinedSamples samples = join_samples(layout);
  const auto pack = [&](auto rows) {
    rows(bytes.data(), samples, time_bytes, first, count, packed.data());
  };
  if (samples.bytes == 1)
    pack(pack_rows<1>);
  else if (samples.bytes == 2)
    pack(pack_rows<2>);
  else if (samples.bytes == 4)
    pack(pack_rows<4>);
  else if (samples.bytes == 8)
    pack(pack_rows<8>);
  else
    pack(pack_rows<0>);
  return packed;
}

}  // namespace tautline::pipeline

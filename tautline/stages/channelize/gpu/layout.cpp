#include "tautline/stages/channelize/gpu/layout.h"

#include <algorithm>
#include <bit>

namespace tautline::stages::channelize::gpu {

namespace {

constexpr std::size_t kValueBytes = 8;  // float2
constexpr std::size_t kWidest = 16;     // bytes of the widest load

// Of split: values of a row of the second kernel, unless that takes more parts than a thread's
// points.
constexpr std::size_t kSplitRow = 1024;
constexpr std::size_t kSplitParts = 32;

std::size_t log2(std::size_t power_of_two) {
  return static_cast<std::size_t>(std::bit_width(power_of_two)) - 1;
}

// The shared memory of a spectrum, in float2: the filter's sums, with 16 bytes of padding after
// every 128; between passes, rows padded by two values. 16 bytes more than a multiple of 64 put
// neighbouring spectra in different banks.
std::size_t spectrum_stride(std::size_t length, const Radices& radices, bool sums) {
  const std::size_t last = radices[2] > 1 ? radices[2] : radices[1];
  std::size_t size = sums ? length + length / 16 * 2 : 0;
  if (last > 1) size = std::max(size, length / last * (last + 2));
  if (radices[2] > 1) size = std::max(size, length + 2 * radices[0]);
  return (size + 5) / 8 * 8 + 2;
}

}  // namespace

Radices radices_of(std::size_t length, std::size_t points) {
  const std::size_t bits = log2(length), most = std::min<std::size_t>(log2(points), 5);
  const std::size_t passes =
      std::max<std::size_t>(2, (bits + most - 1) / std::max<std::size_t>(1, most));
  if (passes > 3 || bits < passes) return {};
  Radices radices{1, 1, 1};
  for (std::size_t pass = 0, rest = bits; pass < passes; ++pass) {
    const std::size_t part = rest / (passes - pass);
    radices[pass] = std::size_t{1} << part;
    rest -= part;
  }
  return radices;
}

TransformSizes fused_sizes(const GpuTunables& t, const Bank& bank) {
  TransformSizes sizes;
  sizes.length = bank.channels;
  sizes.radices = radices_of(bank.channels, t.points);
  sizes.spectrum_stride = spectrum_stride(sizes.length, sizes.radices, true);
  sizes.threads = t.spectra * bank.channels / t.points;
  sizes.local_bytes = t.spectra * sizes.spectrum_stride * kValueBytes;
  if (t.fetch == 1) {
    constexpr std::size_t kAlignment = 128;
    const std::size_t rows = (t.spectra + bank.taps - 1) * bank.frame * bank.sample_bytes;
    // output.kernel: two values a word, and 16 bytes between the words of spectra.
    const std::size_t words = bank.config.output == Output::spectra_float
                                  ? 0
                                  : t.spectra * (bank.channels * bank.value_bytes() + kWidest);
    sizes.words_at = (rows + kAlignment - 1) / kAlignment * kAlignment;
    sizes.counter = std::max(sizes.local_bytes, sizes.words_at + words);
    sizes.local_bytes = sizes.counter + kWidest;
  }
  return sizes;
}

SplitSizes split_sizes(const GpuTunables& t, const Bank& bank) {
  SplitSizes sizes;
  sizes.parts = std::min(kSplitParts, bank.channels / std::min(kSplitRow, bank.channels));
  if (sizes.parts == 0) return sizes;
  const std::size_t rest = bank.channels / sizes.parts;
  // A group has as many values as a group of the fused kernel.
  sizes.columns = std::min(rest, kSplitRow / sizes.parts);
  TransformSizes& first = sizes.first;
  first.length = sizes.parts * sizes.columns;
  first.radices = {sizes.parts, 1, 1};
  first.spectrum_stride = spectrum_stride(first.length, first.radices, true);
  first.threads = t.spectra * first.length / t.points;
  first.local_bytes = t.spectra * first.spectrum_stride * kValueBytes;
  TransformSizes& second = sizes.rest;
  const bool together = bank.config.output == Output::spectra_float;
  sizes.row_spectra = together ? std::min(t.spectra, sizes.parts) : t.spectra;
  if (rest > kSplitRow)
    sizes.row_spectra = std::max<std::size_t>(1, sizes.row_spectra * kSplitRow / rest);
  second.length = rest;
  second.radices = radices_of(rest, t.points);
  second.spectrum_stride = spectrum_stride(rest, second.radices, false);
  second.threads = sizes.row_spectra * rest / t.points;
  second.local_bytes = sizes.row_spectra * second.spectrum_stride * kValueBytes;
  return sizes;
}

bool symmetric(const Bank& bank) {
  const auto& h = bank.filter;
  for (std::size_t n = 0; n < h.size() / 2; ++n)
    if (static_cast<float>(h[n]) != static_cast<float>(h[h.size() - 1 - n])) return false;
  return true;
}

bool uses_symmetry(const GpuTunables& t, const Bank& bank) {
  return t.symmetry == 1 && t.design == GpuDesign::fused && bank.hop == bank.frame &&
         symmetric(bank);
}

bool centred(const Bank& bank) {
  return !bank.real && bank.hop == bank.frame && bank.channels % 2 == 0;
}

std::size_t sample_alignment(const GpuTunables& t, const Bank& bank) {
  if (t.fetch == 1) return kWidest;
  const std::size_t packet = t.positions * bank.sample_bytes * (bank.real ? 2 : 1);
  const std::size_t all =
      kWidest | packet | bank.hop * bank.sample_bytes | bank.frame * bank.sample_bytes;
  return all & ~(all - 1);
}

namespace {

// The alignment of a packet that is read from global memory.
std::size_t packet_alignment(const GpuTunables& t, const Bank& bank) {
  GpuTunables direct = t;
  direct.fetch = 0;
  return sample_alignment(direct, bank);
}

}  // namespace

std::size_t piece_bytes(const GpuTunables& t, const Bank& bank) {
  if (bank.config.output == Output::spectra_float) return 2 * kValueBytes;
  return std::min<std::size_t>(16, t.spectra * bank.value_bytes());
}

namespace {

// Definitions for quantise.kernel and phasor.kernel.
void set_output(jit::Defines& defines, const Bank& bank) {
  defines.set("OUTPUT", bank.config.output)
      .set("ZERO_CHANNEL", bank.zero_channel())
      .set("REAL", bank.real)
      .set("LOWER", bank.lower)
      .set("MASKED", kMasked)
      .set("PHASED", kPhased)
      .set("ALIGNED", kAligned);
}

// Definitions for filter.kernel.
void set_filter(jit::Defines& defines, const GpuTunables& t, const Bank& bank) {
  defines.set("TAPS", bank.taps)
      .set("FRAME_VALUES", bank.channels)
      .set("FRAME_BYTES", bank.frame * bank.sample_bytes)
      .set("HOP_BYTES", bank.hop * bank.sample_bytes)
      .set("HOP_SAMPLES", bank.hop)
      .set("COMPONENT_BYTES", static_cast<std::size_t>(bank.config.input.bits) / 8)
      .set("POSITIONS", t.positions)
      .set("FILTER_SPECTRA", t.filter_spectra)
      .set("ALIGNMENT", packet_alignment(t, bank))
      .set("CONVERSION", t.conversion)
      .set("SYMMETRIC", uses_symmetry(t, bank))
      .set("UNROLLED_TAPS", t.unrolled_taps)
      .set("REAL", bank.real)
      .set("LOWER", bank.lower);
}

// Definitions for transform.kernel.
void set_transform(jit::Defines& defines, const GpuTunables& t, const TransformSizes& sizes) {
  defines.set("POINTS", t.points)
      .set("SPECTRUM_STRIDE", sizes.spectrum_stride)
      .set("LOCAL_BYTES", sizes.local_bytes)
      .set("GROUPS", t.groups)
      .set("RADIX_1", sizes.radices[0]);
}

void set_radices(jit::Defines& defines, const TransformSizes& sizes) {
  defines.set("LENGTH", sizes.length)
      .set("RADIX_2", sizes.radices[1])
      .set("RADIX_3", sizes.radices[2]);
}

}  // namespace

jit::Defines fused_defines(const GpuTunables& t, const Bank& bank) {
  const TransformSizes sizes = fused_sizes(t, bank);
  jit::Defines defines;
  set_output(defines, bank);
  set_filter(defines, t, bank);
  set_transform(defines, t, sizes);
  set_radices(defines, sizes);
  defines.set("SPECTRA", t.spectra)
      .set("FETCH", t.fetch)
      .set("WORDS_AT", sizes.words_at)
      .set("COUNTER", sizes.counter);
  return defines;
}

jit::Defines columns_defines(const GpuTunables& t, const Bank& bank) {
  const SplitSizes sizes = split_sizes(t, bank);
  jit::Defines defines;
  set_filter(defines, t, bank);
  set_transform(defines, t, sizes.first);
  defines.set("SPECTRA", t.spectra)
      .set("COLUMNS", sizes.columns)
      .set("FRAME_COLUMNS", bank.channels / sizes.parts);
  return defines;
}

jit::Defines rows_defines(const GpuTunables& t, const Bank& bank) {
  const SplitSizes sizes = split_sizes(t, bank);
  const bool together = bank.config.output == Output::spectra_float;
  jit::Defines defines;
  set_output(defines, bank);
  set_transform(defines, t, sizes.rest);
  set_radices(defines, sizes.rest);
  defines.set("SPECTRA", sizes.row_spectra)
      .set("PARTS", sizes.parts)
      .set("PARTS_TOGETHER", together);
  if (together) defines.set("OUTPUT", Output::corner_turned_float);
  return defines;
}

jit::Defines fir_defines(const GpuTunables& t, const Bank& bank) {
  jit::Defines defines;
  set_filter(defines, t, bank);
  defines.set("GROUP_THREADS", kFirThreads).set("GROUPS", 2);
  return defines;
}

jit::Defines finish_defines(const Bank& bank) {
  jit::Defines defines;
  set_output(defines, bank);
  defines.set("LENGTH", bank.channels).set("CENTRED", centred(bank));
  return defines;
}

std::vector<std::string> exact_options(device::Api api) {
  // The kernel files have a pragma for OpenCL.
  if (api == device::Api::cuda) return {"-fmad=false"};
  return {};
}

}  // namespace tautline::stages::channelize::gpu

// Checks and layouts that the reference and the backends share. Not part of the stage's interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/unpack/tunables.h"
#include "tautline/stages/unpack/unpack.h"

namespace tautline::stages::unpack {

/// The output of one execute(), checked.
struct Target {
  std::byte* samples = nullptr;
  std::size_t channel_stride_bytes = 0;
  std::size_t row_stride_bytes = 0;
  core::View<std::uint64_t, 2> validity;

  std::byte* row(std::size_t channel, std::size_t input) const {
    return samples + channel * channel_stride_bytes + input * row_stride_bytes;
  }
};

/// Bits from the block's start to sample (0, channel, input).
inline std::size_t row_offset_bits(const core::RawLayout& layout, std::size_t channel,
                                   std::size_t input) {
  return layout.offset_bits + channel * layout.channel_stride_bits +
         input / layout.polarisations * layout.antenna_stride_bits +
         input % layout.polarisations * layout.polarisation_stride_bits;
}

/// The layout of the unpacked channels alone, with the same offsets in the block.
inline core::RawLayout unpacked_layout(const Config& config) {
  core::RawLayout layout = config.layout;
  layout.offset_bits += config.first_channel * layout.channel_stride_bits;
  layout.channels = config.unpacked_channels();
  return layout;
}

/// A row of samples, and the bits from the block's start to its first sample.
struct PlacedRow {
  std::size_t place_bits = 0;
  std::uint32_t channel = 0, input = 0;
};
/// All rows, in the order of the block.
std::vector<PlacedRow> rows_by_place(const core::RawLayout& layout);

/// The definition, as plain loops.
Result unpack_reference(const Config& config, const core::RawBlock& block, const Target& target);

/// The CPU plan for one instruction set (vnni and amx use avx512's kernels).
std::shared_ptr<const Plan> make_cpu_plan(const Config& config, device::InstructionSet set,
                                          const Tunables& tunables);

/// The GPU plan, for devices that compile kernels.
std::shared_ptr<const Plan> make_gpu_plan(const Config& config,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables);

/// Writes the validity of [first, last), with `first` a multiple of 64: samples in invalid spans
/// are invalid, all others valid. Nothing without a view.
void mark_lost(const core::RawBlock& block, const Target& target, std::size_t first,
               std::size_t last);

/// Number of an input's float samples at time `t` that are not finite, in channels that are not
/// unpacked.
std::uint64_t not_finite_elsewhere(const Config& config, const core::RawBlock& block,
                                   std::size_t input, std::size_t t);

/// Throws the errors that Plan::execute documents. A block without samples needs no views.
Target checked_target(const Config& config, const core::RawBlock& block,
                      const core::MutableSampleView<3>& samples,
                      const core::View<std::uint64_t, 2>& validity);

}  // namespace tautline::stages::unpack

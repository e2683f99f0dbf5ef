// Helpers that the launches of all designs share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/gpu/kernels.h"
#include "tautline/stages/channelize/gpu/layout.h"

namespace tautline::stages::channelize::gpu {

/// Copies a table to device memory and waits for the copy.
template <class T>
device::Buffer upload(const device::Device& device, const std::vector<T>& table) {
  device::Buffer buffer = device.allocate(table.size() * sizeof(T));
  const auto queue = device.make_queue();
  queue->copy(buffer.data(), table.data(), table.size() * sizeof(T));
  queue->synchronise();
  return buffer;
}

/// Spectra [first, first + count) of one input of a slice.
Slice part_of(const Slice& slice, const Bank& bank, std::size_t input, std::size_t first,
              std::size_t count);

/// The kernels' `flags`. `piece`: bytes that they store at once if addresses and strides are
/// aligned.
std::uint32_t flags_of(const Slice& slice, const Bank& bank, std::size_t piece);

/// (index HOP) mod FRAME, in samples: the place of the first value of the slice's first spectrum.
std::uint32_t origin_of(const Slice& slice, const Bank& bank);

}  // namespace tautline::stages::channelize::gpu

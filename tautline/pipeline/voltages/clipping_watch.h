// Counts the values that rounding to few bits clipped, in each channel of each input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/core/sample_view.h"
#include "tautline/core/validity.h"
#include "tautline/device/device.h"
#include "tautline/engine/node.h"
#include "tautline/pipeline/voltages/channel_range.h"
#include "tautline/pipeline/voltages/clipped_channels.h"

namespace tautline::pipeline {

/// Looks at runs of 32 spectra, evenly spread: at one in 8 of a short stream, at one in 256 of a long one and of one
/// whose length is not known. So an input's own counts, over all channels, stay those of the filter bank. Values at the
/// ends of the range count as clipped.
///
/// A channel of an input is named where the values at the ends hold a tenth of the power of noise at the usual level,
/// or more, beside those that such noise has there: 0.25 % of values of 8 bits, 4.7 % of 4. A signal of k times the range
/// is too weak there by (k^2 - 1) tenths of that power, or more.
class ClippingWatch {
 public:
  /// `bits`: 8 or 4. `total`: spectra of the stream; 0: not known. `block_spectra`: of the largest block.
  ClippingWatch(std::shared_ptr<const device::Device> device, int bits, ChannelRange channels,
                std::size_t inputs, std::uint64_t total, std::size_t block_spectra);

  /// Memory that it allocates at the first block; none on a CPU.
  std::size_t host_bytes() const;

  /// Blocks in the order of time: spectra [channel][input][time] in the device's memory, whose queue has written them.
  /// `valid`: [input][word] or [channel x input][word]; empty: all are valid.
  void look(engine::Outputs& outputs, const core::SampleView<3>& spectra,
            const core::ValidityView& valid);
  /// Counts the last block.
  void finish(engine::Outputs& outputs);

  ClippedChannels found() const;

 private:
  void look_at(const core::SampleView<3>& spectra, const core::ValidityView& valid,
               std::size_t first, std::size_t count, device::Queue& queue);
  void count_copies();

  std::shared_ptr<const device::Device> device_;
  int bits_;
  ChannelRange channels_;
  std::size_t inputs_;
  std::size_t block_spectra_;
  std::size_t apart_;          // from one run to the next, in spectra
  std::uint64_t spectra_ = 0;  // so far
  std::uint64_t looked_at_ = 0;
  std::vector<std::uint64_t> valid_, at_ends_;  // [channel][input] spectra, components
  // Devices: copies of runs that the host has not counted yet, [run][channel][input][time].
  device::Buffer copies_;
  std::vector<std::size_t> copied_;  // bytes of a row of each run
  std::size_t copied_bytes_ = 0;
  std::unique_ptr<device::Event> done_;
};

}  // namespace tautline::pipeline

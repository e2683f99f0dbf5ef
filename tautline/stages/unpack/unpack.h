// Bytes of a file or packet to rows of samples, one row a channel and input.
//
//   out[channel][input][t] = the sample that RawLayout places at (t, channel, antenna, pol)
//
// for all channels or a range of channels, counted from the first unpacked channel.
//
// | buffer   | axes                    | type                              | written     |
// | raw      | core::RawLayout         | bytes                             | read        |
// | samples  | [channel][input][time]  | ci8, ci16, cf16, complex<float>   | overwritten |
// |          |                         | (real: int8, int16, Half, float)  |             |
// | validity | [input][word]           | uint64 bits                       | overwritten |
//
// Components of up to 8 bits become 8-bit integers, 16-bit ones 16-bit (offset binary minus its
// offset), floats are copied. Lost spans, and float samples that are not finite, are invalid and
// zero. A time of a channelized stream is invalid in all channels if it is invalid in any, unpacked
// or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tautline/core/fields.h"
#include "tautline/core/sample_view.h"
#include "tautline/core/validity.h"
#include "tautline/core/voltage.h"
#include "tautline/device/device.h"

namespace tautline::stages::unpack {

struct Config {
  core::RawLayout layout;           ///< layout of every block
  std::size_t max_samples = 65536;  ///< largest number of samples (times) of a block
  std::size_t first_channel = 0;    ///< first channel to unpack
  std::size_t channels = 0;         ///< channels to unpack; 0: all from first_channel
  /// The blocks' bytes lie in the memory of the plan's device, which is a GPU: integers, or floats of 32 bits that lie
  /// on multiples of 32 bits.
  bool blocks_on_device = false;

  std::size_t unpacked_channels() const {
    return channels > 0 ? channels : layout.channels - first_channel;
  }
};
const core::Fields<Config>& fields(const Config&);

/// The format that a raw format unpacks to: ci8, ci16, cf16, cf32, or i8, i16, f16, f32.
core::SampleFormat unpacked_format(const core::SampleFormat& raw);
inline core::SampleType unpacked_type(const core::SampleFormat& raw) {
  return core::sample_type(unpacked_format(raw));
}

struct Result {
  /// Float samples (scalars or complex), of all channels, that were NaN or infinite.
  std::uint64_t not_finite = 0;
  std::uint64_t sent_bytes = 0;  ///< of samples and masks, copied to the plan's device
};

/// Buffers for the copies of one stream's blocks to a device. Has no history.
class State {
 public:
  virtual ~State() = default;
};

/// Whether no sample of the block can be invalid: integers without invalid spans.
inline bool all_valid(const core::RawBlock& block) {
  return block.invalid.empty() && !block.layout.format.is_float();
}

/// Immutable; may be shared by threads.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const Config& config() const = 0;
  virtual std::string backend() const = 0;
  virtual device::MemoryUse bytes() const = 0;
  virtual std::unique_ptr<State> make_state(device::Queue& queue) const = 0;

  /// Unpacks block.samples samples into the first block.samples of each row of `samples`, whose type is unpacked_type
  /// and whose times have stride 1. `validity` rows get bits for these samples; no view does where all_valid(block).
  /// `samples` may be in the memory of the plan's device: when the call returns the block's bytes have been read
  /// (integers on the device: they will be, by work on the queue), and work enqueued later on the queue finds its
  /// samples. Throws Error(format) if the block's layout is not the plan's or the block has too few bytes, and
  /// Error(config) if the views are not for such a block.
  virtual Result execute(device::Queue& queue, State& state, const core::RawBlock& block,
                         const core::MutableSampleView<3>& samples,
                         const core::View<std::uint64_t, 2>& validity) const = 0;
};

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// Unpacks all channels of a block to the host's memory in one call.
Result unpack(const core::RawBlock& block, const core::MutableSampleView<3>& samples,
              const core::View<std::uint64_t, 2>& validity,
              const device::Selection& selection = {});

}  // namespace tautline::stages::unpack

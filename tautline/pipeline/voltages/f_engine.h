// Raw blocks to spectra ready to correlate: unpack, delays, filter bank, corner turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/sample_view.h"
#include "tautline/core/validity.h"
#include "tautline/core/voltage.h"
#include "tautline/device/device.h"
#include "tautline/formats/delays/delays.h"
#include "tautline/pipeline/voltages/channel_range.h"
#include "tautline/pipeline/voltages/delay_line.h"
#include "tautline/pipeline/voltages/delay_tracking.h"
#include "tautline/pipeline/voltages/filter_config.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/unpack/unpack.h"

namespace tautline::pipeline {

core::SampleFormat output_format(stages::channelize::Output output);

/// Spectra in time order.
struct SpectraChunk {
  std::size_t spectra = 0;
  std::uint64_t first_spectrum = 0;  ///< since the segment's start
  core::SampleView<3> samples;       ///< [channel][input][time], or [input][spectrum][channel]
  /// [input][word], or [channel x input][word] where channels differ; empty: all valid.
  core::ValidityView valid;
};

/// One stream's F-engine. Not thread-safe.
class FEngine {
 public:
  /// `share`: the coarse channels of an already channelized stream that this engine is for; none: all.
  /// `blocks_on_device`: as in stages::unpack::Config. Throws core::Error when the filter or the layout is impossible.
  FEngine(std::shared_ptr<const device::Device> device, const core::VoltageDescription& description,
          const core::RawLayout& layout, const FilterConfig& config, std::size_t max_block_samples,
          const ChannelRange& share = {}, bool blocks_on_device = false);

  /// Steps per unit for requantised output, [channel][input], of all channels of the stream.
  void set_gains(const std::vector<float>& gains) { gains_ = gains; }

  /// Delays every input by its model, from the next segment on: whole samples before the filter, the rest as phases
  /// after it. `end`: the end of the stream. Throws Error for a stream that is already channelized or models that do
  /// not cover the stream.
  void set_delays(std::shared_ptr<const formats::delays::Table> table, const core::Instant& end);

  /// Memory of the device, output_bytes() of it, for the spectra of the next take(), or of the whole next block where
  /// the stream is channelized already. Without it the engine uses its own.
  /// `row_spectra`: length of the rows there, of filtered, corner-turned spectra; the next spectra are written from
  /// `place` on. 0: rows as long as the taken chunk.
  void set_output(void* memory, std::size_t row_spectra = 0, std::size_t place = 0) {
    output_memory_ = memory;
    output_row_ = row_spectra;
    output_place_ = place;
  }
  std::size_t output_bytes() const;
  /// The axes of the largest chunk in that memory: [channel][input][time], or [input][spectrum][channel].
  std::array<std::size_t, 3> output_extents() const;

  /// Allocates the first block's memory ahead of time.
  void make_ready(device::Queue& queue);

  /// Clears all history: the next sample is the first of a new segment.
  void begin_segment(const core::Instant& start);
  /// Takes a block. Every spectrum of earlier blocks must have been taken. `channels`: the validity of the stream's
  /// channels, [channel x input], beside that of the block; no rows: channels do not differ.
  void push(device::Queue& queue, const core::RawBlock& block, core::ValidityView channels = {});
  /// Clears all history: the next spectrum begins with this sample of the last pushed block. Only for streams without
  /// delays.
  void restart_at(std::size_t sample);
  /// Up to `limit` of the next spectra; an empty chunk asks for another block. They are in the memory of the device:
  /// valid when the queue has reached this point, until that memory is written again.
  SpectraChunk take(device::Queue& queue, std::size_t limit);

  std::size_t inputs() const { return inputs_; }
  /// Frequencies of the spectra's channels, and the channels of the stream that they are: ascending in frequency where
  /// a filter bank made them.
  std::size_t channels() const { return channels_; }
  ChannelRange range() const { return range_; }
  /// Samples from the start of one spectrum to the start of the next, and the span of one spectrum.
  std::size_t hop_samples() const { return hop_; }
  std::size_t span_samples() const { return span_; }
  core::SampleFormat sample_format() const;
  std::size_t max_spectra() const { return max_spectra_; }
  std::string backend() const;
  /// Memory that the engine allocates when its first segment begins, beside that of its output.
  device::MemoryUse bytes() const;

  /// Components clipped so far, by input. Waits for the queue where a device counts them.
  const std::vector<std::uint64_t>& clipped(device::Queue& queue);
  std::uint64_t not_finite() const { return not_finite_; }
  /// [input][time] of the samples of the last block, of which some were not finite.
  core::ValidityView validity_of_samples() const {
    return line_ ? line_->mask().view() : validity_.view();
  }
  /// Bytes of samples and their masks that were sent to the device.
  std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  std::uint64_t unpack(device::Queue& queue, const core::RawBlock& block, void* rows,
                       std::size_t row_bytes, core::View<std::uint64_t, 2> valid);
  core::View<std::uint64_t, 2> validity_of(const core::RawBlock& block);
  void take_validity(const core::RawBlock& block, const core::ValidityView& channels);
  core::ValidityView copy_validity(std::size_t count, core::ValidityMask& to) const;
  core::ValidityView of_fine_channels();
  SpectraChunk take_filtered(device::Queue& queue, std::size_t limit);
  SpectraChunk take_channelized(std::size_t limit);
  SpectraChunk take_delayed(device::Queue& queue, std::size_t limit);
  void begin_run();
  SpectraChunk filter(device::Queue& queue, stages::channelize::Input& input);
  void reset_filters();
  std::size_t sample_buffer_bytes() const;
  void allocate();

  std::shared_ptr<const device::Device> device_;
  core::VoltageDescription description_;
  core::SampleFormat unpacked_;
  std::size_t sample_bytes_, inputs_;
  std::size_t coarse_;  // filter banks: one, or one in each coarse channel of this engine
  std::size_t first_coarse_;
  std::size_t channels_, hop_, span_, max_block_samples_, max_spectra_;
  ChannelRange range_;
  stages::channelize::Output output_;
  std::shared_ptr<const stages::unpack::Plan> unpack_;
  std::unique_ptr<stages::unpack::State> unpack_state_;
  std::shared_ptr<const stages::channelize::Plan> filter_;
  std::vector<std::unique_ptr<stages::channelize::State>> states_;  // [coarse channel]

  // Delays: samples wait in a line; runs of spectra share one linear delay.
  std::shared_ptr<const formats::delays::Table> delays_;
  std::unique_ptr<DelayLine> line_;
  std::size_t delay_history_ = 0;  // samples that the line keeps
  std::uint64_t spectra_per_run_ = 1, run_ = 0;
  RunDelays run_delays_;
  std::int64_t next_sample_ = 0;  // the filter's next delayed sample

  device::Buffer samples_;       // [input][time] as unpacked, for the filter
  core::ValidityMask validity_;  // [input][time] of samples_, unless
  bool all_valid_ = false;       // every sample of the last block is valid
  // [coarse channel x input][time], instead, where the channels of the last block differ.
  core::ValidityMask channel_validity_;
  bool by_channel_ = false,
       spectra_by_channel_ = false;  // the last block, and the filters' history
  std::size_t row_samples_ = 0;      // capacity of a row of samples_
  std::size_t filled_ = 0, consumed_ = 0;
  void* output_memory_ = nullptr;
  std::size_t output_row_ = 0, output_place_ = 0;  // of its rows; 0: as long as the next chunk
  device::Buffer own_output_;                      // where no output memory was given
  core::ValidityMask spectra_valid_, input_valid_, fine_valid_;
  std::uint64_t next_spectrum_ = 0;
  std::vector<float> gains_;
  std::vector<std::uint64_t> clipped_;
  device::Buffer clipped_on_device_;  // of a device that counts
  std::uint64_t not_finite_ = 0, sent_bytes_ = 0;
};

}  // namespace tautline::pipeline

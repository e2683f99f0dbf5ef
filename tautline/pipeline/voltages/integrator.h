// Sums visibilities over whole integrations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tautline/core/sample_view.h"
#include "tautline/core/time.h"
#include "tautline/core/validity.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/voltages/channel_range.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/input_groups.h"
#include "tautline/stages/correlate/correlate.h"

namespace tautline::pipeline {

/// Length of an integration, in whole spectra. Throws core::Error where it has none.
std::uint64_t spectra_of_integration(double integration_s, const core::Rational& rate_hz,
                                     std::size_t hop_samples);

/// Spectra of floats, counted from an integration's first one, that are summed as one group.
std::size_t spectra_of_group(std::size_t bytes_per_spectrum, bool gpu);

/// The X-engine of some channels of one stream: adds chunks of spectra, and finishes an
/// integration. However its spectra are cut into chunks, an integration's sums are the same to the
/// last bit: integers are exact, and floats are summed in groups that are counted from the
/// integration's first spectrum.
class Integrator {
 public:
  /// `stream_channels`: channels of the whole stream, so that floats are summed alike whatever share this one has.
  /// `max_spectra`: most spectra in a chunk. Inputs of floats are one group. Throws core::Error.
  Integrator(std::shared_ptr<const device::Device> device, ChannelRange channels,
             std::size_t stream_channels, const InputGroups& groups,
             const core::SampleFormat& format, std::size_t max_spectra);

  /// Allocates the first chunk's memory ahead of time.
  void make_ready(device::Queue& queue);
  /// Starts an integration, whose sums and counts, [group x channel][baseline] in the memory of the device, are
  /// overwritten.
  void begin(const core::MutableSampleView<2>& sums, const stages::correlate::Counts& counts);
  core::SampleType sum_type() const { return plan_->config().visibility_type(); }
  /// Adds its channels of a chunk that has all of the stream's channels, or only its own. `last`: the integration's
  /// last chunk.
  void add(device::Queue& queue, const SpectraChunk& chunk, bool last = false);

  /// Adds the waiting spectra: the sums are complete when the queue has reached this point.
  void finish(device::Queue& queue);

  std::string backend() const { return plan_->backend(); }
  /// Memory that it allocates with the first chunk, beside the sums.
  device::MemoryUse bytes() const;

 private:
  bool exact() const { return stages::correlate::Config{.format = format_}.exact(); }
  std::size_t sample_bytes() const {
    return static_cast<std::size_t>(format_.bits_per_sample()) / 8;
  }
  void allocate(device::Queue& queue);
  template <class Call>
  void for_each_group(const Call& call);
  void execute(device::Queue& queue, const core::SampleView<3>& samples,
               const core::ValidityView& valid);
  core::MutableSampleView<3> group() const;
  void copy_to_group(device::Queue& queue, const core::SampleView<3>& part) const;
  void divide_group_validity();
  void add_in_groups(device::Queue& queue, const core::SampleView<3>& samples,
                     const core::ValidityView& valid, bool last);
  void add_floats(device::Queue& queue, const core::SampleView<3>& samples);
  void add_rest(device::Queue& queue);

  std::shared_ptr<const device::Device> device_;
  ChannelRange channels_;
  InputGroups groups_;
  std::size_t inputs_;
  core::SampleFormat format_;
  std::shared_ptr<const stages::correlate::Plan> plan_;
  std::unique_ptr<stages::correlate::State> state_;
  bool begins_ = false;              // the integration is empty
  core::MutableSampleView<2> sums_;  // of the open integration
  stages::correlate::Counts counts_;
  // Floats: spectra that wait until their group is full.
  std::size_t group_spectra_ = 0, waiting_ = 0;
  device::Buffer group_;  // [channel][input][group_spectra_]
  core::ValidityMask group_valid_;
  bool masked_ = false;  // whether group_valid_ may have invalid spectra
};

}  // namespace tautline::pipeline

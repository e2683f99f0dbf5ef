// Sums visibilities over whole integrations and hands them on as means.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/baseline.h"
#include "tautline/core/time.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/voltages/channel_range.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/stages/correlate/correlate.h"

namespace tautline::pipeline {

/// Sums on their way from a device.
struct SumsInTransit {
  device::Buffer sums, counts;
  std::unique_ptr<device::Event> arrived;
};

/// One finished integration in memory of its own.
struct FinishedIntegration {
  core::Instant middle;
  double integration_s = 0;
  std::vector<std::complex<float>> visibilities;  ///< [channel][baseline], means
  std::vector<std::int64_t> counts;               ///< [channel][baseline]
  std::vector<SumsInTransit> in_transit;          ///< one a device
  std::vector<std::uint64_t> overflowed;          ///< one a device: means that no float holds

  void resize(std::size_t channels, std::size_t inputs, std::size_t devices) {
    overflowed.resize(devices);
    visibilities.resize(channels * core::baseline_count(inputs));
    counts.resize(visibilities.size());
    in_transit.resize(devices);
  }
};

/// The X-engine of some channels of one stream: adds chunks of spectra, and finishes an
/// integration. However its spectra are cut into chunks, an integration's sums are the same to the
/// last bit: integers are exact, and floats are summed in groups that are counted from the
/// integration's first spectrum.
class Integrator {
 public:
  /// `max_spectra`: most spectra in a chunk. Throws core::Error.
  Integrator(std::shared_ptr<const device::Device> device, ChannelRange channels,
             std::size_t inputs, const core::SampleFormat& format, std::size_t max_spectra);

  /// Gains that the spectra were multiplied with, [channel of the stream][input]; divided out of
  /// the means.
  void set_gains(const std::vector<float>& gains) { gains_ = gains; }

  /// Room for this integrator's sums on their way, as part `part` of those that `out` has.
  void prepare(FinishedIntegration& out, std::size_t part) const;

  /// Allocates what the first chunk would, so that it need not wait.
  void make_ready(device::Queue& queue);
  /// Adds its channels of a chunk that has all of the stream's, or just them.
  void add(device::Queue& queue, const SpectraChunk& chunk);
  std::uint64_t spectra() const { return spectra_; }
  std::uint64_t first_spectrum() const { return first_spectrum_; }

  /// Sends off what was added since the last time; the sums start again from zero.
  void finish(device::Queue& queue, FinishedIntegration& out, std::size_t part);
  /// Adds the sums of part `other`, which has the same channels, to this one's. Integers on devices
  /// that compile.
  void join(device::Queue& host_queue, FinishedIntegration& out, std::size_t part,
            std::size_t other) const;
  /// Waits for what finish() sent off and turns it into means and counts, on the threads of
  /// `host_queue`. Baselines without a valid sample get a mean of zero; so does one whose mean no
  /// float holds, its count becomes zero and `out.overflowed` counts it. May run on another thread
  /// than add() and finish().
  void complete(device::Queue& host_queue, FinishedIntegration& out, std::size_t part) const;

  std::string backend() const { return plan_->backend(); }
  /// Memory that it takes from the first chunk on, with `integrations` of them on their way.
  device::MemoryUse bytes(std::size_t integrations) const;

 private:
  bool exact() const { return stages::correlate::Config{.format = format_}.exact(); }
  std::size_t sums() const { return channels_.count * baselines_; }
  std::size_t sample_bytes() const {
    return static_cast<std::size_t>(format_.bits_per_sample()) / 8;
  }
  void allocate(device::Queue& queue);
  core::MutableSampleView<2> sums_view() const;
  stages::correlate::Counts counts() const;
  core::MutableSampleView<3> group() const;
  void copy_to_group(device::Queue& queue, const core::SampleView<3>& part) const;
  void add_in_groups(device::Queue& queue, const core::SampleView<3>& samples,
                     const core::ValidityView& valid);
  void add_floats(device::Queue& queue, const core::SampleView<3>& samples);
  void add_rest(device::Queue& queue);

  std::shared_ptr<const device::Device> device_;
  ChannelRange channels_;
  std::size_t inputs_, baselines_;
  core::SampleFormat format_;
  std::shared_ptr<const stages::correlate::Plan> plan_;
  std::unique_ptr<stages::correlate::State> state_;
  device::Buffer sums_;    // [channel][baseline] ci64, or complex<double>
  device::Buffer counts_;  // [channel][baseline] int64
  std::vector<float> gains_;
  // Floats: spectra that wait for their group to be full.
  std::size_t group_spectra_ = 0, waiting_ = 0;
  device::Buffer group_;  // [channel][input][group_spectra_]
  core::ValidityMask group_valid_;
  bool masked_ = false;  // whether group_valid_ may call any of them invalid
  std::uint64_t spectra_ = 0, first_spectrum_ = 0;
};

}  // namespace tautline::pipeline

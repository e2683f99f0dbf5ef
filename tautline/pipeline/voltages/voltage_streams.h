// The details of a correlator's streams (engine::Stream::details), by kind.
//
// | kind         | arrays                                        | payload         | details           |
// | raw voltages | bytes [byte], as RawBlock::layout says; valid | core::RawBlock  | RawVoltages       |
// |              | [channel x input] where channels differ       |                 |                   |
// | spectra      | spectra [channel][input][time], or            | GainValues,     | Spectra           |
// |              | [input][time][channel]; valid: a row an input,| or none         |                   |
// |              | or [channel x input] where channels differ    |                 |                   |
// | sums         | sums [group of inputs x channel][baseline]    | IntegrationTime | Sums              |
// |              | ci64 or cf64, counts alike i64                |                 |                   |
// | visibilities | visibilities [channel][baseline] cf32,        | IntegrationTime | Visibilities      |
// |              | counts [channel][baseline] i64                |                 |                   |
//
// Times of all kinds but raw voltages are spectra: a block of sums or visibilities is an integration, and its samples
// are the spectra in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/voltage.h"
#include "tautline/formats/visibility_writer.h"
#include "tautline/pipeline/voltages/channel_range.h"
#include "tautline/pipeline/voltages/input_groups.h"
#include "tautline/stream/constant_channel.h"
#include "tautline/stream/peeked_voltages.h"
#include "tautline/stream/voltage_sequence.h"

namespace tautline::pipeline {

/// When gains change, after the first ones.
struct GainSchedule {
  double settle_s = 0;  ///< after so long, at the next integration's edge
  bool follow = false;  ///< and again after each further `settle_s`
  bool changes() const { return settle_s > 0 || follow; }
};

/// Gains [channel][input] of a whole run, or of its beginning: those of a live stream are measured at the first request
/// of a starting node. Any thread.
class Gains {
 public:
  using Measure = std::function<std::vector<float>(const std::stop_token& stop)>;
  explicit Gains(std::vector<float> values, GainSchedule schedule = {})
      : schedule_(schedule), values_(std::move(values)) {}
  explicit Gains(Measure measure, GainSchedule schedule = {})
      : schedule_(schedule), measure_(std::move(measure)) {}

  const GainSchedule& schedule() const { return schedule_; }
  /// False: the user chose them.
  bool measured() const { return measure_ != nullptr; }
  /// Called by a correlator that opens: its integrations, at whose edges gains change. Throws Error(config) where
  /// another correlator has other integrations.
  void set_integration(std::uint64_t spectra) const;
  /// Spectra of an integration; 0: no correlator integrates.
  std::uint64_t integration_spectra() const { return integration_spectra_; }

  /// A thread that calls while the gains are measured waits.
  const std::vector<float>& values(const std::stop_token& stop = {}) const {
    std::call_once(once_, [&] {
      if (measure_) values_ = measure_(stop);
    });
    return values_;
  }

 private:
  GainSchedule schedule_;
  mutable std::atomic<std::uint64_t> integration_spectra_ = 0;
  Measure measure_;
  mutable std::once_flag once_;
  mutable std::vector<float> values_;
};
using SharedGains = std::shared_ptr<const Gains>;
/// Gains of an integration, where gains change; null: those of the run.
using GainValues = std::shared_ptr<const std::vector<float>>;

struct RawVoltages {
  static constexpr const char* kKind = "raw voltages";
  core::VoltageDescription description;
  core::RawLayout layout;           ///< of a whole block
  core::Instant end;                ///< one after the last sample, as far as sizes tell
  std::vector<std::string> files;   ///< the samples' files
  stream::SequenceOptions options;  ///< options of the files
  /// No files: the stream itself, to peek at before it runs.
  std::shared_ptr<stream::PeekedVoltages> live = {};
  std::vector<stream::ConstantChannel> constant_channels = {};  ///< of the samples
  std::vector<std::size_t> edge_channels = {};                  ///< the same, by a record
  GainValues gains =
      {};                ///< [channel][input] of spectra that were rounded, by a record; null: none
  int rounded_bits = 0;  ///< of these, by the record; 0: not rounded, or not known
};

/// Each block's array has strides of its own.
struct Spectra {
  static constexpr const char* kKind = "spectra";
  core::VoltageDescription voltages;  ///< source of the spectra
  std::vector<std::string> files;
  std::size_t stream_channels = 0;  ///< of the whole stream
  ChannelRange channels;            ///< channels of the blocks
  std::size_t hop_samples = 1, span_samples = 1;
  core::SampleFormat format;  ///< of their samples
  SharedGains gains;          ///< factors of the spectra; null: none
  int requantised_bits = 0;   ///< bits of rounded voltages; 0: not rounded
  int rounded_before = 0;     ///< bits to which their source was, by a record; 0: not rounded
  std::string device, kernels;
  formats::PhaseCentre phase_centre;                            ///< direction of the delays
  core::Instant end;                                            ///< as in RawVoltages
  std::vector<stream::ConstantChannel> constant_channels = {};  ///< of all channels of the stream
  std::vector<std::size_t> edge_channels = {};                  ///< the same
};

struct Sums {
  static constexpr const char* kKind = "sums";
  Spectra spectra;                        ///< its channels are those of the sums
  std::uint64_t integration_spectra = 1;  ///< of a whole integration
  InputGroups groups;
  std::vector<std::size_t> autos;  ///< the needed baselines, of several groups
};

/// Spectra of a segment, from the first to the last one that is valid for some input.
struct ValidSpectra {
  std::uint64_t first = 0, end = 0;  ///< equal: none is valid
  bool empty() const { return first == end; }
  /// Includes later ones, or others of the same times.
  void add(const ValidSpectra& others);
};

struct IntegrationTime {
  core::Instant middle = {};  ///< of the span of its spectra
  double integration_s = 0;   ///< spectra x hop / rate
  GainValues gains = {};      ///< for means over several integrations: of the first
  ValidSpectra of_data = {};  ///< sums have no other time
};

/// The quantities that determine times of integrations.
struct IntegrationClock {
  std::size_t hop_samples = 1, span_samples = 1;  ///< of spectra
  core::Rational rate_hz;                         ///< of samples

  /// The span of an integration's spectra: from the first one's first sample to the last one's last. `of_data`: where
  /// this is less than kLeastPart of a whole integration, the span of these; so it is where a segment's end cut the
  /// integration short.
  IntegrationTime time_of(const core::Instant& segment_start, std::uint64_t first,
                          std::uint64_t spectra, std::uint64_t whole_integration,
                          const ValidSpectra& of_data) const;

  /// Times of integrations that lack less are on one grid, so that those of several receivers agree.
  static constexpr double kLeastPart = 0.75;
};

inline IntegrationClock clock_of(const Spectra& spectra) {
  return {spectra.hop_samples, spectra.span_samples, spectra.voltages.rate_hz};
}

struct Visibilities {
  static constexpr const char* kKind = "visibilities";
  formats::VisibilityDescription description;  ///< without the gains
  SharedGains gains;
  ChannelRange channels;  ///< channels of the gains that the visibilities are made of
  IntegrationClock clock;
  std::uint64_t integration_spectra = 1;  ///< of a whole integration
};

}  // namespace tautline::pipeline

// Combines the sums of one or several X-engines to visibilities, their means.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/field_words.h"
#include "tautline/core/view.h"
#include "tautline/engine/node.h"
#include "tautline/formats/delays/delays.h"
#include "tautline/pipeline/voltages/partial_times.h"
#include "tautline/pipeline/voltages/reduction.h"
#include "tautline/pipeline/voltages/rounding_watch.h"
#include "tautline/pipeline/voltages/voltage_facts.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

/// Means of the sums of some channels.
///
/// | buffer        | axes                | type             | written     |
/// | sums          | [channel][baseline] | ci64, cf64       | read        |
/// | counts        | [channel][baseline] | int64            | read        |
/// | visibilities  | [channel][baseline] | complex<float>   | overwritten |
/// | result counts | [channel][baseline] | int64            | overwritten |
struct SumsOfChannels {
  core::SampleView<2> sums;
  core::View<const std::int64_t, 2> counts;
  /// [channel][input] gains of the spectra, which are divided out; empty: none.
  std::span<const float> gains;
  /// The baselines of the visibilities, where sums and counts are [group x channel][baseline]; empty: all.
  std::span<const InputPair> pairs = {};
  InputGroups groups = {};
};

/// Runs on the threads of `host_queue`. Baselines without a valid sample get a mean of zero; so does a baseline whose
/// mean overflows a float, and its count becomes zero. Returns the number of the latter.
std::uint64_t means_of(device::Queue& host_queue, const SumsOfChannels& from,
                       const core::View<std::complex<float>, 2>& visibilities,
                       const core::View<std::int64_t, 2>& counts);

struct VisibilitiesNodeConfig {
  std::shared_ptr<const device::Device> host;  ///< the device whose threads work
  std::size_t inputs = 1;                      ///< number of X-engines
  formats::ArrayLayout array = {};             ///< without antennas: positions are unknown
  formats::PhaseCentre phase_centre = {};
  formats::EarthOrientation earth = {};
  std::string history = {};
  bool keep_edge = false;    ///< Spectra::edge_channels are not flagged
  Reduction reduction = {};  ///< of the visibilities, behind this node
  /// Rotates the fringes by these delays; null: no rotation.
  std::shared_ptr<const formats::delays::Table> rotation = {};
  std::function<ClippedSamples()> clipped = {};  ///< of the spectra; null: not known
  core::FieldWords words = {};                   ///< in which the output names its inputs
};

/// Takes "sums" of X-engines, each with some of the channels, gives "visibilities" of all of these channels, which are
/// one range of the stream's.
class VisibilitiesNode final : public engine::Node {
 public:
  explicit VisibilitiesNode(VisibilitiesNodeConfig config) : config_(std::move(config)) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  engine::Needs needs(std::size_t, const engine::Stream&) const override {
    return {.in_step = config_.inputs > 1};
  }
  /// Warns of fringes that lose amplitude because they are not stopped.
  void start(engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void process_together(std::span<const engine::Block* const> blocks,
                        engine::Outputs& outputs) override;
  /// Warns of samples that rounding made zero or clipped, and of phases that are not those of the times written.
  void finish(engine::Outputs& outputs) override;
  /// These warnings, once the run has ended; empty: there is none.
  const std::string& rounding_text() const { return rounding_text_; }
  std::string partial_text() const { return partial_ ? partial_->text() : std::string(); }
  /// The warning of start(); empty: there is none.
  const std::string& fringes_text() const { return fringes_text_; }
  /// Description of the means.
  std::optional<engine::Load> expected_load() const override;
  engine::Counters counters() const override { return {{"overflowed", overflowed_}}; }

 private:
  formats::VisibilityDescription describe(std::span<const engine::Stream> inputs) const;
  void rotate(device::Queue& queue, const core::Instant& middle,
              const core::View<std::complex<float>, 2>& visibilities) const;

  VisibilitiesNodeConfig config_;
  std::vector<ChannelRange> channels_;  // of each input
  ChannelRange all_channels_;           // of all inputs together
  std::size_t stream_channels_ = 0;
  core::SampleType sum_type_{};
  std::uint64_t integration_spectra_ = 1;
  IntegrationClock clock_;
  double integrations_per_s_ = 0;
  std::vector<double> channel_hz_;
  InputGroups groups_;
  std::vector<InputPair> pairs_;  // none: all
  SharedGains gains_;
  std::vector<stream::ConstantChannel> constant_;  // by the channel of the output
  std::uint64_t overflowed_ = 0;
  std::unique_ptr<RoundingWatch> rounding_;  // null: no rounding
  std::string rounding_text_, fringes_text_;
  std::optional<PartialTimes> partial_;
};

}  // namespace tautline::pipeline

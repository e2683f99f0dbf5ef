// Voltages to a filterbank: detected power as a stream that searches take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/engine/node.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/filled_values.h"
#include "tautline/pipeline/voltages/power_sums.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

struct PowerConfig {
  std::uint64_t integrate = 1;  ///< spectra summed into one sample
};
const core::Fields<PowerConfig>& fields(const PowerConfig&);

/// Takes "spectra" that were not rounded: complex floats, or the integers of voltages that came channelized. Gives
/// "filterbank": the intensity of all antennas, floats, the last channel first. Samples restart with each segment;
/// spectra that do not fill the last sample of a segment are left out. A channel has its mean where no spectrum was
/// valid.
class PowerNode final : public engine::Node {
 public:
  PowerNode(std::shared_ptr<const device::Device> host, const PowerConfig& config)
      : host_(std::move(host)), config_(config) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  /// "samples" (times), "filled_values" (times x channels that have the channel's mean).
  engine::Counters counters() const override;

 private:
  std::shared_ptr<const device::Device> host_;
  PowerConfig config_;
  Spectra spectra_;
  std::size_t channels_ = 0, most_samples_ = 0;
  bool channels_first_ = true;   // [channel][input][time]
  std::vector<PowerSums> sums_;  // one
  core::Rational rate_hz_;       // of spectra
  core::Instant segment_start_;
  formats::FilterbankDescription description_;
  std::uint64_t segment_ = 0, first_ = 0, samples_ = 0, filled_ = 0;
  std::uint64_t grid_first_ = 0;  // the segment's place on the filterbank's grid
  std::shared_ptr<FilledValues> filled_values_;
  bool any_ = false;  // segments so far
};

}  // namespace tautline::pipeline

// The X-engine as a node: spectra to the sums of whole integrations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/formats/array_layout.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/voltages/integrator.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

struct XEngineNodeConfig {
  std::shared_ptr<const device::Device> device;
  double integration_s = 1.0;  ///< rounded to whole spectra
  ChannelRange channels = {};  ///< channels of the stream to correlate; none: those received
  /// Products of two antennas may be left out; not those of floats, whose sums would then be in another order.
  bool autos_only = false;
  /// Needed to leave products out; without antennas: the voltages'.
  formats::ArrayLayout array = {};
};

/// Takes "spectra", gives "sums" in the device's memory: a block for each integration. Integrations begin with segments
/// and are short at their ends.
class XEngineNode final : public engine::Node {
 public:
  explicit XEngineNode(XEngineNodeConfig config) : config_(std::move(config)) {}

  /// Makes the plan unless it was called with the same input before.
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  engine::Needs needs(std::size_t input, const engine::Stream&) const override;
  std::string kernels() const override { return "correlate " + integrator_->backend(); }
  device::MemoryUse bytes() const override { return integrator_->bytes(); }
  /// A trial run, on zeros.
  std::optional<engine::Load> expected_load() const override;
  void start(engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  engine::Counters counters() const override;

  const Sums& sums() const { return sums_; }
  /// Time since which it can take blocks.
  const Stopwatch& since_ready() const { return since_ready_; }

 private:
  std::unique_ptr<Integrator> make_integrator() const;
  std::vector<std::size_t> autos() const;
  void begin(const engine::Block& block, std::uint64_t first, engine::Outputs& outputs);
  void add(const engine::Block& block, std::size_t first, std::size_t count,
           engine::Outputs& outputs);
  void finish_integration(engine::Outputs& outputs);

  XEngineNodeConfig config_;
  Sums sums_;
  ChannelRange come_;  // channels of the received spectra
  std::size_t max_spectra_ = 0;
  std::unique_ptr<Integrator> integrator_;
  engine::Block* output_ = nullptr;  // the open integration
  GainValues gains_;                 // of its spectra; null: of the run
  ValidSpectra of_data_;             // of its spectra
  core::ValidityMask part_;
  std::uint64_t integrations_ = 0;
  Stopwatch since_ready_;
};

}  // namespace tautline::pipeline

// The F-engine as a node: raw voltages to spectra.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/formats/delays/delays.h"
#include "tautline/pipeline/checkpoint.h"
#include "tautline/pipeline/voltages/clipping_watch.h"
#include "tautline/pipeline/voltages/f_engine.h"
#include "tautline/pipeline/voltages/gain_renewal.h"
#include "tautline/pipeline/voltages/valid_shares.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

struct FEngineNodeConfig {
  std::shared_ptr<const device::Device> device;
  FilterConfig filter = {};
  ChannelRange channels = {};  ///< of a stream that is channelized already; none: all
  SharedGains gains = {};      ///< of requantised output
  std::shared_ptr<const device::Device> host = {};  ///< where gains that change are measured
  std::shared_ptr<const formats::delays::Table> delays = {};
  formats::PhaseCentre phase_centre = {};  ///< direction of the delays
  /// Spectra before the one that begins here are skipped. Without delays and oversampling only.
  std::optional<StreamPlace> from = {};
  /// Spectra of a block that several blocks of voltages fill; 0: each block of voltages gives a block of spectra.
  /// Filtered, on the CPU.
  std::size_t block_spectra = 0;
  core::LogSink log = {};  ///< is told of the valid shares at the end; null: others tell them
};

/// Takes "raw voltages", gives "spectra" in the device's memory.
class FEngineNode final : public engine::Node {
 public:
  explicit FEngineNode(FEngineNodeConfig config) : config_(std::move(config)) {}

  /// Before open(), of the X-engine that reads blocks of `block_spectra`: it sums floats in groups, which it must copy
  /// together unless blocks begin where groups do. Of several the first one's counts.
  void set_integration(double integration_s);
  /// Before open(): what reads the spectra is as fast with those of each block of voltages, which take less memory. An
  /// X-engine that reads them too undoes it.
  void use_short_blocks() { short_blocks_ = integration_s_ == 0; }

  /// Makes the plans, which takes seconds on a GPU, unless it was called with the same input before.
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  engine::Needs needs(std::size_t input, const engine::Stream&) const override;
  std::string kernels() const override { return engine_->backend(); }
  device::MemoryUse bytes() const override;
  /// A trial run, on noise; for floats, on zeros.
  std::optional<engine::Load> expected_load() const override;
  void start(engine::Outputs& outputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  void finish(engine::Outputs& outputs) override;
  engine::Counters counters() const override;

  const FEngine& f_engine() const { return *engine_; }
  /// Clipped components by [input], of the whole run.
  const std::vector<std::uint64_t>& clipped() const { return clipped_; }
  /// The channels that rounding clipped too much, of the run so far.
  ClippedChannels clipped_channels() const;
  const ValidShares& valid_shares() const { return valid_; }

 private:
  bool takes_blocks_on_device(const engine::Stream& stream) const;
  engine::Block& next_output(engine::Outputs& outputs);
  void give(const engine::Block& raw, std::uint64_t first, std::size_t spectra,
            engine::Outputs& outputs);
  bool reach_place(const engine::Block& block);
  [[noreturn]] void refuse_place() const;
  void filter(const engine::Block& raw, core::RawBlock& block, engine::Outputs& outputs);
  bool gains_change() const { return config_.gains && config_.gains->schedule().changes(); }
  std::size_t spectra_until_edge(std::uint64_t spectrum, engine::Outputs& outputs);
  void choose_block_spectra();
  void add_to_block(const engine::Block& raw, const SpectraChunk& chunk);
  void give_block(engine::Outputs& outputs);
  void hand_on(std::uint64_t first, std::size_t spectra, engine::Outputs& outputs);
  std::uint64_t spectra_of(std::uint64_t samples) const;

  FEngineNodeConfig config_;
  std::size_t block_bytes_ = 0, block_samples_ = 0;  // of the input
  bool blocks_on_device_ = false;                    // the same
  RawVoltages voltages_;
  std::unique_ptr<FEngine> engine_;
  std::unique_ptr<GainRenewal> renewal_;     // null: gains do not change
  std::unique_ptr<ClippingWatch> clipping_;  // null: spectra are not rounded
  engine::Block* output_ = nullptr;          // the open block
  // Spectra of an output block that several blocks fill; 0: one fills it.
  std::size_t block_spectra_ = 0;
  std::size_t block_row_ = 0;  // its capacity in spectra
  std::size_t in_block_ = 0;   // spectra so far
  bool short_blocks_ = false;
  double integration_s_ = 0;  // of the X-engine; 0: there is none
  // A block ends also at the ends of integrations; 0: it does not.
  std::uint64_t integration_spectra_ = 0;
  core::ValidityMask block_valid_;
  std::uint64_t samples_ = 0, spectra_ = 0;
  std::uint64_t segment_first_ = 0;  // the segment's first sample
  core::Instant segment_start_;
  std::size_t passed_samples_ = 0;    // samples of the block before the start
  std::uint64_t passed_spectra_ = 0;  // spectra of the segment before the start
  std::uint64_t next_spectrum_ = 0;   // of the segment
  std::vector<std::uint64_t> clipped_;
  ValidShares valid_;
};

}  // namespace tautline::pipeline

// Simulated voltages as a stream, like the stream of a file with these voltages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/simulation/voltages.h"
#include "tautline/stream/voltage_stream.h"

namespace tautline::pipeline::simulation {

/// The description that a file of these voltages would have.
core::VoltageDescription describe(const SimulationPlan& plan);

/// How blocks are made: each of `pieces`, which `threads` make side by side, of `segments`
/// (VoltageSimulator) each.
struct BlockCut {
  std::size_t threads = 1, pieces = 1, segments = 1;
};
struct BlockLimits {
  std::size_t threads = 0;  ///< 0: as many as the process may use
  std::size_t blocks = 2;   ///< in memory at a time
  std::size_t block_bytes = std::size_t{512} << 20;
  std::size_t memory_bytes = 0;  ///< of all blocks and of the workspaces that make them
};
/// The longest blocks within the limits. Throws Error(memory) where there are none.
BlockCut choose_cut(const SimulationPlan& plan, const BlockLimits& limits);

/// Samples are [time][input], as VoltageSimulator leaves them; reads are of whole segments, a block_samples() long.
class SimulatedVoltages final : public stream::VoltageStream {
 public:
  SimulatedVoltages(std::shared_ptr<const SimulationPlan> plan, const BlockCut& cut);

  std::size_t block_samples() const {
    return cut_.pieces * cut_.segments * simulator_.segment_samples();
  }
  /// Components of each input so far.
  const std::vector<std::uint64_t>& clipped() const { return clipped_; }

  const core::VoltageDescription& description() const override { return description_; }
  core::RawLayout layout(std::size_t samples) const override;
  std::size_t block_bytes(std::size_t samples) const override { return simulator_.bytes(samples); }
  std::uint64_t total_samples() const override { return simulator_.plan().samples; }
  const core::Instant& end() const override { return end_; }
  const std::vector<std::string>& files() const override { return files_; }
  std::size_t bytes() const override;
  std::size_t read(std::size_t samples, core::RawBlock& block,
                   stream::SegmentPlace& segment) override;
  formats::Damage damage() const override { return {}; }

 private:
  struct Worker {
    explicit Worker(const SimulationPlan& plan) : workspace(plan), clipped(plan.inputs()) {}
    Workspace workspace;
    std::vector<std::uint64_t> clipped;
  };

  VoltageSimulator simulator_;
  BlockCut cut_;
  core::VoltageDescription description_;
  core::Instant end_;
  std::vector<std::string> files_{"simulated voltages"};
  std::unique_ptr<device::Queue> queue_;
  std::vector<std::unique_ptr<Worker>> workers_;  // made at first use
  std::vector<std::uint64_t> clipped_;
  std::uint64_t next_segment_ = 0;
};

}  // namespace tautline::pipeline::simulation

// Voltage files as a source: their samples as they lie in the files, a block at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/stream/voltage_sequence.h"

namespace tautline::pipeline {

struct VoltageSourceConfig {
  std::vector<std::string> files;
  stream::SequenceOptions options;
  bool unbroken = false;  ///< refuses gaps between files
};

/// Gives "raw voltages".
class VoltageSourceNode final : public engine::Node {
 public:
  /// Opens the files. Throws core::Error.
  explicit VoltageSourceNode(VoltageSourceConfig config);

  const stream::VoltageSequence& sequence() const { return sequence_; }
  /// Samples (times) of a block, before the graph is opened.
  void set_block_samples(std::size_t samples) { block_samples_ = samples; }

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  bool produce(engine::Outputs& outputs) override;
  engine::Counters counters() const override;

 private:
  VoltageSourceConfig config_;
  stream::VoltageSequence sequence_;
  std::size_t block_samples_ = 0;
  std::uint64_t next_ = 0, samples_ = 0;  // of the segment, and of the stream so far
};

}  // namespace tautline::pipeline

// Voltages as a source: their samples as they lie in files or come, a block at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/log.h"
#include "tautline/engine/node.h"
#include "tautline/stream/empty_voltages.h"
#include "tautline/stream/packet_voltages.h"
#include "tautline/stream/peeked_voltages.h"
#include "tautline/stream/piped_voltages.h"
#include "tautline/stream/voltage_sequence.h"
#include "tautline/stream/voltage_steps.h"

namespace tautline::pipeline {

struct VoltageSourceConfig {
  std::vector<std::string> files;
  stream::SequenceOptions options;
  bool unbroken = false;  ///< refuses gaps between files
  double rate = 0;        ///< times real time, as if samples came now; 0: as fast as they are taken
  /// Told what was found to hold nothing and to step, in words, at the end; none: nobody.
  core::LogSink log = {};
};

/// Gives "raw voltages", a block later than it reads them: what does not change at a block's end may be an empty stretch,
/// and its samples invalid, by what follows. Packets say themselves what is missing, and are placed in the blocks given.
class VoltageSourceNode final : public engine::Node {
 public:
  /// Opens the files. Throws core::Error.
  explicit VoltageSourceNode(VoltageSourceConfig config);
  /// A live stream, or one that is simulated.
  VoltageSourceNode(std::shared_ptr<stream::PeekedVoltages> live, bool keep_constant,
                    core::LogSink log = {});
  /// A live stream of packets.
  explicit VoltageSourceNode(std::unique_ptr<stream::PacketVoltages> packets);
  /// What comes by a pipe, as a live stream; files where there is none.
  VoltageSourceNode(VoltageSourceConfig config, std::shared_ptr<formats::ForwardBytes> piped);
  ~VoltageSourceNode() override;

  const stream::VoltageStream& sequence() const { return *stream_; }
  /// Null: of files.
  const std::shared_ptr<stream::PeekedVoltages>& live_stream() const { return live_; }
  /// Samples (times) of a block, before the graph is opened. `asked_for`: by the user.
  void set_block_samples(std::size_t samples, bool asked_for = false) {
    block_samples_ = samples;
    asked_for_ = asked_for;
  }
  /// Whether a reader of files may choose them: nobody asked for a length, and blocks do not come as if live.
  bool takes_other_blocks() const { return !live_ && !asked_for_ && config_.rate == 0; }
  /// Fewer, of the first block of files alone, where that changes neither layouts nor what is found.
  void set_first_block_samples(std::size_t samples);
  std::size_t block_samples() const { return block_samples_; }

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  device::MemoryUse bytes() const override { return {stream_->bytes(), 0}; }
  void start(engine::Outputs& outputs) override;
  bool produce(engine::Outputs& outputs) override;
  bool live() const override { return stream_->live(); }
  void finish(engine::Outputs& outputs) override;
  engine::Counters counters() const override;
  std::uint64_t samples() const { return packets_ != nullptr ? packets_->samples() : samples_; }
  /// Nothing where constant stretches are kept.
  stream::EmptyVoltages empty() const {
    return finder_ ? finder_->found() : stream::EmptyVoltages();
  }
  /// Where files join: looked for when the run starts, unless constant stretches are kept.
  const std::vector<stream::VoltageStep>& level_steps() const { return steps_; }

 private:
  bool fill(engine::Block& block);
  bool place_packets(engine::Outputs& outputs);

  VoltageSourceConfig config_;
  std::shared_ptr<stream::VoltageStream> stream_;
  std::shared_ptr<stream::PeekedVoltages> live_;  // the same, of no files
  stream::PacketVoltages* packets_ = nullptr;     // what that peeks at, of packets
  bool ended_ = false, asked_for_ = false;
  std::size_t block_samples_ = 0, first_block_samples_ = 0;  // 0: as the others
  std::uint64_t next_ = 0, samples_ = 0;              // of the segment, and of the stream so far
  std::optional<stream::EmptyVoltageFinder> finder_;  // none: constant stretches are data
  std::vector<stream::VoltageStep> steps_;
  engine::Block* held_ = nullptr;  // read, not yet handed on
};

}  // namespace tautline::pipeline

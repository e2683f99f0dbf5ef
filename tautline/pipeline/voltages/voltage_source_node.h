// A source of voltages: raw samples from files or live, a block at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/log.h"
#include "tautline/engine/node.h"
#include "tautline/formats/recorded_spectra.h"
#include "tautline/stream/constant_channels.h"
#include "tautline/stream/empty_channels.h"
#include "tautline/stream/empty_voltages.h"
#include "tautline/stream/level_watch.h"
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
  double rate = 0;        ///< times real time, as if samples came live; 0: unpaced
  /// The device in whose memory the reader fills blocks, with SequenceOptions::keep_constant; null: the host.
  std::shared_ptr<const device::Device> device = {};
  /// Called at the end with the empty stretches and level steps found, as text; none: not called.
  core::LogSink log = {};
};

/// Gives "raw voltages", a block or two after reading it: whether samples at a block's end are an empty stretch, and so
/// invalid, depends on the next block, and files are read while the block before is searched. Packets carry their own
/// losses, and are placed straight into the output's blocks.
class VoltageSourceNode final : public engine::Node {
 public:
  /// Opens the files. Throws core::Error.
  explicit VoltageSourceNode(VoltageSourceConfig config);
  /// A live or simulated stream.
  VoltageSourceNode(std::shared_ptr<stream::PeekedVoltages> live, bool keep_constant,
                    core::LogSink log = {});
  /// A live stream of packets. `recorded`: of their spectra.
  explicit VoltageSourceNode(std::unique_ptr<stream::PacketVoltages> packets,
                             bool keep_constant = false, core::LogSink log = {},
                             formats::RecordedSpectra recorded = {});
  /// A pipe as a live stream; files where there is none.
  VoltageSourceNode(VoltageSourceConfig config, std::shared_ptr<formats::ForwardBytes> piped);
  ~VoltageSourceNode() override;

  const stream::VoltageStream& sequence() const { return *stream_; }
  /// Null for files.
  const std::shared_ptr<stream::PeekedVoltages>& live_stream() const { return live_; }
  /// Samples (times) of a block, before the graph is opened. `given`: by the user.
  void set_block_samples(std::size_t samples, bool given = false) {
    block_samples_ = samples;
    given_ = given;
  }
  /// Whether a reader of files may choose them: the user gave no length, and blocks do not come as if live.
  bool takes_other_blocks() const { return !live_ && !given_ && config_.rate == 0; }
  /// A shorter length of the first block of files, where that changes neither layouts nor the empty stretches found.
  void set_first_block_samples(std::size_t samples);
  std::size_t block_samples() const { return block_samples_; }

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  device::MemoryUse bytes() const override { return {stream_->bytes(), 0}; }
  /// None for live streams, and for files that are read as if they were live.
  std::optional<engine::Load> expected_load() const override;
  void start(engine::Outputs& outputs) override;
  bool produce(engine::Outputs& outputs) override;
  bool live() const override { return stream_->live(); }
  void finish(engine::Outputs& outputs) override;
  engine::Counters counters() const override;
  std::vector<std::string> problems() const override { return stream_->problems(); }
  std::optional<engine::FirstData> first_data() const override {
    return live_ ? live_->peeked() : std::nullopt;
  }
  std::uint64_t samples() const { return packets_ != nullptr ? packets_->samples() : samples_; }
  /// None where constant stretches are kept; of packets, the channels alone.
  stream::EmptyVoltages empty() const;
  /// Where files join, searched when the run starts, and inside files, once the source has ended; none where constant
  /// stretches are kept.
  const std::vector<stream::VoltageStep>& level_steps() const { return steps_; }
  /// Not looked at are packets and samples in a device's memory.
  stream::RecordedLevels levels() const;
  /// Searched in files when the graph is opened, unless constant stretches are kept.
  const std::vector<stream::ConstantChannel>& constant_channels() const { return constant_; }
  /// Spectra (times x inputs) that records beside the files list as invalid and that are not lost; read when the graph
  /// is opened.
  std::uint64_t unchanging_spectra() const { return unchanging_; }

 private:
  engine::ArrayType bytes_of_blocks() const;
  std::size_t take(engine::Block& block);
  std::size_t search();
  void look_at(engine::Block& block, engine::Block* next);
  void look_at_files();
  bool fill(engine::Block& block);
  void find_empty_channels(engine::Block& block, engine::Block* next);
  void look_at_levels(const engine::Block& block);
  void find_steps_inside();
  bool is_of_a_channel(const stream::VoltageStep& step, const stream::InputStep& of) const;
  bool place_packets(engine::Outputs& outputs);

  VoltageSourceConfig config_;
  std::shared_ptr<stream::VoltageStream> stream_;
  std::shared_ptr<stream::PeekedVoltages> live_;  // the same stream, where it is no file
  // The stream that `live_` peeks at, where it is of packets.
  stream::PacketVoltages* packets_ = nullptr;
  bool ended_ = false, given_ = false;
  std::size_t block_samples_ = 0, first_block_samples_ = 0;  // 0: as the others
  std::uint64_t next_ = 0, samples_ = 0;              // of the segment, and of the stream so far
  std::optional<stream::EmptyVoltageFinder> finder_;  // none: constant stretches are data
  // Of live voltages that are channelized; those of files are read before the run.
  std::optional<stream::EmptyChannelFinder> channels_;
  std::optional<stream::LevelWatch> levels_;
  std::size_t clipped_inputs_ = 0;  // by the recorder, once the source has ended
  std::vector<stream::VoltageStep> steps_;
  std::vector<stream::ConstantChannel> constant_;
  std::vector<std::size_t> edges_;                     // channels, by records
  std::shared_ptr<const std::vector<float>> gains_;    // the same
  int rounded_bits_ = 0;                               // the same
  std::uint64_t unchanging_ = 0, clipped_before_ = 0;  // the same
  bool looked_ = false;
  // Read and not searched; searched, and not yet handed on.
  engine::Block *read_ = nullptr, *held_ = nullptr;
};

}  // namespace tautline::pipeline

// A live filterbank as a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/core/log.h"
#include "tautline/engine/node.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/left_out_channels.h"
#include "tautline/pipeline/search/passing_filterbank.h"
#include "tautline/stream/live_spectra.h"

namespace tautline::pipeline {

struct LiveFilterbankConfig {
  std::string path = "-";  ///< a pipe, or udp://HOST:PORT
  double wait_s = 60;      ///< for the header, or the first packets
  double duration_s = -1;  ///< ends after this much data; negative: when the stream ends
  formats::FilterbankOptions reader;
  std::vector<std::size_t> ignored_channels;
  bool leave_out_constant = false;  ///< channels that do not change in the first kFirstSpectra
  std::stop_token stop = {};        ///< of the wait for these
  bool fill_gaps = false;           ///< empty stretches are filled, not left out
  bool keep_constant = false;       ///< stretches that never change are data
  std::size_t block_samples = 0;    ///< 0: kLiveBlock
  // Of packets: the form of them, a filterbank whose header describes them, and as stream::PacketRowsConfig.
  std::string layout = "filterbank", header, interface;
  std::optional<std::uint64_t> first_count;
  std::size_t window_samples = 0;
  double silence_s = -1, longest_gap_s = 60;
  core::LogSink log = {};  ///< is told at the end which channels stopped; none: it is not
};
const core::Fields<LiveFilterbankConfig>& fields(const LiveFilterbankConfig&);

/// Samples that are searched for channels that never change: most samples read ahead of the first block.
inline constexpr std::uint64_t kFirstSpectra = 16'384;

/// Data in a block: a block waits until it is full.
inline constexpr double kLiveBlock = 0.05;

/// Gives "filterbank" of one part that goes on until the stream ends or the run is stopped, without what holds nothing:
/// as a source of files, to which the stream is a file that is still being written.
class LiveFilterbankNode final : public engine::Node {
 public:
  LiveFilterbankNode(std::unique_ptr<stream::LiveSpectra> filterbank,
                     const LiveFilterbankConfig& config);

  /// Before the run is made: blocks of fewer samples.
  void shorten_blocks(std::size_t samples);
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  bool produce(engine::Outputs& outputs) override;
  void finish(engine::Outputs& outputs) override;
  bool live() const override { return true; }
  device::MemoryUse bytes() const override { return {.host_bytes = reader_->bytes()}; }
  /// FilterbankSourceNode's, and those of packets.
  engine::Counters counters() const override;
  const EmptyFound& empty() const { return source_->empty(); }
  /// The filterbank's source.
  const FilterbankSourceNode& source() const { return *source_; }
  const std::shared_ptr<PassingFilterbank>& reader() const { return reader_; }
  const LeftOutChannels& left_out() const { return left_out_; }
  /// The description of its output.
  FilterbankStream stream() const;

 private:
  void look_ahead();
  void find_constant(const LiveFilterbankConfig& config);

  std::size_t held_samples_ = 0;  // that it looks ahead
  bool leaves_gaps_ = false, fills_gaps_ = false;
  std::uint64_t total_samples_ = 0;  // 0: not known
  std::shared_ptr<PassingFilterbank> reader_;
  std::optional<FilterbankSourceNode> source_;
  LeftOutChannels left_out_;
  core::LogSink log_;
  bool more_ = true;
};

}  // namespace tautline::pipeline

// A live filterbank as a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/engine/node.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/stream/live_filterbank.h"

namespace tautline::pipeline {

struct LiveFilterbankConfig {
  std::string path = "-";
  double wait_s = 60;      ///< for the header
  double duration_s = -1;  ///< ends after this much data; negative: when the stream ends
  std::vector<std::size_t> ignored_channels;
  std::size_t block_samples = 0;  ///< 0: kLiveBlock
};
const core::Fields<LiveFilterbankConfig>& fields(const LiveFilterbankConfig&);

/// Data in a block: a block waits until it is full.
inline constexpr double kLiveBlock = 0.05;

/// Gives "filterbank" of one part that goes on until the stream ends or the run is stopped.
class LiveFilterbankNode final : public engine::Node {
 public:
  LiveFilterbankNode(std::unique_ptr<stream::LiveFilterbank> filterbank,
                     LiveFilterbankConfig config);

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  bool produce(engine::Outputs& outputs) override;
  bool live() const override { return true; }
  /// "samples" (times), "trailing_bytes".
  engine::Counters counters() const override;

 private:
  std::unique_ptr<stream::LiveFilterbank> filterbank_;
  LiveFilterbankConfig config_;
  std::size_t block_samples_ = 1;
  std::uint64_t samples_ = 0, most_samples_ = kLiveSamples;
  engine::Block* block_ = nullptr;  // begun
};

}  // namespace tautline::pipeline

// Dedispersion in a graph: a filterbank in, the series of every trial out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::pipeline {

/// Details of streams of kind "trials".
struct TrialStream {
  static constexpr const char* kKind = "trials";
  formats::FilterbankDescription description;  ///< of the input, starting where the series start
  std::vector<double> dms;
  std::size_t downsample = 1;
  double dm_constant = 0;
  std::uint64_t samples = 0;  ///< of every trial, of one part without gaps; 0: not known, live
  std::vector<std::pair<std::uint64_t, std::uint64_t>> data_segments;  ///< FilterbankStream's
  std::string name = {};                   ///< of the input's first file, without its ending
  std::vector<std::size_t> left_out = {};  ///< channels
  std::string method = {};                 ///< of summing, for people
  std::vector<std::uint64_t> delays = {};  ///< longest_delays
  std::shared_ptr<const FilterbankStream> filterbank = {};    ///< of the input
  std::shared_ptr<const stages::dedisperse::Plan> plan = {};  ///< that sums it
};

/// The longest delay of each trial, over the channels that are not left out.
std::vector<std::uint64_t> longest_delays(const stages::dedisperse::Plan& plan);

/// Blocks of each output: one being written by the host, and one for the plan. Those of a GPU wait for two copies, too.
inline constexpr std::size_t kTrialBlocks = 2, kTrialBlocksOnDevice = 5;

/// Takes "filterbank". Gives "trials" at one output for each plan: array "trials", [trial][time], int32 or float, in
/// the device's memory.
class DedisperseNode final : public engine::Node {
 public:
  /// Plans of trials that are sampled differently, of one device.
  DedisperseNode(std::vector<std::shared_ptr<const stages::dedisperse::Plan>> plans,
                 std::shared_ptr<const device::Device> device);

  std::string kernels() const override;
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  engine::Needs needs(std::size_t input, const engine::Stream&) const override;
  device::MemoryUse bytes() const override;
  std::optional<engine::Load> expected_load() const override;
  void start(engine::Outputs& outputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  /// Throws Error(config) where a live stream ended before the longest delay.
  void finish(engine::Outputs& outputs) override;
  /// "not_finite": samples of the input.
  engine::Counters counters() const override;

  /// [channel], of the segments that have ended, where the plans measure it.
  const std::vector<stages::dedisperse::Moments>& moments() const { return moments_; }

 private:
  // Trials that are sampled alike.
  struct Output {
    std::shared_ptr<const stages::dedisperse::Plan> plan;
    std::unique_ptr<stages::dedisperse::State> state;
    engine::Block* block = nullptr;  // begun
    std::uint64_t given = 0;         // times of the segment
  };
  std::vector<Output> outputs_;
  std::shared_ptr<const device::Device> device_;
  std::vector<stages::dedisperse::Moments> moments_;
  std::uint64_t samples_ = 0, came_ = 0;  // of the input: expected, and received
  core::Rational rate_hz_;
  core::Instant segment_start_;
  std::uint64_t not_finite_ = 0;
};

}  // namespace tautline::pipeline

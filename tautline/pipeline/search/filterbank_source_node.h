// A filterbank as a stream: its parts without gaps, each as often as it is searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/presto/mask.h"
#include "tautline/pipeline/search/mask_intervals.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// A part of a filterbank without a gap. It is given once for each pass; without a pass not at all.
struct FilterbankPart {
  PlacedRange placed;
  std::size_t passes = 1;
};

/// Details of streams of kind "filterbank". Their segments count passes: those over the first part, then those over
/// the second one.
struct FilterbankStream {
  formats::FilterbankDescription description;  ///< of the reader
  std::vector<FilterbankPart> parts;
  /// First and last + 1 sample of what holds data, from the first part's start; the rest was filled in. None: all does.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> data_segments;

  struct Turn {
    std::size_t part = 0, pass = 0;
  };
  Turn turn_of(std::uint64_t segment) const;
};

struct FilterbankSourceConfig {
  std::vector<FilterbankPart> parts;  ///< in order of time
  std::size_t block_samples = 0;      ///< times in a block at most
  std::optional<formats::presto::Mask> mask = {};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> data_segments = {};
};

/// Gives "filterbank": array "samples", [time][channel], as the reader delivers them, masked samples replaced.
class FilterbankSourceNode final : public engine::Node {
 public:
  /// Blocks of a source whose consumer reads in the host's memory: one being read, one waiting, one being computed.
  static constexpr std::size_t kBlocks = 3;
  /// More of them where the blocks are copied to a device.
  static constexpr std::size_t kBlocksOnTheirWay = 2;

  /// `reader` outlives this, and is this node's during a run.
  FilterbankSourceNode(formats::FilterbankReader& reader, FilterbankSourceConfig config);

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  bool produce(engine::Outputs& outputs) override;
  /// Of the first pass over each part: "samples" (times), "masked" (times x channels).
  engine::Counters counters() const override;

 private:
  void begin_pass();
  bool fill(engine::Block& block, const FilterbankStream::Turn& turn);

  formats::FilterbankReader& reader_;
  FilterbankStream stream_;
  std::size_t block_samples_;
  std::optional<formats::presto::Mask> mask_;
  std::unique_ptr<MaskIntervals> masking_;  // of the pass at hand
  std::uint64_t segment_ = 0, segments_ = 0;
  std::uint64_t done_ = 0;          // times of the pass
  engine::Block* block_ = nullptr;  // begun
  std::uint64_t samples_ = 0, masked_ = 0;
};

}  // namespace tautline::pipeline

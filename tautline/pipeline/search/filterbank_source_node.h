// Filterbanks as a stream: parts without gaps, each as often as it is searched; several beams one after the other.
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
#include "tautline/formats/presto/mask.h"
#include "tautline/pipeline/search/mask_intervals.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// A part of a filterbank without a gap. It is given once for each pass; without a pass not at all.
struct FilterbankPart {
  PlacedRange placed;
  std::size_t passes = 1;
  std::size_t beam = 0;
};

/// Details of streams of kind "filterbank". Their segments count passes: those over the first part, then those over
/// the second one.
struct FilterbankStream {
  std::vector<formats::FilterbankDescription>
      beams;  ///< of the readers, which have the same band and sample type
  std::vector<FilterbankPart> parts;
  /// First and last + 1 sample of what holds data, from the first part's start; the rest was filled in. None: all does.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> data_segments;
  std::vector<std::string> files;  ///< that were opened
  std::vector<std::vector<std::size_t>>
      left_out;  ///< [beam] channels that sums over channels leave out

  struct Turn {
    std::size_t part = 0, pass = 0;
  };
  Turn turn_of(std::uint64_t segment) const;
  /// Of what all beams have alike.
  const formats::FilterbankDescription& description() const { return beams.front(); }
  const formats::FilterbankDescription& beam_of(const FilterbankPart& part) const {
    return beams[part.beam];
  }
};

struct FilterbankSourceConfig {
  std::vector<FilterbankPart> parts;  ///< by beam, in order of time
  std::size_t block_samples = 0;      ///< times in a block at most
  std::optional<formats::presto::Mask> mask = {};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> data_segments = {};
  std::vector<std::string> files = {};                  ///< FilterbankStream's
  std::vector<std::vector<std::size_t>> left_out = {};  ///< FilterbankStream's
};

/// Gives "filterbank": array "samples", [time][channel], as the reader delivers them, masked samples replaced.
class FilterbankSourceNode final : public engine::Node {
 public:
  /// Blocks of a source whose consumer reads in the host's memory: one being read, one waiting, one being computed.
  static constexpr std::size_t kBlocks = 3;
  /// More of them where the blocks are copied to a device.
  static constexpr std::size_t kBlocksOnTheirWay = 2;

  /// A reader for each beam. They are this node's during a run.
  FilterbankSourceNode(std::vector<std::shared_ptr<formats::FilterbankReader>> readers,
                       FilterbankSourceConfig config);
  /// `reader` outlives this.
  FilterbankSourceNode(formats::FilterbankReader& reader, FilterbankSourceConfig config)
      : FilterbankSourceNode(
            {std::shared_ptr<formats::FilterbankReader>(std::shared_ptr<void>(), &reader)},
            std::move(config)) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  bool produce(engine::Outputs& outputs) override;
  /// Of the first pass over each part: "samples" (times), "masked" (times x channels). Of the readers: "lost_samples",
  /// "dropped_samples", "trailing_bytes".
  engine::Counters counters() const override;

 private:
  void begin_pass();
  bool fill(engine::Block& block, const FilterbankStream::Turn& turn);

  const FilterbankPart& part() const { return stream_.parts[stream_.turn_of(segment_).part]; }
  formats::FilterbankReader& reader() const { return *readers_[part().beam]; }

  std::vector<std::shared_ptr<formats::FilterbankReader>> readers_;  // [beam]
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

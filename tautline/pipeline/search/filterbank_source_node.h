// Filterbanks as a stream: parts without gaps, each as often as it is searched; several beams one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/presto/mask.h"
#include "tautline/pipeline/filled_values.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/search/empty_found.h"
#include "tautline/pipeline/search/empty_stretches.h"
#include "tautline/pipeline/search/finite_values.h"
#include "tautline/pipeline/search/kept_empty.h"
#include "tautline/pipeline/search/long_stops.h"
#include "tautline/pipeline/search/mask_intervals.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// The treatment of empty stretches.
enum class Empty {
  keep,  ///< they are data
  fill,  ///< of long ones means of the channels before them take the place; short ones are as those of `split`
  /// Long ones (kLeastGap) are left out, as gaps: each begins a segment for whoever reads. Short ones are filled with
  /// noise like the channels', as are channels where more than a sixteenth of them stop.
  split
};

struct FilterbankSourceConfig {
  std::vector<FilterbankPart> parts;  ///< by beam, in order of time
  std::size_t block_samples = 0;      ///< times in a block at most
  std::optional<formats::presto::Mask> mask = {};
  MissingTimes masked_times = MissingTimes::mean;
  Empty empty = Empty::keep;
  /// The device in whose memory the readers fill blocks, which are then neither masked nor searched for empty stretches;
  /// null: the host.
  std::shared_ptr<const device::Device> device = {};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> data_segments = {};
  std::vector<std::string> files = {};                  ///< FilterbankStream's
  std::vector<std::vector<std::size_t>> left_out = {};  ///< FilterbankStream's
  std::shared_ptr<const FilterbankInput> input = {};    ///< FilterbankStream's
  /// Values of the reader's samples [first, end) that it made up; none: it makes none up.
  std::function<std::vector<FilledRun>(std::uint64_t first, std::uint64_t end)> replaced = {};
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

  /// Before the run is made: other passes over the same parts, and the length of blocks.
  void read_for(std::vector<FilterbankPart> parts, std::size_t block_samples);
  /// engine::Stream::pace.
  void set_pace(double pace) { pace_ = pace; }
  const FilterbankStream& stream() const { return stream_; }
  std::size_t block_samples() const { return block_samples_; }

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  /// None for files that are read as if they were live.
  std::optional<engine::Load> expected_load() const override;
  bool produce(engine::Outputs& outputs) override;
  /// Of the first pass over each part: "samples" (times, those without data among them), "masked" (times x channels),
  /// "empty_samples" (times), "empty_values" (times x channels), "not_finite" (of single values, too, but of series
  /// only these stretches). Of the readers: "lost_samples", "dropped_samples", "trailing_bytes".
  engine::Counters counters() const override;
  const EmptyFound& empty() const { return found_; }

 private:
  void begin_pass();
  void note_masked(const FilterbankStream::Turn& turn);
  void note_kept();
  bool fill(engine::Block& block, const FilterbankStream::Turn& turn);
  std::uint64_t treat_empty(std::span<std::byte> bytes, bool counting);
  void count_repeated(std::size_t from, std::size_t end);
  std::size_t fill_stretch(std::span<std::byte> bytes, bool counting);
  std::uint64_t goes_on(std::span<const std::byte> bytes, bool counting);
  bool filled_by_reader(std::uint64_t position) const;
  void note_filled(std::uint64_t first);

  const FilterbankPart& part() const { return stream_.parts[stream_.turn_of(segment_).part]; }
  formats::FilterbankReader& reader() const { return *readers_[part().beam]; }

  std::vector<std::shared_ptr<formats::FilterbankReader>> readers_;  // [beam]
  FilterbankStream stream_;
  std::size_t block_samples_;
  double pace_ = 0;
  std::optional<formats::presto::Mask> mask_;
  MissingTimes masked_times_;
  Empty empty_config_;
  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<MaskIntervals> masking_;  // of the current pass
  std::unique_ptr<EmptyStretches> empty_;
  std::unique_ptr<FiniteValues> finite_;
  SampleRange filling_;              // a stretch that reached beyond the last block
  bool as_read_ = false;             // its spectra are the reader's
  std::vector<std::byte> repeated_;  // the spectrum of the last stretch
  bool skipping_ = false;            // it was left out just before
  EmptyFound found_;
  LongStops long_stops_;         // of the part
  std::vector<KeptEmpty> kept_;  // [beam], or none
  std::function<std::vector<FilledRun>(std::uint64_t, std::uint64_t)> replaced_;
  std::vector<std::shared_ptr<FilledValues>> filled_;  // [beam]; none of series
  std::vector<FilledRun> filled_now_;                  // of a block, at positions of the part
  std::uint64_t segment_ = 0, segments_ = 0;           // in all passes
  std::uint64_t done_ = 0;                             // times of the pass
  engine::Block* block_ = nullptr;                     // begun
  std::uint64_t samples_ = 0, masked_ = 0;
};

}  // namespace tautline::pipeline

// From the peaks of a step's blocks to events and detections: the GPU's counterpart of the CPU's
// TrialBlocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/stages/detect/events.h"
#include "tautline/stages/detect/gpu/schedule.h"

namespace tautline::stages::detect {

/// A run of a block job's peaks at neighbouring times, as peaks.kernel writes it: its time is
/// counted from the block's first sample. They come in no order.
struct RunRecord {
  std::uint64_t place = 0;   ///< job << 32 | width index of the first peak << 20 | its time
  std::uint64_t inside = 0;  ///< width indices of the best << 36, of the last << 24; their times
                             ///< after the first << 12 and << 0
  double first_snr = 0, last_snr = 0, best_snr = 0;

  std::size_t job() const { return place >> 32; }
  PeakRun run(std::uint64_t block_first) const {
    const std::uint64_t time = block_first + (place & 0xfffff);
    return {{time, first_snr, static_cast<std::uint32_t>(place) >> 20},
            {time + (inside & 0xfff), last_snr, static_cast<std::uint32_t>(inside >> 24 & 0xfff)},
            {time + (inside >> 12 & 0xfff), best_snr,
             static_cast<std::uint32_t>(inside >> 36 & 0xfff)}};
  }
};

/// An event with a new best boxcar, to be refined with the samples [first, end) of its trial.
struct RefineRequest {
  Events::Event* event = nullptr;
  std::uint64_t first = 0, end = 0;
  std::uint64_t window = 0;
};

class PeakLists {
 public:
  PeakLists(const Config& config, const Sizes& sizes);

  /// Adds the peaks of the blocks [first, last) of a step: all that there are of these blocks.
  /// Trials are independent: `host`'s threads share them.
  void add(const Step& step, std::size_t first, std::size_t last, std::span<const RunRecord> peaks,
           device::Queue& host);
  /// When all blocks of the step are added: appends a request for each event to be refined, whose
  /// pointer is valid until take.
  void request(const Step& step, std::vector<RefineRequest>& requests);
  /// Appends the complete events to `detections`, and removes them from here.
  void take(std::vector<Detection>& detections);
  /// First time of a trial's open event, or `otherwise` without one.
  std::uint64_t open_since(std::size_t trial, std::uint64_t otherwise) const {
    return trials_[trial].events.open_since(otherwise);
  }
  template <class Archive>
  void exchange(Archive& archive) {
    for (Trial& trial : trials_) {
      trial.events.exchange(archive);
      archive(trial.carried);
    }
  }

 private:
  struct Trial {
    Events events;
    std::vector<PeakRun> carried;  // of the last block's boxcars, with centres after the block
  };
  void sort_by_block(std::size_t first, std::size_t last, std::span<const RunRecord> peaks,
                     device::Queue& host);
  void add_blocks(const Step& step, std::size_t first, std::size_t last, device::Queue& host);
  void add_block(const BlockJob& job, std::span<const RunRecord> runs,
                 std::vector<PeakRun>& merged);

  Sizes sizes_;
  bool refines_, joins_neighbours_;
  std::vector<Trial> trials_;
  // Of the blocks that are being added, counted from the first of them.
  std::size_t added_first_ = 0;
  std::vector<RunRecord> sorted_;                 // by block
  std::vector<std::size_t> starts_;               // [block], and the end: its peaks among sorted_
  std::vector<std::vector<std::size_t>> places_;  // [piece][block]
  std::vector<std::pair<std::size_t, std::size_t>> of_trials_;  // neighbouring blocks of one trial
  std::vector<std::vector<PeakRun>> merging_;                   // [worker] runs of a block
};

}  // namespace tautline::stages::detect

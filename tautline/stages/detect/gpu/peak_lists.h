// Peaks that a device found in blocks of many trials, through events to detections: what a CPU's
// TrialBlocks does as it searches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/detect/cpu/block_search.h"
#include "tautline/stages/detect/events.h"
#include "tautline/stages/detect/gpu/schedule.h"

namespace tautline::stages::detect {

/// A peak of a block job, its time counted from the block's first sample. One time may have
/// several.
struct FoundPeak {
  std::uint32_t job = 0;
  std::uint32_t time = 0;
  std::uint32_t width_index = 0;
  double snr = 0;
};

/// A event whose best boxcar is new, to be refined on the samples [first, end) of its trial.
struct RefineRequest {
  Events::Event* event = nullptr;
  std::uint64_t first = 0, end = 0;
  std::uint64_t window = 0;
};

class PeakLists {
 public:
  PeakLists(const Config& config, const Sizes& sizes);

  /// What `step` found; the peaks are put in order. Appends what is to be refined, whose events
  /// stay where they are until take.
  void add(const Step& step, std::vector<FoundPeak>& peaks, std::vector<RefineRequest>& requests);
  /// The events that are complete, and forgets them.
  void take(std::vector<Detection>& detections);
  /// First time of a trial's open event; `otherwise` when there is none.
  std::uint64_t open_since(std::size_t trial, std::uint64_t otherwise) const {
    return trials_[trial].events.open_since(otherwise);
  }

 private:
  struct Trial {
    Events events;
    std::vector<Peak> carried;  // found by boxcars of the last block, centred after it
  };
  void order(const Step& step, std::vector<FoundPeak>& peaks);
  void add_block(const BlockJob& job, const std::vector<FoundPeak>& peaks);
  void request(const BlockJob& job, std::uint64_t baselined, std::vector<RefineRequest>& requests);

  Sizes sizes_;
  bool refines_;
  std::vector<Trial> trials_;
  std::vector<std::size_t> order_, rank_;  // of a step's blocks, by trial and time
  std::size_t next_ = 0, next_block_ = 0;  // peaks and blocks that have been added
  std::vector<Peak> merged_;
};

}  // namespace tautline::stages::detect

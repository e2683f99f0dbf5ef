// From the peaks of a step's blocks to events and detections: the GPU's counterpart of the CPU's
// TrialBlocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/detect/events.h"
#include "tautline/stages/detect/gpu/schedule.h"

namespace tautline::stages::detect {

/// A peak of a block job, with its time after the block's first sample. A time may have several
/// peaks.
struct FoundPeak {
  std::uint32_t job = 0;
  std::uint32_t time = 0;
  std::uint32_t width_index = 0;
  double snr = 0;
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

  /// Adds the peaks of `step`, which are sorted here. Appends a request for each event to be
  /// refined; its pointer is valid until take.
  void add(const Step& step, std::vector<FoundPeak>& peaks, std::vector<RefineRequest>& requests);
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
    std::vector<Peak> carried;  // of the last block's boxcars, with centres after the block
  };
  void order(const Step& step, std::vector<FoundPeak>& peaks);
  void add_block(const BlockJob& job, const std::vector<FoundPeak>& peaks);
  void request(const BlockJob& job, std::uint64_t baselined, std::vector<RefineRequest>& requests);

  Sizes sizes_;
  bool refines_;
  std::vector<Trial> trials_;
  std::vector<std::size_t> order_, rank_;  // of a step's blocks by trial and time, and its inverse
  std::size_t next_ = 0, next_block_ = 0;  // next peak and block to be added
  std::vector<Peak> merged_;
};

}  // namespace tautline::stages::detect

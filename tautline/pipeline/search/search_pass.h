// The trials that are searched while the input is read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/search/kept_trials.h"
#include "tautline/pipeline/search/pass_plan.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/detect/detect.h"

namespace tautline::pipeline {

/// What was found in the trials of one range of the DM plan, in one beam: samples and widths are those of the range,
/// trials are counted over the whole plan.
struct RangePulses {
  std::vector<stages::detect::Pulse> pulses;
  bool joined = true;  ///< false: some are detections that may belong to those of other passes
};

/// One pass: blocks in, pulses out. Beams are searched together, and what is found in each is what
/// it would be alone.
class SearchPass {
 public:
  SearchPass(const PassPlan& plan, std::size_t sample_bytes,
             std::shared_ptr<const device::Device> device, device::Queue& queue);
  ~SearchPass();

  /// What is pushed from now on is kept there, too; of one beam.
  void keep_in(KeptTrials* kept) { kept_ = kept; }
  /// `samples` times of the input, plan.block_samples at most, [beam][time]. What a device finds in
  /// them comes with a later call. Spectra that lie in the device's memory are read there by the
  /// queue's work, and must stay until it is done; parts that take none (floats) refuse them with
  /// Error(unsupported). Spectra in the host's memory are the caller's again; where a part reads on
  /// the device, this waits until they are there.
  void push(const std::byte* spectra, std::size_t samples);
  /// The input has ended: each trial is searched to its own last complete sample. Returns their lengths, [part][trial];
  /// of given trials those that they would have in a search of the filterbank, by which pulses are joined.
  std::vector<std::vector<std::uint64_t>> finish();
  /// Begins another input of the same length, of which nothing has been found.
  void reset();
  /// Whether a search with this plan is one with that of `other`, for as long an input.
  bool plans_as(const PassPlan& other) const;

  /// [range of the DM plan], without what was taken.
  const std::vector<RangePulses>& found(std::size_t beam = 0) const { return found_[beam]; }
  /// The pulses found since the last call.
  std::vector<RangePulses> take(std::size_t beam = 0);
  std::uint64_t not_finite() const { return not_finite_; }
  std::uint64_t detections() const;
  /// [channel] of the input pushed so far, where the plans measure it: before finish().
  std::vector<stages::dedisperse::Moments> moments() const;

 private:
  struct Stream;
  const std::byte* on_device(const std::byte* spectra, std::size_t samples);
  void push_to(Stream& stream, const void* spectra, std::size_t samples);
  void collect(Stream& stream);
  std::vector<std::uint64_t> shorten(Stream& stream);
  std::size_t beams() const { return found_.size(); }

  PassPlan plan_;
  std::size_t sample_bytes_;
  std::shared_ptr<const device::Device> device_;
  device::Queue& queue_;
  bool fed_there_ = false;  ///< some part reads on the device
  device::Buffer there_;    ///< for spectra of the host's memory
  std::vector<std::unique_ptr<Stream>> streams_;
  KeptTrials* kept_ = nullptr;
  std::vector<std::vector<RangePulses>> found_;  ///< [beam][range]
  std::uint64_t pushed_ = 0;                     ///< samples of the input
  std::uint64_t not_finite_ = 0;
};

}  // namespace tautline::pipeline

// The trials that are searched while the input is read once, and how a plan is cut into such
// passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/given_trials.h"
#include "tautline/pipeline/search/merge_pulses.h"
#include "tautline/pipeline/search/search_part.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/dedisperse/plan/trials.h"
#include "tautline/stages/detect/detect.h"

namespace tautline::pipeline {

struct PassPlan {
  std::vector<SearchPart> parts;
  std::size_t block_samples = 0;  ///< of the input
  std::uint64_t samples = 0;      ///< of the input, that the lengths of trials follow from
  std::size_t bytes = 0;          ///< of plans, states and blocks
  std::string text;               ///< for people
};

struct PassRequest {
  stages::dedisperse::Config dedisperse;  ///< without trials; any number of beams
  stages::detect::Config detect;          ///< threshold, widths, baseline, noise, links
  GivenTrials given = {};                 ///< of series that are dedispersed already
  std::uint64_t samples = 0;              ///< of the input, to be searched
  std::size_t sample_bytes = 1;           ///< of one time of one beam of the input
  std::size_t memory_bytes = 0;
  std::size_t device_bytes = 0;  ///< a GPU's memory that is free; 0: as much as there is now
  /// Of the input, at once; 0: kMostBlock.
  std::size_t most_block_samples = 0;
};

/// Longer blocks are no faster. On two cores those of 65,536 samples take a third longer for 12 s of data (Apertif's
/// band, 500 trials), most of it for clearing 0.3 GB more of memory; those of 16,384 as long. On an H200 they take 4 %
/// longer (2,000 trials), with the zero-DM filter 10 %: what one kernel writes leaves the cache before the next reads
/// it.
inline constexpr std::size_t kMostBlock = 32768;

/// Times of the input in a block at most: `blocks` of them are in the host's memory, which
/// memory_bytes is a cap on whatever the device has. Throws Error(memory).
std::size_t most_in_a_block(const PassRequest& request,
                            std::size_t blocks = FilterbankSourceNode::kBlocks);

/// As few passes as memory allows for. A GPU's own memory is its own limit: there memory_bytes is
/// for the blocks that wait in the host's. Throws Error(config) when the delay of the highest DM is
/// longer than the data, Error(memory) when not even one trial fits.
std::vector<PassPlan> plan_passes(const PassRequest& request,
                                  const stages::dedisperse::DmPlan& trials,
                                  const std::shared_ptr<const device::Device>& device);

/// The same passes for another segment of data, `request.samples` long, with the plans for
/// dedispersion that there are.
std::vector<PassPlan> plan_again(const PassRequest& request, std::vector<PassPlan> passes,
                                 const std::shared_ptr<const device::Device>& device);

/// Leading trials of a plan whose delays the data are longer than.
stages::dedisperse::DmPlan trials_that_fit(const PassRequest& request,
                                           const stages::dedisperse::DmPlan& trials);

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
  std::vector<std::vector<RangePulses>> found_;  ///< [beam][range]
  std::uint64_t pushed_ = 0;                     ///< samples of the input
  std::uint64_t not_finite_ = 0;
};

}  // namespace tautline::pipeline

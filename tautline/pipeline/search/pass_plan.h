// How the trials of a search are cut into passes, each of which reads the input once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/given_trials.h"
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

/// What bounds the passes of a search, in errors: the field, and how to raise it.
struct MemoryBound {
  std::string field = "memory_bytes", name = "`memory_bytes`", advice = "raise `memory_bytes`";
};
/// On a GPU its own memory.
MemoryBound memory_bound(const device::Device& device);

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

}  // namespace tautline::pipeline

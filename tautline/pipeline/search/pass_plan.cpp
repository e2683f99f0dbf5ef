#include "tautline/pipeline/search/pass_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "tautline/core/byte_text.h"
#include "tautline/core/counted.h"
#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/pipeline/search/dedisperse_node.h"
#include "tautline/pipeline/search/filterbank_run.h"

namespace tautline::pipeline {

namespace {

namespace dedisperse = stages::dedisperse;
namespace detect = stages::detect;

constexpr std::size_t kLeastBlock = 1024;

// Contiguous trials, about as many in each of `count` pieces.
std::vector<dedisperse::DmPlan> cut(const dedisperse::DmPlan& plan, std::size_t count) {
  const std::size_t trials = plan.trials();
  std::vector<dedisperse::DmPlan> pieces;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t first = k * trials / count, last = (k + 1) * trials / count;
    dedisperse::DmPlan piece;
    for (const dedisperse::DmRange& range : plan.ranges) {
      const std::size_t from = std::max(first, range.first_trial);
      const std::size_t to = std::min(last, range.first_trial + range.dms.size());
      if (from >= to) continue;
      dedisperse::DmRange part{{}, range.downsample, from};
      for (std::size_t i = from; i < to; ++i) part.dms.push_back(range.dms[i - range.first_trial]);
      piece.ranges.push_back(std::move(part));
    }
    if (!piece.ranges.empty()) pieces.push_back(std::move(piece));
  }
  return pieces;
}

// The memory for detecting the trials of a range, whatever the blocks.
detect::Config detect_config(const PassRequest& request, const dedisperse::DmRange& range) {
  detect::Config config = request.detect;
  config.trials = request.dedisperse.beams * range.dms.size();
  if (request.dedisperse.beams > 1) config.links.beam_trials = range.dms.size();
  config.in_place = true;
  config.sample_time_s = request.dedisperse.sample_time_s * static_cast<double>(range.downsample);
  // A width that the input has samples for must not be refused for a coarser range.
  if (range.downsample > 1) config.max_width_s = std::max(config.max_width_s, config.sample_time_s);
  return config;
}

// Of the memory that is short: a GPU's own.
std::size_t bytes_of(const device::MemoryUse& use, const device::Device& device) {
  if (!device.compiles()) return use.host_bytes;
  return device.properties().host_cpu ? use.host_bytes + use.device_bytes : use.device_bytes;
}

using DetectPlans = std::vector<std::shared_ptr<const detect::Plan>>;

// The plans are kept for the caller: one that is let go waits until its kernels are compiled, instead of letting those
// of dedispersion be compiled beside them.
std::size_t detect_bytes(const PassRequest& request, const dedisperse::DmPlan& piece,
                         const std::shared_ptr<const device::Device>& device, DetectPlans& kept) {
  std::size_t bytes = 0;
  for (const dedisperse::DmRange& range : piece.ranges) {
    kept.push_back(detect::make_plan(detect_config(request, range), device));
    bytes += bytes_of(kept.back()->bytes(), *device);
  }
  return bytes;
}

// Blocks about as long as what is left of memory allows: raw ones, the rows that hold their
// overlap, and trials.
std::size_t choose_block(const PassRequest& request, const dedisperse::DmPlan& piece,
                         std::size_t memory_bytes) {
  std::size_t each =
      (FilterbankSourceNode::kBlocks + 2 * piece.ranges.size()) * request.sample_bytes;
  for (const dedisperse::DmRange& range : piece.ranges)
    each += 4 * range.dms.size() / range.downsample;
  each *= request.dedisperse.beams;
  std::size_t block = request.most_block_samples;
  while (block > kLeastBlock &&
         (block / 2 >= request.samples || block * each > memory_bytes * 3 / 4))
    block /= 2;
  return block;
}

// Samples of each beam's trials that are complete. Throws when the highest DM has none. Of given trials those that a
// search of the filterbank would have, some of which may lie behind the series' end: friends are told by them.
std::vector<std::uint64_t> lengths_of(const PassRequest& request, const dedisperse::Plan& plan) {
  const dedisperse::Config& config = plan.config();
  if (request.given.any()) {
    std::vector<std::uint64_t> lengths;
    const std::uint64_t samples = request.samples + request.given.behind;
    for (std::size_t trial = 0; trial < config.dms.size() && !request.given.delays.empty();
         ++trial) {
      const auto delay = static_cast<std::uint64_t>(plan.delay(trial, 0));
      if (delay >= samples)
        refuse_delay(config.dms[trial], static_cast<double>(delay) * config.sample_time_s,
                     static_cast<double>(samples) * config.sample_time_s);
      lengths.push_back(samples - delay);
    }
    return lengths;
  }
  const std::uint64_t times = request.samples / config.downsample;
  const std::vector<std::uint64_t> delays = longest_delays(plan);
  std::vector<std::uint64_t> lengths;
  for (std::size_t trial = 0; trial < config.dms.size(); ++trial) {
    const std::uint64_t delay = delays[trial];
    if (delay >= times) {
      const double sample_s = config.sample_time_s * static_cast<double>(config.downsample);
      refuse_delay(config.dms[trial], static_cast<double>(delay) * sample_s,
                   static_cast<double>(times) * sample_s);
    }
    lengths.push_back(times - delay);
  }
  lengths.reserve(config.beams * lengths.size());
  for (std::size_t b = 1; b < config.beams; ++b)
    std::copy_n(lengths.begin(), config.dms.size(), std::back_inserter(lengths));
  return lengths;
}

std::size_t range_of(const dedisperse::DmPlan& trials, const dedisperse::DmRange& part) {
  std::size_t k = 0;
  while (k + 1 < trials.ranges.size() && trials.ranges[k + 1].first_trial <= part.first_trial) ++k;
  return k;
}

std::vector<std::shared_ptr<const dedisperse::Plan>> make_trial_plans(
    const PassRequest& request, dedisperse::Config config, const dedisperse::DmPlan& piece,
    const std::shared_ptr<const device::Device>& device, std::size_t limit_bytes) {
  if (!request.given.any()) return dedisperse::make_plans(config, piece, device, limit_bytes);
  const dedisperse::DmRange& all = piece.ranges.front();
  config.dms = all.dms;
  for (;;) {
    const auto plan = plan_given_trials(config, all.first_trial, request.given, device);
    const std::size_t bytes = dedisperse::needed_bytes({plan});
    if (limit_bytes == 0 || bytes <= limit_bytes) return {plan};
    const MemoryBound bound = memory_bound(*device);
    if (config.max_samples <= kLeastBlock)
      throw core::Error(
          core::ErrorKind::memory, bound.field,
          core::byte_text(bytes) + " for " + core::counted(all.dms.size(), "series", "series"),
          "at most " + core::byte_text(limit_bytes), bound.advice);
    config.max_samples = std::max(kLeastBlock, config.max_samples / 2);
  }
}

PassPlan plan_pass(const PassRequest& request, const dedisperse::DmPlan& trials,
                   const dedisperse::DmPlan& piece,
                   const std::shared_ptr<const device::Device>& device) {
  PassPlan pass;
  DetectPlans kept;
  const std::size_t searching = detect_bytes(request, piece, device, kept);
  const std::size_t left = request.memory_bytes > searching ? request.memory_bytes - searching : 0;
  dedisperse::Config config = request.dedisperse;
  config.max_samples = choose_block(request, piece, left);
  const std::size_t block_bytes =
      FilterbankSourceNode::kBlocks * config.beams * request.sample_bytes;
  const std::size_t raw = block_bytes * config.max_samples;
  const auto plans = make_trial_plans(request, config, piece, device, left > raw ? left - raw : 1);
  pass.block_samples = plans.front()->config().max_samples;
  pass.samples = request.samples;
  pass.bytes = searching + dedisperse::needed_bytes(plans) + block_bytes * pass.block_samples;
  pass.text = request.given.any() ? core::counted(piece.trials(), "series", "series") +
                                        " read as they are, in blocks of " +
                                        core::counted(pass.block_samples, "time")
                                  : dedisperse::describe(plans);
  for (std::size_t k = 0; k < plans.size(); ++k) {
    detect::Config found = detect_config(request, piece.ranges[k]);
    found.type = plans[k]->output_type();
    found.max_samples = std::max<std::size_t>(1, plans[k]->max_output_samples());
    found.lengths = lengths_of(request, *plans[k]);
    pass.parts.push_back({plans[k], detect::make_plan(found, device), piece.ranges[k].first_trial,
                          range_of(trials, piece.ranges[k]), request.given.any()});
  }
  return pass;
}

// The memory of the passes, of one trial each, with the shortest blocks.
[[noreturn]] void refuse_memory(const PassRequest& request,
                                const std::vector<dedisperse::DmPlan>& pieces,
                                const std::shared_ptr<const device::Device>& device) {
  dedisperse::Config config = request.dedisperse;
  config.max_samples = std::min(kLeastBlock, request.most_block_samples);
  const std::size_t raw =
      FilterbankSourceNode::kBlocks * config.beams * request.sample_bytes * config.max_samples;
  std::size_t needed = 0;
  for (const dedisperse::DmPlan& piece : pieces) {
    const auto plans = make_trial_plans(request, config, piece, device, 0);
    DetectPlans kept;
    needed = std::max(
        needed, detect_bytes(request, piece, device, kept) + dedisperse::needed_bytes(plans) + raw);
  }
  const MemoryBound bound = memory_bound(*device);
  throw core::Error(
      core::ErrorKind::memory, bound.field, core::byte_size().write(request.memory_bytes),
      "at least " + enough_bytes(needed) + " to search a trial at a time",
      bound.advice + ", lower the highest DM, or make `baseline_s` and `max_width_s` shorter");
}

// What may have friends in a part of the same range of DMs that another pass has waits for it, the rest
// is joined in its own pass.
void tell_what_is_elsewhere(std::vector<PassPlan>& passes,
                            const std::shared_ptr<const device::Device>& device) {
  for (PassPlan& pass : passes)
    for (SearchPart& part : pass.parts) {
      detect::Links::Elsewhere before, behind;
      for (const PassPlan& other : passes)
        for (const SearchPart& there : other.parts) {
          if (there.range != part.range || there.first_trial == part.first_trial) continue;
          const auto& lengths = there.detect->config().lengths;
          auto& side = there.first_trial < part.first_trial ? before : behind;
          side.any = true;
          if (lengths.empty()) continue;  // not known
          const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
          side.shortest = side.shortest > 0 ? std::min(side.shortest, *shortest) : *shortest;
          side.longest = std::max(side.longest, *longest);
        }
      if (!before.any && !behind.any) continue;
      detect::Config config = part.detect->config();
      config.links.before = before;
      config.links.behind = behind;
      part.detect = detect::make_plan(config, device);
    }
}

}  // namespace

MemoryBound memory_bound(const device::Device& device) {
  if (!device.compiles() || device.properties().host_cpu) return {};
  return {device.name() + ": memory", "the memory of " + device.name(),
          "free memory of the GPU, or raise `device_memory_bytes` where it is given"};
}

std::size_t most_in_a_block(const PassRequest& request, std::size_t blocks) {
  const std::size_t each = blocks * request.dedisperse.beams * request.sample_bytes;
  const std::size_t wanted =
      request.most_block_samples == 0 ? kMostBlock : request.most_block_samples;
  const std::size_t most = std::min(wanted, request.memory_bytes / each);
  if (most < std::min(kLeastBlock, wanted))
    throw core::Error(core::ErrorKind::memory, "memory_bytes",
                      core::byte_size().write(request.memory_bytes),
                      "at least " + enough_bytes(kLeastBlock * each) + " for " +
                          core::counted(blocks, "block") + " of the input",
                      "raise `memory_bytes`");
  return std::bit_floor(most);
}

std::vector<PassPlan> plan_passes(const PassRequest& given, const dedisperse::DmPlan& trials,
                                  const std::shared_ptr<const device::Device>& device) {
  PassRequest request = given;
  const bool gpu = device->compiles() && !device->properties().host_cpu;
  const std::size_t blocks =
      FilterbankSourceNode::kBlocks + (gpu ? FilterbankSourceNode::kBlocksOnTheirWay : 0);
  try {
    request.most_block_samples = most_in_a_block(request, blocks);
  } catch (const core::Error&) {
    // Not even blocks fit: on the processor, the need of the whole is known at once.
    if (device->compiles()) throw;
    if (request.most_block_samples == 0) request.most_block_samples = kLeastBlock;
    refuse_memory(request, cut(trials, trials.trials()), device);
  }
  // A GPU's memory is its own limit, some of it for others.
  if (gpu)
    request.memory_bytes =
        (given.device_bytes > 0 ? given.device_bytes : device->free_bytes()) / 10 * 9;
  const std::size_t most = trials.trials();
  for (std::size_t count = 1;;) {
    const auto pieces = cut(trials, count);
    std::size_t needed = 0;
    DetectPlans kept;
    for (const dedisperse::DmPlan& piece : pieces)
      needed = std::max(needed, detect_bytes(request, piece, device, kept));
    // A third is left for dedispersion and blocks.
    const bool fits = needed <= request.memory_bytes / 3 * 2;
    try {
      if (fits || count == most) {
        std::vector<PassPlan> passes;
        for (const dedisperse::DmPlan& piece : pieces)
          passes.push_back(plan_pass(request, trials, piece, device));
        tell_what_is_elsewhere(passes, device);
        return passes;
      }
    } catch (const core::Error& error) {
      if (error.kind() != core::ErrorKind::memory) throw;
      if (count == most) {
        if (request.most_block_samples <= kLeastBlock) refuse_memory(request, pieces, device);
        request.most_block_samples = kLeastBlock;
        continue;
      }
    }
    const double ratio =
        static_cast<double>(needed) / (static_cast<double>(request.memory_bytes) / 3 * 2 + 1);
    const auto wanted = static_cast<std::size_t>(
        std::ceil(static_cast<double>(count) * std::max(ratio, fits ? 1.5 : 1.0)));
    count = std::min(most, std::max(count + 1, wanted));
  }
}

std::vector<PassPlan> plan_again(const PassRequest& request, std::vector<PassPlan> passes,
                                 const std::shared_ptr<const device::Device>& device) {
  for (PassPlan& pass : passes) pass.samples = request.samples;
  for (PassPlan& pass : passes)
    for (SearchPart& part : pass.parts) {
      detect::Config config = part.detect->config();
      config.lengths = lengths_of(request, *part.dedisperse);
      part.detect = detect::make_plan(config, device);
    }
  tell_what_is_elsewhere(passes, device);
  return passes;
}

dedisperse::DmPlan trials_that_fit(const PassRequest& request, const dedisperse::DmPlan& trials) {
  const auto& mhz = request.dedisperse.frequencies_mhz;
  const auto [lowest, highest] = std::minmax_element(mhz.begin(), mhz.end());
  dedisperse::DmPlan fitting;
  for (const dedisperse::DmRange& range : trials.ranges) {
    const double sample_s =
        request.dedisperse.sample_time_s * static_cast<double>(range.downsample);
    dedisperse::DmRange part{{}, range.downsample, range.first_trial};
    const auto delay_of = [&](double dm) {
      if (!request.given.delays.empty())
        return request.given.delays[range.first_trial + part.dms.size()];
      return static_cast<std::uint64_t>(core::dispersion_delay_samples(
          dm, *lowest, *highest, sample_s, request.dedisperse.dm_constant));
    };
    const std::uint64_t samples = request.samples / range.downsample + request.given.behind;
    for (const double dm : range.dms) {
      if (delay_of(dm) >= samples) break;
      part.dms.push_back(dm);
    }
    const bool all = part.dms.size() == range.dms.size();
    if (!part.dms.empty()) fitting.ranges.push_back(std::move(part));
    if (!all) break;
  }
  return fitting;
}

}  // namespace tautline::pipeline

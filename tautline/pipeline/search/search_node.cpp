#include "tautline/pipeline/search/search_node.h"

#include <algorithm>
#include <utility>

#include "tautline/pipeline/search/expected_rate.h"
#include "tautline/pipeline/search/filterbank_record.h"

namespace tautline::pipeline {

// Floats are read where they are: the host cleans its own.
engine::Needs SearchNode::needs(std::size_t, const engine::Stream& stream) const {
  return {.device = config_.reads_on_device || stream.device == device_ ? device_ : nullptr};
}

std::vector<engine::Stream> SearchNode::open(std::span<const engine::Stream> inputs) {
  filterbank_ = inputs.front().detail<FilterbankStream>();
  moments_.assign(filterbank_.beams.size(), {});
  engine::Stream pulses = inputs.front();
  pulses.kind = "pulses";
  pulses.arrays.clear();
  pulses.device = nullptr;
  pulses.details =
      PulseStream{filterbank_, config_.trials, config_.links, config_.dm_constant, config_.plan};
  return {pulses};
}

std::optional<engine::Load> SearchNode::expected_load() const {
  const std::vector<PassPlan> passes = config_.passes(0);
  if (passes.empty()) return {};
  const FilterbankPart& part = filterbank_.parts.front();
  const double seconds = seconds_per_sample(passes.front().parts, device_, part.placed.range.count);
  return engine::Load{seconds * filterbank_.beam_of(part).rate_hz.value(), device_->name()};
}

void SearchNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs& outputs) {
  const FilterbankStream::Turn turn = filterbank_.turn_of(first.segment);
  if (passes_.empty() || turn.part != turn_.part) passes_ = config_.passes(turn.part);
  turn_ = turn;
  if (passes_.empty()) return;  // too short for all trials
  const PassPlan& plan = passes_[turn.pass];
  if (pass_ && pass_->plans_as(plan)) {
    pass_->reset();
  } else {
    pass_.reset();  // before the next one takes its memory
    pass_ = std::make_unique<SearchPass>(plan, filterbank_.description().sample_bytes(), device_,
                                         outputs.queue(device_));
  }
  if (!filterbank_.live) return;
  if (!kept_) kept_.emplace(plan.parts);
  kept_->begin_segment(grid_sample_of(filterbank_, first));
  pass_->keep_in(&*kept_);
}

void SearchNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  if (passes_.empty()) return;
  const auto* spectra = static_cast<const std::byte*>(block.arrays.front().data);
  // The plans of a short part may be for shorter blocks.
  const std::size_t most = passes_[turn_.pass].block_samples;
  for (std::size_t done = 0; done < block.samples; done += most)
    pass_->push(spectra + done * filterbank_.description().sample_bytes(),
                std::min(most, block.samples - done));
  engine::Block& out = outputs.begin(0, block);
  out.payload_of<FoundPulses>() = {pass_->take(), {}};
  time_.set_time(block);
  outputs.commit();
}

void SearchNode::end_segment(std::size_t, engine::Outputs& outputs) {
  if (passes_.empty()) return;
  if (turn_.pass == 0) add_moments(pass_->moments(), moments_[filterbank_.parts[turn_.part].beam]);
  const auto lengths = pass_->finish();
  detections_ += pass_->detections();
  if (turn_.pass == 0) not_finite_ += pass_->not_finite();
  engine::Block& out = outputs.begin(0, time_);
  out.first += out.samples;
  out.samples = 0;
  auto& found = out.payload_of<FoundPulses>();
  found = {pass_->take(), {}};
  const auto& parts = passes_[turn_.pass].parts;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::size_t trials = parts[k].detect->config().trials;
    const auto there = lengths[k].empty()
                           ? trials
                           : trials - static_cast<std::size_t>(std::count(
                                          lengths[k].begin(), lengths[k].end(), std::uint64_t{0}));
    std::vector<std::uint64_t> of_trials = lengths[k];
    of_trials.resize(trials, 0);
    found.searched.push_back({parts[k].range, parts[k].first_trial,
                              parts[k].detect->widths().back(), std::move(of_trials), there});
  }
  outputs.commit();
}

engine::Counters SearchNode::counters() const {
  return {{"detections", detections_}, {"not_finite", not_finite_}};
}

}  // namespace tautline::pipeline

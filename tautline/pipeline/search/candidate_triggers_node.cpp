#include "tautline/pipeline/search/candidate_triggers_node.h"

#include <fmt/format.h>

namespace tautline::pipeline {

const core::Fields<CandidateTriggersConfig>& fields(const CandidateTriggersConfig&) {
  using C = CandidateTriggersConfig;
  static const auto all =
      core::Fields<C>()
          .add({.name = "threshold", .help = "least S/N; 0: that of the search"}, &C::threshold,
               core::at_least(0))
          .add({.name = "least_dm", .unit = "pc/cm3", .help = "pulses of lower DM trigger nothing"},
               &C::least_dm, core::at_least(0));
  return all;
}

std::vector<engine::Stream> CandidateTriggersNode::open(std::span<const engine::Stream> inputs) {
  stream_ = inputs[0].detail<PulseStream>();
  found_.emplace(stream_);
  return {trigger_stream(inputs[0])};
}

void CandidateTriggersNode::begin_segment(std::size_t, const engine::Block& first,
                                          engine::Outputs&) {
  found_->begin_segment(first);
}

void CandidateTriggersNode::process(std::size_t, const engine::Block& block,
                                    engine::Outputs& outputs) {
  last_.set_time(block);
  give(found_->in(block), block, outputs);
}

void CandidateTriggersNode::end_segment(std::size_t, engine::Outputs& outputs) {
  give(found_->rest(), last_, outputs);
}

void CandidateTriggersNode::give(const std::vector<FoundCandidate>& found,
                                 const engine::Block& block, engine::Outputs& outputs) {
  Triggers triggers;
  for (const FoundCandidate& one : found) {
    const core::Candidate& candidate = one.candidate;
    if (candidate.snr < config_.threshold || candidate.dm < config_.least_dm) continue;
    if (candidate.injected) {
      ++injected_;
      continue;
    }
    triggers.push_back({.kind = "candidate",
                        .id = fmt::format("candidate-{}", given_ + triggers.size() + 1),
                        .time = one.time,
                        .dm = candidate.dm,
                        .reference_hz = stream_.filterbank.description().highest_mhz() * 1e6,
                        .dm_constant = stream_.dm_constant,
                        .facts = {{"snr", candidate.snr},
                                  {"width_s", one.width_s},
                                  {"beam", static_cast<double>(candidate.beam)}}});
  }
  if (triggers.empty()) return;
  given_ += triggers.size();
  outputs.begin(0, block).payload_of<Triggers>() = std::move(triggers);
  outputs.commit();
}

engine::Counters CandidateTriggersNode::counters() const {
  return {{"triggers", given_}, {"injected", injected_}};
}

}  // namespace tautline::pipeline

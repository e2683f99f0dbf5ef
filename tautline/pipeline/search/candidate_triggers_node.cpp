#include "tautline/pipeline/search/candidate_triggers_node.h"

#include <fmt/format.h>

#include "tautline/pipeline/search/merge_pulses.h"

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
  dms_ = stream_.trials.dms();
  return {trigger_stream(inputs[0])};
}

void CandidateTriggersNode::begin_segment(std::size_t, const engine::Block& first,
                                          engine::Outputs&) {
  const FilterbankStream& filterbank = stream_.filterbank;
  beam_ = filterbank.parts[filterbank.turn_of(first.segment).part].beam;
  segment_.set_time(first);
}

void CandidateTriggersNode::process(std::size_t, const engine::Block& block,
                                    engine::Outputs& outputs) {
  const auto& found = block.payload_of<FoundPulses>();
  std::vector<PlacedPulse> placed;
  for (std::size_t s = 0; s < found.segments.size(); ++s)
    for (const auto& pulse : found.segments[s].pulses)
      placed.push_back(place_pulse(pulse, s, 0, stream_.trials.segments[s].downsample));
  const formats::FilterbankDescription& beam = stream_.filterbank.beams[beam_];
  Triggers triggers;
  for (const auto& pulse : merge_pulses(std::move(placed), stream_.links)) {
    const double dm = dms_[pulse.trial];
    if (pulse.snr < config_.threshold || dm < config_.least_dm) continue;
    const auto sample = static_cast<std::int64_t>(segment_.first + pulse.sample());
    triggers.push_back(
        {.kind = "candidate",
         .id = fmt::format("candidate-{}", given_ + triggers.size() + 1),
         .time = core::advance(segment_.segment_start, sample, beam.rate_hz),
         .dm = dm,
         .reference_hz = beam.highest_mhz() * 1e6,
         .dm_constant = stream_.dm_constant,
         .facts = {{"snr", pulse.snr},
                   {"width_s", static_cast<double>(pulse.width) / beam.rate_hz.value()},
                   {"beam", static_cast<double>(beam_)}}});
  }
  if (triggers.empty()) return;
  given_ += triggers.size();
  outputs.begin(0, block).payload_of<Triggers>() = std::move(triggers);
  outputs.commit();
}

engine::Counters CandidateTriggersNode::counters() const {
  return {{"triggers", given_}};
}

}  // namespace tautline::pipeline

#include "tautline/pipeline/search/found_candidates.h"

#include <algorithm>
#include <optional>

#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/filled_values.h"
#include "tautline/pipeline/search/filterbank_input.h"
#include "tautline/pipeline/search/injection.h"
#include "tautline/pipeline/search/merge_pulses.h"
#include "tautline/pipeline/search/search_plan.h"

namespace tautline::pipeline {

namespace {

bool has_beams(const PulseStream& stream) {
  return stream.filterbank.input != nullptr && stream.filterbank.input->each_is_beam;
}

// Of the values of a boxcar that begins at `first` of the highest channel.
std::optional<double> filled_of(double dm, std::uint64_t first, std::uint64_t width,
                                std::size_t beam, const PulseStream& stream) {
  const FilterbankStream& filterbank = stream.filterbank;
  if (beam >= filterbank.filled.size()) return std::nullopt;
  const FilledValues& values = *filterbank.filled[beam];
  const formats::FilterbankDescription& band = filterbank.beams[beam];
  const auto begin_in = [&, high = band.highest_mhz()](double mhz) {
    return first + static_cast<std::uint64_t>(core::dispersion_delay_samples(
                       dm, mhz, high, 1 / band.rate_hz.value(), stream.dm_constant));
  };
  if (values.none(first, begin_in(band.lowest_mhz()) + width)) return 0;
  std::vector<std::uint64_t> begins;
  for (const double mhz : band.channel_mhz) begins.push_back(begin_in(mhz));
  for (const std::size_t c : filterbank.left_out[beam]) begins[c] = FilledValues::kLeftOut;
  return values.fraction(begins, width);
}

}  // namespace

core::Candidate candidate_of(const stages::detect::Pulse& pulse, std::uint64_t grid_first,
                             std::size_t beam, const PulseStream& stream,
                             const std::vector<double>& dms) {
  const formats::FilterbankDescription& description = stream.filterbank.beams[beam];
  core::Candidate candidate;
  candidate.dm = dms[pulse.trial];
  candidate.dm_index = pulse.trial;
  candidate.snr = pulse.snr;
  candidate.sample = grid_first + pulse.sample();
  candidate.time_s = static_cast<double>(candidate.sample) / description.rate_hz.value();
  candidate.width_samples = pulse.width;
  candidate.members = pulse.members;
  candidate.first_sample = grid_first + pulse.begin;
  candidate.last_sample = grid_first + pulse.end - 1;
  candidate.filled = filled_of(candidate.dm, grid_first + pulse.first, pulse.width, beam, stream);
  candidate.beam =
      has_beams(stream) ? beam : static_cast<std::size_t>(std::max(0, description.beam));
  return candidate;
}

std::vector<formats::candidates::SearchDescription> searches_of(const PulseStream& stream) {
  const FilterbankStream& filterbank = stream.filterbank;
  std::vector<formats::candidates::SearchDescription> searches;
  for (std::size_t b = 0; b < filterbank.beams.size(); ++b) {
    const formats::FilterbankDescription& beam = filterbank.beams[b];
    searches.push_back({beam.start, beam.rate_hz, beam.highest_mhz(), stream.dm_constant,
                        b < filterbank.files.size() ? filterbank.files[b] : "",
                        filterbank.input != nullptr ? filterbank.input->files_of_beam() : 1,
                        filterbank.injected != nullptr});
  }
  return searches;
}

FoundCandidates::FoundCandidates(const PulseStream& stream)
    : stream_(stream), dms_(stream.trials.dms()), searched_(searches_of(stream)) {
  for (const FilterbankPart& part : stream_.filterbank.parts)
    if (part.passes > 1) {
      const MemoryBound bound = stream_.plan ? memory_bound(stream_.plan->device()) : MemoryBound{};
      throw core::Error(core::ErrorKind::memory, bound.field,
                        std::to_string(part.passes) + " passes over the data",
                        "one, for candidates as they come", bound.advice + ", or try fewer DMs");
    }
  if (!stream_.plan || stream_.plan->most_latency_s() <= 0) return;
  const double latency = stream_.plan->latency_s() / stream_.plan->sample_s();
  searched_behind_.assign(stream_.trials.ranges.size(), 0);
  for (const SearchPart& part : stream_.plan->passes().front().parts) {
    const auto delay = (part.dedisperse->max_delay() + 1) * part.dedisperse->config().downsample;
    searched_behind_[part.range] = delay + static_cast<std::uint64_t>(latency) + 1;
  }
}

void FoundCandidates::begin_segment(const engine::Block& first) {
  part_ = stream_.filterbank.parts[stream_.filterbank.turn_of(first.segment).part];
  grid_first_ = grid_sample_of(stream_.filterbank, first);
  first_ = first.first;
  held_.clear();
}

void FoundCandidates::take(const engine::Block& block) {
  const auto& ranges = block.payload_of<FoundPulses>().ranges;
  for (std::size_t s = 0; s < ranges.size(); ++s)
    for (const stages::detect::Pulse& pulse : ranges[s].pulses)
      held_.push_back(place_pulse(pulse, s, 0, stream_.trials.ranges[s].downsample));
  came_ = block.first - first_ + block.samples;
}

// Whether the range after a pulse's last trial may still contain a part of it.
bool FoundCandidates::waits(const PlacedPulse& pulse) const {
  const auto& ranges = stream_.trials.ranges;
  const std::size_t next = pulse.part + 1;
  return next < searched_behind_.size() &&
         pulse.pulse.last_trial + stream_.links.dm_trials >= ranges[next].first_trial &&
         came_ < pulse.pulse.end + searched_behind_[next];
}

std::vector<FoundCandidate> FoundCandidates::give(bool all) {
  const auto& ranges = stream_.trials.ranges;
  std::vector<FoundCandidate> found;
  std::vector<PlacedPulse> wait;
  for (const auto& pulse : merge_pulses(std::move(held_), stream_.links)) {
    std::size_t part = ranges.size() - 1;
    while (part > 0 && ranges[part].first_trial > pulse.last_trial) --part;
    const PlacedPulse placed{pulse, part, ranges[part].downsample};
    if (!all && waits(placed))
      wait.push_back(placed);
    else
      found.push_back(candidate_from(pulse));
  }
  held_ = std::move(wait);
  return found;
}

std::vector<FoundCandidate> FoundCandidates::in(const engine::Block& block) {
  take(block);
  return give(false);
}

std::vector<FoundCandidate> FoundCandidates::rest() {
  return give(true);
}

FoundCandidate FoundCandidates::candidate_from(const stages::detect::Pulse& pulse) const {
  const formats::FilterbankDescription& beam = stream_.filterbank.beam_of(part_);
  const double rate_hz = beam.rate_hz.value();
  // On the grid, as candidates.
  const std::uint64_t came = grid_first_ + came_ + stream_.filterbank.held_samples;
  FoundCandidate one;
  one.candidate = candidate_of(pulse, grid_first_, part_.beam, stream_, dms_);
  one.time =
      core::advance(beam.start, static_cast<std::int64_t>(one.candidate.sample), beam.rate_hz);
  one.width_s = static_cast<double>(pulse.width) / rate_hz;
  one.sweep_s = core::dispersion_delay_s(one.candidate.dm, beam.lowest_mhz(), beam.highest_mhz(),
                                         stream_.dm_constant);
  const auto end = static_cast<double>(grid_first_ + pulse.first + pulse.width);
  one.latency_s = (static_cast<double>(came) - end) / rate_hz - one.sweep_s;
  if (stream_.filterbank.injected)
    for (const InjectedPulse& known : stream_.filterbank.injected->all())
      one.candidate.injected =
          one.candidate.injected ||
          is_injected(one.candidate, known, injection_band(beam, stream_.dm_constant));
  return one;
}

}  // namespace tautline::pipeline

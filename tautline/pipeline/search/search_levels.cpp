// A search's look at the levels beside its candidates.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "tautline/core/dispersion.h"
#include "tautline/pipeline/search/candidate_levels.h"
#include "tautline/pipeline/search/given_trials.h"
#include "tautline/pipeline/search/search_report.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kMostLookedAt =
    10;  // the best candidates: each costs a look at the data beside it

// Undispersed candidates are named where the best ones are all so, three at least.
constexpr std::size_t kBestNamed = 10, kLeastNamed = 3;

}  // namespace

// Where the best candidates show no dispersion, which the highest trials would.
void SearchReport::look_at_dispersion() const {
  if (config_.zero_dm || description().time_series) return;
  const auto best =
      std::span(summary_.candidates).first(std::min(kBestNamed, summary_.candidates.size()));
  const auto sweep = [&](double dm) {
    return description().rate_hz.value() * core::dispersion_delay_s(dm, description().lowest_mhz(),
                                                                    description().highest_mhz(),
                                                                    config_.dm_constant);
  };
  const double longest = sweep(summary_.dms.back());
  const auto undispersed = [&](const core::Candidate& one) {
    const auto width = static_cast<double>(one.width_samples);
    return sweep(one.dm) <= width && longest > 4 * width;
  };
  if (best.size() < kLeastNamed || !std::ranges::all_of(best, undispersed)) return;
  device_->shared().log(
      core::LogLevel::warning,
      fmt::format("the {} best candidates show no dispersion. If they are interference, `zero_dm` "
                  "takes it away, and uncovers what it hides",
                  best.size()));
}

// Of candidates beside which the level of the band changes: nothing else tells them from pulses.
void SearchReport::look_at_levels(const SearchRunNodes& nodes, const std::stop_token& stop) {
  if (config_.samples_on_device || input_->live || config_.zero_dm || config_.keep_constant) return;
  const double rate = description().rate_hz.value();
  const bool series = description().time_series;
  const auto searched = data_searched(*nodes.sink);
  std::vector<core::Candidate> changing;
  const auto& all = summary_.candidates;
  for (const core::Candidate& candidate :
       std::span(all).first(std::min(kMostLookedAt, all.size()))) {
    require_running(stop);
    const PlacedRange& data = data_segment_of(candidate);
    const auto segment = std::ranges::find_if(searched, [&](const SearchedData& one) {
      return (!config_.beams || one.beam == candidate.beam) &&
             candidate.sample >= one.first_sample &&
             candidate.sample < one.first_sample + one.samples;
    });
    if (segment == searched.end()) continue;
    const auto place = [&](std::uint64_t sample) {
      return data.range.first + (sample - data.grid_first);
    };
    const double sweep_s =
        series ? 0
               : core::dispersion_delay_s(candidate.dm, description().lowest_mhz(),
                                          description().highest_mhz(), config_.dm_constant);
    std::vector<bool> counts(description().channels, true);
    for (const std::size_t c : channels_beside(beam_of(candidate), candidate)) counts[c] = false;
    const CandidatePlace at{place(candidate.sample - candidate.width_samples / 2),
                            candidate.width_samples,
                            static_cast<std::uint64_t>(std::lround(sweep_s * rate)), candidate.snr};
    const SampleRange searched_there{place(segment->first_sample), segment->samples};
    const std::uint64_t complete =
        complete_samples(description(), searched_there, candidate.dm_index);
    if (level_changes_at(*beam_of(candidate).reader, {searched_there.first, complete}, at, counts))
      changing.push_back(candidate);
  }
  summary_.changing_level = changing_level_text(changing, !series);
  if (!summary_.changing_level.empty())
    device_->shared().log(core::LogLevel::warning, summary_.changing_level);
}

}  // namespace tautline::pipeline

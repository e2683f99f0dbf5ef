// Trials that were dedispersed before, in the place of a plan that dedisperses: each is a channel of the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/dedisperse/plan/trials.h"

namespace tautline::pipeline {

/// The trials that a description names; `trials` is 0 where it has no series of several trials.
struct GivenTrials {
  std::size_t trials = 0;
  std::vector<std::uint64_t> delays;  ///< FilterbankDescription::trial_delays
  bool whole_numbers =
      false;  ///< floats that are given as int32, as a search of the filterbank has them
  /// Of a part: samples of the filterbank behind its end that hold data, of which a sum needs as many as its delay.
  std::uint64_t behind = 0;

  bool any() const { return trials > 0; }
  /// The longest delay of all; 0 where they are not known.
  std::uint64_t longest() const;
};
GivenTrials given_trials(const formats::FilterbankDescription& description);

/// GivenTrials::behind of a part of the series that ends with sample `end`: to the next break, or of the longest delay.
std::uint64_t data_behind(const formats::FilterbankDescription& description, std::uint64_t end);

/// Samples of a trial in a part of the series that are sums of data alone: of series of several trials, the others lack
/// some; else all of the part.
std::uint64_t complete_samples(const formats::FilterbankDescription& description,
                               const SampleRange& part, std::size_t trial);

/// A plan for trials [first_trial, first_trial + dms) of the input: [time][trial] floats become [trial][time]. It
/// delays nothing: delay() is what each trial was delayed by. `config` has their DMs and the input's channels.
std::shared_ptr<const stages::dedisperse::Plan> plan_given_trials(
    stages::dedisperse::Config config, std::size_t first_trial, const GivenTrials& given,
    std::shared_ptr<const device::Device> device);

}  // namespace tautline::pipeline

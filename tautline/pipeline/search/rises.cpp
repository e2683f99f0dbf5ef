#include "tautline/pipeline/search/rises.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tautline/core/step_fit.h"
#include "tautline/pipeline/search/data_pieces.h"
#include "tautline/pipeline/search/level_blocks.h"

namespace tautline::pipeline {

namespace {

constexpr double kLongestRise_s = 1.5;  // a pulse of a second, and its flanks
constexpr std::uint64_t kLongestSide = core::kStepSide * kMostStepSpectra;
// Standard errors of a level that differs; of the noise the logarithm, below which it is the same.
constexpr double kDiffers = 8, kSameNoise = 0.1;
constexpr std::uint64_t kFadeSpectra = 1024;  // whose mean tells the smallest steps that are found
// A level is back where less than this is left of the change.
constexpr double kLeft = 0.5;

class Rises {
 public:
  Rises(formats::FilterbankReader& reader, const SampleRange& range,
        const std::vector<DecidedStep>& steps, const std::vector<bool>& counts)
      : reader_(reader), steps_(steps), counts_(counts) {
    const double longest = kLongestRise_s * reader.description().rate_hz.value();
    longest_ = std::max(kLongestSide, static_cast<std::uint64_t>(std::lround(longest)));
    bounds_.push_back(range.first);
    for (const DecidedStep& step : steps) bounds_.push_back(step.sample);
    bounds_.push_back(range.first + range.count);
  }

  StepsInside find() {
    // Levels between two that last: one step, or what comes and goes.
    const std::size_t last = steps_.size();
    for (std::size_t from = 0; from < last;) {
      std::size_t to = from + 1;
      while (to < last && length(to) < longest_) ++to;
      if (to == from + 1)
        keep_unless_it_fades(from);
      else
        keep_unless_it_returns(from, to);
      from = to;
    }
    return std::move(found_);
  }

 private:
  // Level k is between step k - 1 and step k.
  std::uint64_t length(std::size_t level) const { return bounds_[level + 1] - bounds_[level]; }
  std::size_t reach(std::size_t level, std::uint64_t most = kLongestSide) const {
    return static_cast<std::size_t>(std::min(most, length(level)));
  }
  BlockLevels first_of(const SampleRange& range, std::size_t spectra) {
    return levels_in(reader_, first_data(reader_, range, spectra, counts_));
  }
  BlockLevels last_of(const SampleRange& range, std::size_t spectra) {
    return levels_in(reader_, last_data(reader_, range, spectra, counts_));
  }
  SampleRange range_of(std::size_t level) const { return {bounds_[level], length(level)}; }
  BlockLevels begin_of(std::size_t level, std::uint64_t most = kLongestSide) {
    return first_of(range_of(level), reach(level, most));
  }
  BlockLevels end_of(std::size_t level, std::uint64_t most = kLongestSide) {
    return last_of(range_of(level), reach(level, most));
  }
  void keep(std::size_t step) {
    if (found_.steps.empty() || found_.steps.back().sample < steps_[step].sample)
      found_.steps.push_back(steps_[step]);
  }

  // A step up from which the level is back without another step, or one down to what it rose from without one.
  void keep_unless_it_fades(std::size_t step) {
    if (!steps_[step].of_mean) return keep(step);
    const std::size_t spectra = std::min(reach(step, kFadeSpectra), reach(step + 1, kFadeSpectra));
    const BlockLevels before = end_of(step, spectra), after = begin_of(step + 1, spectra);
    const std::uint64_t at = bounds_[step + 1];
    const std::uint64_t begin = at - std::min(longest_, length(step));
    const std::uint64_t end = at + std::min(longest_, length(step + 1));
    const double change = change_of(before, after, counts_).mean;
    const auto back = [&](const BlockLevels& base, const BlockLevels& far) {
      return change_of(base, far, counts_).mean < kLeft * std::abs(change);
    };
    if (change > 0 && back(before, last_of({at, end - at}, spectra)))
      found_.uncut.push_back({at, end - at, 1});
    else if (change < 0 && back(after, first_of({begin, at - begin}, spectra)))
      found_.uncut.push_back({begin, at - begin, 1});
    else
      keep(step);
  }

  void keep_unless_it_returns(std::size_t from, std::size_t to) {
    const BlockLevels before = end_of(from);
    const LevelChange whole = change_of(before, begin_of(to), counts_);
    std::vector<LevelChange> changes;
    LevelChange most;
    for (std::size_t level = from + 1; level < to; ++level) {
      changes.push_back(change_of(before, begin_of(level), counts_));
      most.mean = std::max(most.mean, std::abs(changes.back().mean));
      most.noise = std::max(most.noise, std::abs(changes.back().noise));
    }
    const auto least = [&](std::size_t level) {
      return kDiffers * least_change(reach(level), counts_).mean;
    };
    const bool returns = std::abs(whole.mean) < std::max(least(to), kLeft * most.mean) &&
                         std::abs(whole.noise) < std::max(kSameNoise, kLeft * most.noise);
    for (std::size_t level = from + 1; level < to; ++level) {
      const LevelChange& change = changes[level - from - 1];
      const bool quieter = change.noise < -kSameNoise, same = std::abs(change.mean) < least(level);
      const bool rises = returns && change.mean >= least(level) && !quieter;
      if (rises) found_.uncut.push_back({bounds_[level], length(level), 2});
      if (rises || (returns && same && std::abs(change.noise) < kSameNoise)) continue;
      keep(level - 1);
      keep(level);
    }
  }

  formats::FilterbankReader& reader_;
  const std::vector<DecidedStep>& steps_;
  const std::vector<bool>& counts_;
  std::uint64_t longest_ = 0;
  std::vector<std::uint64_t> bounds_;  // of the levels
  StepsInside found_;
};

}  // namespace

StepsInside leave_rises(formats::FilterbankReader& reader, const SampleRange& range,
                        const std::vector<DecidedStep>& steps, const std::vector<bool>& counts) {
  return Rises(reader, range, steps, counts).find();
}

}  // namespace tautline::pipeline

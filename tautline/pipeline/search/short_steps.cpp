#include "tautline/pipeline/search/short_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "tautline/core/step_fit.h"
#include "tautline/pipeline/search/dispersed_step.h"
#include "tautline/pipeline/search/level_changes.h"
#include "tautline/pipeline/search/place_step.h"

namespace tautline::pipeline {

namespace {

// Blocks that are compared: their distance, so that half a second has two; values and spectra of each; how many.
constexpr double kBlockDistance_s = 0.25;
constexpr std::uint64_t kLeastSide = core::kStepSide * kLeastStepSpectra;
constexpr std::size_t kBlockValues = 16'384, kLeastBlockSpectra = 32;
constexpr std::size_t kMostShortBlocks = 4096, kLeastShortBlocks = 3;
// The most unusual changes: those that are placed, places that are decided, and those that are decided again. A place
// takes as long as ten blocks, a decision as long as some hundred.
constexpr std::size_t kMostChanges = 256, kMostPlaces = 32, kMostAgain = 16;
// Places closer to each other are one, or a short impulse: a block has both.
constexpr std::uint64_t kNear = 64;

struct ChangePlace {
  std::uint64_t sample;
  Quantity quantity;
  bool up;
  std::size_t rank;  // of the change, the most unusual one first
  bool impulse = false;
};

class ShortSteps {
 public:
  ShortSteps(formats::FilterbankReader& reader, const SampleRange& range,
             const std::vector<bool>& counts)
      : reader_(reader), range_(range), counts_(counts) {
    const auto rate = reader.description().rate_hz.value();
    const auto distance =
        std::max(kLeastSide, static_cast<std::uint64_t>(std::lround(kBlockDistance_s * rate)));
    blocks_ = static_cast<std::size_t>(
        std::min<std::uint64_t>(kMostShortBlocks, range.count / distance + 1));
    const auto channels = static_cast<std::size_t>(std::count(counts.begin(), counts.end(), true));
    spectra_ = std::clamp(kBlockValues / std::max<std::size_t>(1, channels), kLeastBlockSpectra,
                          kMostStepSpectra);
  }

  std::vector<DecidedStep> find() {
    if (blocks_ < kLeastShortBlocks || range_.count < 2 * kLeastSide) return {};
    places_ = places_of(most_unusual());
    decided_.assign(places_.size(), std::nullopt);
    std::vector<bool> bound(places_.size(), true);
    for (std::size_t k = 0; k < places_.size(); ++k) decide(k, bound);
    // Again without the neighbours that are none.
    for (std::size_t k = 0; k < places_.size(); ++k) bound[k] = decided_[k].has_value();
    for (std::size_t k = 0; k < places_.size(); ++k) {
      const bool freed = (k > 0 && !bound[k - 1]) || (k + 1 < places_.size() && !bound[k + 1]);
      if (!bound[k] && freed && places_[k].rank < kMostAgain) decide(k, bound);
    }
    std::vector<DecidedStep> steps;
    for (const auto& step : decided_)
      if (step && (steps.empty() || step->sample > steps.back().sample)) steps.push_back(*step);
    return steps;
  }

 private:
  // The most unusual one first.
  std::vector<UnusualChange> most_unusual() {
    std::vector<UnusualChange> changes =
        unusual_changes(reader_, range_, blocks_, spectra_, counts_);
    std::ranges::stable_sort(changes, std::greater<>(), &UnusualChange::excess);
    if (changes.size() > kMostChanges) changes.erase(changes.begin() + kMostChanges, changes.end());
    return changes;
  }
  // In order of time; of places near each other that of the most unusual change, and none where it goes back.
  std::vector<ChangePlace> places_of(const std::vector<UnusualChange>& changes) {
    std::vector<ChangePlace> places;
    const auto counting = [&] {
      return static_cast<std::size_t>(std::ranges::count(places, false, &ChangePlace::impulse));
    };
    for (const UnusualChange& change : changes) {
      const std::uint64_t sample =
          place_step(reader_, change.from, change.to, spectra_, change.quantity, counts_);
      const auto near = std::ranges::find_if(places, [&](const ChangePlace& other) {
        return std::max(sample, other.sample) - std::min(sample, other.sample) < kNear;
      });
      if (near == places.end())
        places.push_back({sample, change.quantity, change.up, counting()});
      else if (near->quantity == change.quantity && near->up != change.up)
        near->impulse = true;
      if (counting() == kMostPlaces) break;
    }
    std::erase_if(places, [](const ChangePlace& place) { return place.impulse; });
    std::ranges::sort(places, {}, &ChangePlace::sample);
    return places;
  }
  // Between the nearest places that `bound` it.
  void decide(std::size_t place, const std::vector<bool>& bound) {
    StepBounds bounds{range_.first, places_[place].sample, range_.first + range_.count};
    for (std::size_t k = 0; k < places_.size(); ++k) {
      if (!bound[k]) continue;
      if (k < place) bounds.low = places_[k].sample;
      if (k > place) bounds.high = std::min(bounds.high, places_[k].sample);
    }
    decided_[place] = decide_step(reader_, bounds, kLeastStepSpectra, counts_);
    if (decided_[place] && step_is_dispersed(reader_, bounds, counts_))
      decided_[place] = std::nullopt;
  }

  formats::FilterbankReader& reader_;
  const SampleRange range_;
  const std::vector<bool>& counts_;
  std::size_t blocks_ = 0, spectra_ = 0;
  std::vector<ChangePlace> places_;
  std::vector<std::optional<DecidedStep>> decided_;  // [place]
};

}  // namespace

std::vector<DecidedStep> short_steps(formats::FilterbankReader& reader, const SampleRange& range,
                                     const std::vector<bool>& counts) {
  return ShortSteps(reader, range, counts).find();
}

}  // namespace tautline::pipeline
